"""Values: the numbers of every block, one array each, with room for the edge cells that the block has."""

from collections.abc import Container, Mapping
from math import inf, nan
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from blueprint.language import nodes, trees
from blueprint.language.axes import Axis, Edge, NotationError, Position, check_size, require
from blueprint.language.blocks import Block

Array = npt.NDArray[Any]
At = Mapping[Axis, int]
Held = Mapping[Block, Mapping[tuple[int, ...], float]]
"""Numbers that stand in computed cells whatever their equations say, by block and 0-based places."""


class Ended(float):
    """No number (NaN): what a cell holds whose computation ended, though nothing that is needed reads it.

    error: what a spreadsheet shows there, such as `#NUM!`.
    """

    def __new__(cls, error: str) -> Self:
        """Makes NaN that knows its error."""
        made = super().__new__(cls, nan)
        made.error = error
        return made

    error: str


class Where(NamedTuple):
    """Where the cells of a reference without lookups lie in its block's array.

    letters: those of their dimensions, in order. start: their place while every loop stands at 0.
    moves: which indices move with which loop.
    """

    letters: tuple[Axis, ...]
    start: tuple[int | slice, ...]
    moves: tuple[tuple[int, Axis], ...]

    def place(self, at: At) -> tuple[int | slice, ...]:
        """Returns their place where the loops stand."""
        if not self.moves:
            return self.start
        place: list[Any] = list(self.start)
        for i, axis in self.moves:
            place[i] += at[axis]
        return tuple(place)


