"""Placing: walks through an outline from top to bottom and gives every item its rows.

Before that wide weights move to a sheet of their own, and what does not fit on a page is refused, before anything is written.
Lines whose number is the usual one are folded away: which of them is settled when the file is made, and no formula hangs on
it. Behind the lines stand a 1 where one is folded, and live a 1 where its number differs now; at the head of the sheet is
counted, live, how many of the folded lines differ.
"""

import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from blueprint.language import Axis, Block, Ended, NotationError, Values, require
from blueprint.page import blanks, contents, digits, formulas, grid, layout, views, walk
from blueprint.page.grid import Nest, Place
from blueprint.page.layout import Layout, Live, Pen
from blueprint.page.one_page.paint import lay_one_page
from blueprint.page.outline import Blueprint, Item, Line, Note, Row, Section, Sheet, Table, Usual, blocks_on
from blueprint.page.styles import coloured

WEIGHTS = "Weights"
# What a sheet's tab takes: none of the signs of addresses, no apostrophe at an end.
_TITLE = re.compile(r"(?!')[^\[\]:*?/\\]{1,31}(?<!')")


def with_wide_weights(blueprint: Blueprint, values: Values) -> Blueprint:
    """Returns the outline with its wide tables on a sheet called Weights, before the first sheet that reads them."""
    moved: list[Section] = []
    sheets: list[Sheet] = []
    place = 0
    for number, sheet in enumerate(blueprint.sheets):
        place = place if moved else number
        sections = [
            replace(section, items=tuple(kept for item in section.items for kept in _kept(item, sheet, values, moved)))
            for section in sheet.sections
        ]
        sheets.append(replace(sheet, sections=tuple(sections)))
    if moved:
        lead = "weights with more columns than fit beside the rows that they multiply"
        sheets.insert(place, Sheet(WEIGHTS, lead, tuple(moved), first=None))
    return replace(blueprint, sheets=tuple(sheets))


def _kept(item: Item, sheet: Sheet, values: Values, moved: list[Section]) -> tuple[Item, ...]:
    """Returns what stays of an item; a wide table goes to `moved`."""
    match item:
        case Table(block, Axis() as across) if values.size(across) > grid.LEFT_COLUMNS:
            kept: tuple[Item, ...] = ()
        case Row(_, _, Block(axes=(_, across)) as block) if values.size(across) > grid.LEFT_COLUMNS:
            kept = (replace(item, beside=None),)
        case _:
            return (item,)
    moved.append(Section(f"{sheet.title}: {block.symbol}", (Table(block, across),)))
    return Note(f"{block.symbol} is too wide for this sheet and stands on {WEIGHTS}."), *kept


def refuse_unfit(blueprint: Blueprint, values: Values) -> None:
    """Raises NotationError for too many columns, too many rows of one formula, or two blocks of one name."""
    for axis, size in values.sizes.items():
        require(size != 0, f"there is no {axis.meaning} at all: an axis on a page has at least one member")
    _refuse_same_names(blueprint)
    blanks.refuse_wrong(blueprint)
    for sheet in blueprint.sheets:
        require(
            _TITLE.fullmatch(sheet.title) and sheet.title.lower() not in map(str.lower, grid.SHEETS),
            f"a sheet cannot be called {sheet.title!r}: take 1 to 31 letters, none of [ ] : * ? / \\, no apostrophe "
            f"at either end, and neither {' nor '.join(grid.SHEETS)}",
        )
        if sheet.across:
            _refuse_wide(sheet.across, values)
        for item in sheet.items():
            match item:
                case Table(block, across):
                    _refuse_tall(block, (across,), values)
                case Row(block) | (Block() as block):
                    _refuse_tall(block, sheet.across, values)


def _refuse_same_names(blueprint: Blueprint) -> None:
    known: dict[str, Block] = {}
    for block in blueprint.blocks():
        name = grid.defined_name(block.name).lower()
        require(
            name not in grid.NAMES, f"{block.name} would be called {name}, like a range of the page's own: rename it"
        )
        first = known.setdefault(name, block)
        # The same block twice is refused where it is placed.
        require(first is block, f"{first.name} and {block.name} would both be called {name} in a sheet: rename one")


