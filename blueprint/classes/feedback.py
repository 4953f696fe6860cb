"""Feedback for each student: right, carried, wrong with the reason; as a workbook, and as a page for a browser.

Without `reveal` no answer stands in it: not the right number, and nothing from which it could be told.
"""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from xlsxwriter import Workbook

from blueprint.classes.html_page import STATUSES, element, page
from blueprint.classes.marking import TOO_FEW
from blueprint.classes.results import Mark, Marked, Result, Results, Status
from blueprint.page import styles

Answers = Mapping[str, Sequence[float]]
LOOKS: dict[Status, tuple[str, styles.Properties]] = {
    "right": ("✓ right", styles.GOOD),
    "carried": ("↷ carried", styles.OTHER),
    "wrong": ("✗ wrong", styles.BAD),
    "empty": ("– empty", {"font_color": styles.FADED, "bg_color": styles.PALE_GREY}),
    "unreadable": ("? no number", styles.BAD),
    "excused": ("excused", {"font_color": styles.FADED, "bg_color": styles.PALE_GREY}),
}
"""For each status a sign, a word and a colour: colour is never alone."""
CARRIED = "carried: right with your own earlier number, which is wrong itself"
NOT_KNOWN = "No known mistake gives this number."
HEADS = ("blank", "what was asked", "where it stands", "you wrote", "mark", "points", "of", "why")
REVEALED = "right is"
WIDTHS = (6, 30, 26, 16, 12, 7, 5, 66, 16)


class Line(NamedTuple):
    """A blank as its student sees it: a cell for each of HEADS, its status, and the answer if it is revealed."""

    cells: tuple[str | float, ...]
    status: Status
    answer: str


def lines(result: Result, results: Results, answers: Answers | None) -> Iterator[Line]:
    """Yields a line for each blank. answers: of this student, if they are to be revealed."""
    for number, blank in enumerate(results.blanks, 1):
        mark = result.marks.get(blank.id, Mark(points=0, status="empty"))
        points: str | float = "" if mark.status == "excused" else round(mark.points * blank.weight, 4)
        yield Line(
            (
                number, blank.words or blank.title, _where(blank), _numbers(mark.given), LOOKS[mark.status][0], points,
                blank.weight, _why(mark, blank),
            ),
            mark.status,
            _numbers(answers[blank.id]) if answers else "",
        )  # fmt: skip


def _why(mark: Mark, blank: Marked) -> str:
    """Returns the sentence on a blank; that what is right is right stands beside it.

    What a misconception says stays as it is: β is another symbol than Β.
    """
    why = mark.why.removeprefix(mark.status).lstrip(";: ")
    if not (mark.says and why.startswith(mark.says)):
        why = why[:1].upper() + why[1:]
    if mark.status == "wrong" and not mark.misconception and not any(how in why.lower() for how in TOO_FEW.values()):
        return " ".join(filter(None, (f"{why}." * bool(why), NOT_KNOWN * (not why), blank.hint)))
    return why


def _where(blank: Marked) -> str:
    first, last = blank.cells[:1], blank.cells[1:][-1:]
    return f"{blank.sheet}, {' to '.join([*first, *last])}" if first else blank.sheet


def _numbers(given: Sequence[float | None]) -> str:
    return "  ".join("–" if each is None else f"{each:.6g}".replace("-", "−") for each in given)


def summed(result: Result, results: Results) -> list[str]:
    """Says in a few sentences what all marks come to."""
    if result.total is None:
        return [f"Your file could not be marked: {result.refused}."] if result.refused else ["Nothing was handed in."]
    said = [f"{result.total:g} of {results.points:g} points."]
    if result.penalty:
        said.append(f"{result.raw:g} points, less {result.penalty:.0%} for being {result.late:.1f} days late.")
    if any(mark.status == "carried" for mark in result.marks.values()):
        said.append(f"{CARRIED[:1].upper()}{CARRIED[1:]}.")
    return said


def workbook(result: Result, results: Results, answers: Answers | None) -> bytes:
    """Returns the feedback as a workbook."""
    content = BytesIO()
    with Workbook(content, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}) as book:
        sheet = book.add_worksheet("Feedback")
        look = _Looks(book)
        sheet.hide_gridlines(2)
        heads = [*HEADS, *([REVEALED] if answers else [])]
        for column, width in enumerate(WIDTHS[: len(heads)]):
            sheet.set_column(column, column, width)
        sheet.write_string(0, 0, f"{results.assignment}: {result.name or result.student}", look(styles.LABELS["title"]))
        said = summed(result, results)
        for row, sentence in enumerate(said, 1):
            sheet.write_string(row, 0, sentence, look(styles.LABELS["lead"]))
        top = len(said) + 2
        for column, head in enumerate(heads):
            align = {"align": "center" if head in ("blank", "points", "of") else "left"}
            sheet.write_string(top, column, head, look(styles.LABELS["table head"] | align))
        for row, line in enumerate(lines(result, results, answers), top + 1):
            _write(sheet, row, line, look)
        sheet.freeze_panes(top + 1, 0)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
    return content.getvalue()


def _write(sheet: Any, row: int, line: Line, look: "_Looks") -> None:
    for column, cell in enumerate([*line.cells, *([line.answer] if line.answer else [])]):
        is_mark = HEADS[column : column + 1] == ("mark",)
        plain = styles.LABELS["wrapped"] | {"align": "left" if isinstance(cell, str) else "center"}
        style = look(plain | (LOOKS[line.status][1] if is_mark else {}))
        (sheet.write_string if isinstance(cell, str) else sheet.write_number)(row, column, cell, style)


class _Looks:
    """The formats of a workbook, each made once."""

    def __init__(self, book: Any):
        self._book, self._made = book, dict[str, Any]()

    def __call__(self, properties: styles.Properties) -> Any:
        key = repr(sorted(properties.items()))
        if key not in self._made:
            self._made[key] = self._book.add_format(styles.BASE | properties)
        return self._made[key]


def html(result: Result, results: Results, answers: Answers | None) -> str:
    """Returns the feedback as a page that needs nothing else."""
    heads = [*HEADS, *([REVEALED] if answers else [])]
    table = element("table", element("tr", *(element("th", head) for head in heads)))
    table.extend(element("tr", *_cells(line)) for line in lines(result, results, answers))
    said = [element("p", sentence, class_="lead") for sentence in summed(result, results)]
    who = result.name or result.student
    return page(f"{results.assignment}: {who}", element("h1", f"{results.assignment}: {who}"), *said, table)


def _cells(line: Line) -> Iterator[Element]:
    for head, cell in zip(HEADS, line.cells, strict=True):
        look = f"border-left: .4rem solid {STATUSES[line.status][0]}; padding-left: .5rem; white-space: nowrap"
        if head == "mark":
            yield element("td", cell, style=look)
        elif isinstance(cell, str):
            yield element("td", cell)
        else:
            yield element("td", f"{cell:g}", class_="number")
    if line.answer:
        yield element("td", line.answer)
