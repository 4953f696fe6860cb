"""Scores: a table with a row for each student and for each blank its mark, and why; `scores.csv`."""

from collections.abc import Iterator

from blueprint.classes.results import Mark, Result, Results

FILE, FLAGS = "scores.csv", "flags.csv"
AFTER = ("raw", "late_days", "penalty", "score", "of", "attempt", "file", "refused")


def rows_of(results: Results) -> Iterator[list[object]]:
    """Yields the rows of `scores.csv`; marks are in points, empty where nothing is marked or a blank is excused."""
    heads = [f"{each.id} {part}" for each in results.blanks for part in (each.title, "status", "why")]
    yield ["student", "name", "email", *heads, *AFTER]
    for result in results.results:
        cells = [cell for each in results.blanks for cell in _cells(result.marks.get(each.id), each.weight)]
        yield [result.student, result.name, result.email, *cells, *_after(result, results)]


def _cells(mark: Mark | None, weight: float) -> list[object]:
    if mark is None:
        return ["", "", ""]
    return ["" if mark.status == "excused" else round(mark.points * weight, 9), mark.status, mark.why]


def _after(result: Result, results: Results) -> list[object]:
    if result.total is None:
        return ["", "", "", "", results.points, result.attempt or "", result.file or "", result.refused]
    return [
        result.raw, result.late, result.penalty, result.total, results.points, result.attempt or "", result.file or "",
        result.refused,
    ]  # fmt: skip
