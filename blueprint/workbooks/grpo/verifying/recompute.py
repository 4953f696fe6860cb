"""A step of GRPO computed again in torch, in float64: advantages over whole groups, then ratios, KL and losses of its rows.

The equations stand in `formulas`; here is what they are fed with, and what becomes of shares and parts.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from blueprint.dumps import Array
from blueprint.verifying import Settings
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.credited import Credited, credited
from blueprint.workbooks.grpo.verifying.feeding import Fed, asked, fed
from blueprint.workbooks.grpo.verifying.formulas import Asked, Losses, Responses, losses
from blueprint.workbooks.grpo.verifying.needs import WHOLE_STEP, lacking
from blueprint.workbooks.grpo.verifying.replayed import NOTHING, PLAIN, Given, Replayed, Ways, Whole
from blueprint.workbooks.grpo.verifying.watching import sizes, watched

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
