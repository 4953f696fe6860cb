"""What is said of each logged quantity, of a file and of a step: that it agrees, follows from what is before it, or differs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from blueprint.dumps import COUNTED_IN, Dump, Place
from blueprint.verifying.compare import SHARE, Compared
from blueprint.verifying.logged import before

if TYPE_CHECKING:
    from blueprint.verifying.verdict import Verdict

AGREES, TOO_COARSE, FOLLOWS, DIFFERS = "agrees", "too coarse", "follows", "DIFFERS"
NEEDS_OTHERS = "needs the others"

LEAST_SHARE = 0.01
"""How much of its tolerance a difference must take to be named."""

EARLY = "before the first update, rms"
"""What a quantity means that is the one before the first update: how far it may be from what must hold then."""


@dataclass(frozen=True)
class Line:
    """A logged quantity: what the file calls it, what it was compared to, and what that says.

    says: agrees; too coarse, if rounding may explain the difference but might hide a fault, too; follows, if it agrees with the
        file's own rows before it or with the cause of the first deviation; DIFFERS, also from the file's own rows before it; or
        that it needs the other files of the step, where nothing but their mean and deviation could make a difference.
    why: what makes it too coarse, where that is no rounding.
    within: what it follows from where nothing before it deviates: rows before it that agree, and how much of their
        tolerance they take.
    """

    called: str
    compared: Compared
    says: str
    within: Mapping[str, float] = field(default_factory=dict)
    why: str = ""

    @property
    def allowed(self) -> float:
        """How far apart it may be: to agree, or else by rounding alone."""
        found = self.compared
        return min(found.tolerance, SHARE * found.size) if self.says == AGREES else found.allowed


def lines_of(
    quantities: Mapping[str, Any],
    called: Callable[[str], str],
    straight: Mapping[str, Compared],
    local: Mapping[str, Compared],
) -> list[Line]:
    """Says of each quantity whether it agrees, or else whether it follows from what the file has before it.

    quantities: all of a kind of dump, each with those that it is made of, `after`. called: what the file calls one.
    """
    lines: list[Line] = []
    for name, compared in straight.items():
        says, within = TOO_COARSE if compared.too_coarse else AGREES, dict[str, float]()
        if not compared.agrees:
            earlier = [straight[each] for each in before(name, quantities) if each in straight]
            follows = bool(earlier) and name in local and local[name].agrees
            says = FOLLOWS if follows else DIFFERS
            within = _within(earlier) if follows and all(each.agrees for each in earlier) else within
        lines.append(Line(called(name), compared, says, within))
    return lines


def _within(earlier: Sequence[Compared]) -> dict[str, float]:
    """Returns how much of its tolerance each takes, the most first; where none takes a hundredth, only the first."""
    shares = {each.name: each.largest / each.allowed for each in earlier if each.allowed}
    order = sorted(shares, key=lambda name: -shares[name])
    return {name: shares[name] for place, name in enumerate(order) if shares[name] >= LEAST_SHARE or not place}


def first_of(lines: Sequence[Line]) -> Line | None:
    """Returns the first line that differs by itself, or else the first that deviates; None where none does."""
    wrong = [line for line in lines if not settled(line)]
    return next((line for line in wrong if line.says == DIFFERS), next(iter(wrong), None))


def settled(line: Line) -> bool:
    """Whether nothing is left to be explained: it agrees, or only other files can judge it."""
    return line.compared.agrees or line.says == NEEDS_OTHERS


def following(line: Line) -> Line:
    """Returns a line that follows from the cause of the first deviation."""
    return replace(line, says=FOLLOWS, within={})


SEVERITY = {AGREES: 0, FOLLOWS: 2, DIFFERS: 3}
"""How severe it is what a line says; all else is no deviation, and more severe than that it agrees."""


@dataclass(frozen=True)
class StepLine:
    """A logged quantity of a step: where it is worst among the files, and where it first deviates.

    line, worst: the most severe line of the files, and in which it is; where several say the same, the one that takes the most of
        its tolerance. files: how many files have it. deviating: those in which it deviates, in their order; and first: the line
        of the first of them that says the most severe, and that file.
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
        return self.line.compared.means == EARLY


def step_lines(verdicts: Sequence[Verdict], quantities: Collection[str]) -> list[StepLine]:
    """Returns the lines of a step: what must hold before the first update, then the quantities in the order of derivation."""
    found: dict[tuple[bool, int, str], list[tuple[Line, Dump]]] = {}
    places = {name: place for place, name in enumerate(quantities)}
    for verdict in verdicts:
        for line in verdict.lines:
            name, early = line.compared.name, line.compared.means == EARLY
            found.setdefault((not early, places.get(name, -1), name), []).append((line, verdict.replayed.batch))
    return [_together(found[each]) for each in sorted(found)]


def _together(lines: Sequence[tuple[Line, Dump]]) -> StepLine:
    def severity(each: tuple[Line, Dump]) -> tuple[int, float]:
        found = each[0].compared
        return SEVERITY.get(each[0].says, 1), found.largest / (found.allowed or 1.0)

    (worst, batch), wrong = max(lines, key=severity), [each for each in lines if not settled(each[0])]
    first = next((each for each in wrong if each[0].says == worst.says), None)
    return StepLine(worst, batch, len(lines), tuple(each for _, each in wrong), first)


def first_line(lines: Sequence[StepLine]) -> StepLine | None:
    """Returns the first that differs by itself, or else the first that deviates at all; what is special about the time before
    the first update comes after everything else."""
    wrong = sorted((each for each in lines if each.deviating), key=lambda each: each.early)
    return next((each for each in wrong if each.line.says == DIFFERS), next(iter(wrong), None))


def only_in(deviating: Sequence[Dump], batches: Sequence[Dump]) -> Iterator[str]:
    """Yields what the files in which something deviates have in common, and none of the others: rank 1, epoch 0 …"""
    some = {id(each) for each in deviating}
    others = [each for each in batches if id(each) not in some]
    for key in COUNTED_IN:
        values = {getattr(each.place or Place(), key) for each in deviating}
        elsewhere = {getattr(each.place or Place(), key) for each in others}
        if others and len(values) == 1 and None not in values and not values & elsewhere:
            yield f"{key} {values.copy().pop()}"
