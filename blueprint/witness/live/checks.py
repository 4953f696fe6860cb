"""What must hold whatever one types, for any conventions: GAE at the ends of λ and γ, sums, signs and ranges.

A slot that is passed over has no TD error: the advantage and the value of the slot behind it stand there, and the
identities hold for what is looked at from in front.
"""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness import checks
from blueprint.witness.batch import Batch, Rows
from blueprint.witness.gae import masked_sums
from blueprint.witness.live.watched import faded
from blueprint.witness.models import Named
from blueprint.witness.setting_rows import outside_all
from blueprint.witness.signal import with_end

KL_LOSS = "adds.kl_loss"
"""What the KL to the reference adds to the loss."""


def add_checks(batch: Batch, rows: Rows, mask: Tensor) -> None:
    """Adds every check in the order of its level."""
    weights = "is_given" in rows
    rows.add(identity_rows(batch, rows))
    of_signal = signal_distances(rows)
    found = checks.text_distances(rows["is_given"]) if weights else {"check.mask": (mask * (1 - mask)).abs()}
    found |= checks.model_distances(rows)
    found |= {name: of_signal.pop(name) for name in ("check.k3", "check.returns")}
    found |= loss_distances(batch, rows, weights) | {"check.settings": outside_all(batch)}
    rows.add(checks.loss_sizes(rows, KL_LOSS))
    if weights:
        ends = (batch.typed(f"rollout.draw{end}") for end in ("", ".low", ".high"))
        lengths = (batch.typed(f"max_new_tokens{end}") for end in ("", ".low", ".high"))
        found |= {"check.draws": checks.range_distance(*ends), "check.length": checks.range_distance(*lengths)}
    found |= {"check.score": score_distance(rows)}
    checks.add_verdicts(batch, rows, found | of_signal)


def identity_rows(batch: Batch, rows: Rows) -> Named:
    """Returns the advantages for λ = 0, λ = 1 and γ = 0, and the discounted reward to go."""
    gamma, slots, over = batch.setting("gamma"), rows["slots"][..., :-1], rows["gae.over"]
    nothing = torch.zeros_like(gamma)
    inside = slots * (1 - over)
    gamma_0 = inside * (rows["rewards"] - rows["values.kept"][..., :-1])
    lambda_1 = faded(batch, rows, gamma)
    passes = torch.where(over > 0, 1.0, nothing)
    onward = torch.where(over > 0, 1.0, gamma)
    return {
        "identity.lambda_0": with_end(faded(batch, rows, nothing)),
        "identity.lambda_1": with_end(lambda_1),
        "identity.to_go": with_end(masked_sums(inside * rows["rewards"], onward, slots)),
        "identity.gamma_0_td": gamma_0,
        "identity.gamma_0": with_end(masked_sums(gamma_0, passes, slots)),
        **checks.sizes(lambda_1, rows["td_errors"], rows["gae.ahead"][..., :-1]),
    }


def score_distance(rows: Rows) -> Tensor:
    """Returns for each response [F, N] how much of its score lands in a slot where no value is kept."""
    return ((rows["kept"] * rows["score.placed"]).sum(dim=-1) - rows["score.clipped"]).abs()


def signal_distances(rows: Rows) -> Named:
    """Returns how far k3, the returns and the three identities of GAE are from holding."""
    slots, advantages = rows["slots"][..., :-1], rows["advantages"][..., :-1]
    inside, values = slots * (1 - rows["gae.over"]), rows["values.kept"][..., :-1]
    added = advantages.abs() + values.abs()
    lambda_0, lambda_1, to_go, gamma_0 = (
        rows[f"identity.{name}"][..., :-1] for name in ("lambda_0", "lambda_1", "to_go", "gamma_0")
    )
    return {
        "check.k3": (-rows["kl.k3"]).clamp(min=0),
        "check.returns": slots * (rows["returns"] - values - advantages).abs() / added.clamp(min=1),
        "check.lambda_0": inside * (lambda_0 - rows["td_errors"]).abs(),
        "check.lambda_1": slots * checks.of_largest(lambda_1 + rows["gae.ahead"][..., :-1] - to_go, rows),
        "check.gamma_0": inside * (gamma_0 - rows["rewards"] + values).abs(),
    }


def loss_distances(batch: Batch, rows: Rows, weights: bool) -> Named:
    """Returns how far the ratio is from 1 where nothing was updated, and shares and parts from adding up to the loss."""
    total = rows["total_loss"]
    found = {
        "check.total": checks.sum_distance(rows["share"].flatten(1), total),
        "check.parts": checks.sum_distance(checks.loss_parts(rows, KL_LOSS), total),
    }
    if not weights:
        return found
    apart = (rows["ratio"] - 1).abs()
    return {"check.ratio": torch.where(batch.setting("update_step") == 0, apart, 0.0)} | found
