"""The whole way from demonstrations to the loss, for one set of conventions."""

from collections.abc import Callable
from typing import NamedTuple

from blueprint.language import Block
from blueprint.workbooks.common import Choices, Rows
from blueprint.workbooks.sft.definitions.labels import Labels, labelled
from blueprint.workbooks.sft.definitions.losses import Loss, loss
from blueprint.workbooks.sft.definitions.steps import Steps
from blueprint.workbooks.sft.definitions.watched import WATCHED, watched

Reads = Callable[[Labels], Rows]
"""Makes what the policy says, by name, from what it has to predict."""


class Derived(NamedTuple):
    """Every row in order, and those that one looks for. before: titles of the sections that stand before the policy."""

    steps: Steps
    labels: Labels
    loss: Loss
    said: Rows
    before: tuple[str, ...]

    def sheet(self, section: str) -> str:
        """Returns the title of the sheet on which a section stands."""
        return "Labels" if section in self.before else "Diagnostics" if section == WATCHED else "Loss"

    @property
    def rows(self) -> dict[str, Block]:
        """The rows by the names that they have without a library."""
        return self.steps.rows


def derived(given: Rows, policy: Reads, use: Choices) -> Derived:
    """Runs the definitions, one after the other. given: by name, what the texts are; policy: what it says of the labels."""
    s = Steps(use)
    of = labelled(given, s)
    before = tuple(s.sections)
    said = policy(of)
    costs = loss(said["policy.logprobs"], of, given, s)
    watched({**given, **said}, of, s)
    return Derived(s, of, costs, said, before)
