"""Which rows of a workbook are taken for one another, and how far a row lies from those that are computed from it.

What is known of a workbook alone, whatever it is about: rows of one name at another model, alternatives of one choice, a row
and what it is made of. Links are seen through: a row that is repeated on another page is the row itself.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np

from blueprint.language import Array, Block, Constant, Expr, Lookup, Op, Reduce, Ref, Values, compute, walk
from blueprint.language.trees import children, free_axes
from blueprint.language.vectorise import compiled
from blueprint.misconceptions.parts import is_setting
from blueprint.page.outline import Blueprint, blocks_on

ASIDE = frozenset({"Checks", "Charts", "Walk", "Start", "First hour", "Presets"})
"""Sheets whose rows nobody takes for a row of the derivation."""
FAMILY = 8
"""Rows of one first name and of the same axes that are few enough to be taken for one another."""
ALTERNATIVES = 3
"""Axes of a row with a number for each alternative at each place."""
SAME = 1e-9


class Relatives:
    """The rows of a workbook as they are near to each other. Its own numbers say where a row only repeats another."""

    def __init__(self, blueprint: Blueprint):
        self.blueprint = blueprint
        self.blocks = [block for block in blueprint.blocks() if not block.text]

    @cached_property
    def _reads(self) -> dict[Block, list[Block]]:
        """By row, the rows that it reads as settings stand: of a choice the row that is chosen."""
        return {
            block: [*dict.fromkeys(read for each in block.definitions for read in self._read(each.expr))]
            for block in self.blocks
        }

    def _read(self, expr: Expr) -> Iterator[Block]:
        match expr:
            case Ref(block, _) if not block.text:
                yield block
            case Op("choose" | "where", (test, *alternatives)) if (taken := self._taken(expr.name, test)) is not None:
                yield from self._read(alternatives[taken])
                return
        for inner in children(expr):
            yield from self._read(inner)

    def _taken(self, name: str, test: Expr) -> int | None:
        """Returns which alternative a choice takes, if that is the same everywhere."""
        if free_axes(test):
            return None
        found = float(compiled(test, (), self.values)({}))
        return (int(found) if name == "choose" else int(found != 1)) if found == found else None

    @cached_property
    def values(self) -> Values:
        """The workbook's own numbers."""
        base = self.blueprint
        return compute(base.blocks(), base.sizes, base.typed, beyond=True)

    @cached_property
    def readers(self) -> dict[Block, list[Block]]:
        """By row, the rows that read it."""
        found: dict[Block, list[Block]] = {block: [] for block in self.blocks}
        for block, read in self._reads.items():
            for each in read:
                found.setdefault(each, []).append(block)
        return found

    def origin(self, block: Block) -> Block:
        """Returns the row that a link repeats, or the row itself."""
        while block.link:
            block = next(node.block for node in walk(block.definitions[-1].expr) if isinstance(node, Ref))
        return block

    def above(self, block: Block) -> set[Block]:
        """Returns every row that a row is computed from."""
        found, waiting = set[Block](), [block]
        while waiting:
            for each in self._reads.get(waiting.pop(), ()):
                if each not in found:
                    found.add(each)
                    waiting.append(each)
        return found

    def between(self, above: Iterable[Block], block: Block) -> list[Block]:
        """Returns the rows that lie between some rows and one that is computed from them, that one among them, in order."""
        within, found, waiting = self.above(block) | {block}, set[Block](), [*above]
        while waiting:
            for each in self.readers.get(waiting.pop(), ()):
                if each in within and each not in found:
                    found.add(each)
                    waiting.append(each)
        return [each for each in self.blocks if each in found]

    def near(self, block: Block, most: int) -> dict[Block, int]:
        """Returns the rows that a row is computed from, with the steps that are done between; a repetition is none.

        What a number is looked up in, as the log-prob of a token among those of all, and what lies behind a row with a number
        for each alternative, is another chapter: the model's.
        """
        found, layer = {block: 0}, [block]
        for steps in range(most + 1):
            following: list[Block] = []
            while layer:
                each = layer.pop()
                if each is not block and (_looks_up(each) or len(each.axes) >= ALTERNATIVES > len(block.axes)):
                    continue
                for read in self._reads.get(each, ()):
                    if read not in found and not read.typed:
                        onward = self.repeats(each, read) or _aggregates(each)
                        if onward or steps < most:
                            found[read] = steps if onward else steps + 1
                            (layer if onward else following).append(read)
            layer = following
        return {each: steps for each, steps in found.items() if each is not block}

    def repeats(self, block: Block, other: Block) -> bool:
        """Tells whether a row shows the numbers of one that it reads, or their negatives, where it is not 0: a choice, a mask."""
        if block.link:
            return True
        if not set(other.axes) <= set(block.axes):
            return False
        one, two = np.abs(self.numbers(block)), np.abs(self._along(other, block))
        size = float(np.max(one, initial=0.0))
        return size > 0 and bool(np.all((one == 0) | (np.abs(one - two) <= SAME * size)))

    def _along(self, other: Block, block: Block) -> Array:
        """Returns the numbers of a row as they stand along the axes of one that has more."""
        order = sorted(other.axes, key=block.axes.index)
        array = self.numbers(other).transpose([other.axes.index(axis) for axis in order])
        shape = [self.values.size(axis) if axis in other.axes else 1 for axis in block.axes]
        return np.broadcast_to(array.reshape(shape), self.numbers(block).shape)

    def numbers(self, block: Block) -> Array:
        """Returns the numbers of a row, 0 where there is none."""
        return np.asarray(np.nan_to_num(self.values[block].astype(float)))

    def is_count(self, block: Block) -> bool:
        """Tells whether a row holds whole numbers alone: masks, ids, lengths, which nobody takes for a number of the derivation."""
        numbers = self.numbers(block)
        return bool(np.all(numbers == np.round(numbers)))

    @cached_property
    def _aside(self) -> set[Block]:
        return {block for sheet in self.blueprint.sheets if sheet.title in ASIDE for block in blocks_on(sheet)}

    @cached_property
    def _chosen(self) -> dict[Block, set[Block]]:
        """By row, the others between which and it some row chooses, and the row that does."""
        found: dict[Block, set[Block]] = {}
        for block in self.blocks:
            for node in (node for each in block.definitions for node in walk(each.expr)):
                if isinstance(node, Op) and node.name == "choose":
                    rows = {block, *(self.origin(arg.block) for arg in node.args[1:] if isinstance(arg, Ref))}
                    for row in rows:
                        found.setdefault(row, set()).update(rows - {row})
        return found

    def alike(self, block: Block) -> list[Block]:
        """Returns the rows that are taken for a row by their names, or because one of them is chosen."""
        family = [other for other in self._comparable(block) if other.name.split(".")[0] == block.name.split(".")[0]]
        few = set(family) if len(family) <= FAMILY else set()
        found = (
            other
            for other in self._comparable(block)
            if other in self._chosen.get(block, ())
            or other in few
            or ("." in block.name and _leaf(other) == _leaf(block))
            or other.name.startswith((f"{block.name}.", f"{block.name}_"))
            or block.name.startswith((f"{other.name}.", f"{other.name}_"))
        )
        return [*found]

    def namesakes(self, block: Block) -> list[Block]:
        """Returns the rows of the same name at another model."""
        return [each for each in self._comparable(block) if "." in block.name and _leaf(each) == _leaf(block)]

    def _comparable(self, block: Block) -> Iterator[Block]:
        """Yields the rows that could stand in place of a row: of the same axes, with numbers like its own."""
        for other in self.blocks:
            numbers = other.axes == block.axes and not (other.typed or other.link or other in self._aside)
            if numbers and other is not block and not self.is_count(other) and not _is_bound(other):
                yield other

    def made_of(self, block: Block, most: int = 1) -> list[Block]:
        """Returns the rows of the same axes that a row is made of: what it shows if a step is skipped."""
        kin = set(self._comparable(block))
        return [each for each in self.near(block, most) if each in kin and not each.link]

    def makes(self, block: Block) -> list[Block]:
        """Returns the rows of the same axes that are made of a row in one step."""
        kin = set(self._comparable(block))
        return [each for each in self._direct_readers(block) if each in kin]

    def _direct_readers(self, block: Block) -> Iterator[Block]:
        for each in self.readers.get(block, ()):
            yield from self._direct_readers(each) if each.link else (each,)

    def counterpart(self, other: Block, block: Block, twin: Block) -> Block | None:
        """Returns the row that is to a twin what another is to a row: the reference's mean to the policy's."""
        owner, twins_owner = (each.name.rpartition(".")[0] for each in (block, twin))
        if not owner or not other.name.startswith(f"{owner}."):
            return None
        name = f"{twins_owner}{other.name.removeprefix(owner)}"
        return next((each for each in self.blocks if each.name == name and each.axes == other.axes), None)

    def with_edges(self, block: Block, like: Block) -> Block | None:
        """Returns a row, or a link to it, that has the cells beyond its ends that another has."""
        links = [each for each in self.blocks if each.link and self.origin(each) is block]
        return next((each for each in (block, *links) if like.edges <= each.edges), None)

    def few_cells(self, block: Block, most: int) -> list[Block]:
        """Returns the rows of few cells of which a single number is the mean or sum."""
        near = self.near(block, 0) if not block.axes else {}
        return [each for each in near if not each.link and len(each.axes) == 1 and 1 < self.numbers(each).size <= most]

    def apart(self, block: Block, others: Iterable[Block]) -> list[Block]:
        """Returns rows that show other numbers than a row and than each other, signs aside."""
        found, shown = list[Block](), [np.abs(self.numbers(block))]
        for other in dict.fromkeys(others):
            numbers = np.abs(self.numbers(other))
            if not any(np.allclose(numbers, each, rtol=SAME, atol=0) for each in shown):
                found.append(other)
                shown.append(numbers)
        return found

    def is_transposed(self, block: Block, near: Iterable[Block]) -> bool:
        """Tells whether a row only lays another of some rows in another direction."""
        own = np.sort(self.numbers(block)[self.numbers(block) != 0], axis=None)
        return any(
            each is not block and each.axes != block.axes and np.array_equal(own, np.sort(there[there != 0], axis=None))
            for each in near
            for there in (self.numbers(each),)
        )

    def sheet(self, block: Block) -> str:
        """Returns the sheet on which a row stands."""
        return next(sheet.title for sheet in self.blueprint.sheets if block in set(blocks_on(sheet)))

    def twins(self, block: Block, near: Iterable[Block]) -> list[Block]:
        """Returns the rows, of some, with the same equation at another model or response."""
        return [
            each
            for each in near
            if each is not block
            and each.axes == block.axes
            and "." in block.name
            and _leaf(each) == _leaf(block)
            and [*map(_shape, each.definitions)] == [*map(_shape, block.definitions)]
        ]


