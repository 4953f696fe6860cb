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


ORDERS = TIME, ENVIRONMENT = "time", "environment"
"""How a rollout may be flattened: step by step over all environments (t·N + n), or environment by environment (n·T + t)."""


def places(flat: Array, shape: tuple[int, ...], order: str) -> Array:
    """Returns environment and step, [M, 2], of steps of a rollout that is flattened in an order."""
    environments, steps = shape
    by_time, by_environment = np.divmod(flat, environments)[::-1], np.divmod(flat, steps)
    return np.stack(by_time if order == TIME else by_environment, axis=1)


def transposed(at: Array, shape: tuple[int, int], order: str) -> Array:
    """Returns places [M, 2] of a rollout that was flattened the other way than it is read in that order."""
    (environments, steps), (environment, step) = shape, at.T
    return places(environment * steps + step if order == TIME else step * environments + environment, shape, order)


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
        shape: tuple[int, int] = self.tensors["rewards"].shape
        return shape

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
        return len(self.at) == self.tensors["rewards"].size == len(np.unique(self.at, axis=0))

    def of_minibatch(self, name: str) -> Array:
        """Returns the entries of a tensor of steps that the minibatch has, [M]."""
        return np.asarray(self.tensors[name][self.at[:, 0], self.at[:, 1]])
