"""The cells of a workbook, row by row: what is typed, which formula stands there, and the number that it gives.

All cells of a row have one formula in relative form, so it is spelled once per row and not once per cell, with holes where
the column letters go, which are filled in column by column.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import inf
from typing import NamedTuple

import numpy as np

from blueprint.language import (
    OFF_WORD,
    Array,
    Axis,
    Block,
    Constant,
    Count,
    Definition,
    Edge,
    Index,
    Members,
    NotationError,
    Position,
    Reduce,
    Ref,
    Values,
    excel,
    places_of,
    require,
    walk,
)
from blueprint.page import blanks, grid
from blueprint.page.layout import Layout
from blueprint.page.outline import Blank

Cell = tuple[int, int]
HOLE = "\0"


class Hole(NamedTuple):
    """A column letter to be filled in: `shift` columns from the cell's own, or from the start of its group."""

    shift: int
    from_group: bool


class Template(NamedTuple):
    """A row's formula with HOLE for each hole; a word in it may hold any sign that one can type."""

    text: str
    holes: tuple[Hole, ...]

    def filled(self, cells: Iterable[tuple[int, int]]) -> list[str]:
        """Returns the formulas of cells, each given by its column and the start of its group (0-based)."""
        first, *texts = self.text.split(HOLE)
        holes = [(*hole, text) for hole, text in zip(self.holes, texts, strict=True)]
        return [
            first
            + "".join(grid.column_letters((start if of_group else column) + by) + text for by, of_group, text in holes)
            for column, start in cells
        ]


def template(block: Block, definition: Definition, at: Members, layout: Layout) -> Template:
    """Spells the formula of one row of a block; `at` says which, by the members of the axes that run downwards."""
    for node in walk(definition.expr):
        if isinstance(node, Reduce) and len(node.axes) > 1:
            _refuse_open(node, layout)
    addresses = RowAddresses(block, definition.target, at, layout)
    return Template("=" + excel(definition.expr, addresses), tuple(addresses.holes))


def _refuse_open(node: Reduce, layout: Layout) -> None:
    """Refuses a sum over several groups unless one factor is empty or 0 between them and in their edge columns."""
    refs = [ref for ref in walk(node.body) if isinstance(ref, Ref)]
    over_groups = any(set(node.axes) & set(layout.places[ref.block].groups) for ref in refs)
    still = [ref for ref in refs if not any(isinstance(index, Position) and index.by for index in ref.at)]
    if over_groups and not any(_closed(ref.block) for ref in still):
        raise NotationError(f"{node} would count edge cells: one factor must be 0 or empty there, such as the mask")


def _closed(block: Block) -> bool:
    edges = (d.expr for d in block.definitions if any(isinstance(index, Edge) for index in d.target))
    return not (block.typed and block.edges) and all(isinstance(e, Constant) and e.value == 0 for e in edges)


