"""A rollout computed again: what is known of it, what is done otherwise than usual, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from blueprint.dumps import Array
from blueprint.verifying import Settings
from blueprint.workbooks.classic_ppo.dumps.rollout import Rollout, transposed

Given = Mapping[str, Array]
NOTHING: Given = MappingProxyType({})
Ways = Mapping[str, Any]
"""What is done otherwise than in every library: known mistakes, and conventions that no setting names.

gamma_of_next, gamma_of_sum, done_of_next, done_of_sum: False where γ or 1 − done is missing, at V(next) or at later advantages.
own_value_next: V(t) where V(t + 1) should stand. ddof: what the variance of the advantages is divided by, N less this, in place
of 1. centred: False where the mean is not taken off. over: "rollout" where that is normalised and not the minibatch.
moved: a row of steps that the minibatch reads so many steps later, around the end. transposed: a row of steps that it reads as
if the rollout were flattened in that order, "time" or "environment".
surrogate: the "larger" of both, or the "unclipped" or "clipped" one alone, in place of the "smaller". value_combine: "smaller" for
the smaller of the two distances. value_target: "advantages" where the value is trained towards these, not the returns.
returns_of: the normalised "advantages_used" in place of the advantages. bonus: −1 for the entropy with the other sign.
summed: losses are sums over the minibatch and no means. ratio: "inverted", old over new. kl: "k1" or "k2" where k3 is meant,
or "k3" where k1 is.
"""
PLAIN: Ways = MappingProxyType({})


@dataclass
class Replayed:
    """A rollout computed again, and what came of it.

    given: results of the file by neutral name, which later steps read in place of what was computed. known: what they read.
    rows: [N, T] of steps, [M] of the minibatch; numbers: of the minibatch; both as computed. sizes: by number, the mean size of
    the terms that it sums. lacks: by quantity, what the file has not that it takes. sigma: what normalised advantages were
    divided by.
    """

    batch: Rollout
    settings: Settings
    ways: Ways
    given: Given
    known: dict[str, torch.Tensor]
    rows: dict[str, Array] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)
    sigma: float = 1.0

    @property
    def clip(self) -> tuple[float, float]:
        """The lowest and the highest ratio that count."""
        return 1 - self.number("clip_range"), 1 + self.number("clip_range") + self.number("clip_more")

    def number(self, key: str) -> float:
        """Returns a setting that is a number."""
        return float(self.settings[key])

    def add_row(self, name: str, computed: torch.Tensor) -> None:
        """Takes a row; what is given of that name is read by later steps instead."""
        self.rows[name] = computed.numpy()
        self.known[name] = torch.from_numpy(np.asarray(self.given[name])) if name in self.given else computed

    def add_mean(self, name: str, terms: torch.Tensor, sign: float = 1.0) -> None:
        """Takes a number that is the mean of terms, [M], or their sum."""
        computed = terms.sum() if self.ways.get("summed") else terms.mean()
        self.add_number(name, sign * float(computed), float(terms.abs().mean()))

    def add_number(self, name: str, computed: float, size: float) -> None:
        """Takes a number, and the size of what it adds up."""
        self.numbers[name], self.sizes[name] = computed, size
        self.known[name] = torch.tensor(float(self.given.get(name, computed)), dtype=torch.float64)

    def of_minibatch(self, name: str) -> torch.Tensor:
        """Returns the entries of a row of steps that the minibatch has, [M]."""
        moved, turned = self.ways.get("moved", {}), self.ways.get("transposed", {})
        at = transposed(self.batch.at, self.batch.shape, turned[name]) if name in turned else self.batch.at
        row = self.known[name].roll(moved.get(name, 0), dims=1)
        return row[torch.from_numpy(at[:, 0]), torch.from_numpy(at[:, 1])]
