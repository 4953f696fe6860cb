"""What a dump of classic PPO is to us: a rollout, one minibatch of its steps, and what the library said about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from blueprint.dumps.batch import Array
from blueprint.dumps.place import Place

OF_STEPS = (
    "rewards_env", "terminal_values", "rewards", "values_old", "done", "terminated", "logprobs_old", "advantages", "returns",
    "actions", "logits_old",
)  # fmt: skip
OF_MINIBATCH = ("logprobs_new", "values_new", "entropy", "advantages_used", "logits_new")
"""Tensors with an entry for each step of the rollout, and for each row of the minibatch."""


@dataclass(frozen=True)
class Rollout:
    """A dump under neutral names. Rows are environments, columns steps, counted from 0: [N, T]; whatever the file has.

    tensors: those of OF_STEPS, [N, T], `logits_old` [N, T, A]; those of OF_MINIBATCH, [M] and [M, A]; `next_values` [N], the
        value of the state behind the last step. `done` is 1 where the episode ended after the step, and `terminated` 1
        where not only a time limit ended it; the latter is `done` in a file that does not say it.
    at: [M, 2], environment and step of each row of the minibatch.
    called, dtypes: by neutral name, what the file calls it, and the dtype that its numbers had.
    place: where in the run it belongs, as far as the metadata say it.
    """

    path: str
    tensors: Mapping[str, Array]
    at: Array
    dtypes: Mapping[str, str]
    called: Mapping[str, str]
    library: str | None = None
    version: str | None = None
    preset: str | None = None
    hyperparameters: Mapping[str, float | str] = field(default_factory=dict)
    logged: Mapping[str, float] = field(default_factory=dict)
    place: Place | None = None
    notes: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Environments and steps."""
        environments, steps = self.tensors["rewards"].shape
        return environments, steps

    @property
    def whole(self) -> bool:
        """Whether the minibatch is the whole rollout, every step once."""
        environments, steps = self.shape
        return len(self.at) == environments * steps == len({tuple(each) for each in self.at.tolist()})

    def of_minibatch(self, name: str) -> Array:
        """Returns the entries of a tensor of steps that the minibatch has, [M]."""
        return np.asarray(self.tensors[name][self.at[:, 0], self.at[:, 1]])