def _refuse_wide(across: tuple[Axis, ...], values: Values) -> None:
    *outer, time = (f"{axis.meaning}s" for axis in across)
    members, groups = values.size(across[-1]), values.size(across[0]) if outer else 1
    needed = grid.start_column(groups, members)
    if needed > grid.LAST_COLUMN:
        have, most = f"{members} {time}", members - (needed - grid.LAST_COLUMN)
        fit = f"{most:,} {time} fit"
        if outer:
            have = f"{groups} {outer[0]} of {have}"
            fit = f"{(grid.LAST_COLUMN - grid.GROUPS) // grid.stride(members)} {outer[0]} of this length fit"
        raise NotationError(f"{have} need {needed:,} columns, a sheet has {grid.LAST_COLUMN:,}: at most {fit}")


def _refuse_tall(block: Block, across: tuple[Axis | None, ...], values: Values) -> None:
    for axis in (part for each in block.axes if each not in across for part in (each.parts or (each,))):
        require(
            values.size(axis) <= grid.LONGEST_RUN,
            f"{block.name} would have {values.size(axis)} cells of one formula below each other ({axis.meaning}); above "
            f"about 100 LibreOffice computes wrong numbers without a word, so at most {grid.LONGEST_RUN} are written",
        )


COLUMNS = 1 << 14
"""More than a sheet's last column."""


def refuse_overlaps(layout: Layout) -> None:
    """Raises NotationError, with both blocks and the cell, where something would be laid over something else."""
    by_sheet: dict[str, list[Block]] = {}
    for block, place in layout.places.items():
        by_sheet.setdefault(place.sheet, []).append(block)
    for sheet, blocks in by_sheet.items():
        cells = [_cells(block, layout) for block in blocks]
        found, counts = np.unique(np.concatenate(cells), return_counts=True)
        if counts.max(initial=0) > 1:
            twice = int(found[int(np.argmax(counts > 1))])
            one, other, *_ = (
                block.name for block, each in zip(blocks, cells, strict=True) for _ in np.flatnonzero(each == twice)
            )
            both = f"{one} and {other}" if one != other else f"two numbers of {one}"
            raise NotationError(
                f"{both} would stand in one cell, {grid.quoted_title(sheet)}!{grid.address(*divmod(twice, COLUMNS))}: "
                "give them rows of their own"
            )


def _cells(block: Block, layout: Layout) -> npt.NDArray[np.int64]:
    """Returns a number for each cell of a block, its edges included."""
    place = layout.places[block]
    found = np.array([place.row * COLUMNS + place.column], dtype=np.int64)
    for axis, members in zip(block.axes, layout.values.spans(block), strict=True):
        down, right = place.steps[axis]
        found = np.add.outer(found, (down * COLUMNS + right) * np.array(members, dtype=np.int64)).ravel()
    return found


OPENS = "a click on the small 2 at the upper left shows them"


def lay_usual(layout: Layout) -> None:
    """Folds the usual lines of every sheet that has some, and counts them at its head."""
    for sheet in layout.blueprint.sheets:
        if sheet.usual is not None:
            _lay(sheet, sheet.usual, layout)


def _lay(sheet: Sheet, usual: Usual, layout: Layout) -> None:
    pen, values = Pen(sheet.title, layout), layout.values
    flags = layout.flags[sheet.title] = 1 + max(layout.corners(block)[3] for block in blocks_on(sheet))
    rows = [layout.places[block].row for block, _ in usual.pairs]
    folded = 0
    for row, (block, table) in zip(rows, usual.pairs, strict=True):
        differs = values.cell(block) != values.cell(table, 0)
        fold = not differs and block not in usual.kept
        if fold:
            layout.folds.append((sheet.title, row, row))
            folded += 1
        pen.label(row, flags, float(fold), "delivered 0")
        cells = layout.address(block, (), sheet.title), layout.address(table, (0,), sheet.title)
        pen.live(row, flags + 1, f"=IFERROR(IF(EXACT({','.join(cells)}),0,1),1)", float(differs), "live 0")
    first, last = min(rows), max(rows)
    ranges = ",".join(grid.area(first, column, last, column) for column in (flags, flags + 1))
    pen.live(grid.BANNER_ROW, grid.LEFT, f"=SUMPRODUCT({ranges})", 0.0, "live 0")
    said = f"of the {folded} {usual.what} that are folded, of {len(rows)}, differ now from {usual.of}; {OPENS}"
    pen.label(grid.BANNER_ROW, grid.LEFT + 1, said, "note")


