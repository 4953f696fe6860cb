"""What a class knows by now: totals, how hard each blank was, which mistakes were made, and what came of them."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from blueprint.classes.results import Mark, Marked, Result, Results

TOP = 12
"""Lines of a table of what is most frequent."""
BINS = 10
DIGITS = 6
"""By which two wrong numbers are the same; sheets show four to six."""


class Difficulty(NamedTuple):
    """How one blank went.

    counts: students by status, of those who handed something in. mean: of the points, 0 to 1. discrimination: the correlation
    of its points with the total of the other blanks, −1 to 1 (Crocker & Algina 1986, section 14, corrected item-total
    correlation); None where either does not vary.
    """

    blank: Marked
    counts: dict[str, int]
    mean: float | None
    discrimination: float | None


class Mistake(NamedTuple):
    """A misconception that was found in a blank, by how many students, with a number that one of them wrote."""

    blank: Marked
    name: str
    says: str
    students: int
    example: float | None


class Same(NamedTuple):
    """A wrong number that several students wrote into a blank, and that no known misconception gives."""

    blank: Marked
    numbers: tuple[float | None, ...]
    students: int


class Chain(NamedTuple):
    """A mistake in one blank with which a later one is right: by how many students."""

    source: Marked
    blank: Marked
    students: int


class Report(NamedTuple):
    """A class in numbers, without a name.

    shares: of the points, 0 to 1, of each student who was marked. flags: by kind, how many.
    """

    assignment: str
    points: float
    students: int
    handed_in: int
    refused: int
    late: int
    shares: list[float]
    blanks: list[Difficulty]
    mistakes: list[Mistake]
    same: list[Same]
    chains: list[Chain]
    flags: dict[str, int]


def report_of(results: Results) -> Report:
    """Counts a class."""
    marked = [each for each in results.results if each.total is not None]
    return Report(
        results.assignment,
        results.points,
        len(results.results),
        sum(each.file is not None for each in results.results),
        sum(bool(each.refused) for each in results.results),
        sum(each.late > 0 for each in results.results),
        [(each.total or 0.0) / results.points if results.points else 0.0 for each in marked],
        [_difficulty(blank, marked, results.blanks) for blank in results.blanks],
        [*_mistakes(results.blanks, marked)],
        [*_same(results.blanks, marked)],
        [*_chains(results.blanks, marked)],
        dict(Counter(flag.kind for flag in results.flags).most_common()),
    )


def _difficulty(blank: Marked, marked: Sequence[Result], blanks: Sequence[Marked]) -> Difficulty:
    """Measures one blank, over those in whose marks it stands and is not excused."""
    of = [each for each in marked if blank.id in each.marks and each.marks[blank.id].status != "excused"]
    points = [each.marks[blank.id].points for each in of]
    others = [_weighted(each, (other for other in blanks if other.id != blank.id)) for each in of]
    counts: Counter[str] = Counter(each.marks[blank.id].status for each in marked if blank.id in each.marks)
    return Difficulty(blank, dict(counts), statistics.fmean(points) if points else None, _correlation(points, others))


def _weighted(result: Result, blanks: Iterable[Marked]) -> float:
    return sum(blank.weight * result.marks[blank.id].points for blank in blanks if blank.id in result.marks)


def _correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    if len(one) < 3 or len({*one}) < 2 or len({*other}) < 2:
        return None
    return statistics.correlation(one, other)


def _of_status(status: str, blank: Marked, marked: Sequence[Result]) -> list[Mark]:
    return [each.marks[blank.id] for each in marked if blank.id in each.marks and each.marks[blank.id].status == status]


def _mistakes(blanks: Sequence[Marked], marked: Sequence[Result]) -> Iterator[Mistake]:
    found: dict[tuple[str, str], list[Mark]] = {}
    for blank in blanks:
        for mark in _of_status("wrong", blank, marked):
            if mark.misconception:
                found.setdefault((blank.id, mark.misconception), []).append(mark)
    of = {blank.id: blank for blank in blanks}
    for (blank_id, name), marks in sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))[:TOP]:
        yield Mistake(of[blank_id], name, marks[0].says, len(marks), _first(marks[0].given))


def _first(given: Sequence[float | None]) -> float | None:
    return next((each for each in given if each is not None), None)


def _same(blanks: Sequence[Marked], marked: Sequence[Result]) -> Iterator[Same]:
    found: Counter[tuple[int, tuple[float | None, ...]]] = Counter()
    for place, blank in enumerate(blanks):
        unknown = (mark for mark in _of_status("wrong", blank, marked) if not mark.misconception and mark.given)
        found.update((place, tuple(map(_rounded, mark.given))) for mark in unknown)
    for (place, numbers), times in found.most_common(TOP):
        if times > 1:
            yield Same(blanks[place], numbers, times)


def _rounded(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.{DIGITS}g}")


def _chains(blanks: Sequence[Marked], marked: Sequence[Result]) -> Iterator[Chain]:
    of = {blank.id: blank for blank in blanks}
    pairs = Counter(
        (source, blank)
        for each in marked
        for blank, mark in each.marks.items()
        if mark.status == "carried"
        for source in mark.came_from
    )
    for (source, blank), times in pairs.most_common(TOP):
        if source in of and blank in of:
            yield Chain(of[source], of[blank], times)


def binned(shares: Sequence[float]) -> list[int]:
    """Counts shares of 0 to 1 in tenths; 1 is in the last."""
    counts = Counter(min(int(share * BINS + 1e-9), BINS - 1) for share in shares)
    return [counts[place] for place in range(BINS)]


def data(report: Report) -> dict[str, object]:
    """Returns a report for programs."""
    of: Callable[[Marked], dict[str, str]] = lambda blank: {"blank": blank.id, "title": blank.title}  # noqa: E731
    return {
        "assignment": report.assignment, "points": report.points, "students": report.students,
        "handed_in": report.handed_in, "refused": report.refused, "late": report.late, "shares": report.shares,
        "blanks": [of(each.blank) | {"counts": each.counts, "mean": each.mean, "discrimination": each.discrimination}
                   for each in report.blanks],
        "misconceptions": [of(each.blank) | {"name": each.name, "says": each.says, "students": each.students}
                           for each in report.mistakes],
        "same_numbers": [of(each.blank) | {"numbers": each.numbers, "students": each.students} for each in report.same],
        "carried": [{"from": each.source.id, "to": each.blank.id, "students": each.students} for each in report.chains],
        "flags": report.flags,
    }  # fmt: skip
