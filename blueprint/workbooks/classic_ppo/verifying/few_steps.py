"""A few steps at the end of a large rollout: what does not explain them explains none of it, and they are soon computed.

Advantages are made from the last step to the first, so that those of the last steps are what they are in the whole rollout.
"""

from dataclasses import dataclass, replace

import numpy as np

from blueprint.dumps import Array
from blueprint.language import Reduce, Ref, walk
from blueprint.verifying import Settings, Try, distance
from blueprint.workbooks.classic_ppo.dumps import OF_STEPS, Rollout
from blueprint.workbooks.classic_ppo.rollout import CLASSIC
from blueprint.workbooks.classic_ppo.verifying.recompute import EQUATIONS, TYPED

FEW, WIDTH, ENVIRONMENTS = 1 << 11, 48, 4
"""Steps of all environments up to which nothing is left out; and how many steps of how many environments are enough."""
LOCAL = {"td_errors", "stop", "advantages", "returns", "rewards.paid", *TYPED, *CLASSIC}
"""Rows of which a few steps are what they are in the whole rollout; and settings."""


@dataclass(frozen=True)
class End:
    """Some environments, and the step from which on they are looked at; of that step itself nothing is compared, since what is
    before it may be read."""

    environments: Array
    start: int

    def cut(self, row: Array) -> Array:
        """Returns what is looked at of a row of steps."""
        return np.asarray(row[self.environments][:, self.start :])

    def of(self, rollout: Rollout) -> Rollout:
        """Returns the end of a rollout, without its minibatch."""
        steps = {name: self.cut(row) for name, row in rollout.tensors.items() if name in OF_STEPS and row.ndim == 2}
        if "next_values" in rollout.tensors:
            steps["next_values"] = rollout.tensors["next_values"][self.environments]
        return replace(rollout, tensors=steps, logged={}, at=np.zeros((0, 2), dtype=np.int64))

    def differs(self, theirs: Array, ours: Array, allowed: float) -> bool:
        """Whether a row of steps of the file is another one there. ours: of the end alone."""
        cut = self.cut(theirs)
        grown = np.maximum(1.0, np.fmin(np.abs(cut), np.abs(ours)))  # of larger numbers more is rounding
        return not bool((distance(cut, ours) <= allowed * grown)[:, 1:].all())


def end_of(theirs: Array, ours: Array, allowed: float) -> End | None:
    """Returns the last steps of the environments in which a row deviates most there; None where they are nearly all.

    Where nothing deviates in the last steps, it begins in front of the last one that does.
    """
    wrong = ~(distance(theirs, ours) <= allowed)
    if theirs.size <= FEW or not wrong.any():
        return None
    last = int(np.flatnonzero(wrong.any(axis=0))[-1])
    start = min(theirs.shape[1], last + WIDTH // 2) - WIDTH
    if start <= 0:
        return None
    environments = np.argsort(-wrong[:, start + 1 :].sum(axis=1), kind="stable")[:ENVIRONMENTS]
    return End(np.sort(environments), start)


def is_local(each: Try, settings: Settings) -> bool:
    """Whether with something done otherwise a few steps are what they are in the whole rollout."""
    equations = EQUATIONS.under(settings)
    for name, change in each.ways.get("equations", {}).items():
        for definition in equations.changed(name, change).definitions:
            for node in walk(definition.expr):
                if isinstance(node, Reduce) or (isinstance(node, Ref) and node.block.name not in LOCAL):
                    return False
    return not each.ways.get("far", False)
