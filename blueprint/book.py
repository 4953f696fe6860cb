"""A book: a blueprint with its numbers, ready to be shown, saved and proved."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from blueprint.asked import path_of
from blueprint.language import (
    Axis,
    Block,
    Cell,
    Held,
    NoNumber,
    NotationError,
    Read,
    Values,
    compute,
    equation,
    explained,
    filled_by,
    latex_equations,
    reads,
    require,
)

if TYPE_CHECKING:
    import pandas as pd
    from pandas import DataFrame
    from torch import Tensor

    from blueprint import explaining
    from blueprint.language.evaluate_torch import Tensors
    from blueprint.page import grid, outline, recalculate
    from blueprint.page.layout import Layout
    from blueprint.web.page import Page


RESULT = "loss"
"""What the number that everything leads to is called besides its own name."""


class Book:
    """A blueprint and the numbers of all its blocks.

    Raises NoNumber, which names the cell in the workbook and the reason, where a computation ends that the result reads: an
    overflow, a logarithm of 0, a quotient by 0. What nothing that is needed reads may end: its cell shows the error that a
    spreadsheet shows (`ended`). What underflows to 0 is a number.

    beyond: goes on with infinity and NaN, as a library does; such a book can be read, but not saved.
    held: numbers that stand in computed cells whatever their equations say, as what was filled into a worksheet's blanks.
    finished: adds to the blueprint what helps to read it and computes nothing; not done before somebody looks at it.
    """

    def __init__(
        self,
        blueprint: "outline.Blueprint",
        beyond: bool = False,
        held: Held | None = None,
        finished: "Callable[[outline.Blueprint], outline.Blueprint] | None" = None,
    ):
        self.outline, self._finished = blueprint, finished
        try:
            self.values: Values = compute(
                blueprint.blocks(), blueprint.sizes, blueprint.typed, beyond, held or {}, blueprint.results
            )
        except NoNumber as ended:
            raise ended.at(self.stands(ended.block, ended.places, ended.values)) from None

    @cached_property
    def blueprint(self) -> "outline.Blueprint":
        """The blueprint, with what helps to read it."""
        return self._finished(self.outline) if self._finished else self.outline

    def __repr__(self) -> str:
        """Says what the book is, what it comes to, and what to ask next."""
        from blueprint import title_card

        return title_card.as_text(self)

    def _repr_html_(self) -> str:
        from blueprint import title_card

        return title_card.as_html(self)

    @property
    def loss(self) -> float:
        """The number that everything leads to. Raises NotationError for a book that has none."""
        result = self.outline.result
        if result is None:
            raise NotationError(f"{self.outline.title} leads to no single number: ask for a block, book[name]")
        if result.axes:
            axes = " and ".join(self.outline.called(axis).meaning for axis in result.axes)
            raise NotationError(
                f"{self.outline.title} leads to no single number: its result has one for each {axes}; "
                f"write book[{result.name!r}]"
            )
        return float(self.values.cell(result))

    @cached_property
    def layout(self) -> "Layout":
        """Where everything stands. Raises NotationError if it does not fit on a page."""
        from blueprint.page import placing

        return placing.lay_out(self.blueprint, self.values)

    @cached_property
    def blocks(self) -> dict[str, Block]:
        """The blocks by name."""
        return {block.name: block for block in self.outline.blocks()}

    def page(self, path: str | PathLike[str] | None = None) -> "Page":
        """Makes a page for the browser, which computes every number by itself; with a path it is written, too.

        Raises PageError for a worksheet, SaveError for a name that does not end in .html, and where it cannot be written.
        """
        from blueprint.web.page import page_of

        made = page_of(self.blueprint, self.values)
        if path is not None:
            made.save(path_of(path, NotationError, "path", 'book.page("page.html")'))
        return made

    def save(self, path: str | PathLike[str]) -> int:
        """Writes the workbook, whole or not at all, and returns how many formulas it holds.

        Raises SaveError for a name that does not end in .xlsx, and where it cannot be written.
        """
        from blueprint.page.write import write

        require(
            not self.values.beyond,
            "this book goes on beyond the largest number, which no sheet can: make it without beyond",
        )
        return write(self.layout, path_of(path, NotationError, "path", 'book.save("workbook.xlsx")'))

    def prove(self, path: str | PathLike[str]) -> "recalculate.Proof":
        """Has a saved file recalculated from its formulas alone and compares every cell. Raises EngineMissing."""
        from blueprint.page import formulas, recalculate

        saved = path_of(path, NotationError, "path", 'book.prove("workbook.xlsx")')
        return recalculate.prove(saved, formulas.expected(self.layout), formulas.waiting_in(self.layout))

    def show(self, block: Block | str, **members: int | str) -> "explaining.Shown":
        """Shows one cell four ways: `book.show("height", n=1, t=5)`; members go by number or word (`c="Oslo"`)."""
        from blueprint import explaining

        return explaining.shown(self, self._block(block), members)

    def explain(
        self, what: Block | str, depth: int | Literal["all"] = 2, **members: int | str
    ) -> "explaining.Explanation":
        """Explains one cell by what it comes from, `depth` steps down, or down to the inputs with "all".

        `print(book.explain("height", n=1, t=5))`. A block goes by its name or symbol, a cell also by its address in
        the workbook: "Weeks!N51". Raises NotationError if there is no such block or cell.
        """
        from blueprint import explaining

        return explaining.explain(self, what, None if depth == "all" else depth, members)

    def stands(self, block: Block, places: tuple[int, ...], values: Values) -> str:
        """Returns the sheet and address of a cell, also of a book that has not all its numbers."""
        from blueprint.page import placing

        return placing.place_blocks(self.blueprint, values).address(block, places)

    def block_named(self, text: str) -> Block:
        """Finds a block by its name or symbol. Raises NotationError, with the nearest names, if there is none."""
        from blueprint import explaining

        return explaining.block_named(text, self.blocks)

    @cached_property
    def spots(self) -> "Mapping[str, grid.Spot]":
        """Where the blocks stand, by name."""
        from blueprint import explaining

        return explaining.spots_on(self.layout)

    @property
    def sheets(self) -> list[str]:
        """The names of the sheets."""
        return list(self.layout.body)

    def reads(self, cell: Cell) -> tuple[Read, ...]:
        """Returns what the equation of a cell reads, in its order; a typed cell reads nothing."""
        return reads(cell, self.values)

    def spelled(self, cell: Cell) -> tuple[str, str]:
        """Returns the equation of a cell, "" of a typed one, and the same with the numbers put in."""
        filled = filled_by(*cell, self.values)
        return equation(cell.block, filled.definition) if filled else "", explained(*cell, self.values)

    def typed(self, block: Block) -> bool:
        """Says whether one types in a block, or else its cells are computed."""
        return block.typed

    def said(self, cell: Cell) -> float | str | None:
        """Returns what a file shows in a cell where that is not the cell's value: nothing, as there is no file."""
        return None

    def ended(self, cell: Cell) -> str:
        """Says why a cell has no number, though the result has one; "" of any other cell."""
        ended = cell.places in self.values.ended.get(cell.block, {})
        return f"no number: {self.values.why[cell.block]}; the result does not read it" if ended else ""

    def doubts(self, cell: Cell) -> str:
        """Says in what a file differs from the numbers that its inputs give: in nothing, as there is no file."""
        return ""

    def blank(self, cell: Cell) -> str:
        """Says of a cell of a saved worksheet that it is a blank, or waits for one; "" of any other."""
        return ""

    def formula(self, address: "grid.Address") -> str | None:
        """Returns the formula at an address where no block stands, or None."""
        from blueprint.page import formulas

        at = (address.sheet, address.row - 1, address.column - 1)
        lives = (*self.layout.lives, *formulas.watch_of(self.layout).lives)
        return next((live.formula for live in lives if (live.sheet, live.row, live.column) == at), None)

    def linked(self, address: "grid.Address") -> bool:
        """Says whether a link to a block stands in the row of an address."""
        return any(
            isinstance(link.target, Block)
            for link in self.layout.links
            if (link.sheet, link.row + 1) == (address.sheet, address.row)
        )

    def __getitem__(self, block: Block | str) -> "DataFrame":
        """Returns a block as a table, `book["height"]`; see `frame`."""
        return self.frame(block)

    def frame(self, block: Block | str) -> "DataFrame":
        """Returns a block as a pandas table: a row per member of its first axis, columns for all others, all with their names."""

        return frame_of(self, self._block(block))

    def frames(self, sheet: str) -> dict[str, "DataFrame"]:
        """Returns the blocks of a sheet as tables, by name, in the order of the sheet. Raises NotationError for another sheet."""
        from blueprint import explaining

        require(
            isinstance(sheet, str),
            f"frames({sheet!r}): ask for a sheet by its name, as in book.frames({self.sheets[0]!r})",
        )
        title = explaining.sheet_named(sheet, self.sheets)
        return {name: self.frame(self.blocks[name]) for name, spot in self.spots.items() if spot.sheet == title}

    @overload
    def tensors(self, device: str = "cpu", *, grad: Literal[True], dtype: str = "float64") -> "Differentiable": ...

    @overload
    def tensors(
        self, device: str = "cpu", *, grad: Literal[False] = False, dtype: str = "float64"
    ) -> dict[str, Any]: ...

    def tensors(self, device: str = "cpu", *, grad: bool = False, dtype: str = "float64") -> Mapping[str, Any]:
        """Returns the numbers of every block as torch tensors, by name, edges included; words are left out.

        grad: has every equation computed in torch, so that slopes follow: `book.tensors(grad=True).slopes("height")` says by
            name how much that quantity, or the sum of its cells, grows with every typed and computed cell.
        dtype: with grad, float64 or float32.
        Raises NotationError if grad is asked for a book that holds numbers in computed cells.
        """

        require(
            grad or dtype == "float64",
            f"dtype {dtype}: without slopes tensors are the book's own numbers, in float64; write grad=True, or .float() of one",
        )
        known_device(device)
        return differentiable(self, device, dtype) if grad else tensors_of(self, device)

    def latex(self, block: Block | str) -> str:
        """Returns a block's equations in LaTeX."""
        return latex_equations(self._block(block))

    def walk(self, **members: int | str) -> "DataFrame":
        """Follows one column through the steps that lead to the result: `book.walk(n=1, t=5)`, a row for each.

        members: by letter which member of an axis, as in `show`; of a step that has other axes, those that it has. Each row has
            the symbol, the value, the equation, and the same with the numbers put in. Raises NotationError where an axis of a
            step is not named, and there is no step that can do without.
        """
        return walk_of(self, members)

    def _block(self, block: Block | str) -> Block:
        if isinstance(block, Block):
            return block
        require(isinstance(block, str), f"book[{block!r}]: ask for a block by its name, such as book['price']")
        if block == RESULT and block not in self.blocks and self.outline.result is not None:
            return self.outline.result
        return self.block_named(block)


