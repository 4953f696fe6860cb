"""Marks of one student: first with the true numbers, then with the student's own, then by what is known of mistakes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import floor, isfinite, log10

from blueprint.classes.depending import Before, before, hanging_on
from blueprint.classes.grading_policy import GradingPolicy
from blueprint.classes.key import Key, KeyBlank, KeyStudent
from blueprint.classes.submission import Given
from blueprint.classes.trivial import trivial
from blueprint.classes.typed import base_of, with_departures
from blueprint.language import Block, Cell, Values, fill, schedule
from blueprint.misconceptions import Diagnosis, diagnose, further_values, shortened, wrong_values
from blueprint.page.digits import MOST, SHOWN
from blueprint.page.outline import Blank
from blueprint.workbooks.registry import kind_named
from blueprint.worksheets.graph import Graph

HAIR, FIFTEEN_DIGITS = 1e-6, 1e-14
"""What a number may be off beyond half a unit: a part of that unit, since halves are not exact in binary, and of itself."""

TOO_FEW = {"rounded": "right, but rounded too far", "cut": "right, but cut off instead of rounded"}
"""What was done to a number that is wrong by its digits alone."""

MOST_ROUNDING = 50
"""By how many times its tolerance a carried number may be off since earlier ones were rounded; more explains anything."""

Answers = Mapping[str, Sequence[Given]]


class Course:
    """An assignment, ready to mark: its blueprint, its blanks and what hangs on them; made once for a whole class."""

    def __init__(self, key: Key, policy: GradingPolicy):
        self.key, self.policy, self.base = key, policy, base_of(key)
        self.kind = kind_named(key.kind)
        self.blocks = self.base.blocks()
        named = {block.name: block for block in self.blocks}
        self.blanks = {each.id: _blank(each, named) for each in key.blanks}
        self.key_blanks = {blank.id: blank for blank in key.blanks}
        self.cells = {
            Cell(blank.block, at): (id, i) for id, blank in self.blanks.items() for i, at in enumerate(blank.cells)
        }
        self.asked = frozenset(self.cells)
        self.steps = schedule([block for block in self.blocks if not block.typed])
        self.graph = Graph(self.base)
        self.hanging = hanging_on({blank.block for blank in self.blanks.values()}, self.blocks)

    def values(self, student: KeyStudent, held: Mapping[Block, Mapping[tuple[int, ...], float]]) -> Values:
        """Computes everything from what is typed in a student's file, with the student's numbers in their cells."""
        typed = with_departures(self.base, student.typed).typed
        values = Values(self.base.sizes, beyond=True)
        values.hold(held)
        for block in self.blocks:
            if block.typed:
                values.fill(block, typed)
        fill(self.steps, values)
        return values

    def within(self, blank: KeyBlank, expected: float) -> float:
        """Returns how far a number may be from the expected one."""
        chosen = self.policy.tolerance_of(blank)
        most = half_a_unit(expected, blank.decimals) if chosen is None else chosen
        return most * (1 + HAIR) + FIFTEEN_DIGITS * abs(expected)


def _blank(each: KeyBlank, named: Mapping[str, Block]) -> Blank:
    return Blank(each.title, named[each.block], tuple(map(tuple, each.cells)), each.weight, each.asks)


def half_a_unit(number: float, decimals: int) -> float:
    """Returns half a unit of the last digit that a sheet shows; large numbers are shown with a power of ten."""
    size = floor(log10(abs(number))) - SHOWN if isfinite(number) and abs(number) >= MOST else -decimals
    return float(0.5 * 10.0**size)


def said(ids: Iterable[str]) -> str:
    """Names blanks as the worksheet numbers them: your blank 3, your blank 4."""
    return ", ".join(f"your blank {int(id[1:])}" for id in ids)


@dataclass(frozen=True)
class Judged:
    """One cell: how it was judged, and from which blanks its numbers came if it is carried; why: if it is not, the reason."""

    status: str
    came_from: tuple[str, ...] = ()
    why: str = ""


class Marking:
    """The marks of one student's file; what costs time is computed when the first wrong number asks for it."""

    def __init__(self, course: Course, student: KeyStudent, answers: Answers):
        self.course, self.student, self.answers = course, student, answers
        self._known: dict[Cell, Judged] = {}

    @cached_property
    def true(self) -> Values:
        """Everything as it should be."""
        return self.course.values(self.student, {})

    @cached_property
    def carried(self) -> Values:
        """Everything with the student's numbers in the blanks; what is empty or no number counts 0, as in a sheet."""
        return self._going_on({})

    def _going_on(self, otherwise: Mapping[Cell, float]) -> Values:
        """Computes everything from the student's numbers, but for some cells of blanks."""
        held: dict[Block, dict[tuple[int, ...], float]] = {}
        for cell, (id, i) in self.course.cells.items():
            held.setdefault(cell.block, {})[cell.places] = otherwise.get(cell, self.answers[id][i].number or 0.0)
        return self.course.values(self.student, held)

    def judged(self, cell: Cell) -> Judged:
        """Says whether a blank's cell is right, carried, wrong, empty or unreadable."""
        if cell not in self._known:
            self._known[cell] = self._judge(cell)
        return self._known[cell]

    def _judge(self, cell: Cell) -> Judged:
        id, i = self.course.cells[cell]
        given, blank = self.answers[id][i], self.course.key_blanks[id]
        if given.number is None:
            return Judged("unreadable" if given.problem else "empty", why=given.problem)
        expected = self.student.answers[id][i]
        if abs(given.number - expected) <= self.course.within(blank, expected):
            return Judged("right")
        own = self.own(cell)
        off, most = abs(given.number - own), self.course.within(blank, own)
        if not (
            isfinite(own) and (off <= most or (off <= MOST_ROUNDING * most and self._rounded_before(cell, off - most)))
        ):
            return Judged("wrong", why=self._too_few(blank, given.number, (expected, own)))
        return self._carried(cell, blank, own)

    def _too_few(self, blank: KeyBlank, number: float, rights: Iterable[float]) -> str:
        """Says what was done to a number that would be right with more digits; "" of any other."""
        found = (shortened(number, right, blank.decimals) for right in rights if abs(right) < MOST)
        how = next(filter(None, found), None)
        wanted = f": {blank.decimals} decimals are wanted" * (self.course.policy.tolerance_of(blank) is None)
        return f"{TOO_FEW[how]}{wanted}" if how else ""

    def _rounded_before(self, cell: Cell, off: float) -> bool:
        """Tells whether a step is off because earlier numbers, of which one is wrong, were typed as rounded as the sheet shows.

        Whoever goes on with the number in full comes to another last digit: half a unit of each, times what the step makes of it.
        """
        earlier, own = self.before(cell).blanks, self.own(cell)
        if all(self.judged(each).status == "right" for each in earlier):
            return False
        moved = ({each: self._number(each) + self._rounding(each)} for each in earlier if self._rounding(each))
        return off <= sum(abs(self._step(cell, self._going_on(each)) - own) for each in moved)

    def _number(self, cell: Cell) -> float:
        id, i = self.course.cells[cell]
        return self.answers[id][i].number or 0.0

    def _rounding(self, cell: Cell) -> float:
        """Returns half a unit of what was typed into a cell; 0 if it has more digits than the sheet shows."""
        blank, number = self.course.key_blanks[self.course.cells[cell][0]], self._number(cell)
        return half_a_unit(number, blank.decimals) if number == round(number, blank.decimals) else 0.0

    def _carried(self, cell: Cell, blank: KeyBlank, own: float) -> Judged:
        """Judges a cell that is right with the student's own earlier numbers."""
        found = self.before(cell)
        earlier = {each: self.judged(each).status for each in sorted(found.blanks, key=self._order)}
        if set(earlier.values()) <= {"right"}:
            return Judged("right", why="right with your own rounded numbers")
        ids = self._ids(each for each, status in earlier.items() if status != "right")
        if missing := self._ids(each for each, status in earlier.items() if status in ("empty", "unreadable")):
            return Judged("wrong", ids, f"there is no number in {said(missing)}, on which it hangs")
        within = partial(self.course.within, blank)
        if self.course.policy.carried.guard and (why := trivial(cell, found.between, self.true, self.carried, within)):
            return Judged("wrong", ids, f"it follows from {said(ids)}, but {why}: so it shows nothing")
        return Judged("carried", ids)

    def own(self, cell: Cell) -> float:
        """Returns what the step of a cell comes to on the student's own numbers."""
        return self._step(cell, self.carried)

    def _step(self, cell: Cell, values: Values) -> float:
        at = (place + values.before(cell.block, axis) for place, axis in zip(cell.places, cell.block.axes, strict=True))
        return float(values.own[cell.block][tuple(at)])

    def before(self, cell: Cell) -> Before:
        """Returns what lies before a cell."""
        return before(cell, self.course.asked, self.course.hanging, self.carried)

    def misconception(self, blank: KeyBlank) -> Diagnosis | None:
        """Returns the known misconception that gives the wrong numbers of a blank, on the true numbers or on the student's."""
        asked, course = self.course.blanks[blank.id], self.course
        given = [each.number for each in self.answers[blank.id]]
        cells = [Cell(asked.block, at) for at in asked.cells]
        rights = [self.student.answers[blank.id], [self.own(cell) for cell in cells]]
        tolerance = course.policy.tolerance_of(blank)
        own = any(self.judged(each).status != "right" for cell in cells for each in self.before(cell).blanks)
        for values in (self.true, self.carried) if own else (self.true,):
            wrong = wrong_values(course.kind, course.base, values, asked)
            wrong += further_values(course.kind, course.base, values, asked, wrong)
            if found := diagnose(given, wrong, rights, blank.decimals, tolerance):
                return found
        return None

    def _ids(self, cells: Iterable[Cell]) -> tuple[str, ...]:
        """Returns the ids of the blanks of cells, each once."""
        return tuple(dict.fromkeys(self.course.cells[each][0] for each in cells))

    def _order(self, cell: Cell) -> tuple[str, int]:
        return self.course.cells[cell]
