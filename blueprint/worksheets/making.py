"""The worksheet: a blueprint with blanks, without what would give their answers away."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import floor, isfinite

from blueprint.book import Book
from blueprint.language import Block, Cell, reads
from blueprint.page.blanks import MODULUS, SCALE, areas_of, check_of
from blueprint.page.outline import Blank, Blueprint, Chart, Note, Sheet, blocks_on
from blueprint.worksheets.choosing import Candidates, Chooser, is_zero, repeats
from blueprint.worksheets.graph import Graph
from blueprint.worksheets.in_use import USED, in_use, taken, written
from blueprint.worksheets.leaks import answers_of, is_plain
from blueprint.worksheets.redact import Leaver, Left
from blueprint.worksheets.requested_blanks import Asked, Meant, WorksheetError, cell_title, computed, meant, require

LEVELS = {1: "single cells", 2: "whole rows", 3: "whole sections"}


@dataclass(frozen=True)
class Worksheet:
    """A blueprint with blanks, and what belongs into them.

    full: the book with all answers, of which only what is in use is left. whole: the blueprint it was made of.
    answers: by the title of a blank the numbers of its cells, in their order.
    shown: cells whose answers stand elsewhere as well, in what cannot be left out: of rows the formula is asked, and in single
    cells it is a coincidence.
    """

    blueprint: Blueprint
    full: Book
    whole: Blueprint
    level: int
    answers: dict[str, list[float]] = field(default_factory=dict)
    shown: frozenset[Cell] = frozenset()

    @property
    def blanks(self) -> tuple[Blank, ...]:
        """The blanks, in the order of computation or in that in which they were asked for."""
        return self.blueprint.blanks

    @cached_property
    def book(self) -> Book:
        """The book to save and to hand out."""
        return Book(self.blueprint)

    def cells_of(self, blank: Blank) -> list[str]:
        """Returns where the cells of a blank stand in the book that is handed out, as ranges with their sheet."""
        return [area.replace("$", "") for area in areas_of(blank, self.book.layout)]

    @cached_property
    def filled_in(self) -> Book:
        """The whole book, of which nothing is left out, with the answers in its blanks."""
        named = {block.name: block for block in self.whole.blocks()}
        blanks = tuple(replace(blank, block=named[blank.block.name]) for blank in self.blanks)
        held = {blank.block: dict[tuple[int, ...], float]() for blank in blanks}
        for blank in blanks:
            held[blank.block] |= dict(zip(blank.cells, self.answers[blank.title], strict=True))
        return Book(replace(self.whole, blanks=blanks), held=held)


EDGE = 1e-3
"""How near to a rounding boundary an answer is not used, in units of the last digit that counts."""
LARGEST = 1e15
"""From here on a program keeps no digit that could be checked."""


def can_be_checked(answers: Iterable[float]) -> bool:
    """Tells whether the check digits of a blank are the same however its answers were rounded on the way, and do not tell it.

    They are those of the sum of its cells. Below 97 units of their last digit they are the answer itself.
    """
    scaled = abs(sum(answers)) * SCALE
    if not isfinite(scaled):
        return False
    return MODULUS - 1 / 2 <= scaled < LARGEST and abs(scaled - floor(scaled) - 1 / 2) >= EDGE


OTHERS = {
    "Other options": "what a setting chooses is chosen for good: the formulas have only the option that is in use"
}
"""What is left out because a worksheet asks for the steps of one method, as its sheet Blanks says it."""
USUAL = 12
"""How many blanks are chosen, where there can be so many."""


def worksheet(
    blueprint: Blueprint,
    asked: int | Sequence[Asked] | None = None,
    level: int = 1,
    check: bool = False,
    seed: str = "",
    fixed: bool = True,
    equations: bool = True,
    topic: str = "",
    alike: Callable[[Cell], bool] = lambda cell: False,
) -> Worksheet:
    """Makes a worksheet.

    asked: how many blanks are chosen, or which they are; None: 12, or as many as there can be.
    level: 1, single cells; 2, whole rows; 3, whole sections.
    check: each answer must have check digits that tell right from wrong and do not tell the answer.
    seed: other blanks are chosen for another seed, the same for the same.
    fixed: what settings choose is what they choose for good; else somebody may choose otherwise in the file.
    equations: those of blanks are printed beside them.
    topic: one of the blueprint's, of which alone blanks are chosen; "" for the whole derivation.
    alike: whether a cell has the same answer for all who get a variant of it; it is chosen where no other of its row can be.
    Raises WorksheetError where it cannot be made.
    """
    require(level in LEVELS, f"there is no level {level}: 1 is single cells, 2 whole rows, 3 whole sections")
    require(not blueprint.blanks, "this blueprint has blanks already: make a worksheet of one without")
    if topic:
        words = ", ".join(sorted(blueprint.topics)) or "none"
        require(topic in blueprint.topics, f"there is no topic {topic} here: there are {words}")
        blueprint = replace(blueprint, derivation=blueprint.topics[topic])
    making = _Making(blueprint, level, check, seed, fixed, equations, bool(topic), alike)
    if asked is None:
        return making.chosen(USUAL, fewest=1)
    if isinstance(asked, int):
        require(asked > 0, f"{asked} blanks: a worksheet has 1 or more")
        return making.chosen(asked, fewest=asked)
    require(asked, "no blank is asked for: a worksheet has 1 or more")
    return making.asked(asked)


FREE = re.compile(r"Type into cream cells[^.]*\.")
"""The sentence of a workbook that invites to change any number."""
FILL_IN = "Fill in the dashed cream cells, which Blanks lists, and leave all other numbers as they are."
AS_0 = "an empty blank counts as 0 in them"


def _told(sheet: Sheet) -> Sheet:
    """Returns a sheet that says what is to be filled in, and what its charts, which know no blank, draw meanwhile."""
    sections = tuple(
        replace(
            section,
            items=tuple(
                replace(item, text=FREE.sub(FILL_IN, item.text)) if isinstance(item, Note) else item
                for item in section.items
            ),
        )
        for section in sheet.sections
    )
    drawn = any(isinstance(item, Chart) for item in sheet.items())
    return replace(sheet, sections=sections, lead=f"{sheet.lead}; {AS_0}" if drawn else sheet.lead)


class _Making:
    """Makes one worksheet of a book."""

    def __init__(
        self,
        blueprint: Blueprint,
        level: int,
        check: bool,
        seed: str,
        fixed: bool,
        equations: bool,
        alone: bool,
        alike: Callable[[Cell], bool],
    ):
        self.whole, self.level, self.check, self.equations = blueprint, level, check, equations
        self._asks = "number" if level == 1 else "formula"
        self.taken = taken(blueprint, Book(blueprint).values) if fixed else {}
        self.book = book = Book(in_use(blueprint, self.taken))
        self.graph = Graph(book.blueprint)
        self.leaver = Leaver(self.graph, book)
        barred = {block for sheet in self.graph.derived_again for block in blocks_on(sheet)} | self.graph.verdicts
        suits: Callable[[float], bool] = (lambda answer: can_be_checked([answer])) if check else lambda answer: True
        self.candidates = Candidates(book, self.graph, barred, suits, alike)
        self.chooser = Chooser(self.candidates, seed, alone)

    def chosen(self, count: int, fewest: int) -> Worksheet:
        """Chooses blanks until none of them is given away. Raises WorksheetError if there are fewer than the fewest."""
        refused: set[Cell] = set()
        while True:
            by_blank = self._choice(count, refused)
            can_be = f"{len(by_blank)} {'rows' if self.level == 2 else 'cells'} can be blanks"
            require(
                len(by_blank) >= fewest or (self.level == 3 and by_blank),
                f"{count} blanks are more than these numbers have room for: {can_be}; ask for fewer",
            )
            left = self.leaver.leave(list(by_blank))
            if not left.refused:
                return self._made(list(by_blank), left)
            for cell in (cell for blank, cell in by_blank.items() if blank.title in left.refused):
                again = self.level > 1 or any(each.block is cell.block for each in refused)
                refused |= set(self._cells(cell.block)) if again else {cell}

    def _choice(self, count: int, refused: set[Cell]) -> dict[Blank, Cell]:
        """Returns so many blanks, each with the cell for which it was chosen; of whole sections those that fit in."""
        if self.level == 1:
            return {self._single(cell): cell for cell in self.chooser.chosen(count, refused)}
        if self.level == 2:
            cells = self.chooser.chosen(count, refused, lambda cell: cell.block)
            return {self._row(cell.block): cell for cell in cells}
        found: dict[Blank, Cell] = {}
        for cell in self.chooser.by_section(refused):
            rows = self._section(cell.block)
            if not found or len(found) + len(rows) <= count:
                found |= {self._row(block): cell for block in rows}
        order = {block: i for i, block in enumerate(self.graph.blocks)}
        return dict(sorted(found.items(), key=lambda each: order[each[0].block]))

    def asked(self, asked: Sequence[Asked]) -> Worksheet:
        """Makes the blanks that are asked for; refuses one that is asked for twice, or given away."""
        blanks = [blank for each in asked for blank in self._meant(meant(each, self.book), each.weight)]
        seen: dict[Cell, str] = {}
        for blank in blanks:
            for cell in (Cell(blank.block, at) for at in blank.cells):
                require(cell not in seen, f"{blank.title} is asked for twice: it is part of {seen.get(cell)}")
                seen[cell] = blank.title
        left = self.leaver.leave(blanks)
        for title, why in left.refused.items():
            raise WorksheetError(f"{title} cannot be a blank: {why}; ask for another cell or row")
        return self._made(blanks, left)

    def _made(self, blanks: Sequence[Blank], left: Left) -> Worksheet:
        answers = {blank.title: answers_of(blank, self.book.values) for blank in blanks}
        used = {USED: written(self.taken)} if self.taken else {}
        facts = {**left.blueprint.facts, "worksheet": str(self.level), **used}
        shown = tuple(self._checked(blank, answers[blank.title]) for blank in blanks)
        reasons = left.reasons | (OTHERS if self.taken else {})
        sheets = tuple(map(_told, left.blueprint.sheets))
        blueprint = replace(left.blueprint, sheets=sheets, blanks=shown, left_out=reasons, facts=facts)
        return Worksheet(blueprint, self.book, self.whole, self.level, answers, frozenset(left.shown))

    def _checked(self, blank: Blank, answers: list[float]) -> Blank:
        """Puts check digits to a blank, if they are asked for; not to a row whose digits would tell it, or hang on rounding."""
        check = check_of(answers) if self.check and can_be_checked(answers) else None
        return replace(blank, check=check, says=self.equations)

    def _meant(self, found: Meant, weight: float) -> list[Blank]:
        """Returns the blanks that are meant by what was asked for, as the level has it."""
        if found.places is not None:
            return [self._cell(Cell(found.blocks[0], found.places), weight)]
        row = found.blocks[0]
        if self.level == 1:
            cells = [cell for block in found.blocks if (cell := self.chooser.best(self._cells(block)))]
            require(cells, f"{found.title} has no cell whose answer says something: each is 0, 1 or too short a number")
            return [self._single(cell, weight) for cell in dict.fromkeys(cells)]
        if self.level == 2:
            listed = [row] if found.is_row else [block for block in found.blocks if self.candidates.may(block)]
            require(listed, f"{found.title} has no row of numbers that can be left blank")
            return [self._row(block, weight) for block in listed]
        rows = self._section(row) if found.is_row else tuple(filter(self._says, found.blocks))
        require(rows, f"{found.title} has no row that says something: each holds only 0, or hands numbers on")
        return [self._row(block, weight) for block in rows]

    def _cell(self, cell: Cell, weight: float) -> Blank:
        """Returns a cell as a blank; refuses one that only hands on another one, in which its answer would stand.

        Also one whose answer is 0, or so short a number that it may stand anywhere.
        """
        source = self.candidates.source(cell)
        title = cell_title(source)
        require(
            source is cell, f"{cell_title(cell)} only hands on {title}, where its answer would stand: ask for {title}"
        )
        blank = self._single(cell, weight)
        (answer,) = answers_of(blank, self.book.values)
        require(
            not is_plain(answer, blank.block.about.decimals),
            f"{blank.title} is {answer:g}, which an empty cell or any other may show: ask for a cell with more digits",
        )
        require(
            not self.check or can_be_checked([answer]),
            f"{blank.title} is {answer:.9g}, whose check digits would tell it or hang on its rounding: ask for another cell",
        )
        return blank

    def _single(self, cell: Cell, weight: float = 1.0) -> Blank:
        return Blank(cell_title(cell), cell.block, (cell.places,), weight, self._asks)

    def _row(self, block: Block, weight: float = 1.0) -> Blank:
        cells = tuple(cell.places for cell in self._cells(block))
        require(
            cells, f"{block.name} has no formula that could be asked for: it is typed, or the same number everywhere"
        )
        return Blank(block.name, block, cells, weight, self._asks)

    def _cells(self, block: Block) -> list[Cell]:
        """Lists the cells of a row whose formula reads something, grey ones too: a formula left there would be the answer."""
        places = product(*(range(self.book.values.size(axis)) for axis in block.axes))
        return [cell for cell in (Cell(block, at) for at in places) if reads(cell, self.book.values)]

    def _section(self, block: Block) -> tuple[Block, ...]:
        """Returns the block and what else is computed in its section, but for rows that only hand numbers on, or hold only 0."""
        _, section = self.graph.home[block]
        return tuple(each for each in computed(section) if each is block or self._says(each))

    def _says(self, block: Block) -> bool:
        """Tells whether a row has a formula that is worth asking for: other formulas would show its zeros, or what it reads."""
        values = self.book.values
        return not all(is_zero(cell, values) or repeats(cell, values) for cell in self._cells(block))
