"""The loss of preference pairs in torch, from its mathematics: −log σ(x) = softplus(−x).

Source: Rafailov et al. 2023 (Direct Preference Optimization), eq. 7, without a reference. Tensors are [F, P, S, T]: file,
pair, side, token.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import softplus

from blueprint.witness import KindWitness, Tie
from blueprint.witness.batch import Batch, Rows, add_settings
from blueprint.witness.options import picked


def compute(batch: Batch, rows: Rows) -> tuple[Tie, ...]:
    """Adds every quantity of the files to the rows; nothing is drawn."""
    add_settings(batch, rows)
    logprobs, sign = batch.typed("logprobs"), batch.typed("sign")
    pairs, tokens = logprobs.shape[1], logprobs.shape[3]
    rows.add({name: _count(batch, each) for name, each in (("tokens", tokens), ("pairs", pairs))})
    summed = logprobs.sum(dim=-1)
    score = picked(batch.option("answer", ("sum", "mean")), [summed, summed / tokens])
    rows.add({"answer.sum": summed, "answer.mean": summed / tokens, "score": score}, whole=True)
    margin = (sign[:, None] * score).sum(dim=-1)
    loss = softplus(-batch.setting("beta")[..., 0] * margin, threshold=1e3)
    rows.add({"margin": margin, "loss": loss}, whole=True)
    rows.add({"preference_loss": loss.mean(dim=-1)})
    return ()


def _count(batch: Batch, number: int) -> Tensor:
    return batch.filled([float(number)] * len(batch.files))


WITNESS = KindWitness(known_by=("sides",), frame=("logprobs",), compute=compute)
