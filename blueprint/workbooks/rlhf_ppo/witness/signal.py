"""What stands beside the advantages: the charts of GAE for several λ, and the identities that hold at the ends of λ and γ."""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness import Batch, Named, Rows, checks, sums_from, with_end

CURVES = ("1", "2", "3", "4")


def onward(rows: Rows, decay: Tensor) -> Tensor:
    """Returns what later TD errors are multiplied by with another decay, [F, N, T]; what is passed over does not fade."""
    return rows["slots"][..., :-1] * torch.where(rows["gae.over"] > 0, 1.0, decay)


def add_curves(batch: Batch, rows: Rows) -> None:
    """Adds the advantages for the λ of each curve, [F, N, T + 1]."""
    for number in CURVES:
        gae_lambda = batch.typed(f"gae_at.lambda{number}").view(-1, 1, 1)
        decay = onward(rows, gae_lambda * batch.setting("gamma"))
        rows.add({f"gae_at.{number}": sums_from(rows["td_errors"], decay)})


def add_identities(batch: Batch, rows: Rows) -> None:
    """Adds the advantages for λ = 0, λ = 1 and γ = 0, and the discounted reward to go.

    The values are 0 outside the slots, except where one typed behind the last decision stands for what would have come: the
    reward to go then begins with it, since A + V for λ = 1 does.
    """
    slots, values, gamma = rows["slots"][..., :-1], rows["values.kept"], batch.setting("gamma")
    inside, behind = slots * (1 - rows["gae.over"]), values * (1 - with_end(slots))
    rewarded = inside * (rows["rewards"] + gamma * behind[..., 1:])
    to_go = sums_from(rewarded, onward(rows, gamma)) + behind
    alone = inside * (rows["rewards"] - values[..., :-1])
    rows.add(checks.identity_rows(rows, alone, to_go, onward(rows, gamma), onward(rows, 0 * gamma)))
    rows.add(checks.size_rows(rows, rows["gae.ahead"][..., :-1]))


def signal_distances(rows: Rows) -> Named:
    """Returns how far k3, the returns and the three identities of GAE are from holding."""
    slots = rows["slots"][..., :-1]
    found = checks.gae_distances(rows, rows["values.kept"][..., :-1], slots, slots * (1 - rows["gae.over"]))
    lambda_1 = slots * checks.to_go_distance(rows, rows["gae.ahead"][..., :-1])
    return found | {"check.k3": (-rows["kl.k3"]).clamp(min=0), "check.lambda_1": lambda_1}
