"""Handouts as PDF: pages of A4, what is asked first, the answers on pages of their own."""

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

from blueprint.worksheets.errors import require
from blueprint.worksheets.handout import Handout, Task

WIDE, HIGH = 8.27, 11.69
"""A4 in inches; on Letter it is printed a little smaller."""
LEFT, RIGHT, TOP, BOTTOM = 0.09, 0.93, 0.945, 0.06
STEP = 0.0158
"""The distance of lines, as a share of the page."""
LETTERS = 104
"""How many letters of a text of nine points stand on a line."""
GREY = "#666666"


class Put(NamedTuple):
    """A line of text: how large, in which style, and how many lines it is away from the one before it. rule: a line to write on."""

    text: str
    size: float = 9
    color: str = "black"
    weight: str = "normal"
    down: float = 1
    indent: float = 0.03
    rule: bool = False


def check_paper(path: Path) -> None:
    """Raises WorksheetError where nothing could be printed into a file of that name."""
    require(
        path.suffix.lower() == ".pdf", f"--print {path} does not end in .pdf, by which programs know paper: name it so"
    )
    require(
        find_spec("matplotlib") is not None,
        '--print needs matplotlib, which is not installed: python -m pip install ".[plot]"',
    )


def print_handout(found: Handout, path: Path, answers: bool) -> None:
    """Writes a handout as PDF; answers: on pages of their own at the end, for the teacher. Raises OSError."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import PdfPages
    from matplotlib.figure import Figure

    groups = [*(_asked(task) for task in found.tasks), *_behind(found)]
    asked = _pages(groups, _head(found, "Name: ____________________________"))
    told = (
        _pages([_answered(task) for task in found.tasks], _head(found, "Answers, for the teacher")) if answers else []
    )
    pages = [(page, part, number, len(part)) for part in (asked, told) for number, page in enumerate(part, 1)]
    with PdfPages(path, metadata={"CreationDate": None, "Title": found.title}) as pdf:
        for page, part, number, of in pages:
            figure = Figure(figsize=(WIDE, HIGH))
            FigureCanvasAgg(figure)  # it knows how wide a text is
            _draw(figure, page)
            kind = "" if part is asked else ", answers"
            figure.text(0.5, BOTTOM / 2, f"page {number} of {of}{kind}", size=7, color=GREY, ha="center")
            pdf.savefig(figure)


def _head(found: Handout, line: str) -> list[Put]:
    below = [Put(text, 9, GREY, indent=0) for each in found.head for text in wrap(each, LETTERS)]
    return [Put(found.title, 15, weight="bold", indent=0), *below, Put(line, 9, down=1.6, indent=0)]


def _asked(task: Task) -> list[Put]:
    """Lays out one blank: the quantity, the equation, what it reads, a line to write on."""
    points = f"   ({task.weight:g} {'point' if task.weight == 1 else 'points'})"
    lines = [Put(f"{task.number}.  {task.title}{points}", 10, weight="bold", down=1.9, indent=0)]
    lines += [Put(text) for each in task.equation.split("\n") for text in wrap(each, LETTERS - 6)]
    lines += [Put(text, 8.5, "#333333") for text in wrap("   ".join(("given:", *_kept(task.given))), LETTERS)]
    wanted = f"{task.wanted} =" if task.asks == "number" else f"formula in {task.stands}:  ="
    digits = "" if task.digits is None else f"check digits {task.digits:02d}"
    return [*lines, Put(f"{wanted}\t{digits}", 10, down=1.7, rule=True)]


def _behind(found: Handout) -> Iterator[list[Put]]:
    """Lays out the steps between blanks and the numbers that are read; a line of them at a time, so that pages fill."""
    heads = {"Steps that lead from one blank to another": found.steps, "Numbers that are read": found.numbers}
    for head, lines in heads.items():
        first = [Put(head, 10, weight="bold", down=2.2, indent=0)] if lines else []
        for line in lines:
            texts = [text for each in line.split("\n") for text in wrap(_whole(each), LETTERS - 4)]
            yield [
                *first,
                *(Put(text, 8.5, "#333333", indent=0.03 if i == 0 else 0.05) for i, text in enumerate(texts)),
            ]
            first = []


def _whole(line: str) -> str:
    """Returns a line of several numbers that breaks only between them: three blanks stand there."""
    return "   ".join(_kept(line.split("   ")))


def _kept(given: Iterable[str]) -> Iterator[str]:
    """Yields texts that are not broken within: their spaces hold."""
    return (each.replace(" ", "\u00a0") for each in given)


def _answered(task: Task) -> list[Put]:
    """Lays out the answer of one blank."""
    lines = wrap(f"{task.number}.  {task.wanted} = {task.answer}", LETTERS - 4)
    digits = "" if task.digits is None else f", check digits {task.digits:02d}"
    about = Put(f"{task.title}; {task.stands}{digits}", 8, GREY, indent=0.05)
    return [
        *(Put(text, down=1.3 if i == 0 else 1, indent=0 if i == 0 else 0.05) for i, text in enumerate(lines)),
        about,
    ]


def _pages(groups: list[list[Put]], head: list[Put]) -> list[list[Put]]:
    """Fills pages; what belongs together stands on one page where a page can hold it."""
    room = (TOP - BOTTOM) / STEP
    pages, used = [list(head)], _high(head)
    for group in groups:
        if used + _high(group) > room and pages[-1]:
            pages.append([])
            used = 0.0
        for put in group:
            if used + put.down > room:
                pages.append([])
                used = 0.0
            pages[-1].append(put)
            used += put.down
    return pages


def _high(group: Iterable[Put]) -> float:
    return sum(put.down for put in group)


def _draw(figure: Any, page: list[Put]) -> None:
    """Draws the lines of a page."""
    y = TOP
    for put in page:
        y -= STEP * put.down
        text, _, right = put.text.partition("\t")
        drawn = figure.text(
            LEFT + put.indent, y, text, size=put.size, color=put.color, weight=put.weight, parse_math=False
        )
        if put.rule:
            box = drawn.get_window_extent()
            end = RIGHT - (0.16 if right else 0)
            figure.add_artist(_line((box.x1 / figure.bbox.width + 0.01, end), y))
            figure.text(end + 0.01, y, right, size=8, color=GREY)


def _line(across: tuple[float, float], y: float) -> Any:
    from matplotlib.lines import Line2D

    return Line2D(across, (y - 0.003, y - 0.003), color="black", linewidth=0.6)
