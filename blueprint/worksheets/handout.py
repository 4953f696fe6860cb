"""The handout: a worksheet on paper. For each blank what is asked, its equation, the numbers it reads, a line to write on; as PDF.

What a blank needs besides stands behind the blanks: the steps that lead from one blank to another, each with its equation, and
the numbers that they, and long sums, read. So that everything can be calculated from the paper alone.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

from blueprint.explaining import label
from blueprint.language import Block, Cell, equation, filled_by
from blueprint.page.outline import Blank
from blueprint.worksheets.leaks import Search, Table
from blueprint.worksheets.making import Worksheet
from blueprint.worksheets.requested_blanks import require

MOST = 12
"""How many numbers of a sum are put beside a blank; more of them stand behind the blanks."""
ACCENTS = {"\u0302": r"\hat", "\u0304": r"\bar"}
ACCENTED = re.compile(f"(\\w)([{''.join(ACCENTS)}])")
"""A letter and the accent that is printed above it; some, as Â, are one letter in themselves."""
MORE = 2
"""Digits that given numbers have on paper beyond those that a sheet shows, so that all of an answer come out right."""


@dataclass(frozen=True)
class Task:
    """One blank on paper.

    number: as it is counted. title: the quantity, in words. wanted: what is written behind the line: `A[1, 5] =`.
    equation: how it is computed. given: what the equation reads, with its numbers. asks: number or formula.
    answer: what belongs there. digits: its check digits, where they are printed.
    """

    number: int
    title: str
    wanted: str
    equation: str
    given: tuple[str, ...]
    asks: str
    weight: float
    stands: str
    answer: str
    digits: int | None = None


@dataclass(frozen=True)
class Handout:
    """What is put on paper: a title, the lines below it, the tasks.

    steps: the equations that lead from one blank to another. numbers: what these, and long sums, read: a line for each row.
    """

    title: str
    head: tuple[str, ...]
    tasks: tuple[Task, ...]
    steps: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()


def handout(worksheet: Worksheet) -> Handout:
    """Returns what a worksheet asks, as text."""
    ways = {1: "numbers", 2: "rows: write the formula", 3: "sections: write the formulas"}[worksheet.level]
    blanks = "1 blank" if len(worksheet.blanks) == 1 else f"{len(worksheet.blanks)} blanks"
    rounded = "Given numbers are rounded. Go on with all digits of your own, and round what you write down."
    head = (f"{worksheet.blueprint.title}, level {worksheet.level}, {blanks} ({ways})", rounded)
    title = worksheet.blueprint.sheets[0].heading or worksheet.blueprint.title
    writer = Writer(worksheet)
    writer.look()
    return Handout(title, head, tuple(writer.tasks()), tuple(writer.steps()), tuple(writer.rows()))


class Writer:
    """Writes down what the blanks of a worksheet ask."""

    def __init__(self, worksheet: Worksheet):
        self.worksheet, self.book, self.blanks = worksheet, worksheet.full, worksheet.blanks
        self.numbers = {Cell(each.block, at): i for i, each in enumerate(self.blanks, 1) for at in each.cells}
        self.search = Search(self.book.blueprint, self.book.values, self.blanks)
        self.table = Table(self.search.graph.blocks, self.book.values)
        self.between: dict[Cell, None] = {}
        self.listed: dict[Cell, None] = {}
        self.order = {block: i for i, block in enumerate(self.search.graph.blocks)}
        self.twins: set[str] = set()

    def look(self) -> None:
        """Looks through what the blanks read: what is between them, what stands behind them, which symbols mean two rows."""
        met = {cell.block for cell in self.numbers}
        for blank in self.blanks:
            for read in self.book.reads(Cell(blank.block, self._first(blank))):
                met |= {cell.block for cell in read.cells}
                if blank.asks == "formula":
                    continue  # nothing is calculated
                self._note(read.cells)
                if len(read.cells) > MOST:
                    self.listed |= dict.fromkeys(each for each in read.cells if self._is_given(each))
        met |= {cell.block for cell in (*self.between, *self.listed)}
        symbols = Counter(block.symbol for block in met)
        self.twins = {symbol for symbol, times in symbols.items() if times > 1}

    def tasks(self) -> Iterator[Task]:
        """Yields each blank; of a row its equation, and as an example what the first cell that counts reads."""
        for number, blank in enumerate(self.blanks, 1):
            block, answers = blank.block, self.worksheet.answers[blank.title]
            cell = Cell(block, self._first(blank))
            yield Task(
                number=number,
                title=block.about.meaning or block.name,
                wanted=self.called(cell),
                equation=self.equation(cell) if blank.says else "",
                given=tuple(self._given(cell)),
                asks=blank.asks,
                weight=blank.weight,
                stands=self._address(cell),
                answer="  ".join(f"{each + 0.0:.{block.about.decimals}f}" for each in answers).replace("-", "−"),
                digits=blank.check,
            )

    def _first(self, blank: Blank) -> tuple[int, ...]:
        """Returns the first cell of a blank that counts and whose answer is not 0: it shows best what is asked."""
        values, graph = self.book.values, self.search.graph
        shown = (
            at for at in blank.cells if graph.counts(blank.block, at, values) and values.cell(blank.block, *at) != 0
        )
        return next(shown, blank.cells[0])

    def _given(self, cell: Cell) -> Iterator[str]:
        """Yields what an equation reads: each number by its name, a blank by its number, a long sum by where it stands."""
        for read in self.book.reads(cell):
            if len(read.cells) > MOST:
                first, last = self._address(read.cells[0]), self._address(read.cells[-1])
                below = ", see below" if self.listed.keys() & set(read.cells) else ""
                yield f"{read.ref.block.symbol}: {len(read.cells)} numbers, {first} to {last.rpartition('!')[2]}{below}"
            else:
                shown: dict[str, list[str]] = {}
                for each in read.cells:
                    said = self._shown(each, cell.block.about.decimals)
                    together = said if said.startswith("follow") else f"{len(shown)} {said}"
                    shown.setdefault(together, []).append(self.called(each))
                for said, cells in shown.items():
                    told = said.lstrip("0123456789 ")
                    told = told.replace("follows", "follow", 1) if len(cells) > 1 else told
                    yield f"{', '.join(cells)} {told}"

    def _note(self, cells: Iterable[Cell]) -> None:
        """Notes the cells that lead from blanks to these, and the numbers that they read."""
        waiting = [cell for cell in cells if cell not in self.numbers and cell not in self.between and self._on(cell)]
        while waiting:
            cell = waiting.pop()
            self.between[cell] = None
            for each in (each for read in self.book.reads(cell) for each in read.cells):
                if self._is_given(each):
                    self.listed[each] = None
                elif each not in self.numbers and each not in self.between:
                    waiting.append(each)

    def _is_given(self, cell: Cell) -> bool:
        return cell not in self.numbers and not self._on(cell)

    def steps(self) -> Iterator[str]:
        """Yields the equations of the steps between blanks."""
        cells = sorted(self.between, key=lambda cell: self.order[cell.block])
        unsaid = self.worksheet.blueprint.unsaid
        yield from dict.fromkeys(self.equation(cell) for cell in cells if cell.block not in unsaid)

    def rows(self) -> Iterator[str]:
        """Yields the numbers that stand behind the blanks, a line for each row."""
        rows: dict[Block, list[Cell]] = {}
        for cell in sorted(self.listed, key=lambda cell: (self.order[cell.block], cell.places)):
            rows.setdefault(cell.block, []).append(cell)
        finest = max(blank.block.about.decimals for blank in self.blanks)
        for block, cells in rows.items():
            said = "   ".join(f"{self.called(cell)} {self._shown(cell, finest)}" for cell in cells)
            yield f"{block.about.meaning or block.name}:   {said}"

    def equation(self, cell: Cell) -> str:
        """Returns the equation of a cell; after its sheet, where its symbol means two rows."""
        if (filled := filled_by(*cell, self.book.values)) is None:
            return ""
        where = f"{self._sheet(cell.block)}: " if cell.block.symbol in self.twins else ""
        return where + equation(cell.block, filled.definition)

    def _sheet(self, block: Block) -> str:
        return self.search.graph.home[block][0].title

    def _shown(self, cell: Cell, finest: int) -> str:
        """Returns the number of a cell, or, where it hangs on blanks, on which: with it one would know something of them.

        finest: decimals of the answer for which it is printed.
        """
        if cell in self.numbers:
            return f"is blank {self.numbers[cell]}"
        value = self.book.values.cell(cell.block, *cell.places)
        if isinstance(value, str):
            return f"= “{value}”"
        if hangs := self._on(cell):
            return f"follows from {'blanks' if len(hangs) > 1 else 'blank'} {', '.join(map(str, hangs))}"
        return f"= {_written(float(value), cell.block.about.decimals, finest)}"

    def _on(self, cell: Cell) -> list[int]:
        """Returns the numbers of the blanks on which a cell hangs."""
        graph, table = self.search.graph, self.search.table
        if cell.block.typed or cell.block.text or cell.block not in graph.home:
            return []
        behind = [(i, blank) for i, blank in enumerate(self.blanks, 1) if cell.block in graph.below_one(blank.block)]
        at = self.table.index(cell)
        return [i for i, blank in behind if table((blank,)).numbers[at] != self.table.numbers[at]]

    def called(self, cell: Cell) -> str:
        """Returns the name of a cell; with its sheet, where its symbol means two rows."""
        where = f" on {self._sheet(cell.block)}" if cell.block.symbol in self.twins else ""
        return label(cell, self.book.blueprint.names, self.book.values) + where

    def _address(self, cell: Cell) -> str:
        return self.worksheet.book.layout.address(*cell)


def _written(number: float, decimals: int, finest: int) -> str:
    """Writes a number with the decimals that a sheet shows, and more of them where it has more; finest: those of an answer."""
    whole, _, digits = f"{number + 0.0:.{max(decimals, finest) + MORE}f}".partition(".")
    more = digits[decimals:].rstrip("0")
    kept = digits[:decimals] + more
    return (f"{whole}.{kept}" if kept else whole).replace("-", "−")


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
            wholes = ("   ".join(_kept(each.split("   "))) for each in line.split("\n"))
            texts = [text for whole in wholes for text in wrap(whole, LETTERS - 4)]
            yield [
                *first,
                *(Put(text, 8.5, "#333333", indent=0.03 if i == 0 else 0.05) for i, text in enumerate(texts)),
            ]
            first = []


def _kept(given: Iterable[str]) -> Iterator[str]:
    """Yields texts that are not broken within: their spaces hold. Three of them, between numbers, do not."""
    return (each.replace(" ", "\u00a0") for each in given)


def _answered(task: Task) -> list[Put]:
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
    pages, used = [list(head)], sum(put.down for put in head)
    for group in groups:
        together = used + sum(put.down for put in group) > room and pages[-1]
        for i, put in enumerate(group):
            if used + put.down > room or (together and i == 0):
                pages.append([])
                used = 0.0
            pages[-1].append(put)
            used += put.down
    return pages


def accented(text: str) -> str:
    """Sets letters with a hat or a bar as mathematics, where there are such: the font would put it onto what follows."""
    found = ACCENTED.sub(lambda each: rf"$\mathrm{{{ACCENTS[each[2]]}{{{each[1]}}}}}$", text.replace("$", r"\$"))
    return found if ACCENTED.search(text) else text


def _draw(figure: Any, page: list[Put]) -> None:
    from matplotlib.lines import Line2D

    y = TOP
    for put in page:
        y -= STEP * put.down
        text, _, right = put.text.partition("\t")
        look = {"size": put.size, "color": put.color, "weight": put.weight}
        drawn = figure.text(LEFT + put.indent, y, accented(text), **look, parse_math=accented(text) != text)
        if put.rule:
            box = drawn.get_window_extent()
            end = RIGHT - (0.16 if right else 0)
            across = (box.x1 / figure.bbox.width + 0.01, end)
            figure.add_artist(Line2D(across, (y - 0.003, y - 0.003), color="black", linewidth=0.6))
            figure.text(end + 0.01, y, right, size=8, color=GREY)
