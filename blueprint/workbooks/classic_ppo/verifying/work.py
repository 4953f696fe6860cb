"""A recomputation in progress: what is known of a rollout so far, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from blueprint.dumps import Array
from blueprint.verifying.settings import Settings
from blueprint.workbooks.classic_ppo.dumps import Rollout
from blueprint.workbooks.classic_ppo.verifying.ways import Ways

Given = Mapping[str, Array]
NOTHING: Given = MappingProxyType({})


@dataclass
class Replayed:
    """What came of it. rows: [N, T] of steps, [M] of the minibatch; whole: numbers of the minibatch; both as computed.

    sizes: by number, the mean size of the terms that it sums. lacks: by quantity, what the file has not that it takes.
    sigma: what normalised advantages were divided by. clip: the lowest and the highest ratio that count.
    """

    batch: Rollout
    rows: dict[str, Array]
    whole: dict[str, float]
    sizes: dict[str, float]
    lacks: dict[str, str]
    sigma: float = 1.0
    clip: tuple[float, float] = (0.0, float("inf"))

    @property
    def numbers(self) -> Mapping[str, float]:
        """The numbers that libraries log, as far as the file has what they are made of."""
        return self.whole


class Work:
    """A recomputation in steps; what is given goes on in place of what was computed, which is kept, too."""

    def __init__(self, rollout: Rollout, settings: Settings, ways: Ways, given: Given, until: str = "") -> None:
        """Starts with the tensors of a rollout; given: results of the file's own that later steps read."""
        self.until = until
        self.rollout, self.settings, self.ways, self.given = rollout, settings, ways, given
        reach = self.number("clip_range")
        self.found = Replayed(rollout, {}, {}, {}, {}, clip=(1 - reach, 1 + reach + self.number("clip_more")))
        self.known: dict[str, Tensor] = {name: torch.from_numpy(array) for name, array in rollout.tensors.items()}

    def number(self, key: str) -> float:
        """Returns a setting that is a number."""
        return float(self.settings[key])

    def has(self, quantity: str, *names: str) -> bool:
        """Whether all that a quantity takes is known; notes what is not."""
        lacking = [name for name in names if name not in self.known]
        if lacking:
            self.found.lacks[quantity] = " and ".join(lacking)
        return not lacking

    def row(self, name: str, computed: Tensor) -> None:
        """Takes a row; what is given of that name is read by later steps instead."""
        self.found.rows[name] = computed.numpy()
        self.known[name] = torch.from_numpy(np.asarray(self.given[name])) if name in self.given else computed

    def number_of(self, name: str, terms: Tensor, sign: float = 1.0) -> None:
        """Takes a number that is the mean of terms, [M], or their sum."""
        computed = sign * float(terms.sum() if self.ways.summed else terms.mean())
        self.total(name, computed, float(terms.abs().mean()))

    def total(self, name: str, computed: float, size: float) -> None:
        """Takes a number, and the size of what it adds up."""
        self.found.whole[name], self.found.sizes[name] = computed, size
        value = float(self.given[name]) if name in self.given else computed
        self.known[name] = torch.tensor(value, dtype=torch.float64)

    def of_minibatch(self, name: str) -> Tensor:
        """Returns the entries of a row of steps that the minibatch has, [M]."""
        row, at = self.known[name], self.rollout.at
        moved = (name in self.ways.late) - (name in self.ways.early)
        if self.ways.transposed is not None and name == self.ways.transposed[0]:
            at = transposed(at, self.rollout.shape, self.ways.transposed[1])
        places = torch.from_numpy(np.ascontiguousarray(at))
        return row.roll(moved, dims=1)[places[:, 0], places[:, 1]]


def transposed(at: Array, shape: tuple[int, int], order: str) -> Array:
    """Returns places [M, 2] of a rollout that was flattened the other way than it is read in that order."""
    environments, steps = shape
    if order == "time":
        flat = at[:, 0] * steps + at[:, 1]
        return np.stack([flat % environments, flat // environments], axis=1)
    flat = at[:, 1] * environments + at[:, 0]
    return np.stack([flat // steps, flat % steps], axis=1)
