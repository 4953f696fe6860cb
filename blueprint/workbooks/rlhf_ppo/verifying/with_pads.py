"""PPO as libraries spell it that carry the pads along: what the definitions leave out of every row is computed there, too, and left
out of means alone.

Log-probs are 1 at pads, of all models, so that a KL and a log-ratio are 0 there; values are 0 behind the position in which the
score lands; rewards, advantages and returns have numbers in every slot, and a mask stands twice in each mean, above and below. To
the quantities this makes no difference, but to a mistake: a mask that is another one in one place lets pads count.

Read in trl 1.12.0, experimental/ppo/ppo_trainer.py (`padding_mask_p1`, `INVALID_LOGPROB`, `masked_whiten`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from blueprint.dumps import Array, Minibatch
from blueprint.language import (
    Arithmetic,
    Axis,
    Block,
    Constant,
    Count,
    Op,
    Sum,
    at_most,
    block,
    equal,
    exp,
    less,
    maximum,
    minimum,
    size,
    sqrt,
    where,
)
from blueprint.verifying import Definitions, Settings
from blueprint.workbooks.common import Choices, Rows, defined, n, t
from blueprint.workbooks.common.conventions import LIVE
from blueprint.workbooks.rlhf_ppo.verifying.feeding import INPUTS, LABELS, PLACES, Decided, Fed

INVALID_LOGPROB = 1
TYPED: Mapping[str, tuple[Axis, ...]] = {**dict.fromkeys((*INPUTS, "mask"), (n, t)), "scores": (n,)}
MASKS = (
    *("pads.mask", "pads.mask_p1", "loss.pads.mask", "loss.pads.mask_p1"),
    *(
        f"{of}.{part}.mask"
        for of in ("advantage", "reward")
        for part in ("mean", "variance", "variance.mean", "variance.biased")
    ),
    "value.mean.mask",
    *("clip_fraction.value.mask", "clip_fraction.used.mask", "policy_loss.mask"),
)
"""What counts in a response, and in the position behind it; in the losses once more; and in each mean."""


def _row(name: str, meaning: str, value: Arithmetic) -> Block:
    return defined(block(name, (n, t), meaning=meaning), value)


def _number(name: str, meaning: str, value: Arithmetic) -> Block:
    return defined(block(name, (), meaning=meaning), value)


class Masks(NamedTuple):
    """Where a response stands [n, t], and one position more; last: the position of its last token [n]; at: of each column [t]."""

    mask: Block
    mask_p1: Block
    last: Block
    at: Block
    rows: tuple[Block, ...]


def _masks(given: Rows, of: str = "pads") -> Masks:
    """Returns the masks; of: pads, or those of the losses, which stand before their names."""
    at = defined(block(f"{of}.column", (t,), meaning="column, from 0"), Op("sub", (Count("number", t), Constant(1))))
    last = defined(block(f"{of}.last", (n,), meaning="column of the last token"), Sum(t, given["mask"][n, t]) - 1)
    behind = defined(block(f"{of}.last_p1", (n,), meaning="column behind the last token"), last[n] + 1)
    mask = _row(f"{of}.mask", "where the response stands", at_most(at[t], last[n]))
    more = _row(f"{of}.mask_p1", "where the response stands, and one position more", at_most(at[t], behind[n]))
    return Masks(mask, more, last, at, (at, last, behind, mask, more))


def _masked(name: str, of: Block, mask: Block) -> Block:
    """Returns log-probs, with a number of no log-prob at pads."""
    return _row(name, "log-probs, 1 at pads", where(less(0, mask[n, t]), of[n, t], INVALID_LOGPROB))


def _mean(name: str, of: Block, mask: Block) -> list[Block]:
    """Returns what counts in a mean, in which it stands twice, and the mean."""
    own = _row(f"{name}.mask", "what counts in the mean", mask[n, t])
    total = Sum((n, t), of[n, t] * own[n, t])
    return [own, _number(name, f"mean of {of.name}", total / Sum((n, t), own[n, t]))]


def _whitened(name: str, of: Block, mask: Block, use: Choices, shift: bool) -> list[Block]:
    """Returns the rows and numbers of a whitening, the whitened row last; shift: whether to a mean of 0."""
    counted, mean = _mean(f"{name}.mean", of, mask)
    own = _row(f"{name}.variance.mask", "what counts in the variance", mask[n, t])
    inner = _mean(f"{name}.variance.mean", of, own)
    centred = _row(f"{name}.variance.centred", "what is squared for the variance", of[n, t] - inner[-1])
    square = _row(f"{name}.variance.square", "square", centred[n, t] * centred[n, t])
    biased, count = _mean(f"{name}.variance.biased", square, own), Sum((n, t), own[n, t])
    bessel = _number(f"{name}.bessel", "N/(N − 1)", count / (Sum((n, t), own[n, t]) - 1))
    variance = _number(f"{name}.variance", "variance", biased[-1] * bessel)
    found = _row(f"{name}.whitened", "whitened", (of[n, t] - mean) / sqrt(variance + use.used["whiten_eps"]))
    back = [] if shift else [_row(f"{name}.shifted", "whitened, with its mean put back", found[n, t] + mean)]
    return [counted, mean, own, *inner, centred, square, *biased, bessel, variance, found, *back]


def _rewards(given: Rows, of: Masks, use: Choices) -> list[Block]:
    """Returns the rows up to the rewards, these last."""
    old, ref = (_masked(f"{name}.logprobs.masked", given[f"{name}.logprobs"], of.mask) for name in ("old", "reference"))
    apart = _row("kl.logr", "log-ratio of the reference to the policy", ref[n, t] - old[n, t])
    estimator = use.switch["kl_estimator"].choose(k1=-apart[n, t], k3=(exp(apart[n, t]) - 1) - apart[n, t])
    kl = _row("kl.chosen", "KL estimate", estimator)
    penalty = _row("reward.penalty", "KL penalty", -use.used["kl_coef"] * kl[n, t])
    behind = of.last[n] + 1
    place = defined(
        block("score.column", (n,), meaning="column of the score"), where(less(behind, size(t)), behind, of.last[n])
    )
    placed = _row("score.placed", "score, where it lands", given["scores"][n] * equal(of.at[t], place[n]))
    raw = _row("rewards.raw", "reward before whitening", penalty[n, t] + placed[n, t])
    white = _whitened("reward", raw, of.mask_p1, use, shift=False)
    chosen = use.switch["reward.whiten"].choose(on=white[-1][n, t] * of.mask_p1[n, t], off=raw[n, t])
    rewards = _row("rewards", "reward", chosen)
    return [old, ref, apart, kl, penalty, place, placed, raw, *white, rewards]


def _advantages(rewards: Block, values: Block, of: Masks, use: Choices) -> list[Block]:
    """Returns the rows from rewards to advantages and returns."""
    ahead, gamma = values[n, t + 1], use.used["gamma"]
    delta = _row("td_errors", "TD error: better than the critic expected", rewards[n, t] + gamma * ahead - values[n, t])
    gae = block("advantages", (n, t), meaning="advantage")
    gae[n, t.last + 1] = 0
    gae[n, t] = delta[n, t] + gamma * use.used["gae_lambda"] * gae[n, t + 1]
    returns = _row("returns", "return", gae[n, t] + values[n, t])
    white = _whitened("advantage", gae, of.mask, use, shift=True)
    chosen = use.switch["whiten_advantages"].choose(on=white[-1][n, t] * of.mask[n, t], off=gae[n, t])
    used = _row("advantages_used", "advantage in use", chosen)
    return [delta, gae, returns, *white, used]


def _value_loss(given: Rows, returns: Block, of: Masks, use: Choices) -> list[Block]:
    """Returns the rows of the value loss, itself last."""
    values = _row("old_critic.values.masked", "old values", given["old_critic.values"][n, t] * of.mask_p1[n, t])
    reach, row = use.used["value_clip_range"], values[n, t]
    new = _row("critic.values.masked", "new values", given["critic.values"][n, t] * of.mask_p1[n, t])
    near = _row("value.clipped", "V clipped to V_kept ± ε_V", minimum(maximum(new[n, t], row - reach), row + reach))
    errors = [
        _row("value.error", "value error V − R", new[n, t] - returns[n, t]),
        _row("value.error_clipped", "value error of the clipped value", near[n, t] - returns[n, t]),
    ]
    free = _row("value.square", "squared error", errors[0][n, t] * errors[0][n, t])
    held = _row("value.square_clipped", "squared error, clipped", errors[1][n, t] * errors[1][n, t])
    larger = _row("value.larger", "the larger of both", maximum(free[n, t], held[n, t]))
    mean = _mean("value.mean", larger, of.mask_p1)
    loss = _number("value_loss", "value loss", use.used["value.factor"] * mean[-1])
    flag = _row("value.flag", "1 where the clip holds", less(free[n, t], held[n, t]))
    clipped = _mean("clip_fraction.value", flag, of.mask_p1)
    return [values, new, near, *errors, free, held, larger, *mean, flag, *clipped, loss]


def _policy_loss(given: Rows, used: Block, of: Masks, use: Choices) -> list[Block]:
    """Returns the rows of the policy loss, itself last."""
    new, old = (_masked(f"{name}.logprobs.ratio", given[f"{name}.logprobs"], of.mask) for name in ("policy", "old"))
    apart = _row("log_ratio", "log-ratio", new[n, t] - old[n, t])
    ratio = _row("ratio", "ratio", exp(apart[n, t]))
    low, high = 1 - use.used["clip_range"], 1 + use.used["loss.clip_range_high"]
    near = _row("ratio.clipped", "ratio, clipped", minimum(maximum(ratio[n, t], low), high))
    free = _row("surrogate.unclipped", "loss: −advantage · ratio", -used[n, t] * ratio[n, t])
    held = _row("surrogate.clipped", "loss: −advantage · clipped ratio", -used[n, t] * near[n, t])
    larger = _row("surrogate", "the larger of both losses", maximum(free[n, t], held[n, t]))
    flag = _row("clip_fraction.flag", "1 where the clip holds", less(free[n, t], held[n, t]))
    square = _row("log_ratio.square", "square of the log-ratio", apart[n, t] * apart[n, t])
    half = Op("div", (Constant(1), Constant(2)))
    whole = [
        _number("ratio.mean", "mean ratio, pads among it", Sum((n, t), ratio[n, t]) / (size(n) * size(t))),
        _number("approx_kl.used", "approximate KL, pads among it", half * (Sum((n, t), square[n, t]) / (size(n) * size(t)))),
        *_mean("clip_fraction.used", flag, of.mask),
    ]  # fmt: skip
    return [
        new,
        old,
        apart,
        ratio,
        near,
        free,
        held,
        larger,
        flag,
        square,
        *whole,
        *_mean("policy_loss", larger, of.mask),
    ]


def derived(given: Rows, use: Choices) -> Rows:
    """Makes every row of PPO of a file, pads and all, under settings that are known."""
    words = {
        key: Decided(LIVE[key].words, Constant(0), str(getattr(each, "word", ""))) for key, each in use.switch.items()
    }
    use = Choices(use.used, words, labels=use.labels)
    of = _masks(given)
    values = block("values.kept", (n, t), meaning="old values, 0 at pads")
    values[n, t.last + 1] = 0
    values[n, t] = given["old_critic.values"][n, t] * of.mask_p1[n, t]
    rewards = _rewards(given, of, use)
    signal = {each.name: each for each in (*of.rows, values, *rewards, *_advantages(rewards[-1], values, of, use))}
    there = _masks(given, "loss.pads")
    losses = [
        *there.rows,
        *_value_loss(given, signal["returns"], there, use),
        *_policy_loss(given, signal["advantages_used"], there, use),
    ]
    rows = {**signal, **{each.name: each for each in losses}}
    adds = _number("adds.value_loss", "value loss, times its coefficient", use.used["vf_coef"] * rows["value_loss"])
    total = _number("total_loss", "total loss", rows["policy_loss"] + adds)
    return {**rows, adds.name: adds, total.name: total}


EQUATIONS = Definitions(LIVE, LABELS, TYPED, derived, masks=MASKS)


def laid_out(batch: Minibatch, made: Fed, order: Array | None = None) -> Fed:
    """Returns a file in the blocks of these equations, pads and all; made: the file in those of the definitions, with what stands
    in the place of rows. Where the file has no number, what the definitions have stands there. order: in
    which the rows stand then, as where a library rolls them.
    """
    there = EQUATIONS.under(made.settings).rows
    typed = {name: np.asarray(made.known[name]) for name in ("mask", *INPUTS)}
    typed |= {name: _finite(batch.tensors[of], typed[name]) for name, of in INPUTS.items() if of in batch.tensors}
    numbers = {
        name: each
        for name, each in made.known.items()
        if isinstance(each, np.ndarray) and name in there and not each.ndim
    }
    plain = made.values([name for name in made.own if name in there])
    tensors = {row: batch.tensors[of] for of, row in PLACES.values() if of in batch.tensors}
    own = {name: _finite(tensors.get(name, row), row) for name, row in plain.items()}
    known = {**typed, **numbers, "scores": np.asarray(made.known["score.given"])}
    if order is not None:
        known, own = ({name: row[order] if np.ndim(row) else row for name, row in of.items()} for of in (known, own))
    return Fed(made.settings, made.sizes, known, (), made.device, EQUATIONS).with_rows(own, tuple(own))


def _finite(theirs: Array, ours: Array) -> Array:
    theirs = np.asarray(theirs, np.float64)
    return np.where(np.isfinite(theirs), theirs, ours)


def spelled(settings: Settings, wanted: Collection[str]) -> list[str]:
    """Returns which of some rows these equations have."""
    there = EQUATIONS.under(settings).rows
    return [name for name in wanted if name in there]