def book(
    title: str, blocks: list[Block], across: Axis, numbers: Mapping[Block, object], *, one_page: bool = False
) -> Book:
    """Makes a book of a few blocks on one sheet: your own blueprint.

    across:  the axis that runs from left to right.
    numbers: the numbers of every typed block; the sizes of the axes follow from them.
    one_page: its first tab shows the way to the result at a glance, if there is one that has columns.
    """
    _check_parts(title, blocks, numbers)
    from blueprint.page import outline

    made = outline.on_one_sheet(title, blocks, across, numbers)
    if one_page:
        from blueprint.page.outline.derived import with_derived_page

        made = with_derived_page(made)
    return Book(made)


def _check_parts(title: object, blocks: object, numbers: object) -> None:
    """Refuses what is no part of a book. Raises NotationError, in a sentence."""
    require(isinstance(title, str), f"book({title!r}, …): its title is a text, such as “Savings”")
    require(
        isinstance(blocks, list | tuple) and all(isinstance(each, Block) for each in blocks),
        f"book({title!r}, …): its blocks are a list of what block(…) and typed(…) have made, such as [rate, B]",
    )
    assert isinstance(blocks, list | tuple)
    require(
        blocks, f"book({title!r}, []): there is no block: list what block(…) and typed(…) have made, such as [rate, B]"
    )
    require(
        isinstance(numbers, Mapping) and all(isinstance(each, Block) for each in numbers),
        f"book({title!r}, …): its numbers go by block, not by name: write {{rate: [0.01, 0.05]}}, with the block rate",
    )
    assert isinstance(numbers, Mapping)
    computed = next((each.name for each in numbers if not each.typed), None)
    require(
        computed is None,
        f"book({title!r}, …): {computed} is computed, and numbers were given for it: leave them out, or make it with typed(…)",
    )


