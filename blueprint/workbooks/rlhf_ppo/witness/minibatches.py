"""What a step sees of the rollout where an epoch has several: whole responses, in the order that the file says."""

import numpy as np
import torch
from torch import Tensor

from blueprint.witness import Batch, File, Held, Named, Texts, numbers
from blueprint.witness.advantages import whitened_rows
from blueprint.witness.ppo import metric_rows, signal, update

SEEN, A_GRADIENT = "minibatch", "gradient.policy.E"


def taken(batch: Batch, epoch: int, minibatch: int) -> Named:
    """Returns 1 on the responses of a minibatch, [F, N]; nothing for files that take all responses in one."""
    if f"{SEEN}.place{epoch}" not in batch.files[0]:
        return {}
    seen = torch.zeros_like(batch.exists[..., 0])
    for row, file in zip(seen, batch.files, strict=True):
        responses = torch.as_tensor(numbers(file, f"{SEEN}.place{epoch}")).argsort()
        row[responses.chunk(pieces_of(file, epoch))[minibatch - 1]] = 1
    return {SEEN: seen}


def pieces_of(file: File, epoch: int) -> int:
    """Returns how many minibatches an epoch of a file has; 0 where each is one."""
    number = 0
    while f"update{epoch}.{number + 1}.{A_GRADIENT}" in file:
        number += 1
    return number


def order_distance(batch: Batch) -> Named:
    """Returns how many responses are missing in minibatches or too many, [F], where the files have a check of that."""
    if "check.order.tolerance" not in batch.files[0]:
        return {}
    found = []
    for file in batch.files:
        epochs = [numbers(file, name) for name in file if name.startswith(f"{SEEN}.place")]
        size = len(epochs[0]) // pieces_of(file, 1)
        counts = [
            np.histogram((places + size - 1) // size, np.arange(0.5, len(places) // size + 1))[0] for places in epochs
        ]
        found.append(float(np.abs(np.stack(counts) - size).sum()))
    return {"check.order": batch.filled(found)}


def learnt(batch: Batch, rows: Held, texts: Texts) -> Named:
    """Returns what the loss learns from; of a minibatch, the advantages whitened over it where the files show that."""
    found = signal(texts, batch.options)
    if SEEN not in rows:
        return found
    seen = rows[SEEN][..., None]
    within = {"response": seen * found["response"], "slots": seen * texts.slots, "mask": seen * texts.mask}
    words = within["mask"].sum(dim=(-2, -1)).clamp(min=1)
    found |= {SEEN: rows[SEEN], f"{SEEN}.words": words}
    found |= {f"{SEEN}.{name}": row for name, row in within.items()}
    anew = whitened_rows(within["slots"], found | within, batch.options)
    return found | (anew if _whitens_anew(batch) else {})


def _whitens_anew(batch: Batch) -> bool:
    """Tells whether every step whitens the advantages: then the second one shows a mean of its own."""
    return any(name.startswith("epoch") and name.endswith("advantage.mean") for name in batch.files[0])


def step_rows(batch: Batch, rows: Held, texts: Texts) -> Named:
    """Returns every quantity of a step, from the models to what is watched."""
    found = update(texts, learnt(batch, rows, texts), batch.options)
    return found | metric_rows(texts, found, batch.options, batch.typed("explained_variance.floor"))


def step_mask(rows: Held, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the tokens over which a step takes its means, and their number."""
    return rows.get(f"{SEEN}.mask", mask), rows.get(f"{SEEN}.words", rows["response.words"])
