"""What must hold whatever one types: advantages at the ends of λ and γ, and how far every identity is from holding.

Distances are [F, N, T], [F, N] or [F]; they are 0 but for rounding.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from blueprint.witness.batch import Batch, Rows
from blueprint.witness.gae import masked_sums
from blueprint.witness.models import Held, Named
from blueprint.witness.settings import Array
from blueprint.witness.signal import with_end


def identity_rows(rewards: Tensor, values: Tensor, deltas: Tensor, mask: Tensor, gamma: Tensor) -> Named:
    """Returns the advantages for λ = 0, λ = 1 and γ = 0, and the discounted reward to go, all [F, N, T + 1]; and `sizes`.

    `values` [F, N, T + 1] is 0 outside the mask, except where a value typed behind the last decision stands for what would
    have come: the reward to go then begins with it, since A + V for λ = 1 does.
    """
    nothing = torch.zeros_like(gamma)
    gamma_0 = mask * (rewards - values[..., :-1])
    lambda_1 = masked_sums(deltas, gamma, mask)
    behind = values * (1 - with_end(mask))
    rewarded = mask * (rewards + gamma * behind[..., 1:])
    return {
        "identity.lambda_0": with_end(masked_sums(deltas, nothing, mask)),
        "identity.lambda_1": with_end(lambda_1),
        "identity.to_go": with_end(masked_sums(rewarded, gamma, mask)) + behind,
        "identity.gamma_0_td": gamma_0,
        "identity.gamma_0": with_end(masked_sums(gamma_0, nothing, mask)),
        **sizes(lambda_1, deltas, values[..., :-1]),
    }


def signal_distances(rows: Held, values: Tensor, mask: Tensor) -> Named:
    """Returns how far k3, the returns and the three identities of GAE are from holding."""
    advantages = rows["advantages"][..., :-1]
    added = advantages.abs() + values.abs()
    lambda_0, lambda_1, to_go, gamma_0 = (
        rows[f"identity.{name}"][..., :-1] for name in ("lambda_0", "lambda_1", "to_go", "gamma_0")
    )
    return {
        "check.k3": (-rows["kl.k3"]).clamp(min=0),
        "check.returns": (rows["returns"] - values - advantages).abs() / added.clamp(min=1),
        "check.lambda_0": (lambda_0 - rows["td_errors"]).abs(),
        "check.lambda_1": mask * of_largest(lambda_1 + values - to_go, rows),
        "check.gamma_0": mask * (gamma_0 - rows["rewards"] + values).abs(),
    }


def sizes(lambda_1: Tensor, deltas: Tensor, values: Tensor) -> Named:
    """Returns how large the numbers of the recursion are, [F, N, T], and the largest of each file, [F]."""
    row = torch.stack([lambda_1, deltas, values]).abs().sum(dim=0)
    return {"identity.sizes": row, "identity.largest": row.flatten(1).amax(dim=1)}


def of_largest(distance: Tensor, rows: Held) -> Tensor:
    """Returns a distance [F, N, T] in units of the largest number that its file added up, where that is above 1."""
    return distance.abs() / rows["identity.largest"].clamp(min=1).view(-1, 1, 1)


def text_distances(given: Tensor) -> Named:
    """Returns ones where a word is given behind a gap, and where a prompt has no first word; `given` [F, N, 1 + T]."""
    return {"check.prompt": given[..., 1:] * (1 - given[..., :-1]), "check.empty": 1 - given[..., 0]}


def model_distances(rows: Held) -> Named:
    """Returns how far probabilities are from summing to 1, and by how much a log-prob is above 0 or a KL below 0."""
    policies = {"old_policy": "old", "reference": "reference", "new_policy": "policy"}
    sums = {f"check.sum_{name}": (rows[f"{block}.p"].sum(dim=-1) - 1).abs() for name, block in policies.items()}
    logs = {f"check.log_{name}": rows[f"{block}.logprobs"].clamp(min=0) for name, block in policies.items()}
    return sums | logs | {"check.exact_kl": (-rows["kl.exact"]).clamp(min=0)}


def loss_distances(rows: Held, update_step: Tensor) -> Named:
    """Returns how far the ratio is from 1 where nothing was updated, and shares and parts from adding up to the loss."""
    total = rows["total_loss"]
    return {
        "check.ratio": torch.where(update_step == 0, (rows["ratio"] - 1).abs(), 0.0),
        "check.total": sum_distance(rows["share"].flatten(1), total),
        "check.parts": sum_distance(loss_parts(rows), total),
    }


def loss_parts(rows: Held, *more: str) -> Tensor:
    """Returns the policy loss and what each other loss adds to the total, [F, Q]; `more`: those that not every book has."""
    names = ("policy_loss", "adds.value_loss", "adds.entropy", "adds.policy_kl", *more)
    return torch.stack([rows[name] for name in names], dim=-1)


def loss_sizes(rows: Held, *more: str) -> Named:
    """Returns how large the shares of the words are, [F, N, T], and what shares and parts add up to without signs, [F]."""
    shares = rows["share"].abs()
    return {
        "check.share_size": shares,
        "check.shares_size": shares.flatten(1).sum(dim=1),
        "check.parts_size": loss_parts(rows, *more).abs().sum(dim=-1),
    }


def sum_distance(summands: Tensor, total: Tensor) -> Tensor:
    """Returns how far summands [F, Q] are from their total, in units of what they add up to without signs, if above 1."""
    return (summands.sum(dim=-1) - total).abs() / summands.abs().sum(dim=-1).clamp(min=1)


def range_distance(values: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Returns by how much values [F, …] leave the range of their file."""
    low, high = (each.view(-1, *[1] * (values.dim() - 1)) for each in (low, high))
    return (low - values).clamp(min=0) + (values - high).clamp(min=0)


def add_verdicts(batch: Batch, rows: Rows, distances: Named) -> None:
    """Adds every distance with its largest, whether that is within the tolerance, and how many checks failed so far."""
    failed = torch.zeros(len(batch.files), dtype=batch.dtype, device=batch.device)
    for name, distance in distances.items():
        inside = distance * _exists(batch, distance.dim())
        worst = inside.flatten(1).amax(dim=1) if distance.dim() > 1 else inside
        fails = worst > batch.typed(f"{name}.tolerance")
        failed = failed + fails
        rows.add({name: distance, f"{name}.worst": worst, f"{name}.failed": failed})
        rows.add_words(f"{name}.verdict", _verdicts(fails))
    rows.add_words("check.master", _verdicts(failed > 0))


def _exists(batch: Batch, axes: int) -> Tensor | float:
    """Returns ones where a file has the episode and decision, for distances of so many axes."""
    return batch.exists if axes == 3 else batch.exists[..., 0] if axes == 2 else 1.0


def _verdicts(fails: Tensor) -> list[Array]:
    return [np.array("LOOK" if each else "OK", dtype=object) for each in fails.tolist()]