def frame_of(book: "Book", block: Block) -> "pd.DataFrame":
    """Returns a block as a table: a row per member of its first axis, columns for all others; cells at edges are left out.

    Rows and columns are called what the axis is (week, day …). Members have the numbers that the sheets count by,
    or their words.
    """
    import pandas as pd

    array = np.atleast_1d(book.values[block])
    members = [[_member(axis, place, book) for place in range(book.values.size(axis))] for axis in block.axes]
    called = [book.outline.called(axis).meaning for axis in block.axes]
    rows = pd.Index(members[0], name=called[0]) if block.axes else pd.Index([block.name], name="name")
    if array.ndim == 1:
        return pd.DataFrame({block.name: array}, index=rows)
    columns = pd.MultiIndex.from_product(members[1:], names=called[1:])
    return pd.DataFrame(
        array.reshape(len(rows), -1),
        index=rows,
        columns=columns if array.ndim > 2 else columns.get_level_values(0),
    )


def walk_of(book: "Book", members: Mapping[str, int | str]) -> "pd.DataFrame":
    """Returns a row for each step that leads to the result, at the members that are named of its axes."""
    import pandas as pd

    steps = [book.blocks[name] for name in book.outline.derivation if name in book.blocks]
    require(steps, f"{book.outline.title} names no steps that lead to its result: ask for one cell, book.show(name)")
    letters = {axis.letter for block in steps for axis in block.axes}
    unknown = sorted(members.keys() - letters)
    require(not unknown, f"{', '.join(unknown)}: no step has such an axis; write one of {', '.join(sorted(letters))}")
    rows = {}
    for block in steps:
        shown = book.show(block, **{axis.letter: members[axis.letter] for axis in block.axes if axis.letter in members})
        rows[block.name] = (block.symbol, shown.value, shown.equation, shown.numbers, shown.cell)
    made = pd.DataFrame.from_dict(rows, orient="index", columns=["symbol", "value", "equation", "numbers", "cell"])
    return _whole_table()(made)


