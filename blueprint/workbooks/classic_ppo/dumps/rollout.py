"""What a dump of classic PPO is to us: a rollout, one minibatch of its steps, and what the library said about them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from blueprint.dumps import Array, Dump

OF_STEPS = (
    "rewards_env", "terminal_values", "rewards", "values_old", "done", "terminated", "logprobs_old", "advantages", "returns",
    "actions", "logits_old",
)  # fmt: skip
OF_MINIBATCH = ("logprobs_new", "values_new", "entropy", "advantages_used", "logits_new")
"""Tensors with an entry for each step of the rollout, and for each row of the minibatch."""


@dataclass(frozen=True)
class Rollout(Dump):
    """A dump of a rollout. Rows are environments, columns steps, counted from 0: [N, T]; whatever the file has.

    tensors: those of OF_STEPS, [N, T], `logits_old` [N, T, A]; those of OF_MINIBATCH, [M] and [M, A]; `next_values` [N], the
        value of the state behind the last step. `done` is 1 where the episode ended after the step, and `terminated` 1
        where not only a time limit ended it; the latter is `done` in a file that does not say it.
    at: [M, 2], environment and step of each row of the minibatch.
    """

    at: Array

    kind = "classic_ppo"

    @property
    def shape(self) -> tuple[int, int]:
        """Environments and steps."""
        environments, steps = self.tensors["rewards"].shape
        return environments, steps

    @property
    def head(self) -> str:
        """Says how many environments, steps and rows of a minibatch there are."""
        environments, steps = self.shape
        many = f"{environments} environment{'s' * (environments > 1)}, {steps:,} step{'s' * (steps > 1)} each"
        minibatch = "all of them in one minibatch" if self.whole else f"a minibatch of {len(self.at):,}"
        return f"A rollout of classic PPO: {many}, {minibatch}."

    @property
    def facts(self) -> Mapping[str, int]:
        """Says how many environments and steps there are."""
        return {"environments": self.shape[0], "steps": self.shape[1]}

    @property
    def whole(self) -> bool:
        """Whether the minibatch is the whole rollout, every step once."""
        environments, steps = self.shape
        return len(self.at) == environments * steps == len({tuple(each) for each in self.at.tolist()})

    def of_minibatch(self, name: str) -> Array:
        """Returns the entries of a tensor of steps that the minibatch has, [M]."""
        return np.asarray(self.tensors[name][self.at[:, 0], self.at[:, 1]])
