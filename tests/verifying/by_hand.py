"""Bugs that a tired engineer plants in a trainer of DPO or of a reward model, written before verify was asked about any of them.

    python -m tests.verifying.by_hand dpo rm

It prints what verify says of each; what counts as right is what `tests.verifying.mutants` counts. Unlike the mutants they are not
one changed sign or name: most are two changes that belong together, or a line that is missing.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.hooks import dpo_formulas as dpo
from tests.hooks import reward_formulas as rm
from tests.hooks.dpo_formulas import Array, Use, log_sigmoid, pair_loss, sums
from tests.hooks.test_planted import whole
from tests.hooks.trl_formulas import Tensors
from tests.verifying.mutants import judged, varied


class Bug(NamedTuple):
    """run: in tests/data/real, whose trainer it is. seen: whether it changes any number that is logged."""

    said: str
    run: str
    trainer: Any
    seen: bool = True


SIGMOID, IPO, NORM, ROBUST, SFT, SHARED, WEIGHTED = (
    f"trl_dpo/{name}" for name in ("sigmoid", "ipo", "norm", "robust", "sft", "shared", "weighted")
)
PLAIN, MARGIN = "trl_reward/plain", "trl_reward/margin"


def rejected_turned(policy: Array, reference: Array) -> Array:
    half = len(policy) // 2
    return np.concatenate([policy[:half] - reference[:half], reference[half:] - policy[half:]])


def beta_on_policy(a: Array, c: Array, lengths: Array, use: Use) -> Array:
    """β twice: the log-ratios were rewards already."""
    return pair_loss(use["beta"] * a, use["beta"] * c, lengths, use)


def one_side(a: Array, c: Array, lengths: Array, use: Use) -> Array:
    return pair_loss(a, c, np.stack([lengths[0], np.ones_like(lengths[1])]), use)


def longer(a: Array, c: Array, lengths: Array, use: Use) -> Array:
    return pair_loss(a, c, np.stack([np.maximum(*lengths)] * 2), use)


def smoothing_turned(a: Array, c: Array, lengths: Array, use: Use) -> Array:
    right, wrong, eps = log_sigmoid(use["beta"] * (a - c)), log_sigmoid(use["beta"] * (c - a)), use["label_smoothing"]
    return np.asarray((-(1 - eps) * right - eps * wrong) / (1 - 2 * eps))


def ipo_of_scaled(a: Array, c: Array, lengths: Array, use: Use) -> Array:
    a, c, beta = a / lengths[0], c / lengths[1], use["beta"]
    return np.asarray((beta * (a - c) - 1 / (2 * beta)) ** 2)


def ipo_of_half(a: Array, c: Array, lengths: Array, use: Use) -> Array:
    a, c = a / lengths[0], c / lengths[1]
    return np.asarray((a - c - use["beta"] / 2) ** 2)


def prompt_in_one(t: Tensors) -> Tensors:
    """The policy's sum of the chosen response begins at the prompt."""
    half, mask, logps = len(t["per_token_logps"]) // 2, t["completion_mask"][:, 1:], t["per_token_logps"].copy()
    first, columns = mask[:half].argmax(1), np.arange(mask.shape[1])
    prompt = (logps[:half] * (columns < first[:, None]) * t["attention_mask"][:half, 1:]).sum(1)
    logps[np.arange(half), first] += prompt
    return {**t, "per_token_logps": logps}


def last_of_chosen(t: Tensors) -> Tensors:
    """The end token is masked, of chosen responses alone."""
    half, mask = len(t["completion_mask"]) // 2, t["completion_mask"].copy()
    mask[np.arange(half), mask.shape[1] - 1 - mask[:half, ::-1].argmax(1)] = 0
    return {**t, "completion_mask": mask}


def not_shifted(t: Tensors) -> Tensors:
    """The labels' mask is not moved by the one column that log-probs are."""
    return {**t, "completion_mask": np.roll(t["completion_mask"], 1, axis=1)}


def stale_reference(t: Tensors) -> Tensors:
    """The reference's log-probs were computed before the pairs were shuffled."""
    half = len(t["ref_per_token_logps"]) // 2
    halves = t["ref_per_token_logps"][:half], t["ref_per_token_logps"][half:]
    return {**t, "ref_per_token_logps": np.concatenate([np.roll(each, 1, axis=0) for each in halves])}


