"""Which rows of a workbook are taken for one another, as they are, in another unit, or discounted; and how far they lie apart.

What is known of a workbook alone, whatever it is about: rows of one name at another model, alternatives of one choice, a row
and what it is made of. Links are seen through: a row that is repeated on another page is the row itself.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from math import log

import numpy as np

from blueprint.language import Array, Block, Constant, Expr, Lookup, Op, Position, Reduce, Ref, Values, compute, walk
from blueprint.language.trees import children, free_axes
from blueprint.language.vectorise import compiled
from blueprint.misconceptions.rewriting import is_setting
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
            case Op("choose" | "where", (test, *alternatives)) if (taken := self.taken(expr.name, test)) is not None:
                yield from self._read(alternatives[taken])
                return
        for inner in children(expr):
            yield from self._read(inner)

    def taken(self, name: str, test: Expr) -> int | None:
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
            and [_shape(one.expr) for one in each.definitions] == [_shape(one.expr) for one in block.definitions]
        ]


def _shape(expr: Expr) -> list[str]:
    """Returns the operations of an equation, in order."""
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


Unit = tuple[str, str, Callable[[Array], Array]]
"""Name and sentence of a mistake, and what it makes of the numbers."""
DEEPEST = 12
"""Rows of which each reads the next, in which a logarithm is looked for."""


OF_LOGARITHMS: tuple[Unit, ...] = (
    ("log-2", "The logarithm is to base 2, not the natural one.", lambda array: array / log(2)),
    ("log-10", "The logarithm is to base 10, not the natural one.", lambda array: array / log(10)),
    ("not-the-logarithm", "The logarithm is not taken.", np.exp),
    ("not-the-logarithm", "The logarithm is not taken.", lambda array: np.exp(-array)),
    ("not-the-logarithm", "The logarithm is not taken, and this is 1 minus it.", lambda array: 1 - np.exp(array)),
    ("not-the-logarithm", "The logarithm is not taken, and this is 1 minus it.", lambda array: 1 - np.exp(-array)),
)
OF_SQUARES: tuple[Unit, ...] = (("root", "The root of it is taken.", np.sqrt),)


def in_other_units(block: Block, kin: Relatives) -> tuple[Unit, ...]:
    """Returns what a row shows in another unit."""
    if is_logarithm(block, kin):
        return OF_LOGARITHMS
    return OF_SQUARES if any(_is_square(each.expr) for each in block.definitions) else ()


def is_logarithm(block: Block, kin: Relatives, deep: int = 0) -> bool:
    """Tells whether a row is counted in units of a logarithm: one, a difference, sum or mean of such, or a mean by probability."""
    definitions = [each.expr for each in block.definitions]
    return deep < DEEPEST and bool(definitions) and _is_logarithm(definitions[-1], kin, deep)


def _is_logarithm(expr: Expr, kin: Relatives, deep: int) -> bool:
    match expr:
        case Op("log"):
            return True
        case Op("add" | "sub" | "maximum" | "minimum", args):
            return any(_is_logarithm(each, kin, deep) for each in args) and not any(map(_raises, args))
        case Op("mul", (left, right)):
            return _is_logarithm(left, kin, deep) is not _is_logarithm(right, kin, deep)
        case Op("div", (left, right)):
            return _is_logarithm(left, kin, deep) and not _is_logarithm(right, kin, deep)
        case Op("neg" | "abs", (inner,)) | Reduce(_, _, inner):
            return _is_logarithm(inner, kin, deep)
        case Op("choose" | "where", (test, *args)):
            taken = kin.taken(expr.name, test)
            return any(_is_logarithm(each, kin, deep) for each in (args if taken is None else [args[taken]]))
        case Ref(block):
            return is_logarithm(block, kin, deep + 1)
    return False


def _raises(expr: Expr) -> bool:
    """Tells whether an exponential is added: what it is added to is no logarithm any more, as in k3."""
    return isinstance(expr, Op) and expr.name != "log" and (expr.name == "exp" or any(map(_raises, expr.args)))


def _is_square(expr: Expr) -> bool:
    match expr:
        case Op("mul", (Ref(one, at), Ref(other, there))):
            return one is other and at == there
        case Op("div", (inner, _)) | Op("neg", (inner,)) | Reduce(_, _, inner):
            return _is_square(inner)
    return False


DISCOUNTED = "discounted-"
"""How the names of mistakes begin in which a discounted sum is taken for a row."""


def discounted(block: Block, kin: Relatives, most: int) -> Iterator[tuple[Block, Block]]:
    """Yields rows of the same axes, and the settings by which each is discounted, once each.

    A row further up, up to most steps, adds the one to the other times what stands one place later. The TD error is
    r + γ·V_{t+1} − V_t: of r, discounted by γ, the sum from here on is the reward to go.
    """
    found = dict[tuple[Block, Block], None]()
    for above in kin.near(block, most):
        for definition in above.definitions if above.axes == block.axes else ():
            for node in walk(definition.expr):
                match node:
                    case Op("add", (Ref(other, at), Op("mul", (Ref(by), Ref(_, later))))) if is_setting(by):
                        if _ahead(at) == 0 and _ahead(later) == 1 and other.axes == block.axes:
                            found[kin.origin(other), by] = None
    yield from found


def to_go(numbers: Array, by: float) -> Array:
    """Returns the sum of the numbers from each place on, along the last axis: each is multiplied once a place."""
    total = np.nan_to_num(numbers.astype(float))
    for place in range(total.shape[-1] - 2, -1, -1):
        total[..., place] += by * total[..., place + 1]
    return np.asarray(total)


def _ahead(at: tuple[object, ...]) -> int | None:
    """Returns how many places after the cell's own one is read, along the last axis; None where none is."""
    return at[-1].by if at and isinstance(at[-1], Position) else None
