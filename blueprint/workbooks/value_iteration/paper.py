"""A file of value iteration for the page of `papers`: a map, γ and two rewards."""

import numpy as np
import torch
from torch import Tensor

from blueprint.papers.value_iteration import Grid, grid_of, sweep, swept_at_random
from blueprint.witness.raw import Named, Page, Raw
from blueprint.witness.settings import block


def results(raw: Raw) -> Named:
    """Return the named results of a file."""
    grid, shape, gamma = read_grid(raw), np.shape(block(raw.file, "grid.map")), raw.number("gamma")
    count = len(raw.tensor("sweep.number"))
    best, random = [torch.zeros_like(grid.lives)], [torch.zeros_like(grid.lives)]
    for _ in range(count):
        best.append(sweep(grid, best[-1], gamma))
        random.append(swept_at_random(grid, random[-1], gamma))
    V, Vpi = torch.stack(best), torch.stack(random)  # [1 + sweeps, cells]
    # A cell is right after a sweep if it is the same after all later ones.
    same = (V[1:, None] == V[None, 1:]) | _before(count, V)
    right = (same.all(1) & (grid.lives == 1)).sum(-1).to(V.dtype)
    start, start_random = (_at_start(each, grid.start) for each in (V, Vpi))
    change = (V[1:] - V[:-1]).abs().amax(1)
    return {
        "sweep.value": V.reshape(-1, *shape),
        "random.value": Vpi.reshape(-1, *shape),
        "progress.start": start,
        "progress.random": start_random,
        "progress.right": right,
        "progress.change": torch.cat([change, change.new_zeros(1)]),  # nothing changes behind the last sweep
        "final.value": start[-1],
        "final.random": start_random[-1],
        "final.right": right[-1],
        "final.change": change[-1],
    }


def read_grid(raw: Raw) -> Grid:
    """Return the grid of a file."""
    cells = np.array(raw.words("grid.map"), dtype=object).reshape(np.shape(block(raw.file, "grid.map")))
    grid = grid_of(cells.tolist(), raw.number("step_reward"), raw.number("goal_reward"))
    return grid.like(raw.tensor("sweep.number"))


def _at_start(values: Tensor, start: int | None) -> Tensor:
    """Return the values of the start after each sweep; 0 where there is none."""
    return values[1:, 0] * 0 if start is None else values[1:, start]


def _before(count: int, like: Tensor) -> Tensor:
    """Return, [sweeps, sweeps, 1], which sweeps lie before which: they say nothing of whether a cell stays."""
    at = torch.arange(count, device=like.device)
    return (at[None] < at[:, None])[..., None]


PAGE = Page(results)