def pads_of_reference(t: Tensors) -> Tensors:
    """The reference's log-probs are added up over everything behind the prompt."""
    mask, logps = t["completion_mask"][:, 1:], t["ref_per_token_logps"].copy()
    behind = (mask.cumsum(1) > 0) * (1 - mask)
    logps[np.arange(len(mask)), mask.argmax(1)] += (logps * behind).sum(1)
    return {**t, "ref_per_token_logps": logps}


def shorter_counts_less(logps: Array, mask: Array, use: Use) -> Array:
    """LD-DPO the wrong way round: the shared part counts less, what is beyond counts whole."""
    place, shorter = mask.cumsum(1), np.tile(mask.sum(1).reshape(2, -1).min(0), 2)[:, None]
    return np.asarray((logps * mask * np.where(place <= shorter, use["ld_alpha"], 1)).sum(1))


def likelihood_of_rejected(logps: Array, mask: Array, use: Use) -> float:
    half = len(mask) // 2
    return float(-(logps * mask)[half:].sum() / mask[half:].sum())


def likelihood_with_beta(logps: Array, mask: Array, use: Use) -> float:
    return float(use["beta"] * dpo.likelihood(logps, mask, use))


def whole_numbers(logps: Array, mask: Array, use: Use) -> Array:
    """Sums are kept in bfloat16, eight bits."""
    made = sums(logps, mask, use)
    scale = 2.0 ** (np.floor(np.log2(np.abs(made))) - 7)
    return np.asarray(np.round(made / scale) * scale)


def half_less(each: Array) -> float:
    """The first pair is skipped: a loop that begins at 1."""
    return float(each[1:].mean())


