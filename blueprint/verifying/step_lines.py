"""One line for every logged quantity of a step: where it is worst among the files, and where it first deviates."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from blueprint.dumps import COUNTED_IN, Dump, Place
from blueprint.verifying.first import MEANS, PAIRS
from blueprint.verifying.lines import AGREES, DIFFERS, FOLLOWS, Line, following, settled
from blueprint.verifying.verdict import Verdict

GRAVEST = (DIFFERS, FOLLOWS)
"""What a line says, the gravest first; all else is no deviation, and graver than that it agrees."""


@dataclass(frozen=True)
class StepLine:
    """A logged quantity of a step.

    line, worst: the gravest line of the files, and in which it is; where several say the same, the one that takes the most of
        its tolerance. files: how many files have it. deviating: those in which it deviates, in their order; and first: the line
        of the first of them that says the gravest, and that file.
    """

    line: Line
    worst: Dump
    files: int
    deviating: tuple[Dump, ...]
    first: tuple[Line, Dump] | None

    @property
    def name(self) -> str:
        """Its neutral name."""
        return self.line.compared.name

    @property
    def early(self) -> bool:
        """Whether it is what must hold before the first update."""
        return self.line.compared.means == MEANS


def step_lines(verdicts: Sequence[Verdict], quantities: Collection[str]) -> list[StepLine]:
    """Returns the lines of a step, in the order of derivation, which is that of the quantities."""
    found: dict[tuple[bool, str], list[tuple[Line, Dump]]] = {}
    for verdict in verdicts:
        for line in verdict.lines:
            key = line.compared.means == MEANS, line.compared.name
            found.setdefault(key, []).append((line, verdict.replayed.batch))
    order = [(True, name) for name in (*(new for _, new in PAIRS), *quantities)] + [
        (False, name) for name in quantities
    ]
    return [_together(found[each]) for each in order if each in found]


def _together(lines: Sequence[tuple[Line, Dump]]) -> StepLine:
    worst, batch = max(lines, key=lambda each: (_gravity(each[0]), _taken(each[0])))
    wrong = [(line, each) for line, each in lines if not settled(line)]
    first = next((each for each in wrong if each[0].says == worst.says), None)
    return StepLine(worst, batch, len(lines), tuple(each for _, each in wrong), first)


def _gravity(line: Line) -> int:
    if line.says in GRAVEST:
        return len(GRAVEST) + 1 - GRAVEST.index(line.says)
    return int(line.says != AGREES)


def _taken(line: Line) -> float:
    """Returns how much of its tolerance a line takes."""
    return line.compared.largest / line.compared.allowed if line.compared.allowed else line.compared.largest


def first_line(lines: Sequence[StepLine]) -> StepLine | None:
    """Returns the first that differs by itself, or else the first that deviates at all; what is special about the time before
    the first update comes after everything else."""
    wrong = sorted((each for each in lines if each.deviating), key=lambda each: each.early)
    return next((each for each in wrong if each.line.says == DIFFERS), next(iter(wrong), None))


def explained(lines: Sequence[StepLine], first: StepLine) -> list[StepLine]:
    """Returns the lines where what explains the first deviation explains all others."""
    return [
        replace(each, line=following(each.line)) if each.deviating and each != first else each for each in lines
    ]  # fmt: skip


def only_in(deviating: Sequence[Dump], batches: Sequence[Dump]) -> Iterator[str]:
    """Yields what the files in which something deviates have in common, and none of the others: rank 1, epoch 0 …"""
    some = {id(each) for each in deviating}
    others = [each for each in batches if id(each) not in some]
    for key in COUNTED_IN:
        values = {getattr(each.place or Place(), key) for each in deviating}
        elsewhere = {getattr(each.place or Place(), key) for each in others}
        if others and len(values) == 1 and None not in values and not values & elsewhere:
            yield f"{key} {values.copy().pop()}"