def _shape(definition: object) -> list[str]:
    """Returns the operations of an equation, in order."""
    expr: Expr = definition.expr  # type: ignore[attr-defined]
    return [
        node.name
        if isinstance(node, Op | Reduce)
        else str(node.value)
        if isinstance(node, Constant)
        else type(node).__name__
        for node in walk(expr)
    ]


def _leaf(block: Block) -> str:
    return block.name.rpartition(".")[2]


def _is_bound(block: Block) -> bool:
    """Tells whether a number is a setting, or one of its bounds."""
    return not block.axes and (
        is_setting(block) or _leaf(block) in ("low", "high", "outside", "preset", "yours", "number")
    )


def _looks_up(block: Block) -> bool:
    """Tells whether a row reads a cell by a computed id."""
    refs = (node for each in block.definitions for node in walk(each.expr) if isinstance(node, Ref))
    return any(isinstance(index, Lookup) for ref in refs for index in ref.at)


def _aggregates(block: Block) -> bool:
    """Tells whether a row is a sum or a mean of another: of it a mistake is one of the row, too."""
    for definition in block.definitions:
        expr = definition.expr
        while isinstance(expr, Op) and expr.name in ("neg", "div"):
            expr = expr.args[0]
        if isinstance(expr, Reduce):
            return True
    return False
