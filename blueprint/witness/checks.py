"""How far what a checks sheet asks is from holding: GAE at the ends of λ and γ, sums, signs and ranges.

Distances are [F, N, T], [F, N] or [F]; they are 0 but for rounding.
"""

import torch
from torch import Tensor

from blueprint.witness.batch import Batch
from blueprint.witness.tensors import Held, Named, Number, sums_from


def identity_rows(rows: Held, alone: Tensor, to_go: Tensor, onward: Tensor, passes: Tensor) -> Named:
    """Returns the advantages for λ = 0, λ = 1 and γ = 0, beside the discounted reward to go, and the sizes of the numbers.

    alone: the TD errors for γ = 0. onward, passes: what later ones are multiplied by if λ = 1, and if λ = 0 or γ = 0.
    """
    return {
        "identity.lambda_0": sums_from(rows["td_errors"], passes),
        "identity.lambda_1": sums_from(rows["td_errors"], onward),
        "identity.to_go": to_go,
        "identity.gamma_0_td": alone,
        "identity.gamma_0": sums_from(alone, passes),
    }


def size_rows(rows: Held, values: Tensor) -> Named:
    """Returns how large the numbers of the recursion are, [F, N, T], and the largest of each file, [F]."""
    row = torch.stack([rows["identity.lambda_1"][..., :-1], rows["td_errors"], values]).abs().sum(dim=0)
    return {"identity.sizes": row, "identity.largest": row.flatten(1).amax(dim=1)}


def gae_distances(rows: Held, values: Tensor, slots: Number, inside: Number) -> Named:
    """Returns how far the returns and the identities of GAE are from holding.

    slots, inside: 1 where there is an advantage, and where there is a TD error of its own.
    """
    advantages = rows["advantages"][..., :-1]
    apart = (rows["returns"] - values - advantages).abs() / (advantages.abs() + values.abs()).clamp(min=1)
    lambda_0, gamma_0 = (rows[f"identity.{name}"][..., :-1] for name in ("lambda_0", "gamma_0"))
    return {
        "check.returns": slots * apart,
        "check.lambda_0": inside * (lambda_0 - rows["td_errors"]).abs(),
        "check.gamma_0": inside * (gamma_0 - rows["rewards"] + values).abs(),
    }


def to_go_distance(rows: Held, ahead: Tensor) -> Tensor:
    """Returns how far A + V for λ = 1 is from the discounted reward to go, in units of the largest number that was added."""
    lambda_1, to_go = (rows[f"identity.{name}"][..., :-1] for name in ("lambda_1", "to_go"))
    return (lambda_1 + ahead - to_go).abs() / rows["identity.largest"].clamp(min=1).view(-1, 1, 1)


def probability_distances(rows: Held, policies: dict[str, str]) -> Named:
    """Returns how far probabilities are from summing to 1, by name of the check and of the policy."""
    return {f"check.sum_{name}": (rows[f"{policy}.p"].sum(dim=-1) - 1).abs() for name, policy in policies.items()}


def log_distances(rows: Held, policies: dict[str, str], mask: Number = 1.0) -> Named:
    """Returns by how much log-probs are above 0, by name of the check and of the policy."""
    return {f"check.log_{name}": mask * rows[f"{each}.logprobs"].clamp(min=0) for name, each in policies.items()}


def sum_distance(summands: Tensor, total: Tensor) -> Tensor:
    """Returns how far summands [F, Q] are from their total, in units of what they add up to without signs, if above 1."""
    return (summands.sum(dim=-1) - total).abs() / summands.abs().sum(dim=-1).clamp(min=1)


def range_distance(batch: Batch, name: str, fill: float = 0.0) -> Tensor:
    """Returns by how much typed numbers [F, …] leave the range that is typed beside them; fill: what padding counts as."""
    values = batch.typed(name, fill)
    low, high = (batch.typed(f"{name}.{end}").view(-1, *[1] * (values.dim() - 1)) for end in ("low", "high"))
    return (low - values).clamp(min=0) + (values - high).clamp(min=0)
