"""What must hold whatever one types: ends that are 0 or 1, sums, and GAE at the ends of λ and γ."""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness import checks
from blueprint.witness.batch import Batch, Rows
from blueprint.witness.gae import masked_sums
from blueprint.witness.models import Named
from blueprint.witness.setting_rows import outside_all
from blueprint.witness.settings import single
from blueprint.witness.signal import with_end

PARTS = ("policy_loss", "adds.value_loss", "adds.entropy")


def add_checks(batch: Batch, rows: Rows) -> None:
    """Adds every check in the order of the sheet."""
    found = input_distances(batch, rows) | result_distances(batch, rows)
    rows.add({"check.parts_size": _parts(rows).abs().sum(dim=-1)})
    found |= {"check.settings": outside_all(batch), "check.norm": other_norm(batch)}
    rows.add(identity_rows(batch, rows))
    checks.add_verdicts(batch, rows, found | identity_distances(batch, rows))


def input_distances(batch: Batch, rows: Rows) -> Named:
    """Returns how far actions are from those that exist, ends from 0 or 1, and where a task ended within an episode."""
    actions, done, over = (batch.typed(name) for name in ("actions", "done", "terminated"))
    last = rows["old.log_p"].shape[-1] - 1
    no_flag = [(each * (1 - each)).abs() for each in (done, over)]
    return {
        "check.actions": (-actions).clamp(min=0) + (actions - last).clamp(min=0),
        "check.done": no_flag[0] + no_flag[1],
        "check.terminated": (over > done).to(batch.dtype),
    }


def result_distances(batch: Batch, rows: Rows) -> Named:
    """Returns how far probabilities, k3, returns, whitened advantages and the parts of the loss are from what they must be."""
    sums = {
        f"check.sum_{name}": (rows[f"{row}.p"].sum(dim=-1) - 1).abs()
        for name, row in (("old", "old"), ("new", "policy"))
    }
    values, advantages = batch.typed("values.old")[..., :-1], rows["advantages"][..., :-1]
    size = (values.abs() + advantages.abs()).clamp(min=1)
    return sums | {
        "check.k3": (-rows["policy_kl.k3"]).clamp(min=0),
        "check.returns": (rows["returns"] - values - advantages).abs() / size,
        "check.whitened": rows["advantage.whitened"].mean(dim=(-2, -1)).abs(),
        "check.parts": checks.sum_distance(_parts(rows), rows["total_loss"]),
    }


def other_norm(batch: Batch) -> Tensor:
    """Returns 1 for the files whose setting asks for another norm than the one that they were built with, [F]."""
    asked = (str(settings["value_norm"]).lower() for settings in batch.settings)
    built = (str(single(file, "value_norm.built")).lower() for file in batch.files)
    return batch.filled([float(word != rows) for word, rows in zip(asked, built, strict=True)])


def identity_rows(batch: Batch, rows: Rows) -> Named:
    """Returns the advantages for λ = 0, λ = 1 and γ = 0, and the discounted reward to go with what it ends in."""
    gamma, rewards, values = batch.setting("gamma"), batch.typed("rewards"), batch.typed("values.old")
    done, deltas = batch.typed("done"), rows["td_errors"]
    onward, nothing = 1 - done, torch.zeros_like(gamma)
    # Where an episode ends the reward to go ends in V(next), unless that is cut off; at the last step in V(next) as it is.
    over = done == 1
    cut = over * (1 - rows["stop"]) * values[..., 1:]
    behind = cut.clone()
    behind[..., -1] = torch.where(over[..., -1], cut[..., -1], values[..., -1])
    to_go = torch.cat([masked_sums(rewards + gamma * behind, gamma, (~over).to(gamma.dtype)), values[..., -1:]], dim=-1)
    lambda_1, short = masked_sums(deltas, gamma, onward), rewards - values[..., :-1]
    return {
        "identity.lambda_0": with_end(masked_sums(deltas, nothing, onward)),
        "identity.lambda_1": with_end(lambda_1),
        "identity.to_go": to_go,
        "identity.after": torch.where(over, cut, to_go[..., 1:]),
        "identity.gamma_0_td": short,
        "identity.gamma_0": with_end(masked_sums(short, nothing, onward)),
        **checks.sizes(lambda_1, deltas, values[..., :-1]),
    }


def identity_distances(batch: Batch, rows: Rows) -> Named:
    """Returns how far the three identities of GAE are from holding."""
    values = batch.typed("values.old")[..., :-1]
    lambda_0, lambda_1, to_go, gamma_0 = (
        rows[f"identity.{name}"][..., :-1] for name in ("lambda_0", "lambda_1", "to_go", "gamma_0")
    )
    return {
        "check.lambda_0": (lambda_0 - rows["td_errors"]).abs(),
        "check.lambda_1": checks.of_largest(lambda_1 + values - to_go, rows),
        "check.gamma_0": (gamma_0 - batch.typed("rewards") + values).abs(),
    }


def _parts(rows: Rows) -> Tensor:
    """Returns what each part adds to the total, [F, Q]."""
    return torch.stack([rows[name] for name in PARTS], dim=-1)
