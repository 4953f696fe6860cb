"""Advantages of a whole step, computed again over its groups; and how far rounding of the rewards may move them."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from blueprint.dumps import Array
from blueprint.verifying import coarsest, held_in
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.feeding import Fed, fed, rounding_of
from blueprint.workbooks.grpo.verifying.formulas import Asked, Signal, signal
from blueprint.workbooks.grpo.verifying.replayed import Ways

UNIT = {"float64": 2.0**-50, "float32": 2.0**-21, "float16": 2.0**-9, "bfloat16": 2.0**-6}
"""By dtype, by how much of the largest reward the mean of a group may be off: eight units in the last place."""
NO_SPREAD = 1e-8
"""Below it a spread is none, as torch.isclose has it."""
FROM_MOMENTS = ("moments", "others")
"""Spreads that are taken as a difference of squares: where all are alike, float32 leaves the root of its rounding."""


class Credited(NamedTuple):
    """Advantages [B, T], those before a whitening, room for rounding [B, 1] and which responses are left [B],
    in the order of the dump; and numbers."""

    advantages: Array
    raw: Array
    room: Array
    left: Array
    numbers: dict[str, float]


def credited(step: GroupedStep, use: Asked, ways: Ways, device: str, sized: bool) -> Credited:
    """Computes the advantages of every token; those of several sizes are computed each by itself.

    sized: with room for rounding.
    """
    scored = _scored(step)
    if not scored.all():
        return _apart(credited(step.some(scored), use, ways, device, sized), scored)
    of = fed(step, ways, device)
    made = [signal(of.of, use)] if of.even else [signal(each, use) for each in of.by_group()]
    advantages = torch.cat([each.advantages for each in made])
    raw = torch.cat([each.of_response.flatten() for each in made])
    room = _room(step, of, made, use) if sized else torch.zeros_like(raw)
    back = of.back
    return Credited(
        advantages[back].cpu().numpy(),
        (raw[:, None] * of.of.mask)[back].cpu().numpy(),
        room[back].cpu().numpy()[:, None],
        torch.cat([each.left.flatten() for each in made])[back].cpu().numpy(),
        _numbers(step, of, use),
    )


def _scored(step: GroupedStep) -> Array:
    """Returns which responses have a score at all, [B]; those of which nobody judged enter no mean and no spread."""
    scores = np.asarray(step.tensors["scores"])
    return np.isfinite(scores) if scores.ndim == 1 else np.ones(len(scores), np.bool_)


def _apart(made: Credited, scored: Array) -> Credited:
    """Returns the same for all responses: the others have the advantage 0."""

    def spread(each: Array) -> Array:
        wide = np.zeros((len(scored), *each.shape[1:]))
        wide[scored] = each
        return wide

    left = np.ones(len(scored))
    left[scored] = made.left
    return Credited(spread(made.advantages), spread(made.raw), spread(made.room), left, made.numbers)


def _room(step: GroupedStep, of: Fed, made: list[Signal], use: Asked) -> Tensor:
    """Returns how far rounding of the rewards may move the advantage of each response, [B]."""
    unit = UNIT[coarsest(held_in(step), ("scores", "advantages"))]
    rewards = torch.cat([each.rewards for each in made])
    if step.weights:
        return _room_of_functions(step, of, made, use, unit)
    off = unit * rewards.abs().max().clamp(min=1e-300)
    if use.word("group.std") == "none":
        return torch.full_like(rewards, float(off))
    divisor = torch.cat([each.divisor.flatten() for each in made]) + use.number("group.eps")
    room = torch.where(divisor > 0, off / divisor.clamp(min=1e-300), torch.full_like(divisor, torch.inf))
    if use.word("group.zero_std") == "skip":
        room = torch.where(divisor <= use.number("group.eps"), off, room)
    if use.word("group.std") in FROM_MOMENTS:
        alike = divisor.square() <= 64 * off * rewards.abs().max()
        room = torch.where(alike & (off > 0) & (rewards.abs().max() > 0), torch.inf, room)
    return room


def _room_of_functions(step: GroupedStep, of: Fed, made: list[Signal], use: Asked, unit: float) -> Tensor:
    """Returns the same where each reward function was divided by its own small spread before they were added up."""
    off = torch.from_numpy(rounding_of(step, unit)).to(of.order.device)[of.order]
    divisor = torch.cat([each.divisor.flatten() for each in made]) + use.number("group.eps")
    return (off + off.mean() + unit) / divisor


def _numbers(step: GroupedStep, of: Fed, use: Asked) -> dict[str, float]:
    """Returns what is logged of the rewards: their mean, the mean spread of the groups, and the share of groups without one."""
    if step.weights:  # TRL 1.16.0 logs the rewards as they are, and their spread over the batch
        raw = torch.from_numpy(np.asarray(step.tensors["scores"], np.float64))
        none = float(of.of.score.std() < NO_SPREAD) if len(raw) > 1 else 1.0
        spread = float(raw.std()) if len(raw) > 1 else 0.0
        return {"mean.reward": float(raw.mean()), "mean.spread": spread, "group.share_same": none}
    ends = np.cumsum((0, *of.sizes)).tolist()
    groups = [of.of.score[a:b] for a, b in pairwise(ends)]
    spreads = torch.stack([each.std() if len(each) > 1 else each.new_zeros(()) for each in groups])
    if use.word("group.std") == "batch":
        spreads = of.of.score.std().expand_as(spreads)
    return {
        "mean.reward": float(of.of.score.mean()),
        "mean.spread": float(spreads.mean()),
        "group.share_same": float((spreads.abs() < NO_SPREAD).double().mean()),
    }
