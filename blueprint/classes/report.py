"""What a class knows by now, as data, and as a page that can be shown to it: no names, and of nobody's variant an answer."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

from blueprint.classes.html_page import Content, element, histogram, page, stacked, table, tiles
from blueprint.classes.results import Mark, Marked, Result, Results
from blueprint.files import saved_whole

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
        yield Mistake(of[blank_id], name, marks[0].says, len(marks), _first_number(marks[0].given))


def _first_number(given: Sequence[float | None]) -> float | None:
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


FILE = "report.html"
HARD, TELLS_LITTLE = 0.5, 0.1
"""A blank for which fewer points were given than this share is called hard; one whose points go with the rest of the sheet less
than this says little about who understood it."""


def save_report(results: Results, folder: Path) -> Path:
    """Writes `report.html` into a folder, whole or not at all. Raises SaveError."""
    path = folder / FILE
    with saved_whole(path) as unfinished:
        unfinished.write_text(report_page(report_of(results)), encoding="utf-8")
    return path


def report_page(report: Report) -> str:
    """Returns the page."""
    title = f"Class report: {report.assignment}"
    lead = "No names stand here, and no answers: every student has other numbers. Who has which mark is in scores.csv."
    return page(title, element("h1", title), element("p", lead, class_="lead"), *_sections(report))


def _sections(report: Report) -> Iterator[Content]:
    yield _tiles_of_class(report)
    if not report.shares:
        yield element("p", "Nothing is marked yet.")
        return
    yield from _marks_section(report)
    yield from _blanks_section(report)
    yield from _mistakes_section(report)
    yield from _chains_section(report)
    yield from _flags_section(report)


def _tiles_of_class(report: Report) -> Element:
    shares = report.shares
    numbers = {
        f"of {report.students} students handed a file in": str(report.handed_in),
        "of the points on average": f"{statistics.fmean(shares):.0%}" if shares else "–",
        "of the points in the middle (median)": f"{statistics.median(shares):.0%}" if shares else "–",
        "handed in late": str(report.late),
    }
    if report.refused:
        numbers["files refused; scores.csv says why"] = str(report.refused)
    return tiles(numbers)


def _marks_section(report: Report) -> Iterator[Content]:
    yield element("h2", "Marks")
    edges = [f"{100 * place // BINS} %" for place in range(BINS + 1)]
    yield histogram(binned(report.shares), edges, f"share of the {report.points:g} points", "students")


def _blanks_section(report: Report) -> Iterator[Content]:
    yield element("h2", "How hard each blank was")
    yield stacked({_called(each.blank): each.counts for each in report.blanks})
    rows = (
        [*_name(each.blank), f"{each.blank.weight:g}", _share(each.mean), _two(each.discrimination), _remark(each)]
        for each in report.blanks
    )
    yield table(
        {
            "": False,
            "blank": False,
            "weight": True,
            "points given": True,
            "discrimination": True,
            "worth a look": False,
        },
        rows,
    )
    yield element(
        "p",
        "Discrimination is how far the points of a blank go with the points of all others (their correlation, −1 to 1): near 0 it "
        "does not tell who understood the sheet from who did not, below 0 something about the blank itself may be misleading.",
        class_="note",
    )


def _remark(each: Difficulty) -> str:
    """Says in words what the two numbers of a blank show."""
    said = []
    if each.mean is not None and each.mean < HARD:
        said.append("hard")
    if each.discrimination is not None and each.discrimination < TELLS_LITTLE:
        said.append("misleading?" if each.discrimination < 0 else "tells little")
    if each.counts.get("empty", 0) > sum(each.counts.values()) / 2:
        said.append("most left it empty")
    return ", ".join(said)


def _mistakes_section(report: Report) -> Iterator[Content]:
    yield element("h2", "The most frequent mistakes")
    if not report.mistakes and not report.same:
        yield element("p", "No known misconception was found, and no wrong number twice.")
    if report.mistakes:
        rows = (
            [*_name(each.blank), each.says or each.name, _number(each.example), each.students]
            for each in report.mistakes
        )
        yield table(
            {"": False, "blank": False, "misconception": False, "a number so found": True, "students": True}, rows
        )
    if report.same:
        yield element("p", "The same wrong number, which no known misconception gives:")
        wrong = ([*_name(each.blank), " ".join(map(_number, each.numbers)), each.students] for each in report.same)
        yield table({"": False, "blank": False, "number": True, "students": True}, wrong)


def _chains_section(report: Report) -> Iterator[Content]:
    yield element("h2", "Mistakes that were carried forward")
    if not report.chains:
        yield element("p", "No blank was right with a student's own earlier mistake.")
        return
    yield element("p", "The later blank is right with the student's own number in the earlier one, and marked so.")
    rows = ([*_name(each.source), "→", *_name(each.blank), each.students] for each in report.chains)
    yield table(
        {"": False, "mistake in": False, " ": False, "  ": False, "right after it": False, "students": True}, rows
    )


def _flags_section(report: Report) -> Iterator[Content]:
    yield element("h2", "Flags")
    says = "A flag is something to look at, never a verdict: flags.csv says which files, and there are harmless reasons for each."
    yield element("p", says if report.flags else "Nothing was flagged.")
    if report.flags:
        yield table({"what": False, "flags": True}, ([kind, count] for kind, count in report.flags.items()))


def _called(blank: Marked) -> str:
    return f"{blank.id} {blank.title}"


def _name(blank: Marked) -> tuple[Content, Content]:
    return blank.id, blank.words or element("code", blank.title)


def _share(number: float | None) -> str:
    return "–" if number is None else f"{number:.0%}"


def _two(number: float | None) -> str:
    return "–" if number is None else f"{number:.2f}".replace("-", "−")


def _number(number: float | None) -> str:
    return "–" if number is None else f"{number:.6g}".replace("-", "−")
