"""A step of GRPO computed again in torch, in float64: advantages over whole groups, then ratios, KL and losses of its rows; with
what becomes of shares and parts, what a file lacks, and how far rounding may move it.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from blueprint.dumps import Array
from blueprint.verifying import Settings, coarsest, held_in
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.feeding import (
    NOTHING,
    PLAIN,
    Fed,
    Given,
    Replayed,
    Ways,
    Whole,
    asked,
    fed,
    rounding_of,
)
from blueprint.workbooks.grpo.verifying.formulas import Asked, Losses, Responses, Signal, average, losses, signal

WHOLE_STEP = ("mean.reward", "mean.spread", "group.share_same")
"""Logged numbers that are of the whole step, whatever part of it a file is."""
ALONE = {"mean", "others", "length", "second", "greedy", "none"}
SPREADS = {"none", "group", "moments", "others", "mean", "group_of_advantages"}
"""Baselines and spreads that a group has by itself."""


def lacking(batch: GroupedStep, step: GroupedStep, use: Asked) -> dict[str, str]:
    """Returns by quantity what is missing for it. step: the whole of which the batch is a part, or itself."""
    has, found = batch.tensors, dict[str, str]()
    advantages = list(_for_advantages(step, use))
    if advantages:
        found |= dict.fromkeys(("advantages", *WHOLE_STEP), " and ".join(advantages))
    signal = [] if not advantages or "advantages" in has else ["advantages"]
    ratio = [] if "logprobs_new" in has else ["logprobs_new"]
    if use.word("ratio.old") == "rollout" or use.word("ratio.level") == "rollout":
        ratio += _without(has, "logprobs_rollout")
    corrected = use.word("rollout.level") != "none" or use.word("rollout.reject") != "off"
    weighed = _without(has, "logprobs_rollout") if corrected else []
    kl = _without(has, "logprobs_new", "logprobs_ref")
    pays = use.word("kl.place") == "loss" and use.number("kl.coef") != 0
    entropy = _without(has, "entropy")
    filtered = [*entropy, *filter(None, [batch.unknown])] if use.limit("loss.entropy_least") is not None else []
    policy = [*signal, *ratio, *weighed, *filtered]
    total = [*policy, *(kl if pays else []), *(entropy if use.number("loss.ent_coef") else [])]
    takes = {
        "ratio": ratio, "token_loss": [*signal, *ratio], "kl_new": kl, "policy_loss": policy, "kl_loss": [*kl, *weighed],
        "entropy": entropy, "total_loss": total, "mean.ratio": ratio, "approx_kl": ratio, "kl.mean_new": kl,
        **{f"clip.{name}": [*signal, *ratio] for name in ("fraction_low", "fraction_high", "fraction")},
    }  # fmt: skip
    return found | {name: " and ".join(dict.fromkeys(each)) for name, each in takes.items() if each}


def _for_advantages(step: GroupedStep, use: Asked) -> list[str]:
    """Names what is missing for advantages: scores, whole groups, or what is paid from the reward."""
    has = step.tensors
    found = _without(has, "scores")
    baseline, spread = use.word("group.baseline"), use.word("group.std")
    compares = use.word("group.of") != "row" and not (baseline in ("none", "greedy") and spread == "none")
    if compares and step.lacks:
        found.append(step.lacks)
    elif (
        compares
        and _uneven(step)
        and not (baseline in ALONE and spread in SPREADS and use.word("advantage.whiten") == "none")
    ):
        found.append("groups of one size")
    if use.word("kl.place") in ("reward", "reward_token", "after", "advantage") and use.number("kl.coef"):
        found += _without(has, "logprobs_ref")
    return found + (_without(has, "greedy") if baseline == "greedy" else [])


def _uneven(step: GroupedStep) -> bool:
    """Whether groups have different numbers of responses with a score."""
    scores, groups = np.asarray(step.tensors.get("scores", ())), step.groups
    if groups is None or scores.ndim != 1 or len(scores) != len(groups):
        return len(set(step.sizes.tolist())) > 1
    return len(set(np.bincount(groups[np.isfinite(scores)], minlength=len(step.sizes)).tolist())) > 1


def _without(has: object, *names: str) -> list[str]:
    return [name for name in names if name not in has]  # type: ignore[operator]


def watched(of: Responses, made: Losses, A: Tensor, use: Asked) -> dict[str, float]:
    """Returns what is logged beside the losses: means over tokens, of the ratio, of clipped tokens, of entropy and KL."""
    low, high = use.limit("loss.clip_low"), use.limit("loss.clip_high")
    m, r, nothing = of.mask, made.ratio, torch.zeros_like(made.ratio)
    below = nothing if low is None else ((r < 1 - low) & (A < 0)).to(m)
    above = nothing if high is None else ((r > 1 + high) & (A > 0)).to(m)
    x = {
        "clip.fraction_low": below, "clip.fraction_high": above, "clip.fraction": below + above, "mean.ratio": r,
        "entropy.mean": of.entropy, "kl.mean_new": made.kl, "approx_kl": of.old - of.new,
    }  # fmt: skip
    count, per = m.sum().clamp(min=1), m.sum(1).clamp(min=1)
    found = {name: float((each * m).sum() / count) for name, each in x.items()}
    rows = {f"{name}.rows": float(((each * m).sum(1) / per).mean()) for name, each in x.items() if "fraction" in name}
    return found | rows


def sizes(of: Responses, made: Losses, left: Tensor, coef: float, use: Asked) -> dict[str, float]:
    """Returns the mean size of what each part of the loss averages."""
    ones = of.mask

    def mean(x: Tensor, setting: str) -> float:
        mode = use.word(setting)
        mode = use.word("loss.aggregation") if mode == "as_policy" else mode
        if mode == "prompt_mean":
            return float((x.abs() * ones).sum() / ones.sum().clamp(min=1))
        return float(average(x.abs(), ones, left, of, use, setting))

    policy = mean(made.tokens * made.weight, "loss.aggregation") * abs(use.number("loss.factor"))
    kl, entropy = mean(made.kl, "kl.aggregation"), mean(of.entropy, "loss.entropy_aggregation")
    total = policy + abs(coef) * kl + abs(use.number("loss.ent_coef")) * entropy
    return {
        "policy_loss": policy,
        "kl_loss": kl,
        "entropy": entropy,
        "total_loss": total,
        "adds.kl_loss": abs(coef) * kl,
    }


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


PARTS = ("policy_loss", "kl_loss", "entropy", "total_loss")
TRL = "trl"
"""Whose entropy bonus is a mean of each microbatch, divided by their number, also where its losses are shares (1.16.0)."""


def recompute(
    batch: GroupedStep,
    settings: Settings,
    ways: Ways = PLAIN,
    given: Given = NOTHING,
    until: str = "",
    whole: Whole | None = None,
    device: str = "cpu",
    sized: bool = True,
) -> Replayed:
    """Computes a step again under the values of a preset.

    given: results of the file that stand in place of computed ones. until: the last quantity that is needed; "": all.
    whole: the step of which the file is a part, if its other files are there. sized: whether it is asked how far rounding may move
    what comes out.
    """
    use, found = asked(settings), Replayed(batch, settings, np.ones(len(batch.mask)))
    step, rows = (whole.step, whole.rows) if whole else (batch, slice(None))
    with torch.no_grad():
        found.lacks = lacking(batch, step, use)
        # where nothing reads how advantages arose, that need not be computed again
        later = (
            "advantages" in given and until not in ("", "advantages", *WHOLE_STEP) and use.word("group.filter") == "off"
        )
        made = None if later or "advantages" in found.lacks else credited(step, use, ways, device, sized)
        if made is not None:
            _take(found, made, rows)
        if "advantages" in found.lacks and "advantages" in batch.tensors:
            found.started = ("advantages",)
        A = _used(found, given, ways)
        if A is not None and until != "advantages":
            _losses(found, fed(batch, ways, device), torch.from_numpy(A).to(device), use, ways, sized)
    return found


def _take(found: Replayed, made: Credited, rows: slice) -> None:
    """Takes the advantages of the file's rows, and what is said of the whole step."""
    found.rows["advantages"], found.room["advantages"] = made.advantages[rows], made.room[rows]
    found.rows["advantages.raw"], found.left = made.raw[rows], made.left[rows]
    found.numbers |= made.numbers
    found.sizes |= {name: 1.0 + abs(number) for name, number in made.numbers.items()}


