"""Gradients of classic PPO by automatic differentiation, to the scores of the actions and the values after the update."""

import torch
from torch.nn.functional import one_hot

from blueprint.witness import GRAD, Batch, Options, Rows, leaf, shown_slopes, shows_slopes
from blueprint.workbooks.classic_ppo.witness.compute import add_loss, add_policy

SIZES = {"value.size": "value.distance", "value.clipped.size": "value.clipped.distance"}


def add_gradients(batch: Batch, rows: Rows, options: Options) -> None:
    """Adds ∂L/∂x for every quantity x of which the files show one, if they show any, and the numbers of the actions."""
    if not shows_slopes(batch):
        return
    here = Rows(batch)
    here.update(rows)
    with torch.enable_grad():
        here.update({name: leaf(batch, name) for name in ("policy.logits", "values.new")})
        add_policy(here, "policy", here["policy.logits"])
        add_loss(batch, here, options)
        found = shown_slopes(batch, here)
    for size, distance in SIZES.items():
        if f"{size}{GRAD}" in found:
            # Smooth L1 goes by the size of an error from 1 on, and by the error itself below.
            found[f"{size}{GRAD}"] = found[f"{distance}{GRAD}"] * (rows[size] >= 1)
    rows.add(found)
    actions, count = rows["actions"].long(), rows["policy.log_p"].shape[-1]
    rows.add({"actions.grad.is": one_hot(actions, count).to(batch.dtype)})
    rows.add({"actions.grad.id": torch.arange(count).expand(len(batch.files), count)}, whole=True)
