"""How far what a checks sheet asks is from holding: GAE at the ends of λ and γ, sums, signs and ranges.

Distances are [F, N, T], [F, N] or [F]; they are 0 but for rounding.
"""

import numpy as np
import torch

from blueprint.witness.batch import LOWER, UPPER, Batch, Rows
from blueprint.witness.losses import between, lowest_ratio, surrogates
from blueprint.witness.settings import Array, block, numbers
from blueprint.witness.tensors import Held, Named, Number, sums_from


def identity_rows(
    rows: Held, alone: torch.Tensor, to_go: torch.Tensor, onward: torch.Tensor, passes: torch.Tensor
) -> Named:
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


def size_rows(rows: Held, values: torch.Tensor) -> Named:
    """Returns how large the numbers of the recursion are, [F, N, T], and the largest of each file, [F]."""
    row = torch.stack([rows["identity.lambda_1"][..., :-1], rows["td_errors"], values]).abs().sum(dim=0)
    return {"identity.sizes": row, "identity.largest": row.flatten(1).amax(dim=1)}


def gae_distances(rows: Held, values: torch.Tensor, slots: Number, inside: Number) -> Named:
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


def to_go_distance(rows: Held, ahead: torch.Tensor) -> torch.Tensor:
    """Returns how far A + V for λ = 1 is from the discounted reward to go, in units of the largest number that was added."""
    lambda_1, to_go = (rows[f"identity.{name}"][..., :-1] for name in ("lambda_1", "to_go"))
    return (lambda_1 + ahead - to_go).abs() / rows["identity.largest"].clamp(min=1).view(-1, 1, 1)


def probability_distances(rows: Held, policies: dict[str, str]) -> Named:
    """Returns how far probabilities are from summing to 1, by name of the check and of the policy."""
    return {f"check.sum_{name}": (rows[f"{policy}.p"].sum(dim=-1) - 1).abs() for name, policy in policies.items()}


def log_distances(rows: Held, policies: dict[str, str], mask: Number = 1.0) -> Named:
    """Returns by how much log-probs are above 0, by name of the check and of the policy."""
    return {f"check.log_{name}": mask * rows[f"{each}.logprobs"].clamp(min=0) for name, each in policies.items()}


def sum_distance(summands: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    """Returns how far summands [F, Q] are from their total, in units of what they add up to without signs, if above 1."""
    return (summands.sum(dim=-1) - total).abs() / summands.abs().sum(dim=-1).clamp(min=1)


def range_distance(batch: Batch, name: str, fill: float = 0.0) -> torch.Tensor:
    """Returns by how much typed numbers [F, …] leave the range that is typed beside them; fill: what padding counts as."""
    values = batch.typed(name, fill)
    low, high = (batch.typed(f"{name}.{end}").view(-1, *[1] * (values.dim() - 1)) for end in ("low", "high"))
    return (low - values).clamp(min=0) + (values - high).clamp(min=0)


def add_clip_curve(batch: Batch, rows: Rows) -> None:
    """Adds the corners of the clipped surrogate for advantage 1 and −1, each [F, C], with an ε for either side of 1.

    Where the clip is off on one side, the corner stands at that end of the picture. A file with one ε for both sides does
    not show the reach.
    """
    options, steps = batch.options, batch.typed("curve.by")
    below, above = (options.number(name, 2) for name in (LOWER, UPPER))
    reach, lowest = torch.where(steps > 0, above, below), lowest_ratio(options)[..., 0]
    ratio = batch.typed("curve.from") + steps * reach
    if "curve.end" in batch.files[0]:
        ratio = torch.where(torch.isinf(reach), batch.typed("curve.end"), ratio)
        rows.add({"curve.lowest": lowest[:, 0]})
        rows.add({"curve.reach": reach}, whole=True)
    rows.add({"curve.ratio": ratio}, whole=True)
    clipped = between(ratio, lowest, 1 + above)
    for name, sign in (("curve.good", 1.0), ("curve.bad", -1.0)):
        advantages = torch.full_like(ratio, sign)
        curve = {"ratio.clipped": clipped} | surrogates(ratio, clipped, advantages)
        rows.add({name: advantages} | {f"{name}.{row}": each for row, each in curve.items()}, whole=True)


def add_dots(batch: Batch, rows: Rows, ratio: torch.Tensor, advantages: torch.Tensor, shown: torch.Tensor) -> None:
    """Adds where each token stands on that curve: its ratio within the picture, and U for each |Â|, [F, N, T] or [F, C].

    A token that is not shown stands at −1, off the picture.
    """
    low, high = (batch.typed(f"dot.{end}").view(-1, *[1] * (ratio.dim() - 1)) for end in ("low", "high"))
    size = advantages.abs()
    found = {
        "dot.ratio": torch.where(shown > 0, torch.minimum(torch.maximum(ratio, low), high), -1.0),
        "dot.size": size,
        "dot.surrogate": torch.where(size > 0, rows["surrogate"] / torch.where(size > 0, size, 1.0), 0.0),
    }
    rows.add(found, whole=ratio.dim() == 2)


def shown_words(batch: Batch) -> list[Array]:
    """Returns the typed tokens inside the typed mask of each file, "" elsewhere."""
    return [np.where(numbers(file, "mask") > 0, block(file, "word_written"), "") for file in batch.files]
