"""The loss straight from numbers of words, for batches as large as a training step's: log-probs, values, scores, mask.

Two passes, because whitening needs the mean and variance of the whole batch: the first makes rewards and advantages, the
second the loss. Each walks over tiles of rows that stay in the cache, with buffers that are used again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import torch
from torch import Tensor

from blueprint.witness.device import ieee_products
from blueprint.witness.errors import WitnessError
from blueprint.witness.gae import Tiles, check_rows, row_slices, tile_rows

ESTIMATORS = ("k1", "k2", "k3")


@dataclass(frozen=True)
class Tokens:
    """One tensor [B, T] for each quantity of a word: log-probs in nats, values, the score, and a mask of 0 and 1.

    `entropy` and `policy_kl` need the whole distribution and may be left out; their parts of the loss are then 0. What
    stands outside the mask must be finite.
    """

    old_logprobs: Tensor
    reference_logprobs: Tensor
    logprobs: Tensor
    old_values: Tensor
    values: Tensor
    scores: Tensor
    mask: Tensor
    entropy: Tensor | None = None
    policy_kl: Tensor | None = None

    def __post_init__(self) -> None:
        """Raises WitnessError unless all tensors have one shape."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        check_rows("carry", **{name: tensor for name, tensor in given.items() if tensor is not None})

    def rows(self, rows: slice) -> Tokens:
        """Returns some of the episodes, without copying."""
        if (rows.start, rows.stop) == (0, len(self.mask)):
            return self
        every: list[Any] = [getattr(self, field.name) for field in fields(self)]
        cut: list[Any] = [None if tensor is None else tensor[rows] for tensor in every]
        return Tokens(*cut)


@dataclass(frozen=True)
class TokenSettings:
    """The settings of the loss, by the workbook's names and presets; `gae_holes` as in `gae`."""

    gamma: float = 0.9
    gae_lambda: float = 0.8
    kl_coef: float = 0.1
    clip_range: float = 0.2
    value_clip_range: float = 0.2
    vf_coef: float = 0.5
    ent_coef: float = 0.01
    policy_kl_coef: float = 0.0
    whiten_eps: float = 1e-8
    kl_estimator: str = "k1"
    whiten_advantages: bool = True
    gae_holes: str = "carry"


class TokenLoss(NamedTuple):
    """The loss and its parts by the names of their blocks, and the advantages (not whitened) of every chunk, [B, T]."""

    numbers: dict[str, float]
    advantages: list[Tensor]


def token_loss(chunks: Tokens | Sequence[Tokens], settings: TokenSettings) -> TokenLoss:
    """Returns the loss of a batch; a sequence of chunks counts as one batch, with one mean and one variance.

    The chunks may be read from disk one by one by the sequence: each is asked for twice. Raises WitnessError for an unknown
    estimator or word for holes.
    """
    if settings.kl_estimator not in ESTIMATORS:
        raise WitnessError(f"kl_estimator is {settings.kl_estimator!r}: write one of {', '.join(ESTIMATORS)}")
    together = [chunks] if isinstance(chunks, Tokens) else chunks
    moments, advantages, sums = Moments(), [], torch.zeros(len(SUMS), dtype=torch.float64)
    with torch.no_grad(), ieee_products():
        for number in range(len(together)):
            advantages.append(_advantages(together[number], settings, moments))
        for number in range(len(together)):
            sums += _loss_sums(together[number], advantages[number], settings, moments)
    return TokenLoss(_numbers(dict(zip(SUMS, sums.tolist(), strict=True)), settings, moments), advantages)


class Moments:
    """Count, mean and sum of squares about the mean, joined tile by tile without cancellation.

    Chan, Golub and LeVeque, Updating Formulae and a Pairwise Algorithm for Computing Sample Variances, 1979, eq. 2.1.
    """

    def __init__(self) -> None:
        """Starts with no words."""
        self.count, self.mean, self.squares = 0.0, 0.0, 0.0

    def join(self, count: float, mean: float, squares: float) -> None:
        """Takes in another set of words."""
        if count == 0:
            return
        apart, all_words = mean - self.mean, self.count + count
        self.squares += squares + apart**2 * self.count * count / all_words
        self.mean += apart * count / all_words
        self.count = all_words

    @property
    def variance(self) -> float:
        """The variance with N − 1, 0 for a single word."""
        return self.squares / max(self.count - 1, 1.0)


def _advantages(tokens: Tokens, settings: TokenSettings, moments: Moments) -> Tensor:
    """Returns the advantages [B, T] of a chunk, 0 outside the mask, and lets the moments take them in."""
    found = torch.empty_like(tokens.scores)
    tiles = Tiles(found, settings.gamma, settings.gae_lambda, settings.gae_holes)
    rewards, spare = found.new_empty(tiles.rows, tiles.steps), found.new_empty(tiles.rows, tiles.steps)
    for rows in row_slices(len(found), tiles.rows):
        here, size = tokens.rows(rows), len(found[rows])
        mask, out = tiles.mask(here.mask), found[rows]
        _rewards(here, settings, rewards[:size])
        tiles.advantages(rewards[:size], here.old_values, mask, out, spare[:size])
        count = float(mask.sum())
        mean = float(out.sum()) / max(count, 1.0)
        centred = torch.add(out, mask, alpha=-mean, out=spare[:size]).flatten()
        moments.join(count, mean, float(torch.dot(centred, centred)))
    return found