class Values:
    """The numbers of a set of blocks, and the arithmetic from indices to places in their arrays.

    `values[block]` is an array with one dimension per axis, without the edge cells; `values.arrays[block]` has them
    too, as first and last entries; `values.cell(block, …)` is one cell.

    beyond: whether numbers go on as infinity beyond the largest one, as in a library; in a sheet they end in an error.
    held: the numbers that stand in cells whatever their equations say, NaN in every other cell; own: what the equations of
    those cells came to.
    ended: by block, the cells whose computation ended, by 0-based places, where nothing that is needed reads them; why: by
    block, the reason of the first of them; roots: the blocks among them in which a computation ended by itself.
    """

    def __init__(self, sizes: Mapping[Axis, int], beyond: bool = False):
        for axis, size in sizes.items():
            check_size(axis, size)
        self.sizes, self.beyond = dict(sizes), beyond
        self._members: dict[Axis, int] = {}
        self.arrays: dict[Block, Array] = {}
        self.held: dict[Block, Array] = {}
        self.own: dict[Block, Array] = {}
        self.ended: dict[Block, dict[tuple[int, ...], Ended]] = {}
        self.why: dict[Block, str] = {}
        self.roots: dict[Block, tuple[int, ...]] = {}
        self._known: dict[Block, tuple[int, list[range]]] = {}

    def size(self, axis: Axis) -> int:
        """Returns how many members an axis has; a joined axis has those of its parts."""
        if axis not in self._members:  # asked for once for each cell
            known = self.sizes.get(axis.extent, axis.size)
            if known is None and not axis.parts:
                raise NotationError(f"the axis {axis.letter} ({axis.meaning}) has no size: give it one")
            self._members[axis] = sum(map(self.size, axis.parts)) if known is None else known
        return self._members[axis]

    def edge(self, edge: Edge) -> int:
        """Returns the place of the cell before the first or after the last member."""
        return -1 if edge.side < 0 else self.size(edge.axis)

    def before(self, block: Block, axis: Axis) -> int:
        """Returns 1 if the block has a cell before the first member of the axis, else 0."""
        return int((axis, -1) in block.edges)

    def shape(self, block: Block) -> tuple[int, ...]:
        """Returns the shape of a block's array, edges included."""
        return tuple(map(len, self.spans(block)))

    def span(self, block: Block, axis: Axis) -> range:
        """Returns the places that a block has along an axis, edges included."""
        return range(-self.before(block, axis), self.size(axis) + int((axis, 1) in block.edges))

    def spans(self, block: Block) -> list[range]:
        """Returns the places that a block has along each of its axes, edges included."""
        edges, spans = self._known.get(block, (-1, []))
        if edges != len(block.edges):  # a block that is being defined may get more of them
            spans = [self.span(block, axis) for axis in block.axes]
            self._known[block] = len(block.edges), spans
        return spans

    def fill(self, block: Block, typed: Mapping[Block, object]) -> None:
        """Takes a typed block's numbers; raises NotationError if they are missing or of another shape."""
        if block not in typed:
            raise NotationError(f"{block.name} is typed in, but no numbers were given for it")
        try:
            raw = typed[block]
            given = np.array(raw, dtype=object)
            cells = given if block.text else given.astype(float)
        except (ValueError, TypeError) as error:
            raise NotationError(
                f"{block.name} holds something that is no number, or rows of different length"
            ) from error
        kind = (str,) if block.text else (int, float, np.number)
        numeric = isinstance(raw, np.ndarray) and raw.dtype.kind in "fiu" and not block.text
        looked_at = () if numeric else given.flat  # an array of numbers holds nothing else
        stray = next((cell for cell in looked_at if not isinstance(cell, kind) or isinstance(cell, bool)), None)
        infinite = False if block.text else np.isneginf(cells) if block.limit else np.isinf(cells)
        if stray is not None or np.any(infinite):
            raise NotationError(
                f"{block.name} takes {'words' if block.text else 'finite numbers'}, "
                f"not {stray if stray is not None else 'infinity'!r}"
            )
        if given.shape != self.shape(block):
            raise NotationError(f"{block.name} has the shape {given.shape}; its axes ask for {self.shape(block)}")
        self.arrays[block] = cells

    def __getitem__(self, block: Block) -> Array:
        """Returns a block's array without its edge cells."""
        cut = [slice(self.before(block, axis), self.before(block, axis) + self.size(axis)) for axis in block.axes]
        return self.arrays[block][tuple(cut)]

    def view(self, ref: nodes.Ref, at: At) -> tuple[tuple[Axis, ...], Array]:
        """Returns the cells that a reference without lookups means, and the letters of their dimensions, in order."""
        where = self.where(ref.block, ref.at, at)
        return where.letters, np.asarray(self.arrays[ref.block][where.place(at)])

    def where(self, block: Block, indices: tuple[nodes.Index, ...], loops: Container[Axis]) -> Where:
        """Returns where the cells lie that indices of a block mean while loops go through some of the axes."""
        letters: list[Axis] = []
        start: list[int | slice] = []
        moves: list[tuple[int, Axis]] = []
        for i, (slot, index) in enumerate(zip(block.axes, indices, strict=True)):
            if isinstance(index, Position):
                axis, begin = index.axis, self.offset(block, slot, index.axis) + index.by
                if axis in loops:
                    start.append(begin)
                    moves.append((i, axis))
                else:
                    start.append(slice(begin, begin + self.size(axis)))
                    letters.append(axis)
            elif isinstance(index, Edge):
                start.append(self.before(block, slot) + self.edge(index))
            else:
                raise AssertionError("lookups are computed, not placed")
        return Where(tuple(letters), tuple(start), tuple(moves))

    def write(self, block: Block, place: tuple[int | slice, ...], cells: Any) -> None:
        """Writes cells at a place of a block's array. A new array that is all of the block is kept as it is.

        A view of another one is copied.
        """
        if not block.axes and block not in self.held:
            self.arrays[block] = np.array(cells, object if block.text else float)
            return
        if block not in self.arrays and block not in self.held and self._is_all(block, cells):
            own = cells.base is None and cells.flags.c_contiguous and cells.dtype == float
            self.arrays[block] = cells if own else np.array(cells, float, order="C")
            return
        if block not in self.arrays:
            self.arrays[block] = np.full(self.shape(block), np.nan, object if block.text else float)
        # A single word comes as an array without dimensions, which an array of objects would keep as it is.
        self.arrays[block][place] = cells if np.ndim(cells) else np.asarray(cells).item()
        if block in self.held:
            here, held = self.arrays[block][place], self.held[block][place]
            self.own[block][place] = np.where(np.isnan(held), np.nan, here)
            self.arrays[block][place] = np.where(np.isnan(held), here, held)

    def _is_all(self, block: Block, cells: Any) -> bool:
        """Tells whether cells are an array of numbers, every cell of the block in its order."""
        return isinstance(cells, np.ndarray) and not block.text and cells.shape == self.shape(block)

    def hold(self, cells: Held) -> None:
        """Lets numbers stand in cells, given by their 0-based places, whatever the equations of these will come to."""
        for block, numbers in cells.items():
            require(
                not (block.typed or block.text), f"{block.name}: only a computed number can be held, type the others"
            )
            self.held[block], self.own[block] = (np.full(self.shape(block), np.nan) for _ in range(2))
            for places, number in numbers.items():
                at = tuple(place + self.before(block, axis) for place, axis in zip(places, block.axes, strict=True))
                self.held[block][at] = number

    def cell(self, block: Block, *places: int) -> float | str:
        """Returns one cell by 0-based places; −1 and the axis's size are its edges. A limit that is off is a word."""
        if block in self.ended and (end := self.ended[block].get(places)) is not None:
            return end
        spans = self.spans(block)
        if any(place not in span for place, span in zip(places, spans, strict=True)):
            raise IndexError(f"{block.name} has no cell at {places}")
        at = tuple(place - span[0] for place, span in zip(places, spans, strict=True))
        found: float | str = self.arrays[block][at] if block.text else float(self.arrays[block][at])
        return trees.OFF_WORD if block.limit and found == inf else found

    def part(self, axis: Axis, member: int) -> tuple[Axis, int]:
        """Returns the part of a joined axis in which a member lies, and its place there; of any other axis itself."""
        for part in axis.parts:
            if member < self.size(part):
                return part, member
            member -= self.size(part)
        return axis, member

    def ahead(self, slot: Axis, letter: Axis) -> int:
        """Returns how many members of a joined axis come before those of one of its parts."""
        own = letter.extent is slot.extent or not slot.parts
        return 0 if own else sum(map(self.size, slot.parts[: slot.parts.index(letter)]))

    def offset(self, block: Block, slot: Axis, letter: Axis) -> int:
        """Returns where the members of a letter begin in a block's array: behind the edge and the parts before it."""
        return self.before(block, slot) + self.ahead(slot, letter)