class RowAddresses:
    """Spells addresses as seen from a row; collects the holes in the order of spelling."""

    def __init__(self, target: Block, written: tuple[Index, ...], at: Members, layout: Layout):
        self.layout, self.values, self.at = layout, layout.values, at
        self.home = layout.places[target]
        along = zip(target.axes, written, strict=True)
        self.strides = {
            index.axis: self.home.steps[slot][1]
            for slot, index in along
            if isinstance(index, Position) and index.axis not in at
        }
        self.running = list(self.strides)
        self.here = self._corner(Ref(target, written), {})
        self.holes: list[Hole] = []

    def cell(self, ref: Ref) -> str:
        """Returns the address of one cell; a single number goes by its name."""
        if not ref.block.axes:
            return grid.defined_name(ref.block.name)
        return self._sheet(ref) + self._address(ref, self._corner(ref, {}))

    def span(self, ref: Ref, axes: tuple[Axis, ...]) -> str:
        """Returns the range of a reference's cells along the axes, from the first member to the last."""
        self._refuse_between(ref, axes)
        first = self._corner(ref, dict.fromkeys(axes, 0))
        last = self._corner(ref, {axis: self.values.size(axis) - 1 for axis in axes})
        if len(axes) > 1 and set(axes) & set(self.layout.places[ref.block].groups):
            # A row over all groups is one plain range with their start and end columns, which `_refuse_open` watches.
            first, last = (first[0], first[1] - 1), (last[0], last[1] + 1)
        return f"{self._sheet(ref)}{self._address(ref, first, axes)}:{self._address(ref, last, axes)}"

    def _refuse_between(self, ref: Ref, axes: tuple[Axis, ...]) -> None:
        """Refuses a range in which cells of other members stand: one over groups, in whose columns other members are."""
        place = self.layout.places[ref.block]
        indices = zip(ref.block.axes, ref.at, strict=True)
        over = {slot for slot, index in indices if isinstance(index, Position) and index.axis in axes}
        for way, slot in product((0, 1), (slot for slot in ref.block.axes if slot not in over)):
            widest = max((place.steps[each][way] for each in over), default=0)
            if 0 < place.steps[slot][way] < widest and self.values.size(slot) > 1:
                raise NotationError(
                    f"{ref} over {' and '.join(map(str, axes))}: cells of other {slot.meaning}s stand between; "
                    f"sum over {slot.letter} as well, or link a block beside it that lies otherwise"
                )

    def number(self, axis: Axis) -> str:
        """Returns the address of the head's cell that holds the number of the member at hand; only columns have such a head."""
        sheet = next(sheet for sheet in self.layout.blueprint.sheets if sheet.title == self.home.sheet)
        require(
            sheet.across and sheet.across[-1] is axis,
            f"number({axis}) stands in the head of a sheet whose columns are {axis.plural}, and {sheet.title} has others: "
            "count them in a block of their own",
        )
        self.holes.append(Hole(0, from_group=False))
        return f"{HOLE}${grid.NUMBER_ROW + 1}"

    def changes(self) -> str:
        """Returns the name of the cell that counts the typed blocks that were changed."""
        return grid.CHANGED_INPUTS

    def _sheet(self, ref: Ref) -> str:
        sheet = self.layout.places[ref.block].sheet
        return "" if sheet == self.home.sheet else grid.quoted_title(sheet) + "!"

    def _corner(self, ref: Ref, chosen: Members) -> Cell:
        """Returns row and column of a reference's cell for the first member of every running axis."""
        members = dict.fromkeys(self.running, 0) | dict(self.at) | dict(chosen)
        return self.layout.places[ref.block].cell(ref.block, places_of(ref, members, self.values))

    def _address(self, ref: Ref, corner: Cell, spanned: tuple[Axis, ...] = ()) -> str:
        """Spells a cell's address: with a hole if it moves along with the row's own cells, else fixed.

        spanned: axes along which it is the end of a range, which stays where it is.
        """
        row, column = corner
        place = self.layout.places[ref.block]
        read = {
            index.axis: slot for slot, index in zip(ref.block.axes, ref.at, strict=True) if isinstance(index, Position)
        }
        moving = set(read).intersection(self.running).difference(spanned)
        if across := next((axis for axis in read if axis in moving and place.steps[read[axis]][0]), None):
            raise NotationError(f"{ref} lies across {across.letter}'s direction: link a transposed block beside it")
        for axis in moving:
            stride, own = place.steps[read[axis]][1], self.strides[axis]
            if stride != own and self.values.size(axis) > 1:
                raise NotationError(
                    f"{ref} goes on by {stride} columns for each {axis.letter}, the cells that read it by {own}: "
                    "put it on a sheet that is laid out as theirs"
                )
        if not moving:
            return f"{'$' * bool(self.running)}{grid.column_letters(column)}{row + 1}"
        whole = moving == set(self.running)
        self.holes.append(Hole(column - (self.here[1] if whole else grid.GROUPS), from_group=not whole))
        return f"{'' if whole else '$'}{HOLE}{row + 1}"


Value = float | str


@dataclass(frozen=True)
class Run:
    """Cells of one row that belong together: their columns, formulas (none: typed or constant) and values.

    blank: they are left to the reader; the value of an empty one is NaN.
    """

    block: Block
    sheet: str
    row: int
    columns: list[int]
    formulas: list[str] | None
    values: list[Value]
    edge: bool
    blank: bool = False


def runs(layout: Layout) -> list[Run]:
    """Returns the cells of every block in reading order; they are spelled once."""
    if layout.runs is None:
        every = (run for block in layout.places for run in runs_of(block, layout))
        left = {cell: number for blank in layout.blueprint.blanks for cell, number in _filled(blank, layout)}
        layout.runs = [part for run in every for part in _cut(run, left)] if left else [*every]
    return layout.runs


def _filled(blank: Blank, layout: Layout) -> Iterator[tuple[blanks.Place, float]]:
    yield from zip(blanks.places_of(blank, layout), blanks.filled(blank, layout), strict=True)


def _cut(run: Run, left: dict[blanks.Place, float]) -> Iterator[Run]:
    """Yields a run without the cells that are blanks, and these as a run of their own; `left`: what stands in them."""
    kept = [i for i, column in enumerate(run.columns) if (run.sheet, run.row, column) not in left]
    columns = [column for i, column in enumerate(run.columns) if i not in kept]
    if not columns:
        yield run
        return
    formulas = run.formulas and [run.formulas[i] for i in kept]
    if kept:
        values = [run.values[i] for i in kept]
        yield replace(run, columns=[run.columns[i] for i in kept], formulas=formulas, values=values)
    values = [left[run.sheet, run.row, column] for column in columns]
    yield replace(run, columns=columns, formulas=None, values=values, blank=True)


def runs_of(block: Block, layout: Layout) -> Iterator[Run]:
    """Yields the cells of one block."""
    if block.typed:
        yield from _typed(block, layout)
    for definition in block.definitions:
        yield from _defined(block, definition, layout)


