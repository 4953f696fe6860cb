"""The workbook's models in torch: an Elman memory, with logits or with one number on top.

h_t = tanh([x_t; h_{t−1}; 1]·W) (Elman, Finding structure in time, 1990, eq. in §2), x_t the embedding of the token read.
A model is its weights by name: embedding E [F, V, K] and W [F, K + J + 1, J], rows ordered as [x; h; 1]; Y [F, J, V] of a
policy, head.w [F, J] and head.b [F] of a model with one number. F are files, so that many files are one computation.
"""

from collections.abc import Mapping

import torch
from torch.nn.functional import embedding

from blueprint.witness.slopes import GRAD
from blueprint.witness.tensors import Held, Named


def step_weights(model: Held) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns what each step of the memory is made of.

    E·W_x + b [F, V, J] is what a token adds, looked up instead of multiplied at every step; the other, [F, J, J], is the part
    of W that the memory itself is multiplied by.
    """
    width = model["E"].shape[-1]
    return torch.baddbmm(model["W"][:, -1:], model["E"], model["W"][:, :width]), model["W"][:, width:-1]


def at_start(weights: torch.Tensor, episodes: int) -> torch.Tensor:
    """Returns the memory before anything is read: zeros, [F, N, J]."""
    return weights.new_zeros(len(weights), episodes, weights.shape[-1])


def memory(model: Held, read: torch.Tensor) -> torch.Tensor:
    """Returns the memory before and after every token of `read` [F, N, T], [F, N, T + 1, J].

    The loop over time is needed: each step waits for the one before. Time comes first inside it, so that every step
    is one product over all files and episodes in a row of memory.
    """
    adds, weights = step_weights(model)
    memories = [at_start(weights, read.shape[1])]
    for step in lookup(adds, read.permute(0, 2, 1)).transpose(0, 1).contiguous():
        memories.append(torch.baddbmm(step, memories[-1], weights).tanh_())
    return torch.stack(memories).permute(1, 2, 0, 3)


def inputs(model: Held, read: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    """Returns [x; h; 1] of every position, [F, N, T, K + J + 1]."""
    x = lookup(model["E"], read)
    return torch.cat([x, memory[:, :, :-1], torch.ones_like(x[..., :1])], dim=-1)


def logits(model: Held, memory: torch.Tensor) -> torch.Tensor:
    """Returns the logits after every token read, [F, N, T, V], from the memory [F, N, T + 1, J]."""
    after = memory[:, :, 1:]
    return torch.bmm(after.flatten(1, 2), model["Y"]).view(*after.shape[:3], -1)


def score(model: Held, memory: torch.Tensor) -> torch.Tensor:
    """Returns the number h·w + b of a critic or a reward model after every token read, [F, N, T]."""
    return torch.einsum("fntj,fj->fnt", memory[:, :, 1:], model["head.w"]) + model["head.b"][:, None, None]


def lookup(table: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Returns the rows of each file's table [F, V, K] at its ids [F, …], [F, …, K]."""
    first = torch.arange(len(table), device=ids.device).view(-1, *[1] * (ids.dim() - 1)) * table.shape[1]
    return embedding(ids + first, table.flatten(0, 1))


def unrolled(model: Held, read: torch.Tensor) -> dict[str, list[torch.Tensor]]:
    """Returns [x; h; 1], what goes into tanh, and h itself, of every position: each a list, so that each has a gradient."""
    x = lookup(model["E"], read)
    h = at_start(model["W"], read.shape[1])
    found: dict[str, list[torch.Tensor]] = {"inputs": [], "memory.in": [], "memory": []}
    for t in range(read.shape[-1]):
        entered = torch.cat([x[:, :, t], h, torch.ones_like(h[..., :1])], dim=-1)
        into = torch.bmm(entered, model["W"])
        h = into.tanh()
        for name, each in zip(found, (entered, into, h), strict=True):
            found[name].append(each)
    return found


def stacked(memory: list[torch.Tensor]) -> torch.Tensor:
    """Returns the memory of every position, and the zeros before the first."""
    return torch.stack([torch.zeros_like(memory[0]), *memory], dim=2)


def called(name: str, slope: torch.Tensor) -> tuple[str, torch.Tensor]:
    """Returns the name under which a file shows a slope, and what it shows: behind the last position nothing is read."""
    if name.endswith(".memory.in"):
        return f"{name.removesuffix('.in')}{GRAD}.in", slope
    return f"{name}{GRAD}", torch.nn.functional.pad(slope, (0, 0, 0, 1)) if name.endswith(".inputs") else slope


def turned(weights: Mapping[str, Held]) -> Named:
    """Returns the tables that a gradient is multiplied by, rows and columns exchanged."""
    tables = {f"{name}.{part}": of[part] for name, of in weights.items() for part in ("W", "Y") if part in of}
    return {f"{name}{GRAD}.transposed": table.detach().transpose(-1, -2) for name, table in tables.items()}
