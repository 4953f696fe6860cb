"""What a class knows by now, as data, and as a page that can be shown to it: no names, and of nobody's variant an answer."""

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from blueprint.classes.html_page import html_page
from blueprint.classes.results import Mark, Marked, Result, Results
from blueprint.files import saved_whole

FILE = "report.html"
TOP = 12
"""Lines of a table of what is most frequent."""
BINS = 10
DIGITS = 6
"""By which two wrong numbers are the same; sheets show four to six."""
HARD, TELLS_LITTLE = 0.5, 0.1
"""A blank for which fewer points were given than this share is called hard; one whose points go with the rest of the sheet less
than this says little about who understood it."""


def report_of(results: Results) -> dict[str, Any]:
    """Counts a class, without a name in it. shares: of the points, of each student who was marked; flags: how many by kind."""
    marked = [each for each in results.results if each.total is not None]
    marks = [(blank, each.marks[blank.id]) for blank in results.blanks for each in marked if blank.id in each.marks]
    wrong = [(blank, mark) for blank, mark in marks if mark.status == "wrong"]
    return {
        "assignment": results.assignment,
        "points": results.points,
        "students": len(results.results),
        "handed_in": sum(each.file is not None for each in results.results),
        "refused": sum(bool(each.refused) for each in results.results),
        "late": sum(each.late > 0 for each in results.results),
        "shares": [(each.total or 0.0) / results.points if results.points else 0.0 for each in marked],
        "blanks": [_difficulty(blank, marked, results.blanks) for blank in results.blanks],
        "misconceptions": [*_misconceptions(wrong)],
        "same_numbers": [*_same_numbers(wrong)],
        "carried": [*_carried(results.blanks, marked)],
        "flags": dict(Counter(flag.kind for flag in results.flags).most_common()),
    }


def _difficulty(blank: Marked, marked: Sequence[Result], blanks: Sequence[Marked]) -> dict[str, Any]:
    """Measures one blank, over those in whose marks it stands and is not excused.

    mean: of the points, 0 to 1. discrimination: the correlation of its points with the total of the other blanks (Crocker &
    Algina 1986, section 14, corrected item-total correlation); None where either does not vary.
    """
    answered = [each.marks for each in marked if blank.id in each.marks]
    of = [marks for marks in answered if marks[blank.id].status != "excused"]
    points = [marks[blank.id].points for marks in of]
    others = [
        sum(other.weight * marks[other.id].points for other in blanks if other.id != blank.id and other.id in marks)
        for marks in of
    ]
    varies = len(points) >= 3 and len({*points}) > 1 and len({*others}) > 1
    return {
        "blank": blank.id,
        "title": blank.title,
        "counts": dict(Counter(marks[blank.id].status for marks in answered)),
        "mean": statistics.fmean(points) if points else None,
        "discrimination": statistics.correlation(points, others) if varies else None,
    }


Marks = Sequence[tuple[Marked, Mark]]


def _misconceptions(wrong: Marks) -> Iterator[dict[str, Any]]:
    """Yields what was misunderstood in a blank, with a number that a student wrote there."""
    found: dict[tuple[str, str, str], list[Mark]] = {}
    for blank, mark in wrong:
        if mark.misconception:
            found.setdefault((blank.id, mark.misconception, blank.title), []).append(mark)
    for (id, name, title), marks in sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))[:TOP]:
        example = next((number for number in marks[0].given if number is not None), None)
        says = {"name": name, "says": marks[0].says, "students": len(marks), "example": example}
        yield {"blank": id, "title": title, **says}


def _same_numbers(wrong: Marks) -> Iterator[dict[str, Any]]:
    """Yields wrong numbers that several students wrote into a blank, and that no known misconception gives."""

    def rounded(mark: Mark) -> tuple[float | None, ...]:
        return tuple(None if number is None else float(f"{number:.{DIGITS}g}") for number in mark.given)

    unexplained = [(blank, mark) for blank, mark in wrong if mark.given and not mark.misconception]
    found = Counter((blank.id, blank.title, rounded(mark)) for blank, mark in unexplained)
    for (id, title, numbers), times in found.most_common(TOP):
        if times > 1:
            yield {"blank": id, "title": title, "numbers": numbers, "students": times}


def _carried(blanks: Sequence[Marked], marked: Sequence[Result]) -> Iterator[dict[str, Any]]:
    """Yields pairs of a mistake and a later blank that is right with it."""
    known = {blank.id for blank in blanks}
    pairs = Counter(
        (source, blank)
        for each in marked
        for blank, mark in each.marks.items()
        if mark.status == "carried"
        for source in mark.came_from
    )
    for (source, blank), times in pairs.most_common(TOP):
        if {source, blank} <= known:
            yield {"from": source, "to": blank, "students": times}


def binned(shares: Sequence[float]) -> list[int]:
    """Counts shares of 0 to 1 in tenths; 1 is in the last."""
    counts = Counter(min(int(share * BINS + 1e-9), BINS - 1) for share in shares)
    return [counts[place] for place in range(BINS)]


def report_page(results: Results) -> str:
    """Returns the page."""
    report = report_of(results)
    blanks = {blank.id: blank for blank in results.blanks}
    shares = report["shares"]
    pairs = [(blanks[each["blank"]], each) for each in report["blanks"]]
    return html_page(
        "report.html",
        title=f"Class report: {report['assignment']}",
        report=report,
        blanks=blanks,
        mean=statistics.fmean(shares) if shares else None,
        median=statistics.median(shares) if shares else None,
        bins=binned(shares),
        edges=[f"{100 * place // BINS} %" for place in range(BINS + 1)],
        bars_of_blanks=[(f"{blank.id} {blank.words or blank.title}", each["counts"]) for blank, each in pairs],
        remarks={each["blank"]: _remark(**each) for each in report["blanks"]},
    )


def _remark(mean: float | None, discrimination: float | None, counts: dict[str, int], **others: object) -> str:
    said = {
        "hard": mean is not None and mean < HARD,
        "misleading?": discrimination is not None and discrimination < 0,
        "tells little": discrimination is not None and 0 <= discrimination < TELLS_LITTLE,
        "most left it empty": counts.get("empty", 0) > sum(counts.values()) / 2,
    }
    return ", ".join(word for word, holds in said.items() if holds)


def save_report(results: Results, folder: Path) -> Path:
    """Writes `report.html` into a folder, whole or not at all. Raises SaveError."""
    path = folder / FILE
    with saved_whole(path) as unfinished:
        unfinished.write_text(report_page(results), encoding="utf-8")
    return path