def _rewards(tokens: Tokens, settings: TokenSettings, out: Tensor) -> None:
    """Writes score − kl_coef·kl of a tile [R, T] to `out`."""
    torch.sub(tokens.old_logprobs, tokens.reference_logprobs, out=out)
    if settings.kl_estimator == "k2":
        out.square_().mul_(0.5)
    elif settings.kl_estimator == "k3":
        out.add_(torch.expm1(-out))
    torch.add(tokens.scores, out, alpha=-settings.kl_coef, out=out)


SUMS = (
    "policy_loss",
    "value_loss",
    "entropy",
    "policy_kl",
    "clip_fraction.loss",
    "clip_fraction.ratio",
    "approx_kl.k1",
    "approx_kl.k3",
)


def _loss_sums(tokens: Tokens, advantages: Tensor, settings: TokenSettings, moments: Moments) -> Tensor:
    """Returns what the means of the loss are made of, summed over the response words of a chunk, in the order of SUMS."""
    height, total = tile_rows(advantages), torch.zeros(len(SUMS), dtype=torch.float64)
    numbers, *buffers = (advantages.new_empty(height, advantages.shape[1]) for _ in range(5))
    for rows in row_slices(len(advantages), height):
        here, out = tokens.rows(rows), advantages[rows]
        cut, mask = [buffer[: len(out)] for buffer in buffers], here.mask
        if mask.dtype != out.dtype:
            mask = numbers[: len(out)].copy_(mask)
        value = _value_sum(here, out, mask, settings, cut)
        policy, changed, outside, k1, k3 = _policy_sums(here, out, mask, settings, moments, cut)
        others = [0.0 if each is None else (each * mask).sum() for each in (here.entropy, here.policy_kl)]
        total += _on_this_side([policy, value, *others, changed, outside, k1, k3])
    return total


def _policy_sums(
    tokens: Tokens, advantages: Tensor, mask: Tensor, settings: TokenSettings, moments: Moments, buffers: list[Tensor]
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Returns the sums of −min(ρ·Â, clip(ρ)·Â), of both flags of the clip, and of both estimates of the policy KL."""
    log_ratio, ratio, used, clipped = buffers
    torch.sub(tokens.logprobs, tokens.old_logprobs, out=log_ratio).mul_(mask)
    torch.exp(log_ratio, out=ratio)
    if settings.whiten_advantages:
        scale = (moments.variance + settings.whiten_eps) ** -0.5
        torch.add(advantages, mask, alpha=-moments.mean, out=used).mul_(scale)
    else:
        used.copy_(advantages)
    torch.clamp(ratio, 1 - settings.clip_range, 1 + settings.clip_range, out=clipped)
    outside = torch.count_nonzero(clipped.ne(ratio))
    clipped.mul_(used)
    k1 = -log_ratio.sum()
    k3 = torch.sub(ratio, 1, out=log_ratio).sum() + k1
    unclipped = ratio.mul_(used)
    changed = torch.count_nonzero(clipped.lt(unclipped))
    surrogate = torch.minimum(unclipped, clipped, out=clipped).sum()
    return -surrogate, changed, outside, k1, k3


def _on_this_side(sums: Sequence[Tensor | float]) -> Tensor:
    """Returns numbers of the device as float64 on the processor."""
    return torch.tensor([float(each) for each in sums], dtype=torch.float64)


def _value_sum(
    tokens: Tokens, advantages: Tensor, mask: Tensor, settings: TokenSettings, buffers: list[Tensor]
) -> Tensor:
    """Returns the sum of ½·max((V − R)², (V_c − R)²); both errors are measured from V_old, where V − R = (V − V_old) − A."""
    moved, error, clipped, _ = buffers
    torch.sub(tokens.values, tokens.old_values, out=moved).mul_(mask)
    torch.sub(moved, advantages, out=error).square_()
    limit = settings.value_clip_range
    torch.clamp(moved, -limit, limit, out=clipped).sub_(advantages).square_()
    return torch.maximum(error, clipped, out=error).sum() / 2


def _numbers(sums: dict[str, float], settings: TokenSettings, moments: Moments) -> dict[str, float]:
    """Returns the means over the response words, the total, and what the whitening used."""
    words = max(moments.count, 1.0)
    found = {name: each / words for name, each in sums.items()}
    adds = {
        "adds.value_loss": settings.vf_coef * found["value_loss"],
        "adds.entropy": -settings.ent_coef * found["entropy"],
        "adds.policy_kl": settings.policy_kl_coef * found["policy_kl"],
    }
    total = found["policy_loss"] + sum(adds.values())
    whitening = {"advantage.mean": moments.mean, "advantage.variance": moments.variance, "response.words": words}
    return found | adds | {"total_loss": total} | whitening