def _used(found: Replayed, given: Given, ways: Ways) -> Array | None:
    """Returns the advantages that the losses are made of: the file's where they stand in for ours, or are all there is."""
    own, turned = found.rows.get("advantages"), ways.get("factor", {})
    if own is not None:
        found.rows["advantages"] = own = own * float(turned.get("advantages", 1.0))
    if "advantages" in found.started or "advantages" in given:
        own = np.nan_to_num(np.asarray(found.batch.tensors["advantages"], np.float64)) * found.batch.mask
    if own is not None and "mask" in ways:  # the advantage of a response counts for tokens that are none of it
        own = np.broadcast_to(
            own.sum(axis=1, keepdims=True) / np.maximum(1, found.batch.mask.sum(axis=1, keepdims=True)), own.shape
        )
    return None if own is None else own * float(turned.get("in_loss", 1.0))


def _losses(found: Replayed, of: Fed, A: Tensor, use: Asked, ways: Ways, sized: bool) -> None:
    """Adds ratio, KL and losses; of what the file lacks something for, nothing is compared."""
    left = torch.from_numpy(found.left).to(A)
    signal = _Advantages(A[of.order], left[of.order])
    responses = _turned(of.of) if ways.get("inverted") else of.of
    made = losses(responses, signal, use)  # type: ignore[arg-type]  # of the signal only the advantages are read
    weighed = made.tokens * made.weight
    coef = use.number("kl.coef") if use.word("kl.place") == "loss" else 0.0
    rows = {
        "ratio": made.ratio, "token_loss": made.tokens, "token_loss.weighed": weighed,
        "token_loss.all": weighed + coef * made.kl, "kl_new": made.kl,
    }  # fmt: skip
    found.rows |= {name: each[of.back].cpu().numpy() for name, each in rows.items()}
    steep = 1 + (responses.new - responses.old).abs()[of.back].cpu().numpy()
    found.room |= dict.fromkeys(rows, steep)
    parts = int(ways.get("parts", 1))
    made = _in_parts(of, (A, left), use, parts, made)
    factors: Any = ways.get("factor", {})
    thinner = float(found.batch.mask.mean()) if ways.get("padded") else 1.0  # of a mean over all slots
    scale = shares(found.batch, use) if ways.get("share", True) else {}
    numbers = {
        name: float(number) * thinner * scale.get(name, 1.0) for name, number in zip(PARTS, _parts(made), strict=True)
    }
    bonus = use.number("loss.ent_coef")
    numbers["total_loss"] = (
        factors.get("policy_loss", 1.0) * numbers["policy_loss"]
        + factors.get("kl_loss", 1.0) * coef * numbers["kl_loss"]
        - factors.get("entropy", 1.0) * bonus * _of_unsure(of.of, made, use) * scale.get("bonus", 1.0)
    )
    numbers = {name: number * factors.get(name, 1.0) for name, number in numbers.items()}
    numbers["adds.kl_loss"] = coef * numbers["kl_loss"]
    found.numbers |= numbers | watched(responses, made, A[of.order], use)
    if not sized:
        return
    size = sizes(responses, made, left[of.order], coef, use)
    found.sizes |= {name: size.get(name, size["policy_loss"]) * abs(scale.get(name, 1.0)) for name in numbers}
    found.sizes |= {name: 1.0 + abs(found.numbers[name]) for name in found.numbers if name not in found.sizes}


