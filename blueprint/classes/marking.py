"""Marks of one student: first with the true numbers, then with the student's own, then by what is known of mistakes.

The guard of error carried forward is where a carried number makes a step trivial, so that doing it shows nothing.
Who enters 0 in a first step would find the next ones easy (Numbas#368): a factor that is 0, a ratio of exactly 1, a number
that is only repeated, also since it is so large that it swallows what is added to it, a clip that is no longer reached. Where a
clip is reached only with the carried number, the step has become longer, not trivial.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import floor, isfinite, log10
from typing import NamedTuple

from blueprint.classes.grading_policy import GradingPolicy
from blueprint.classes.key import Key, KeyBlank, KeyStudent, base_of, with_departures
from blueprint.classes.results import Mark, Status
from blueprint.classes.submission import Given
from blueprint.language import Block, Cell, Computation, Expr, Op, Values, filled_by, reads
from blueprint.language.cells import Members, alternative_of, value_of
from blueprint.language.trees import children
from blueprint.misconceptions import Diagnosis, diagnose, further_values, shortened, too_short, wrong_values
from blueprint.page.digits import MOST, SHOWN
from blueprint.page.outline import Blank
from blueprint.workbooks.registry import kind_named
from blueprint.worksheets.graph import Graph


class Before(NamedTuple):
    """What lies before a cell: the nearest cells of blanks, and the cells on the way to them, its own among these."""

    blanks: frozenset[Cell]
    between: tuple[Cell, ...]


def step_of(cell: Cell, values: Values) -> float:
    """Returns what the equation of a blank's cell comes to, whatever number stands in the cell."""
    at = (place + values.before(cell.block, axis) for place, axis in zip(cell.places, cell.block.axes, strict=True))
    return float(values.own[cell.block][tuple(at)])


CHOICES = ("minimum", "maximum", "where", "choose")


def trivial(
    cell: Cell, between: Iterable[Cell], true: Values, carried: Values, within: Callable[[float], float]
) -> str:
    """Says why a step is trivial on carried numbers although it is not on the true ones; "" where it is not.

    between: the cells between the earlier blanks and this one, itself among them.
    within: how far the cell may be off a number; more for a large one, of which fewer digits are shown.
    carried: the values with the student's numbers, in which `own` is what the step comes to.
    """
    own, meant = step_of(cell, carried), float(true.cell(cell.block, *cell.places))
    if not isfinite(own):
        return "there the step comes to no number"
    for plain in (0.0, 1.0, -1.0):
        if abs(own - plain) <= within(plain) < abs(meant - plain):
            return f"there the step comes to {plain:g}, whatever it is"
    if _repeats(cell, own, carried, within(own)) and not _repeats(cell, meant, true, within(meant)):
        return "there the step only repeats a number that it reads"
    taken = (zip(_branches(each, true), _branches(each, carried), strict=True) for each in between)
    if any(was != now and now is not None for pairs in taken for was, now in pairs):
        return "there a minimum, a maximum or a choice falls otherwise, and the step is another one"
    return ""


def _repeats(cell: Cell, number: float, values: Values, within: float) -> bool:
    """Tells whether a cell holds one of the numbers that its equation reads."""
    read = (values.cell(each.block, *each.places) for found in reads(cell, values) for each in found.cells)
    return any(isinstance(each, float) and abs(each - number) <= within for each in read)


def _branches(cell: Cell, values: Values) -> list[int | None]:
    """Returns what each choice of a cell's equation takes; of a minimum or maximum −1 if its two are equal, else None."""
    filled = filled_by(*cell, values)
    return list(_taken(filled.definition.expr, filled.members, values)) if filled else []


def _taken(expr: Expr, members: Members, values: Values) -> Iterator[int | None]:
    if not isinstance(expr, Op):  # what a sum goes through has members of its own
        return
    for inner in children(expr):
        yield from _taken(inner, members, values)
    if expr.name in ("where", "choose"):
        alternative = alternative_of(expr, members, values)
        yield next((i for i, each in enumerate(expr.args) if each is alternative), -1)
    elif expr.name in CHOICES:
        left, right = (value_of(each, members, values) for each in expr.args)
        yield -1 if left == right else None


HAIR, FIFTEEN_DIGITS = 1e-6, 1e-14
"""What a number may be off beyond half a unit: a part of that unit, since halves are not exact in binary, and of itself."""

TOO_FEW = {"rounded": "right, but rounded too far", "cut": "right, but cut off instead of rounded"}
"""What was done to a number that is wrong by its digits alone."""
CANNOT_TELL = "too few digits to tell"
"""What is said of a number so short that it may be the right one, or any other: 0.04 for 0.0382."""

