"""Where a computation starts: texts, pairs, and a score after every token, typed or made by a network that reads the texts."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from blueprint.witness import GRAD, Batch, Held, Named, block, ids
from blueprint.witness import networks as models

MODEL = ("E", "W", "head.w", "head.b")
TYPED = (
    "response.number", "chosen.number", "rejected.number", "pair.margin", "pair.ranking", "pair.counts", "pair.column", "shift",
    "scale", "overflow.sheet", "overflow.float32",
)  # fmt: skip


class Start(NamedTuple):
    """What is typed, by name, `head` among it; every row before the steps; and of a network the tokens read, [1, N, T]."""

    given: Named
    rows: Named
    read: Tensor | None = None
    weights: Held | None = None


def begun(batch: Batch) -> Start:
    """Reads texts and pairs. Raises WitnessError for an unknown token."""
    given = {name: batch.typed(name)[0] for name in TYPED}
    like, file = given["pair.margin"], batch.files[0]
    found = torch.as_tensor(ids(block(file, batch.frame), block(file, "vocabulary"), batch.frame)).to(like)
    end = torch.as_tensor(ids(block(file, "text.end"), block(file, "vocabulary"), "text.end", blanks=False)).to(like)
    rows = {"text.end_id": end, "token.id": found.clamp(min=0), "text.there": (found >= 0).to(like)}
    rows["token.as_end"] = (rows["token.id"] == end).to(like)
    rows["token.is_end"] = rows["text.there"] * rows["token.as_end"]
    if "head.score" in file:
        return Start(given | {"head": batch.typed("head.score")[0]}, rows)
    weights = {part: batch.typed(f"reward_model.{part}") for part in MODEL}
    return with_weights(Start(given, rows, rows["token.id"].long()[None]), weights)


def with_weights(start: Start, weights: Held) -> Start:
    """Runs a network with other weights over the same texts."""
    assert start.read is not None
    memory = models.memory(weights, start.read)
    out = models.score(weights, memory)
    rows = {
        "reward_model.inputs": models.inputs(weights, start.read, memory)[0], "reward_model.memory": memory[0],
        "reward_model.out": pad(out, (0, 1))[0],
    }  # fmt: skip
    return Start(start.given | {"head": out[0]}, start.rows | rows, start.read, weights)


def weight_rows(read: Tensor, of_scores: Tensor, weights: Held) -> Named:
    """Returns ∂L/∂x by `x.grad` for the weights and everything between them and the scores. of_scores: ∂L/∂r, [N, T]."""
    with torch.enable_grad():
        leaves = {part: each.detach().requires_grad_() for part, each in weights.items()}
        steps = models.unrolled(leaves, read)
        out = models.score(leaves, models.stacked(steps["memory"]))
    flat = [*leaves.values(), *(each for step in steps.values() for each in step)]
    slopes = iter(torch.autograd.grad(out, flat, of_scores[None]))
    found = {f"reward_model.{part}{GRAD}": next(slopes) for part in leaves}
    on_the_way = {
        f"reward_model.{name}": torch.stack([next(slopes) for _ in step], dim=2) for name, step in steps.items()
    }
    found |= dict(models.called(*each) for each in on_the_way.items()) | models.turned({"reward_model": leaves})
    tokens = torch.arange(weights["E"].shape[1])
    looked_up = {f"token.id{GRAD}.id": tokens, f"token.id{GRAD}.is": read[0, ..., None] == tokens}
    return looked_up | {name: each[0] for name, each in found.items()}