def _of_unsure(of: Responses, made: Losses, use: Asked) -> float:
    """Returns the entropy of which a bonus is paid: of the tokens that the policy loss counts, where it leaves those of little
    entropy out (TRL 1.16.0), else as conventions average it."""
    least = use.limit("loss.entropy_least")
    if least is None:
        return float(made.entropy)
    counts = of.mask * (of.entropy >= least)
    return float((of.entropy * counts).sum() / counts.sum().clamp(min=1))


class _Advantages:
    """The part of a signal that losses read."""

    def __init__(self, advantages: Tensor, left: Tensor) -> None:
        self.advantages, self.left = advantages, left


def _turned(of: Responses) -> Responses:
    """Returns responses with new and old log-probs exchanged."""
    return replace(of, new=of.old, old=of.new)


def _parts(made: Losses) -> tuple[Tensor, ...]:
    return made.policy_loss, made.kl_loss, made.entropy, made.total


def _in_parts(of: Fed, signal: tuple[Tensor, Tensor], use: Asked, parts: int, made: Losses) -> Losses:
    """Returns the losses as means over parts of the rows, those that stand one below the other in the file."""
    if parts == 1:
        return made
    A, left = signal
    some = [losses(of.some(of.back[each], 1), _Advantages(A[each], left[each]), use) for each in _chunks(len(A), parts)]  # type: ignore[arg-type]
    means = [torch.stack(each).mean() for each in zip(*(_parts(each) for each in some), strict=True)]
    return made._replace(policy_loss=means[0], kl_loss=means[1], entropy=means[2], total=means[3])


def _chunks(count: int, parts: int) -> list[Tensor]:
    return list(torch.arange(count).chunk(parts))


def shares(batch: GroupedStep, use: Asked) -> dict[str, float]:
    """Returns what means over this file are multiplied by to be its share of those over a larger batch, as metadata say it."""
    share, lengths = batch.share, float(batch.mask.sum())
    if share is None:
        return {}
    of = {
        "token_mean": lengths / share.tokens * share.ranks if share.tokens else 1.0,
        "seq_mean_token_mean": len(batch.mask) / share.responses * share.ranks if share.responses else 1.0,
        "seq_mean_token_sum": len(batch.mask) / share.responses * share.ranks if share.responses else 1.0,
    }
    policy = of.get(use.word("loss.aggregation"), 1.0)
    kl = use.word("kl.aggregation")
    entropy = use.word("loss.entropy_aggregation")
    bonus = policy if entropy == "as_policy" else of.get(entropy, 1.0)
    if share.tokens and (batch.library or "").lower() == TRL:
        bonus = 1.0 / ((batch.place.microbatches if batch.place else None) or 1)
    return {"policy_loss": policy, "kl_loss": policy if kl == "as_policy" else of.get(kl, 1.0), "bonus": bonus}