def _typed(block: Block, layout: Layout) -> Iterator[Run]:
    """Yields a typed block's rows, its edge cells as part of them."""
    values, place = layout.values, layout.places[block]
    rows: dict[int, tuple[list[int], list[Value]]] = {}
    for places in product(*values.spans(block)):
        row, column = place.cell(block, places)
        columns, cells = rows.setdefault(row, ([], []))
        columns.append(column)
        cells.append(plain(values.cell(block, *places)))
    for row, (columns, cells) in rows.items():
        yield Run(block, place.sheet, row, columns, None, cells, edge=False)


def _defined(block: Block, definition: Definition, layout: Layout) -> Iterator[Run]:
    """Yields the rows that one equation fills: a formula is spelled once per row, then filled in along it."""
    place, values, target = layout.places[block], layout.values, Ref(block, definition.target)
    steps = zip(definition.target, (place.steps[axis] for axis in block.axes), strict=True)
    free = [(index.axis, step) for index, step in steps if isinstance(index, Position)]
    down = [axis for axis, (rows, _) in free if rows]
    along = [axis for axis, (rows, _) in free if not rows]
    columns, starts = _columns(target, dict.fromkeys(down, 0), along, layout)
    members = list(product(*(range(values.size(axis)) for axis in along)))
    across = _lies_across(definition, along, layout)
    constant = isinstance(definition.expr, Constant) or (isinstance(definition.expr, Count) and not along)
    for chosen in product(*(range(values.size(axis)) for axis in down)):
        at = dict(zip(down, chosen, strict=True))
        row, _ = place.cell(block, places_of(target, at | dict.fromkeys(along, 0), values))
        formulas = None
        if not constant and across:
            cells = (at | dict(zip(along, member, strict=True)) for member in members)
            formulas = [template(block, definition, cell, layout).filled([(0, grid.GROUPS)])[0] for cell in cells]
        elif not constant:
            formulas = template(block, definition, at, layout).filled(zip(columns, starts, strict=True))
        found = list(map(plain, np.ravel(values.view(target, at)[1]).tolist()))
        if block in values.ended:
            ends = np.ravel(_errors(block, values)[values.where(block, target.at, at).place(at)]).tolist()
            found = [end or value for end, value in zip(ends, found, strict=True)]
        yield Run(block, place.sheet, row, columns, formulas, found, edge=len(free) < len(definition.target))


def _errors(block: Block, values: Values) -> Array:
    """Returns what the cells of a block show that have no number, "" for the others."""
    shown = np.full(values.shape(block), "", dtype=object)
    for places, end in values.ended[block].items():
        shown[tuple(place - span[0] for place, span in zip(places, values.spans(block), strict=True))] = end.error
    return shown


def _lies_across(definition: Definition, along: list[Axis], layout: Layout) -> bool:
    """Tells whether each cell needs a formula of its own.

    So it is where what runs to the right here runs downwards in what is read, or is read anew in every group of columns.
    """
    for node in walk(definition.expr):
        if not isinstance(node, Ref):
            continue
        indices = zip(node.block.axes, node.at, strict=True)
        moving = {i.axis: slot for slot, i in indices if isinstance(i, Position) and any(i.axis is a for a in along)}
        steps = layout.places[node.block].steps
        in_every_group = len(along) > 1 and along[-1] in moving and along[0] not in moving
        if in_every_group or any(steps[slot][0] for slot in moving.values()):
            return True
    return False


def _columns(target: Ref, at: Members, along: list[Axis], layout: Layout) -> tuple[list[int], list[int]]:
    """Returns the columns of a row's cells, and for each the start column of its group."""
    block, place, values = target.block, layout.places[target.block], layout.values
    steps = {index.axis: place.steps[slot][1] for slot, index in zip(block.axes, target.at, strict=True)}
    first = place.cell(block, places_of(target, dict(at) | dict.fromkeys(along, 0), values))
    columns, starts = [first[1]], [grid.GROUPS]
    for axis in along:
        along_axis = [steps[axis] * member for member in range(values.size(axis))]
        columns = [column + step for column in columns for step in along_axis]
        starts = [start + step * (axis in place.groups) for start in starts for step in along_axis]
    return columns, starts


def plain(value: Value) -> Value:
    """Returns a value as a cell holds it: what is infinite is a limit that is off; no sheet knows a minus zero."""
    return value if isinstance(value, str) else OFF_WORD if value == inf else float(value) + 0.0


def formula_at(block: Block, places: tuple[int, ...], layout: Layout) -> str:
    """Returns the formula of one cell, or what is typed there."""
    row, column = layout.places[block].cell(block, places)
    for run in runs_of(block, layout):
        if run.row == row and column in run.columns:
            i = run.columns.index(column)
            return run.formulas[i] if run.formulas else str(run.values[i])
    raise NotationError(f"{block.name} has no cell at {places}")