WIDE = 15
"""From this width on a column holds text, and its heading begins where the text does."""


def lay_out(blueprint: Blueprint, values: Values) -> Layout:
    """Places every block of the outline; raises NotationError, before anything is written, where a page has no room."""
    layout = place_blocks(blueprint, values)
    layout.lives += [
        Live(
            echo.sheet,
            echo.row,
            echo.column,
            f"={layout.address(echo.block, echo.places, seen_from=echo.sheet)}",
            values.cell(echo.block, *echo.places),
            echo.style,
            repeats=True,
        )
        for echo in layout.echoes
    ]
    for lay in (
        walk.lay_walk,
        lay_usual,
        lay_one_page,
        blanks.lay_blanks,
        contents.lay_delivered,
        formulas.lay_formulas,
        contents.lay_contents,
    ):
        lay(layout)
    for live in layout.lives:
        live.value = shown_value(live.value)
    return layout


def shown_value(value: float | str) -> float | str:
    """Returns what a cell shows of a value: the error where there is no number, and where one is printed that is none."""
    return value.error if isinstance(value, Ended) else value.shown if isinstance(value, digits.Print) else value


def place_blocks(blueprint: Blueprint, values: Values) -> Layout:
    """Gives every block its place, which hangs on the sizes alone and not on the numbers; raises NotationError."""
    blueprint = with_wide_weights(blueprint, values)
    refuse_unfit(blueprint, values)
    blueprint = blanks.with_legend(blueprint)
    layout = Layout(blueprint, values, colours=blueprint.colours)
    for sheet in blueprint.sheets:
        SheetPlacer(sheet, layout).place()
    refuse_overlaps(layout)
    return layout


