"""A small dump, rows and numbers of which are computed again as a whole, for every cause anew."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from blueprint.dumps import Array
from blueprint.verifying.alike import Again, Judge, Quantity
from blueprint.verifying.compare import Compared
from blueprint.verifying.settings import Settings
from blueprint.verifying.trials import judged
from blueprint.verifying.verdict import Verdict

Given = Mapping[str, Array]
Ways = Mapping[str, Any]
PLAIN: Ways = MappingProxyType({})
NOTHING: Given = MappingProxyType({})
CELLS = 1 << 24
"""So many numbers are gone through for causes at most: all causes on a small dump, the likeliest on a large one."""
FEWEST = 32


class Try(NamedTuple):
    """Something that may have been done otherwise: how a report puts it, and what is computed then; in_loss: in losses alone.

    ways: what no setting says, as the kind's `recompute` reads it; "whole" where it is done over all files of the step.
    fitted: whether it is a number that the file itself gave away.
    """

    label: str
    settings: Settings
    ways: Ways = PLAIN
    in_loss: bool = False
    fitted: bool = False


class Recompute(Protocol):
    """Computes a dump again. given: results of the file that stand in place of computed ones."""

    def __call__(self, batch: Any, settings: Settings, ways: Ways = PLAIN, given: Given = NOTHING) -> Again:
        """Returns what came of it."""


class Causes(Protocol):
    """Yields what may have been done otherwise where a quantity deviates, in stages, the likelier first."""

    def __call__(self, batch: Any, settings: Settings, name: str, given: Given, whole: Any) -> Iterator[list[Try]]:
        """Yields stages of tries; given: results of the file before it; whole: all files of the step, where there are several."""


@dataclass(frozen=True)
class SmallTrial:
    """A dump, and how it is computed again and compared. losses: quantities of which something may be done otherwise alone."""

    batch: Any
    settings: Settings
    straight: Again
    judge: Judge
    given: Given
    whole: Any
    recompute: Recompute
    causes: Causes
    losses: tuple[str, ...]
    quantities: Mapping[str, Quantity] = field(default_factory=dict)

    @property
    def most(self) -> int:
        """How many causes there is time for."""
        return max(FEWEST, CELLS // max(1 << 12, int(self.batch.size)))

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        return self.judge.called(name)

    def compared(self, each: Try | None = None, given: Given | None = None, until: str = "") -> dict[str, Compared]:
        """Compares what the file logged with what comes out, as the settings say or with something done otherwise."""
        if each is None and not given:
            return self.judge.compared(self.straight, until)
        settings, ways = (each.settings, each.ways) if each else (self.settings, PLAIN)
        if ways.get("whole") and self.whole is not None:
            found = replace(self.recompute(self.whole, settings), rows={})  # its rows are not those of one file
            return self.judge.compared(found, until)
        found = self.recompute(self.batch, settings, ways, given or {})
        return self.judge.compared(self._in_loss(found) if each and each.in_loss else found, until)

    def tries(self, name: str) -> Iterator[list[Try]]:
        """Yields what may have been done otherwise where a quantity deviates."""
        before = {key: value for key, value in self.given.items() if key in self.quantities[name].after}
        for stage in self.causes(self.batch, self.settings, name, before, self.whole):
            yield [each._replace(in_loss=name in self.losses) for each in stage]

    def verdict(self, preset: str, explain: bool) -> Verdict:
        """Compares the dump with itself computed again; explain: whether to look for a cause."""
        lines, first, causes = judged(self, self.tries if explain else lambda name: iter(()), most=self.most)
        uncompared, notes = self.judge.uncompared(), self.batch.notes
        return Verdict(preset, self.straight, tuple(lines), uncompared, first, causes.matches, notes, causes)

    def _in_loss(self, found: Again) -> Again:
        """Returns what was computed, of which the losses alone were made otherwise."""
        straight = self.straight
        rows = {name: found.rows[name] for name in self.losses if name in found.rows}
        numbers = {name: found.numbers[name] for name in self.losses if name in found.numbers}
        return replace(
            straight,
            rows={**straight.rows, **rows},
            numbers={**straight.numbers, **numbers},
            lacks={**straight.lacks, **found.lacks},
        )


def verdict_of(trial: SmallTrial, preset: str, explain: bool) -> Verdict:
    """Compares a dump with itself computed again, as `SmallTrial.verdict`."""
    return trial.verdict(preset, explain)
