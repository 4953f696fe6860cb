"""From one score and a KL for each word to a reward for each word, as the conventions say."""

from typing import NamedTuple

from blueprint.language import Block, Operand, Sum, block, less, maximum
from blueprint.workbooks.common.definitions.choices import EVERYWHERE, Choices, Row, clamped, defined, priced
from blueprint.workbooks.common.definitions.places import Places
from blueprint.workbooks.common.definitions.whitening import Moments, Statistics, counting, statistics
from blueprint.workbooks.common.labels import source_of


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
    """Where the KL is paid and by which coefficient, where these are chosen; and its price, a row."""

    support: Block | None
    coef: Block | None
    penalty: Block


class Rewards(NamedTuple):
    """The reward in use; before it, where rewards may be whitened, the raw one, and what becomes of it: its statistics, the
    whitened reward, and the same with its mean put back; rows."""

    raw: Block | None
    white: tuple[Statistics, Block, Block] | None
    used: Block


def score_of(m: Block, head: Block, name: str = "reward.score") -> Block:
    """Takes the reward model's number where the last word was *read* to the column that *wrote* it.

    A response that was cut is scored at its last word, like one that ended.
    """
    n, t = m.axes
    score = block(name, (n, t), "score", "reward model's score, on the last token", source=source_of("SCORE"))
    return defined(score, m[n, t] * (1 - m[n, t + 1]) * head[n, t + 1])


def ends(S: Block, until: Block, end_words: Block) -> tuple[Block, Block, Block]:
    """Tells for each response (n) its slots, whether the end word was written, and whether a slot was left over.

    until: (n, t), 1 up to the last word. end_words: (n, t), 1 where the response ends in the end word.
    """
    n, t = S.axes
    slots = defined(block("response.slots", (n,), "T_n", "positions of the response", decimals=0), Sum(t, S[n, t]))
    by_word = block("response.ended", (n,), "ended_n", "1 if it ended in the end token", decimals=0)
    by_pad = block("response.padded", (n,), "padded_n", "1 if a position was left over", decimals=0)
    return (
        slots,
        defined(by_word, less(0, Sum(t, end_words[n, t]))),
        defined(by_pad, less(Sum(t, S[n, t] * until[n, t]), slots[n])),
    )


def score(given: Block, by_word: Block, by_pad: Block, at: Places, use: Choices) -> Score:
    """Corrects the score of each response (n), and puts it on one slot."""
    n, each, row, switch, penalty = use.n, (*use.lead, use.n), use.at, use.switch, use.used["reward.missing_eos_value"]
    slots = {"last": at.last, "end": at.end, "one_past": at.one_past, "two_past": at.two_past}
    ended = use.each("score.ended", switch["reward.missing_eos_test"].choose(token=by_word[n], has_padding=by_pad[n]))
    taken = use.each("score.subtracted", given[n] - (1 - ended[each]) * penalty)
    replaced = use.each("score.replaced", ended[each] * given[n] + (1 - ended[each]) * penalty)
    instead = switch["reward.missing_eos"].choose(off=given[n], subtract=taken[each], set=replaced[each])
    corrected = use.each("score.corrected", instead)
    held = use.each("score.clipped", clamped(corrected[each], use.used["reward.score_clip"]))
    landing = switch["reward.score_slot"].choose(**{word: slot[n, use.t] for word, slot in slots.items()})
    place = use.row("score.place", landing)
    return Score(ended, taken, replaced, corrected, held, place, use.row("score.placed", place[row] * held[each]))


def score_stays(kept: Block, made: Score, use: Choices) -> Block:
    """Measures for each response (n) how much of its score lands where nothing is kept."""
    n, t = kept.axes
    return use.each("check.score", abs(Sum(t, kept[n, t] * made.placed[n, t]) - made.clipped[n]))


def price(use: Choices, place: str) -> Operand:
    """Returns the coefficient of the KL in a place, the reward or the loss: 0 where it is paid in the other, or nowhere."""
    of, other = {"reward": ("kl_coef", "loss"), "loss": ("loss.kl_coef", "reward")}[place]
    kl_in = use.switch["reward.kl_in"]
    return (1 - kl_in.says(other) - kl_in.says("none")) * use.used[of]


def where_paid(M: Block, at: Places, use: Choices) -> Block:
    """Tells where the KL is paid: on the response, or in the slot behind it too."""
    first_pad = use.switch["reward.kl_at_first_pad"].says("on") * at.first_past[use.n, use.t]
    return use.row("kl.support", maximum(M[use.at], first_pad))


def penalised(kl: Block, use: Choices, paid_on: Row = EVERYWHERE) -> Paid:
    """Prices the KL, where it is paid within the reward. kl: a row. paid_on: where it is paid."""
    row, coef = use.at, use.step(not use.is_fixed("reward.kl_in"), "kl_coef.reward", price(use, "reward"), use.lead)
    penalty = use.row("reward.penalty", -priced(coef.cell, paid_on[row] * kl[row]))
    return Paid(paid_on if isinstance(paid_on, Block) else None, coef.row, penalty)


def rewards(
    paid: Paid, placed: Operand, use: Choices, kept: Row = EVERYWHERE, S: Row = EVERYWHERE, whole: Moments | None = None
) -> Rewards:
    """Adds the score to the price of the KL; and whitens what comes of it, where there is a choice.

    placed: the cell of the score on its slot. kept, S: where a reward is kept, and all slots. whole: the moments, where
    they are those of a larger batch.
    """
    row, whiten = use.at, use.switch["reward.whiten"]
    raw = use.step(not use.is_fixed("reward.whiten"), "rewards.raw", paid.penalty[row] + placed)
    white = _whitened(raw.row, kept, S, use, whole) if raw.row is not None else None
    used = use.row("rewards", whiten.choose(off=raw.cell, on=white[-1][row] if white else raw.cell))
    return Rewards(raw.row, white, used)


def _whitened(raw: Block, kept: Row, S: Row, use: Choices, whole: Moments | None) -> tuple[Statistics, Block, Block]:
    """Scales the rewards and puts their mean back; what lies behind the response is set to 0, or left as it comes out."""
    row, zeroed = use.at, use.switch["reward.whiten_rezero"].says("on")
    of = statistics("reward", raw, counting("reward", kept, S, use, whole), use, whole)
    mean = of.mean[use.lead]
    white = use.row("reward.whitened", (raw[row] - mean) / of.divisor)
    shown = S[use.n, use.t] * maximum(kept[row], 1 - zeroed)
    return of, white, use.row("reward.shifted", shown * (white[row] + mean))
