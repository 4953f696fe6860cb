"""What libraries computed of one small batch of preferences: `preference_runs.json`, as it was recorded.

Rows are the chosen responses of four pairs, then the rejected ones; column t of a log-prob is that of token t + 1.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

DATA = Path(__file__).parents[1] / "data" / "preference_runs.json"
LOSS, GRADIENT = 1e-12, 1e-11
"""How far a loss may be, relative to its size, and a gradient, of which 12 digits are recorded."""


class Run(NamedTuple):
    """A recorded run: library, variant, its options, filled up with the defaults, and what came out."""

    library: str
    variant: str
    options: dict[str, Any]
    out: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.library}-{self.variant}"


@cache
def recorded() -> Any:
    return json.loads(DATA.read_text(encoding="utf-8"))


def runs(stage: str) -> Iterator[Run]:
    """Yields all runs of a stage."""
    defaults = recorded()["option_defaults"][stage]
    for library, found in recorded()["runs"].items():
        for variant, run in found["runs"].items():
            options = run.get("options", {"stage": "preference"})  # one run is of a function, with the defaults
            if options["stage"] == stage:
                yield Run(library, variant, defaults | options, run["result"])


def numbers(found: Any) -> Tensor:
    """Returns what was recorded as a tensor; nan and infinities are recorded as words."""
    if isinstance(found, list):
        return torch.stack([numbers(each) for each in found])
    return torch.tensor(float(found), dtype=torch.float64)


def far(found: Tensor, meant: Any) -> float:
    """Returns how far numbers are from those recorded, relative to their size where that is above 1."""
    wanted = numbers(meant)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    return float((found.detach() - wanted).abs().max() / wanted.abs().max().clamp(min=1))


def taken(slope: Tensor, ids: Tensor) -> Tensor:
    """Returns the gradient by the logit of the token that follows, [N, T], of that by all logits, [N, T, V]."""
    return slope.gather(-1, ids[..., None])[..., 0]