OF_DPO = (
    Bug("policy and reference are swapped, of rejected responses alone", SIGMOID, dpo.otherwise(apart=rejected_turned)),
    Bug("the reference is added, of rejected responses alone", SIGMOID, dpo.otherwise(apart=lambda p, r: np.concatenate(
        [(p - r)[: len(p) // 2], (p + r)[len(p) // 2 :]]))),
    Bug("β is multiplied in twice, once with the rewards", SIGMOID, dpo.otherwise(pair_loss=beta_on_policy)),
    Bug("only chosen responses are divided by their length", NORM, dpo.otherwise(pair_loss=one_side)),
    Bug("both are divided by the longer length", NORM, dpo.otherwise(pair_loss=longer)),
    Bug("only chosen responses are divided by their length, in IPO", IPO, dpo.otherwise(pair_loss=one_side)),
    Bug("label smoothing has cDPO's sign in robust DPO", ROBUST, dpo.otherwise(pair_loss=smoothing_turned)),
    Bug("IPO squares β·h less its target", IPO, dpo.otherwise(pair_loss=ipo_of_scaled)),
    Bug("IPO's target is β/2, not 1/(2β)", IPO, dpo.otherwise(pair_loss=ipo_of_half)),
    Bug("the prompt is counted in one of the four sums", SIGMOID, dpo.otherwise(given=prompt_in_one)),
    Bug("the last token of chosen responses is dropped", SIGMOID, dpo.otherwise(given=last_of_chosen)),
    Bug("the mask is not shifted with the labels", SIGMOID, dpo.otherwise(given=not_shifted)),
    Bug("the reference's log-probs are those of the pair before", SIGMOID, dpo.otherwise(given=stale_reference)),
    Bug("pads count in the reference's sums", SIGMOID, dpo.otherwise(given=pads_of_reference)),
    Bug("a success is a reward that is larger by 0.1", SIGMOID, dpo.otherwise(ahead=lambda a, b: np.asarray(a > b + 0.1, float))),
    Bug("logged rewards have another β than the loss", SIGMOID, dpo.otherwise(rewards=lambda apart, use: 2 * use["beta"] * apart)),
    Bug("LD-DPO discounts the shared part", SHARED, dpo.otherwise(sums=shorter_counts_less)),
    Bug("the NLL is of rejected responses", SFT, dpo.otherwise(likelihood=likelihood_of_rejected)),
    Bug("the NLL is multiplied with β", SFT, dpo.otherwise(likelihood=likelihood_with_beta)),
    Bug("the NLL's weight is added to 1", SFT, dpo.otherwise(settled=lambda use: {**use, "loss_weights": [1.0, 1.2]})),
    Bug("sums are kept in bfloat16", SIGMOID, dpo.otherwise(sums=whole_numbers)),
    Bug("the first pair is skipped in the loss", SIGMOID, dpo.otherwise(averaged=half_less)),
    Bug("the loss is a mean over responses", SIGMOID, dpo.otherwise(averaged=lambda each: float(each.mean() / 2))),
    Bug("nothing is detached: no value is another", SIGMOID, dpo.TRL, seen=False),
)  # fmt: skip


def after(apart: Array, margin: Array) -> Array:
    return np.asarray(-log_sigmoid(apart) + margin)


def next_margin(apart: Array, margin: Array) -> Array:
    return rm.pair_loss(apart, np.roll(margin, -1))


def early_rejected(t: Tensors, use: Use) -> Array:
    last = rm.last_tokens(t, use)
    return np.concatenate([last[: len(last) // 2], last[len(last) // 2 :] - 1])


def squashed(apart: Array, margin: Array) -> Array:
    return np.asarray(-log_sigmoid(dpo.sigmoid(apart - margin)))


def of_margin(change: Callable[[Array, Array], Array]) -> Any:
    return rm.otherwise(margin=lambda a, b, m: change(a, b))


OF_REWARDS = (
    Bug("the margin is added behind log σ", MARGIN, rm.otherwise(pair_loss=after)),
    Bug("the margin is that of the next pair", MARGIN, rm.otherwise(pair_loss=next_margin)),
    Bug("the margin is subtracted twice", MARGIN, rm.otherwise(pair_loss=lambda x, m: rm.pair_loss(x - m, m))),
    Bug("the margin multiplies the difference", MARGIN, rm.otherwise(pair_loss=lambda x, m: -log_sigmoid(x * m))),
    Bug("σ is applied before log σ", PLAIN, rm.otherwise(pair_loss=squashed)),
    Bug("the logarithm is to base 2", PLAIN, rm.otherwise(pair_loss=lambda x, m: rm.pair_loss(x, m) / np.log(2))),
    Bug("centring is of squares, not of the square of the sum", MARGIN, rm.otherwise(centred=lambda a, b: a**2 + b**2)),
    Bug("centring is of chosen responses alone", MARGIN, rm.otherwise(centred=lambda a, b: a**2)),
    Bug("centring is the square of the mean", MARGIN, rm.otherwise(centred=lambda a, b: np.asarray((a + b).mean() ** 2))),
    Bug("centring is of |sum|", MARGIN, rm.otherwise(centred=lambda a, b: np.abs(a + b))),
    Bug("rejected responses are read one token early", PLAIN, rm.otherwise(read=early_rejected)),
    Bug("the loss is a mean over responses", PLAIN, rm.otherwise(averaged=lambda each: float(each.mean() / 2))),
    Bug("the difference is held between −1 and 1", PLAIN, rm.otherwise(pair_loss=lambda x, m: rm.pair_loss(x.clip(-1, 1), m))),
    Bug("the logged margin is of sizes", PLAIN, of_margin(lambda a, b: np.abs(a - b))),
    Bug("the logged margin is of chosen scores less rejected ones' sizes", PLAIN, of_margin(lambda a, b: a - np.abs(b))),
    Bug("the loss is that of the pair that does worst", PLAIN, rm.otherwise(averaged=lambda each: float(each.max()))),
    Bug("a success is a difference above a half", PLAIN, rm.otherwise(ahead=lambda a, b: np.asarray(a - b > 0.5, float))),
)  # fmt: skip


KINDS = {"dpo": OF_DPO, "rm": OF_REWARDS}


def main(kinds: Sequence[str]) -> None:
    """Prints what is said of each bug, and how many of each there are."""
    for kind in kinds:
        found = Counter[str]()
        for number, bug in enumerate(KINDS[kind]):
            result = judged(varied(whole(bug.run), number), bug.trainer, number)
            found[result.word] += 1
            print(f"{result.word}: {bug.said}: {result.cause}", flush=True)
        print(kind, dict(found), f"of {found.total()} bugs", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or [*KINDS])