MOST_ROUNDING = 50
"""By how many times its tolerance a carried number may be off since earlier ones were rounded; more explains anything."""

Answers = Mapping[str, Sequence[Given]]


class Course:
    """An assignment, ready to mark: its blueprint, its blanks and what hangs on them; made once for a whole class."""

    def __init__(self, key: Key, policy: GradingPolicy):
        self.key, self.policy, self.base = key, policy, base_of(key)
        self.kind, self.graph = kind_named(key.kind), Graph(self.base)
        self.everything = Computation(self.graph.blocks, self.base.sizes, beyond=True)
        named = {block.name: block for block in self.graph.blocks}
        self.blanks = {
            each.id: Blank(each.title, named[each.block], tuple(map(tuple, each.cells)), each.weight, each.asks)
            for each in key.blanks
        }
        self.key_blanks = {blank.id: blank for blank in key.blanks}
        self.cells = {
            Cell(blank.block, at): (id, i) for id, blank in self.blanks.items() for i, at in enumerate(blank.cells)
        }
        self.hanging = self.graph.below({blank.block for blank in self.blanks.values()})

    def values(self, student: KeyStudent, held: Mapping[Block, Mapping[tuple[int, ...], float]]) -> Values:
        """Computes everything from what is typed in a student's file, with the student's numbers in their cells."""
        return self.everything.values(with_departures(self.base, student.typed).typed, held)

    def within(self, blank: KeyBlank, expected: float) -> float:
        """Returns how far a number may be from the expected one."""
        chosen = self.policy.tolerance_of(blank)
        most = half_a_unit(expected, blank.decimals) if chosen is None else chosen
        return most * (1 + HAIR) + FIFTEEN_DIGITS * abs(expected)


def half_a_unit(number: float, decimals: int) -> float:
    """Returns half a unit of the last digit that a sheet shows; large numbers are shown with a power of ten."""
    size = floor(log10(abs(number))) - SHOWN if isfinite(number) and abs(number) >= MOST else -decimals
    return float(0.5 * 10.0**size)


def said(ids: Iterable[str]) -> str:
    """Names blanks as the worksheet numbers them: your blank 3, your blanks 3 and 4."""
    *others, last = (str(int(id[1:])) for id in ids)
    return f"your blanks {', '.join(others)} and {last}" if others else f"your blank {last}"


def carried_from(ids: Collection[str]) -> str:
    """Says with the numbers in which blanks another one is right."""
    number, are = ("numbers", "are") if len(ids) > 1 else ("number", "is")
    return f"right with the {number} in {said(ids)}, which {are} wrong"


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
        """Says what was done to a number that would be right with more digits, or might be; "" of any other."""
        usual = [right for right in rights if abs(right) < MOST]
        how = next(filter(None, (shortened(number, right, blank.decimals) for right in usual)), None)
        near = any(too_short(number, right, blank.decimals) for right in usual)
        wanted = f": {blank.decimals} decimals are wanted" * (self.course.policy.tolerance_of(blank) is None)
        return f"{TOO_FEW[how]}{wanted}" if how else f"{CANNOT_TELL}{wanted}" if near else ""

    def _rounded_before(self, cell: Cell, off: float) -> bool:
        """Tells whether a step is off because earlier numbers, of which one is wrong, were typed as rounded as the sheet shows.

        Whoever goes on with the number in full comes to another last digit: half a unit of each, times what the step makes of it.
        """
        earlier, own = self.before(cell).blanks, self.own(cell)
        if all(self.judged(each).status == "right" for each in earlier):
            return False
        moved = filter(None, map(self._unrounded, earlier))
        return off <= sum(abs(step_of(cell, self._going_on(each)) - own) for each in moved)

    def _unrounded(self, cell: Cell) -> dict[Cell, float]:
        """Moves what was typed into a cell by half a unit; nothing if it has more digits than the sheet shows."""
        id, i = self.course.cells[cell]
        number, decimals = self.answers[id][i].number or 0.0, self.course.key_blanks[id].decimals
        return {cell: number + half_a_unit(number, decimals)} if number == round(number, decimals) else {}

    def _carried(self, cell: Cell, blank: KeyBlank, own: float) -> Judged:
        """Judges a cell that is right with the student's own earlier numbers."""
        found = self.before(cell)
        earlier = [(self.course.cells[each][0], self.judged(each).status) for each in found.blanks]
        ids = tuple(sorted({id for id, status in earlier if status != "right"}))
        if not ids:
            return Judged("right", why="right with your own rounded numbers")
        if missing := sorted({id for id, status in earlier if status in ("empty", "unreadable")}):
            return Judged("wrong", ids, f"there is no number in {said(missing)}, on which it hangs")
        within = partial(self.course.within, blank)
        if self.course.policy.carried.guard and (why := trivial(cell, found.between, self.true, self.carried, within)):
            return Judged("wrong", ids, f"it follows from {said(ids)}, but {why}: so it shows nothing")
        return Judged("carried", ids)

    def own(self, cell: Cell) -> float:
        """Returns what the step of a cell comes to on the student's own numbers."""
        return step_of(cell, self.carried)

    def before(self, cell: Cell) -> Before:
        """Returns what lies before a cell, as far back as to the nearest blanks; what hangs on none is not looked at."""
        found: set[Cell] = set()
        between, new = {cell: None}, [cell]
        while new:
            for each in (each for read in reads(new.pop(), self.carried) for each in read.cells):
                if each in self.course.cells:
                    found.add(each)
                elif each.block in self.course.hanging and each not in between:
                    between[each] = None
                    new.append(each)
        return Before(frozenset(found), tuple(between))

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


