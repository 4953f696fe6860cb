"""From one score and two log-probs to a reward for every word, as the conventions say."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Expr, Operand, Sum, block, exp, is_off, less, maximum, minimum, where
from blueprint.language.nodes import Arithmetic, wrap
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.conventions import sources
from blueprint.workbooks.common.conventions.choices import Choices
from blueprint.workbooks.common.conventions.places import Places


class Drifting(NamedTuple):
    """Who drifts, and by which settings that is estimated.

    name, of: what the names of the blocks begin with, and their symbols end with. clamp: what the names of its clamps
    begin with.
    """

    name: str
    of: str
    whose: str
    estimator: str
    clamp: str


OLD = Drifting("kl", "", "old policy", "kl_estimator", "reward.kl_clamp")
"""The policy that wrote, whose KL the reward pays."""
NEW = Drifting("kl_new", "_θ", "new policy", "loss.kl_estimator", "loss.kl_clamp")
"""The policy in training, whose KL a loss pays."""


class Estimates(NamedTuple):
    """KL estimates on the sampled word, all (n, t): the log-ratio, bare and clamped, the estimates, and the one in use."""

    free: Block
    held: Block
    k1: Block
    absolute: Block
    k2: Block
    k3: Block
    chosen: Block
    holds: Block
    clipped: Block
    used: Block


class Score(NamedTuple):
    """The score of each response (n), step by step, and where it lands (n, t)."""

    ended: Block
    subtracted: Block
    replaced: Block
    corrected: Block
    clipped: Block
    place: Block
    placed: Block


class Paid(NamedTuple):
    """The price of drifting: where it counts, its coefficient, the price, and the reward before whitening."""

    support: Block
    coef: Block
    penalty: Block
    raw: Block


def clamped(x: Operand, limit: Operand) -> Expr:
    """Keeps x within ± limit, unless that is off."""
    return where(is_off(limit), x, maximum(-wrap(limit), minimum(limit, x)))


def kl_estimates(who: Drifting, logp: Block, logp_ref: Block, exact: Block | None, use: Choices) -> Estimates:
    """Estimates how far a policy is from the reference on the sampled word.

    k3 is always made of the clamped log-ratio, the others are where the clamps are of all. logp, logp_ref, exact: (n, t);
    without an exact KL there is no word for it to choose.
    """
    name, of, told, L = who.name, who.of, f"KL estimate, {who.whose}", use.lead
    estimator, clamps = use.switch[who.estimator], use.switch[f"{who.clamp}_of"]
    free = use.row(f"{name}.free", f"k_raw{of}", f"{who.whose}: log-ratio to the reference", source=sources.KL)
    held = use.row(f"{name}.held", f"k{of}", f"{told}: clamped log-ratio", source=sources.KL_CLAMP)
    k1 = use.row(f"{name}.k1", f"k1{of}", f"{told}: the log-ratio", source=sources.KL_CLAMP)
    absolute = use.row(f"{name}.abs", f"|k1|{of}", f"{told}: its size", unit="≥ 0", source=sources.KL)
    k2 = use.row(f"{name}.k2", f"k2{of}", f"{told}: half of k1²", unit="≥ 0", source=sources.KL)
    k3 = use.row(f"{name}.k3", f"k3{of}", f"{told}: exp(−k) − 1 + k", unit="≥ 0", source=sources.KL)
    chosen = use.row(f"{name}.chosen", f"KL_est{of}", f"{told}: the chosen one", source=sources.KL)
    holds = use.one(f"{name}.holds", f"cut{of}", f"{who.whose}: 1 if its KL is clamped", decimals=0)
    clipped = use.row(f"{name}.clamped", f"KL_cut{of}", f"{told}: clamped", source=sources.KL_CLAMP)
    used = use.row(f"{name}.used", f"KL{of}", f"{told}: the one in use", source=sources.KL_CLAMP)
    at = (*L, n, t)
    free[at] = logp[n, t] - logp_ref[n, t]
    held[at] = clamped(free[at], use.used[f"{who.clamp}_in"])
    k1[at] = clamps.choose(all=held[at], k3=free[at])
    absolute[at] = abs(k1[at])
    k2[at] = k1[at] * k1[at] / 2
    k3[at] = exp(-held[at]) - 1 + held[at]
    each = {"k1": k1[at], "k2": k2[at], "k3": k3[at], "abs": absolute[at]}
    whole = {} if exact is None else {"full": exact[n, t]}
    chosen[at] = estimator.choose(**each, **whole)
    holds[L] = maximum(clamps.says("all"), estimator.says("k3"))
    clipped[at] = clamped(chosen[at], use.used[f"{who.clamp}_out"])
    used[at] = where(less(0, holds[L]), clipped[at], chosen[at])
    return Estimates(free, held, k1, absolute, k2, k3, chosen, holds, clipped, used)


def ends(S: Block, until: Block, end_words: Block) -> tuple[Block, Block, Block]:
    """Tells for each response (n) its slots, whether the end word was written, and whether a slot was left over.

    until: (n, t), 1 up to the last word. end_words: (n, t), 1 where the response ends in the end word.
    """
    slots = block("response.slots", (n,), "T_n", "slots of the response", decimals=0)
    by_word = block("response.ended", (n,), "ended_n", "1 if it ended in the end word", decimals=0)
    by_pad = block("response.padded", (n,), "padded_n", "1 if a slot was left over", decimals=0)
    slots[n] = Sum(t, S[n, t])
    by_word[n] = less(0, Sum(t, end_words[n, t]))
    by_pad[n] = less(Sum(t, S[n, t] * until[n, t]), slots[n])
    return slots, by_word, by_pad


def score(given: Block, by_word: Block, by_pad: Block, at: Places, use: Choices) -> Score:
    """Corrects the score of each response (n), and puts it on one slot."""
    L, penalty, switch = use.lead, use.used["reward.missing_eos_value"], use.switch
    ended = use.each("score.ended", "done_n", "1 if the response counts as ended", decimals=0)
    taken = use.each("score.subtracted", "s_sub", "score, less the penalty if not ended")
    replaced = use.each("score.replaced", "s_set", "score, replaced if not ended")
    corrected = use.each("score.corrected", "s_eos", "score after the end-word rule", source=sources.MISSING_EOS)
    held = use.each("score.clipped", "s_clip", "score after its clip", source=sources.SCORE_CLIP)
    place = use.row("score.place", "at_score", "1 where the score lands", source=sources.SCORE_SLOT, decimals=0)
    placed = use.row("score.placed", "score", "score, on its slot")
    ended[*L, n] = switch["reward.missing_eos_test"].choose(token=by_word[n], has_padding=by_pad[n])
    taken[*L, n] = given[n] - (1 - ended[*L, n]) * penalty
    replaced[*L, n] = ended[*L, n] * given[n] + (1 - ended[*L, n]) * penalty
    rules = {"off": given[n], "subtract": taken[*L, n], "set": replaced[*L, n]}
    corrected[*L, n] = switch["reward.missing_eos"].choose(**rules)
    held[*L, n] = clamped(corrected[*L, n], use.used["reward.score_clip"])
    slots = {"last": at.last, "end": at.end, "one_past": at.one_past, "two_past": at.two_past}
    place[*L, n, t] = switch["reward.score_slot"].choose(**{word: row[n, t] for word, row in slots.items()})
    placed[*L, n, t] = place[*L, n, t] * held[*L, n]
    return Score(ended, taken, replaced, corrected, held, place, placed)


def score_stays(kept: Block, made: Score) -> Block:
    """Measures for each response (n) how much of its score lands where nothing is kept."""
    off = block("check.score", (n,), "|Σs−s|", "the score lands where values are kept")
    off[n] = abs(Sum(t, kept[n, t] * made.placed[n, t]) - made.clipped[n])
    return off


def price(use: Choices, place: str) -> Arithmetic:
    """Returns the price of drifting in a place, the reward or the loss: 0 where the KL is paid in the other, or nowhere."""
    of, other = {"reward": ("kl_coef", "loss"), "loss": ("loss.kl_coef", "reward")}[place]
    kl_in = use.switch["reward.kl_in"]
    return (1 - kl_in.says(other) - kl_in.says("none")) * use.used[of]


def paid(M: Block, kl: Block, placed: Block, at: Places, use: Choices) -> Paid:
    """Adds the price of drifting from the reference to the score, where the conventions put it into the reward."""
    L, first_pad = use.lead, use.switch["reward.kl_at_first_pad"]
    support = use.row("kl.support", "m_KL", "1 where the KL is paid", decimals=0, source=sources.KL_SUPPORT)
    coef = use.one("kl_coef.reward", "β_r", "price of drifting within the reward")
    penalty = use.row("reward.penalty", "pen", "KL penalty −β_r·KL")
    raw = use.row("rewards.raw", "r_raw", "reward: penalty + score")
    at_row = (*L, n, t)
    support[at_row] = maximum(M[at_row], first_pad.says("on") * at.first_past[n, t])
    coef[L] = price(use, "reward")
    penalty[at_row] = -(coef[L] * support[at_row] * kl[at_row])
    raw[at_row] = penalty[at_row] + placed[at_row]
    return Paid(support, coef, penalty, raw)