class SheetPlacer(layout.SheetPen):
    """Places one sheet."""

    def place(self) -> None:
        """Gives every item of the sheet its place."""
        self.label(grid.TITLE_ROW, grid.SYMBOL, self.sheet.heading or self.title, coloured("title", self.sheet.colour))
        self.label(grid.LEAD_ROW, grid.SYMBOL, self.sheet.lead, "lead")
        self.label(grid.BANNER_ROW, grid.LEFT, "" if self.sheet.printed else grid.UNPRINTED, "note")
        for block in self.sheet.head:
            self.label(self.row, grid.NAME, block.about.meaning, "head name")
            self.equation(block, "equation")
            self.head(block)
            self.put(block, "head")
            self.row += 1
        for item in self.sheet.pinned:
            self.item(item)
        self.layout.body[self.title] = self.row
        for heading, section in zip(self.sheet.headings(), self.sheet.sections, strict=True):
            if not section.printed:
                self.layout.printed.setdefault(self.title, self.row)
            self.row += 1
            self.section(heading, section)
        self.layout.end[self.title] = self.row

    def section(self, heading: str, section: Section) -> None:
        """Places a heading and what stands under it; a block with weights has its equation in the heading's row.

        Where all of it is folded away, its heading is, too.
        """
        first = self.row - 1
        self.label(self.row, grid.SYMBOL, heading, "section")
        widths = (*self.sheet.widths, *(0.0 for _ in section.columns))
        for column, (title, width) in enumerate(zip(section.columns, widths, strict=False), grid.LEFT):
            self.label(self.row, column, title, "section text" if width > WIDE else "section column")
        for item in section.items:
            if isinstance(item, Row) and item.beside is not None:
                self.equation(item.block, "section equation")
        self.row += 1
        for item in section.items:
            self.item(item)
        if self.sheet.folds_away(section):
            self.layout.folds.append((self.title, first, self.row - 1))

    def item(self, item: Item) -> None:
        """Places one item at the next free row."""
        match item:
            case Note(text, about):
                if about is None:
                    self.label(self.row, grid.SYMBOL, text, "note")
                else:
                    self.link(self.row, grid.SYMBOL, about, text, "note")
                self.row += 1
            case Line(blocks, role):
                self.line(blocks, role)
            case Table(block, across, role):
                self.table(block, across, role)
            case Block():
                self.rows(Row(item))
            case Row():
                first = self.row
                self.rows(item)
                if item.fold:
                    self.layout.folds.append((self.title, first, self.row - 1))
            case _:
                views.PLACERS[type(item)](item, self)

    def line(self, blocks: tuple[Block, ...], role: str) -> None:
        """Places single numbers (and lists) side by side; those for which nothing may be chosen look fixed."""
        known, column = self.layout.blueprint, grid.LEFT
        self.caption(blocks[0])
        for block in blocks:
            default = "line" if block in {*known.ranges, *known.choices, *known.picked} else "fixed"
            self.settle(block, Place(self.title, self.row, column, dict.fromkeys(block.axes, (0, 1))), role or default)
            column += len(self.values.span(block, block.axes[0])) if block.axes else 1
        self.label(self.row, column, "".join(layout.no_number(block, self.values) for block in blocks), "equation")
        self.row += 1

    def table(self, block: Block, across: Axis | None, role: str) -> None:
        """Places a table in the left area: a caption with headings, then a row per member of the other axis."""
        down, *others = [axis for axis in block.axes if axis is not across]
        require(not others, f"{block.name} has {len(block.axes)} axes, a Table two: let it be a Row")
        self.caption(block)
        self.headings(block, across)
        if across is None and len(block.definitions) == 1:
            self.label(self.row, grid.LEFT + 1, f"  {self.says(block)}", "equation")
        self.row += 1
        self.put_table(block, across, role or "weights")
        for member in range(self.values.size(down)):
            self.member(down, member, self.row, grid.SYMBOL, "symbol")
            self.row += 1

    def rows(self, item: Row) -> None:
        """Places a block on the sheet's columns, and the weights that multiply it to its left."""
        block, beside = item.block, item.beside
        nest = Nest(block, self.sheet.across, self.values)
        self.caption(block)
        if beside is None:
            self.equation(block, "equation")
        else:
            self.name_weights(beside, block, nest)
        if nest.axes:
            self.row += 1 + nest.above()
            if self.values.before(block, nest.axes[-1]):
                self.label(
                    self.row - 1,
                    grid.NAME,
                    f"before the first {self.layout.blueprint.called(nest.axes[-1]).meaning}",
                    "note",
                )
        if beside is not None:
            self.put_table(beside, next(iter(beside.axes[1:]), None), "weights")
        place = self.put(block, item.role)
        for row, axis, member in nest.headings(place):
            self.label(row, grid.NAME, f"{self.layout.blueprint.called(axis).meaning} {member + axis.start}", "name")
        for row, member in nest.members(place) if nest.axes else ():
            self.row_name(block, nest.axes[-1], member, row)
        self.row = self.layout.corners(block)[2] + 1

    def name_weights(self, weights: Block, block: Block, nest: Nest) -> None:
        """Names the weights to the left of a block's rows, which lie along one axis."""
        if len(nest.axes) != 1:
            has = f"rows along {len(nest.axes)} axes: make it a Table" if nest.axes else "a single row: make it a Line"
            raise NotationError(f"{weights.name} stands beside {block.name}, which has {has}")
        self.headings(weights, next(iter(weights.axes[1:]), None))
        self.head(weights, grid.LEFT)

    def put_table(self, block: Block, across: Axis | None, role: str) -> None:
        """Places a block of weights or words in the left area."""
        steps = {axis: (0, 1) if axis is across else (1, 0) for axis in block.axes}
        self.settle(block, Place(self.title, self.row, grid.LEFT, steps), role)

    def put(self, block: Block, role: str) -> Place:
        """Places a block on the columns of the members, in the Σ columns, or, without axes, in that of single numbers."""
        steps = dict.fromkeys(block.axes, (1, 0)) | Nest(block, self.sheet.across, self.values).steps
        column, groups = grid.SINGLE, self.sheet.across[:-1]
        if self.sheet.across:
            time = self.sheet.across[-1]
            members, in_groups = self.values.size(time), bool(groups) and groups[0] in steps
            if time in steps:
                column, steps[time] = grid.start_column(0, members) + 1, (0, 1)
            elif in_groups:
                column = grid.start_column(0, members) + members + 2
            if in_groups:
                steps[groups[0]] = (0, grid.stride(members))
        return self.settle(block, Place(self.title, self.row, column, steps, groups), role)

    def settle(self, block: Block, place: Place, role: str) -> Place:
        """Notes a block's place, and returns it; it has only one."""
        if block in self.layout.places:
            raise NotationError(
                f"{block.name} stands on {self.layout.places[block].sheet} and again on {place.sheet}: "
                "use link(…) for the second"
            )
        self.layout.places[block], self.layout.roles[block] = place, role
        return place