@cache
def _whole_table() -> "type[pd.DataFrame]":
    """Returns a table that a notebook shows with whole equations; pandas cuts texts after fifty letters."""
    import pandas as pd

    class WholeTable(pd.DataFrame):  # type: ignore[misc]
        def _repr_html_(self) -> str | None:
            with pd.option_context("display.max_colwidth", None):
                return super()._repr_html_()  # type: ignore[no-any-return]

    return WholeTable


def known_device(name: object) -> None:
    """Raises NotationError unless torch has a device of that name here."""
    import torch

    try:
        torch.zeros(1, device=name).cpu()  # type: ignore[call-overload]
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
        why = str(error).partition(". ")[0].splitlines()[0]
        raise NotationError(f'device {name!r}: torch has none of that name here ({why}); write device="cpu"') from None


def tensors_of(book: "Book", device: str) -> dict[str, "Tensor"]:
    """Returns the numbers of every block as torch tensors, by name, on a device; words are left out."""
    import torch

    arrays = {block.name: array for block, array in book.values.arrays.items() if array.dtype != object}
    return {name: torch.from_numpy(array.astype(np.float64)).to(device) for name, array in arrays.items()}


class Differentiable(Mapping[str, "Tensor"]):
    """The tensors of a book by name, computed in torch, with the slopes of any total by every cell."""

    def __init__(self, book: "Book", found: "Tensors"):
        self._book, self._found = book, found
        self._named = {block.name: block for block in found.arrays if not block.text}

    def __getitem__(self, name: str) -> "Tensor":
        return self._found[self._named[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def __repr__(self) -> str:
        return f"<{len(self)} tensors of {self._book.outline.title}: {', '.join([*self][:3])}, …>"

    def slopes(self, *totals: "Block | str") -> dict[str, "Tensor"]:
        """Returns how much totals, or the sums of their cells, grow with every cell of every block of numbers, by its name."""
        for total in totals:
            require(isinstance(total, Block | str), f'slopes({total!r}): ask by name, as in slopes("total_loss")')
        wanted = [self._book.block_named(total) if isinstance(total, str) else total for total in totals]
        return {block.name: slope for block, slope in self._found.slopes(*wanted).items()}


def differentiable(book: "Book", device: str, dtype: str) -> Differentiable:
    """Has every block of a book computed in torch, so that slopes follow."""
    from blueprint.language.evaluate_torch import evaluate_torch

    require(not book.values.held, "this book holds numbers in computed cells: slopes are those of equations alone")
    require(dtype in ("float64", "float32"), f"{dtype} is no format of these numbers: write float64 or float32")
    outline = book.blueprint
    blocks = [*outline.blocks()]
    moving = [block for block in blocks if block.typed and not (block.text or block.limit)]
    found = evaluate_torch(
        blocks,
        outline.sizes,
        outline.typed,
        device=device,
        dtype=dtype,
        moving=moving,
        beyond=book.values.beyond,
    )
    return Differentiable(book, found)


def _member(axis: Axis, place: int, book: "Book") -> object:
    """Returns what a member of an axis is called."""
    part, number = book.values.part(axis, place)
    known = book.outline.names.get(part, part.letter if part.size == 1 else "")
    if isinstance(known, Block):
        return book.values.cell(known, number)
    return (known if part.size == 1 else known.format(number + part.start)) or number + part.start