SAYS = {
    "right": "right",
    "empty": "nothing was filled in",
    "wrong": "wrong",
}
CONSTANT = "a number stands where a formula was asked for"


def marks_of(marking: Marking) -> dict[str, Mark]:
    """Returns a mark for each blank of a student, by its id."""
    return {blank.id: mark_of(marking, blank) for blank in marking.course.key.blanks}


def mark_of(marking: Marking, blank: KeyBlank) -> Mark:
    """Marks a blank; of several cells each counts the same."""
    answers, course = marking.answers[blank.id], marking.course
    given = [each.number for each in answers]
    if excused := course.policy.excuses(marking.student.id, blank.id):
        return Mark(points=0, status="excused", why=excused.why or "does not count for you", given=given)
    cells = [Cell(course.blanks[blank.id].block, at) for at in course.blanks[blank.id].cells]
    judged = _counting(marking, cells, [marking.judged(cell) for cell in cells])
    counts = Counter(each.status for each in judged)
    earned = counts["right"] + counts["carried"] * course.policy.carried.cap
    status = _status(counts, len(judged))
    wrong = marking.misconception(blank) if counts["wrong"] else None
    pasted = blank.asks == "formula" and is_constant(marking, blank)
    return Mark(
        points=earned / len(judged) * (course.policy.constants if pasted else 1.0),
        status=status,
        why=_why(status, judged, counts, wrong.says if wrong else "", pasted),
        misconception=wrong.name if wrong else None,
        says=wrong.says if wrong else "",
        given=given,
        right=counts["right"] + counts["carried"],
        came_from=list(dict.fromkeys(id for each in judged if each.status == "carried" for id in each.came_from)),
    )


def _counting(marking: Marking, cells: Sequence[Cell], judged: list[Judged]) -> list[Judged]:
    """Leaves out the cells of a row that stand in grey columns: what is there does not count, filled in or not."""
    if len(cells) == 1 or all(each.status == "right" for each in judged):
        return judged
    graph, values = marking.course.graph, marking.carried
    kept = [each for cell, each in zip(cells, judged, strict=True) if graph.counts(cell.block, cell.places, values)]
    return kept or judged


def is_constant(marking: Marking, blank: KeyBlank) -> bool:
    """Tells whether a number was typed into one of a blank's cells, without a formula."""
    return any(each.number is not None and each.formula is None for each in marking.answers[blank.id])


def _status(counts: Counter[str], cells: int) -> Status:
    whole: tuple[Status, ...] = ("right", "empty", "unreadable")
    if status := next((each for each in whole if counts[each] == cells), None):
        return status
    if counts["right"] + counts["carried"] == cells:
        return "carried"
    return "unreadable" if counts["unreadable"] and not counts["wrong"] else "wrong"


def _why(status: Status, judged: Sequence[Judged], counts: Counter[str], says: str, pasted: bool) -> str:
    share = f"{counts['right'] + counts['carried']} of {len(judged)} cells are right" if len(judged) > 1 else ""
    ids = sorted({id for each in judged if each.status == "carried" for id in each.came_from})
    parts = [carried_from(ids) if status == "carried" else SAYS.get(status, "no number")]
    parts += [next((each.why for each in judged if each.why), "")]
    parts += [share] if status not in ("right", "carried", "empty") else []
    parts += [CONSTANT] if pasted else []
    return "; ".join(filter(None, parts)) + (f": {says}" if says else "")
