"""The advantages of a step of GRPO: rewards compared within whole groups, how far rounding may move them, and what is logged."""

from typing import NamedTuple, cast

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying import Kept, Settings, Ways, changed, coarsest, held_in
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.feeding import EQUATIONS, PLACE, Fed, Laid, fed, laid_out, order_of, rounding_of

UNIT = {"float64": 2.0**-50, "float32": 2.0**-21, "float16": 2.0**-9, "bfloat16": 2.0**-6}
"""By dtype, by how much of the largest reward the mean of a group may be off: eight units in the last place."""
NO_SPREAD = 1e-8
"""Below it a spread is none, as torch.isclose has it."""
FROM_MOMENTS = ("moments", "others")
"""Spreads that are taken as a difference of squares: where all are alike, float32 leaves the root of its rounding."""


class Credited(NamedTuple):
    """Advantages [B, T], those before a whitening, those of each response [B], also where it is empty, room for rounding [B, 1]
    and which responses are left [B], in the order of the dump; and numbers."""

    advantages: Array
    raw: Array
    each: Array
    room: Array
    left: Array
    numbers: dict[str, float]


OF_GROUPS = {"raw": "group.advantage", "left": "group.left", "spread": "group.spread_used"}
"""What is taken of each response from the table of its group."""


def credited(step: GroupedStep, use: Settings, ways: Ways, device: str, sized: bool) -> Credited:
    """Computes the advantages of every token; those of groups of several sizes are computed each by itself. A response of which
    nobody judged enters no mean and no spread, and has the advantage 0.

    sized: with room for rounding.
    """
    every, kept = len(step.mask), cast(Kept, ways.get("kept") or Kept())
    plain = kept if not ways.keys() & {"mask", "moved", "swap", "groups", "rows_read", "scored"} else Kept()
    scored, step, of, parts = plain.once("groups", step, lambda: _by_groups(step, ways))
    found = {name: np.zeros(len(step.mask)) for name in (*OF_GROUPS, "reward", "room")}
    found["advantages"] = np.zeros_like(of["response.tokens"])
    for members, (sizes, known), back in parts:
        wanted = ("advantages", *OF_GROUPS.values(), "reward")
        rows = EQUATIONS.values(use, sizes, known, wanted, **changed(ways), device=device)
        found["advantages"][members], found["reward"][members] = rows["advantages"], rows["reward"]
        for name, table in OF_GROUPS.items():
            found[name][members] = rows[table].ravel()[back]
    if "rows_read" in ways or "rows_given" in ways:
        # the tokens are those of the response, the number is that of another one
        of = {**of, "response.tokens": fed(step, ways)["response.tokens"]}
        found["raw"] = found["raw"][ways["rows_given"](of)] if "rows_given" in ways else found["raw"]
        found["advantages"] = found["raw"][:, None] * of["response.tokens"]
    if sized:
        found["room"] = _room(step, found, use)
    found |= {
        "each": found["raw"],
        "raw": found["raw"][:, None] * of["response.tokens"],
        "room": found["room"][:, None],
    }
    wide = {name: np.zeros((every, *row.shape[1:])) for name, row in found.items()} | {"left": np.ones(every)}
    for name, row in found.items():
        wide[name][scored] = row
    numbers = kept.once(f"spread {use['group.std'] == 'batch'}", of, lambda: _numbers(step, of, use))
    return Credited(wide["advantages"], wide["raw"], wide["each"], wide["room"], wide["left"], numbers)


class Members(NamedTuple):
    """Responses that are computed together, [B], how they are laid out, and where each of them stands in the table of its group."""

    rows: Array
    laid: Laid
    back: Array


def _by_groups(step: GroupedStep, ways: Ways) -> tuple[Array, GroupedStep, Fed, list[Members]]:
    """Returns which responses have a score at all, [B]; these alone, and what is known of them; and those of each group, or of all
    where groups have one size."""
    scored = _scored(step)
    step = step if scored.all() else step.some(scored)
    of = fed(step, ways)
    if "rows_read" in ways:
        # the rewards, and all that they are made of, of others in the same places of the same groups
        order = ways["rows_read"](of)
        of = {name: each if name in ("group", PLACE) else each[order] for name, each in of.items()}
    if "scored" in ways:
        of = {**of, "score": ways["scored"](step, of)}
    groups = of["group"]
    same = len(set(np.bincount(groups).tolist())) == 1
    parts = [np.arange(len(groups))] if same else [np.flatnonzero(groups == each) for each in np.unique(groups)]
    some = [{name: row[members] for name, row in of.items()} for members in parts]
    back = [np.argsort(order_of(each)) for each in some]
    return scored, step, of, [Members(*each) for each in zip(parts, map(laid_out, some), back, strict=True)]


def _scored(step: GroupedStep) -> Array:
    """Returns which responses have a score at all, [B]."""
    scores = np.asarray(step.tensors["scores"])
    return np.isfinite(scores) if scores.ndim == 1 else np.ones(len(scores), np.bool_)


def _room(step: GroupedStep, of: Fed, use: Settings) -> Array:
    """Returns how far rounding of the rewards may move the advantage of each response, [B]."""
    unit = UNIT[coarsest(held_in(step), ("scores", "advantages"))]
    rewards, eps = of["reward"], float(use["group.eps"])
    divisor = of["spread"] + eps
    if step.normalised:  # each reward function was divided by its own small spread before they were added up
        each = rounding_of(step, unit)
        return np.asarray((each + each.mean() + unit) / divisor)
    off = unit * max(float(np.abs(rewards).max(initial=0.0)), 1e-300)
    if use["group.std"] == "none":
        return np.full_like(rewards, off)
    room = np.where(divisor > 0, off / np.maximum(divisor, 1e-300), np.inf)
    if use["group.zero_std"] == "skip":
        room = np.where(divisor <= eps, off, room)
    if use["group.std"] in FROM_MOMENTS and np.abs(rewards).max(initial=0.0) > 0:
        room = np.where(divisor**2 <= 64 * off * np.abs(rewards).max(), np.inf, room)
    return np.asarray(room)


def _numbers(step: GroupedStep, of: Fed, use: Settings) -> dict[str, float]:
    """Returns what is logged of the rewards: their mean, the mean spread of the groups, and the share of groups without one."""
    if step.normalised:  # TRL 1.16.0 logs the rewards as they are, and their spread over the batch
        raw = np.asarray(step.tensors["scores"], np.float64)
        none = float(_deviation(of["score"]) < NO_SPREAD) if len(raw) > 1 else 1.0
        return {"mean.reward": float(raw.mean()), "mean.spread": _deviation(raw), "group.share_same": none}
    spreads = np.array([_deviation(of["score"][of["group"] == each]) for each in np.unique(of["group"])])
    if use["group.std"] == "batch":
        spreads = np.full_like(spreads, _deviation(of["score"]) if len(of["score"]) > 1 else np.nan)
    return {
        "mean.reward": float(of["score"].mean()),
        "mean.spread": float(spreads.mean()),
        "group.share_same": float((np.abs(spreads) < NO_SPREAD).mean()),
    }


def _deviation(rewards: Array) -> float:
    return float(rewards.std(ddof=1)) if len(rewards) > 1 else 0.0
