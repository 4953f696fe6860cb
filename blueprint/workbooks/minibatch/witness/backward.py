"""Gradients of a minibatch by automatic differentiation, to the log-probs, the entropy and the values of the words shown.

The words that are not shown add constants: numbers of the batch are typed, and nothing flows through them.
"""

from dataclasses import replace

import torch

from blueprint.witness import Batch, Options, Rows, Texts, critic_rows, leaf, pull_rows, shown_slopes, shows_slopes
from blueprint.workbooks.minibatch.witness.logged import Kind
from blueprint.workbooks.minibatch.witness.loss import add_loss

LEAVES = {"policy.logprobs": "logprobs", "policy.entropy": "entropy", "critic.values": "values"}
"""What is differentiated by, and what the computation calls it."""


def add_gradients(batch: Batch, rows: Rows, texts: Texts, options: Options, kind: Kind) -> None:
    """Adds ∂L/∂x for every quantity x of which the files show one, if they show any."""
    if not shows_slopes(batch):
        return
    here = Rows(batch)
    here.update(rows)
    with torch.enable_grad():
        leaves = {name: leaf(batch, name) for name in LEAVES if name in rows}
        here.update(leaves)
        moved = replace(texts, **{LEAVES[name]: each for name, each in leaves.items()})
        add_loss(here, moved, options, kind)
        found = shown_slopes(batch, here)
    rows.add(critic_rows(batch, rows) | found)
    rows.add(pull_rows(batch, found["policy.logprobs.grad"], rows["mask"]))
