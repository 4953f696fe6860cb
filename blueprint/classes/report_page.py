"""The report as a page that can be shown to the class: it holds no names, and of nobody's variant an answer."""

import statistics
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from blueprint.classes.drawing import histogram, stacked
from blueprint.classes.html_page import Content, element, page, table, tiles
from blueprint.classes.report import BINS, Difficulty, Report, binned, report_of
from blueprint.classes.results import Marked, Results
from blueprint.saving import saved_whole

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
    yield _overview(report)
    if not report.shares:
        yield element("p", "Nothing is marked yet.")
        return
    yield from _marks(report)
    yield from _blanks(report)
    yield from _mistakes(report)
    yield from _chains(report)
    yield from _flags(report)


def _overview(report: Report) -> Element:
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


def _marks(report: Report) -> Iterator[Content]:
    yield element("h2", "Marks")
    edges = [f"{100 * place // BINS} %" for place in range(BINS + 1)]
    yield histogram(binned(report.shares), edges, f"share of the {report.points:g} points", "students")


def _blanks(report: Report) -> Iterator[Content]:
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


def _mistakes(report: Report) -> Iterator[Content]:
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


def _chains(report: Report) -> Iterator[Content]:
    yield element("h2", "Mistakes that were carried forward")
    if not report.chains:
        yield element("p", "No blank was right with a student's own earlier mistake.")
        return
    yield element("p", "The later blank is right with the student's own number in the earlier one, and marked so.")
    rows = ([*_name(each.source), "→", *_name(each.blank), each.students] for each in report.chains)
    yield table(
        {"": False, "mistake in": False, " ": False, "  ": False, "right after it": False, "students": True}, rows
    )


def _flags(report: Report) -> Iterator[Content]:
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
