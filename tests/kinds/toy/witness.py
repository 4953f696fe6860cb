"""The loss of preference pairs in torch, from its mathematics: −log σ(x) = softplus(−x).

Source: Rafailov et al. 2023 (Direct Preference Optimization), eq. 7, without a reference. Tensors are [F, P, S, T]: file,
pair, side, token.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from blueprint.witness import KindWitness, Tie
from blueprint.witness.batch import Batch, Rows, add_settings
from blueprint.witness.options import picked


def compute(batch: Batch, rows: Rows) -> tuple[Tie, ...]:
    """Adds every quantity of the files to the rows; nothing is drawn."""
    add_settings(batch, rows)
    logprobs = batch.typed("logprobs")
    pairs, tokens = logprobs.shape[1], logprobs.shape[3]
    rows.add({name: _count(batch, each) for name, each in (("tokens", tokens), ("pairs", pairs))})
    with torch.enable_grad():
        steps = {"logprobs": logprobs.requires_grad_()} | steps_of(batch, logprobs)
        slopes = torch.autograd.grad(steps["preference_loss"].sum(), list(steps.values()), allow_unused=True)
    found = {name: each.detach() for name, each in steps.items() if name != "logprobs"}
    felt = {f"{name}.grad": each for name, each in zip(steps, slopes, strict=True) if f"{name}.grad" in batch.files[0]}
    rows.add({name: torch.zeros(()) if each is None else each for name, each in (found | felt).items()}, whole=True)
    return ()


def steps_of(batch: Batch, logprobs: Tensor) -> dict[str, Tensor]:
    """Returns every step from the log-probs to the loss."""
    summed = logprobs.sum(dim=-1)
    mean = summed / logprobs.shape[3]
    score = picked(batch.option("answer", ("sum", "mean")), [summed, mean])
    margin = (batch.typed("sign")[:, None] * score).sum(dim=-1)
    loss = softplus(-batch.setting("beta")[..., 0] * margin, threshold=1e3)
    steps = {"answer.sum": summed, "answer.mean": mean, "score": score, "margin": margin, "loss": loss}
    return steps | {"preference_loss": loss.mean(dim=-1)}


def _count(batch: Batch, number: int) -> Tensor:
    return batch.filled([float(number)] * len(batch.files))


WITNESS = KindWitness(known_by=("sides",), frame=("logprobs",), compute=compute)
