"""How a misconception changes an equation: parts of equations, rows by name, and words that each make a wrong right-hand side.

The words read no axes, so that one line holds for every workbook in which a row has this name, whatever its conventions.
A change that finds nothing to change gives the equation back as it is: then the misconception is none of that row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from blueprint.language import (
    Axis,
    Block,
    Constant,
    Expr,
    Op,
    Operand,
    Position,
    Reduce,
    Ref,
    constant,
    equal,
    log,
    rebuilt,
    size,
    text,
    walk,
    where,
)
from blueprint.language.nodes import wrap


def everywhere(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Returns the expression with every part of it changed, the innermost first."""
    return change(rebuilt(expr, lambda inner: everywhere(inner, change)))


def negative(expr: Expr) -> Expr:
    """Turns a sign: a minus that stands there goes."""
    return expr.args[0] if isinstance(expr, Op) and expr.name == "neg" else -expr


def neighbour(ref: Ref, axis: Axis, by: int) -> Ref | None:
    """Returns a reference `by` columns from the cell's own; None where the row has no cell beyond its end."""
    slots = [slot for slot, index in zip(ref.block.axes, ref.at, strict=True) if getattr(index, "axis", None) is axis]
    if by and not all((slot, by) in ref.block.edges for slot in slots):
        return None
    moved = (Position(axis, by) if isinstance(i, Position) and i.axis is axis else i for i in ref.at)
    return Ref(ref.block, tuple(moved))


def moved(ref: Ref, by: int) -> Ref:
    """Returns a reference so many columns from the cell's own; the same one where it is there, or cannot be."""
    axes = [index.axis for index in ref.at if isinstance(index, Position) and index.by != by]
    moved = (neighbour(ref, axis, by) for axis in reversed(axes))
    return next((each for each in moved if each is not None), ref)


def summed_over(expr: Expr) -> tuple[Axis, ...]:
    """Returns the axes of the first sum in an expression; none where there is none."""
    return next((total.axes for total in sums(expr)), ())


def sums(expr: Expr | None) -> list[Reduce]:
    """Returns the sums in an equation."""
    nodes = () if expr is None else walk(expr)
    return [node for node in nodes if isinstance(node, Reduce) and node.name == "sum"]


def inside(expr: Expr | None) -> Ref | None:
    """Returns what a function of one cell is of."""
    match expr:
        case Op("exp" | "log" | "abs" | "neg", (Ref() as inner,)):
            return inner
    return squared(expr)


def squared(expr: Expr | None) -> Ref | None:
    """Returns what is squared, where an equation is the square of a cell of another row."""
    match expr:
        case Op("mul", (Ref() as one, Ref() as other)) if text(one) == text(other):
            return one if all(isinstance(at, Position) and not at.by for at in one.at) else None
    return None


BOUNDS = {"maximum": "minimum", "minimum": "maximum"}


def other_bound_last(expr: Expr) -> Expr:
    """Returns max(a, min(b, x)) as min(b, max(a, x)), and back, which differs where bounds cross; all else as it is."""
    match expr:
        case Op(last, (bound, Op(first, (other, x)))) if BOUNDS.get(last) == first:
            return Op(first, (other, Op(last, (bound, x))))
    return expr


def same(one: Expr, other: Expr) -> bool:
    """Tells whether two expressions are the same tree: the same operations, of the same cells."""
    return str(one) == str(other) and [*map(id, _blocks(one))] == [*map(id, _blocks(other))]


def _blocks(expr: Expr) -> list[Block]:
    return [node.block for node in walk(expr) if isinstance(node, Ref)]


def left_out(expr: Expr, hit: Callable[[Expr], bool]) -> Expr | None:
    """Returns the expression without the parts that are hit; None where nothing is left of it."""
    if hit(expr):
        return None
    match expr:
        case Op(name, (left, right)) if name in ("add", "sub", "mul", "div", "maximum", "minimum"):
            return rest(expr, left_out(left, hit), left_out(right, hit))
        case Op("where", (Op("equal", (weight, Constant(0))), Constant(0), part)):  # a part of weight 0 is not read
            of, kept_part = left_out(weight, hit), left_out(part, hit)
            return kept_part if of is None or kept_part is None else where(equal(of, 0), 0, kept_part)
        case Op(name, args, labels) if name not in ("choose", "where"):
            kept = tuple(each for each in (left_out(arg, hit) for arg in args) if each is not None)
            return Op(name, kept, labels) if len(kept) == len(args) else None
        case Reduce(name, axes, body):
            inner = left_out(body, hit)
            return None if inner is None else Reduce(name, axes, inner)
    return expr


def rest(expr: Op, left: Expr | None, right: Expr | None) -> Expr | None:
    """Returns what is left of an operation on two of which one or both may be gone."""
    if left is None:
        if right is None or expr.name in ("add", "mul", "maximum", "minimum"):
            return right
        return negative(right) if expr.name == "sub" else Op("div", (Constant(1), right))
    return left if right is None else Op(expr.name, (left, right))


def is_setting(block: Block) -> bool:
    """Tells whether a number is typed, or chosen between typed ones."""
    chosen = (isinstance(node, Op) and node.name == "filled" for d in block.definitions for node in walk(d.expr))
    return not block.axes and not block.text and (block.typed or any(chosen))


class Names:
    """The blocks of a workbook by name, as a row knows them: those of its own repetition (`epoch2.`) first.

    bound: what stands for the {braces} in names.
    """

    def __init__(self, blocks: Mapping[str, Block], bound: Mapping[str, str | None]):
        self._blocks, self._bound, self._within = blocks, bound, bound.get("within") or ""

    def __getitem__(self, name: str) -> Block:
        """Returns a block; of several names, which stand apart by |, the first that the workbook has. Raises KeyError."""
        found = (self._blocks[each] for each in self._called(name) if each in self._blocks)
        if (block := next(found, None)) is None:
            raise KeyError(name)
        return block

    def _called(self, name: str) -> Iterator[str]:
        """Yields what a row may be called: with its repetition before it, or without."""
        for each in name.split("|"):
            if "{" not in each or any(f"{{{text}}}" in each for text in self._bound):
                plain = each.format(**self._bound)
                yield from (f"{self._within}{plain}", plain)

    def __call__(self, name: str, by: int = 0) -> Ref:
        """Reads a row in the cell's own column, or `by` columns from it. Raises KeyError for one that is not there."""
        block = self[name]
        own = Ref(block, tuple(map(Position, block.axes)))
        read = moved(own, by) if by else own
        if by and read is own:
            raise KeyError(name)
        return read

    def means(self, node: Expr, name: str) -> bool:
        """Tells whether a part of an equation reads the row of this name, or one that repeats it.

        name: several stand apart by |; behind @ stands how many columns from the cell's own it is read.
        """
        return isinstance(node, Ref) and any(self._is(node, *each.split("@")) for each in name.split("|"))

    def _is(self, ref: Ref, name: str, by: str = "") -> bool:
        moved = next((index.by for index in ref.at if isinstance(index, Position) and index.by), 0)
        called = [*self._called(name)]
        return by in ("", str(moved)) and any(block.name in called for block in _repeated(ref.block))


def _repeated(block: Block) -> Iterator[Block]:
    """Yields a block, and link after link what it repeats."""
    yield block
    while block.link:
        block = next(node.block for node in walk(block.definitions[-1].expr) if isinstance(node, Ref))
        yield block


Change = Callable[[Expr, Names], Expr]
"""How a misconception changes a right-hand side."""


NUMBER = r"\d+(?:\.\d+)*"
"""That of a step or a repetition: 2, or 2.1 for a part of the second."""
STANDS_FOR = {"step": NUMBER, "weight": ".+?", "row": ".+?"}
"""What {braces} of these names stand for; any others for one word."""


@dataclass(frozen=True)
class Misconception:
    """A mistake that is often made in a row.

    row:    the name of the row; in it {braces} stand for a word ({step} for a number, {weight} and {row} for any name), and
            a repetition (`epoch2.`) may stand before it. Several rows stand apart by |.
    name:   short and stable: results and reports use it.
    says:   one sentence in a teacher's words.
    change: what the equation then is. made: what the row then shows, of the other rows' numbers by name, where no change of
            the one equation says it; one of the two is given.
    """

    row: str
    name: str
    says: str
    change: Change | None = None
    made: Callable[[Any], Any] | None = None

    def bound(self, block: str) -> Mapping[str, str | None] | None:
        """Returns what the braces stand for in the name of a block, None if it is another row."""
        for named_like in _rows(self.row):
            if found := named_like.fullmatch(block):
                return found.groupdict()
        return None


def of(row: str, *known: tuple[str, str, Change]) -> tuple[Misconception, ...]:
    """Returns the misconceptions of a row: name, sentence and change of each."""
    return tuple(Misconception(row, *each) for each in known)


@cache
def _rows(named: str) -> tuple[re.Pattern[str], ...]:
    return tuple(map(_named_like, named.split("|")))


def _named_like(row: str) -> re.Pattern[str]:
    """Returns what the names of the rows look like that a misconception is of."""
    texts = re.split(r"\{(\w+)\}", row)
    parts = (rf"(?P<{text}>{STANDS_FOR.get(text, '[a-z_]+')})" for text in texts[1::2])
    made = "".join(next(parts) if place % 2 else re.escape(text) for place, text in enumerate(texts))
    return re.compile(rf"(?P<within>[a-z]+{NUMBER}\.)?{made}")


def _of(name: str, made: Callable[[Ref, Names], Expr]) -> Change:
    """Makes a change of every reference to a block."""

    def change(expr: Expr, names: Names) -> Expr:
        def each(node: Expr) -> Expr:
            return made(node, names) if isinstance(node, Ref) and names.means(node, name) else node

        return everywhere(expr, each)

    return change


def equation(made: Callable[[Names], Operand]) -> Change:
    """Writes another right-hand side, in the notation."""
    return lambda expr, names: wrap(made(names))


def counting(name: str, *, all_columns: bool) -> Change:
    """Divides a sum by how many columns it goes through, pads and all, or by how many rows; name: what is divided by."""

    def change(expr: Expr, names: Names) -> Expr:
        first, *others = summed_over(expr) or (None,)
        if first is None:
            return expr
        number: Expr = size(first)
        for axis in others if all_columns else ():
            number = number * size(axis)
        return becomes(name, lambda _: number)(expr, names)

    return change


def row(name: str) -> Change:
    """Takes another row for this one."""
    return lambda expr, names: names(name)


def turned(name: str = "") -> Change:
    """Turns the sign of a row that is read; without a name, of the whole."""
    return _of(name, lambda ref, names: -ref) if name else lambda expr, names: negative(expr)


def whole(made: Callable[[Expr], Operand]) -> Change:
    """Makes something else of the whole."""
    return lambda expr, names: wrap(made(expr))


def times(name: str, factor: str) -> Change:
    """Multiplies a row that is read by a number, once more if that is the row itself."""
    return _of(name, lambda ref, names: ref * names(factor))


def becomes(name: str, made: Callable[[Names], Operand]) -> Change:
    """Puts something else, in the notation, where a row is read."""
    return _of(name, lambda ref, names: wrap(made(names)))


def instead(name: str, other: str) -> Change:
    """Reads another row of the same axes."""
    return _of(name, lambda ref, names: _reading(names[other], ref))


def _reading(block: Block, ref: Ref) -> Expr:
    return Ref(block, ref.at) if len(block.axes) == len(ref.at) else ref


def swapped(one: str, other: str) -> Change:
    """Exchanges two that are read."""

    def change(expr: Expr, names: Names) -> Expr:
        def each(node: Expr) -> Expr:
            if not isinstance(node, Ref):
                return node
            into = other if names.means(node, one) else one if names.means(node, other) else None
            return node if into is None else _reading(names[into], node)

        return everywhere(expr, each)

    return change


def zero(name: str) -> Change:
    """Takes 0 for a row that is read: the term in which it is a factor is gone."""
    return becomes(name, lambda names: constant(0))


def at(name: str, by: int) -> Change:
    """Reads a row `by` columns from the cell's own."""
    return _of(name, lambda ref, names: moved(ref, by))


def crossed(name: str, by: int) -> Change:
    """Reads a row in the cell's own column where it is to be read `by` columns from it, and the other way round."""
    return _of(name, lambda ref, names: moved(ref, 0 if moved(ref, by) is ref else by))


def applied(name: str, made: Callable[[Op], Operand]) -> Change:
    """Puts something else where an operation is done."""

    def each(node: Expr) -> Expr:
        return wrap(made(node)) if isinstance(node, Op) and node.name == name else node

    return lambda expr, names: everywhere(expr, each)


def operation(name: str, other: str) -> Change:
    """Does another operation with the same operands."""
    return applied(name, lambda node: Op(other, node.args))


def operand(name: str, place: int = 0) -> Change:
    """Leaves out an operation: of its operands only one is left."""
    return applied(name, lambda node: node.args[place])


def _is(number: int, expr: Expr) -> bool:
    return isinstance(expr, Constant) and expr.value == number


upside_down = applied("div", lambda node: Op("div", (node.args[1], node.args[0])))
"""Exchanges what is divided and what it is divided by."""
base_2 = applied("log", lambda node: node / log(constant(2)))
"""Takes every logarithm to base 2."""
minus_one = applied("sub", lambda node: node.args[0] if _is(1, node.args[1]) else node)
"""Leaves out every − 1."""
halves = applied("div", lambda node: node.args[0] if _is(2, node.args[1]) else node)
"""Leaves out every division by 2."""


def without(*names: str) -> Change:
    """Leaves out rows that are read: a factor, a term, or an operand that is such a row."""

    def change(expr: Expr, known: Names) -> Expr:
        def hit(node: Expr) -> bool:
            return any(known.means(node, name) for name in names)

        rest = left_out(expr, hit)
        return Constant(0) if rest is None else rest

    return change


def put(expr: Expr, part: Expr, other: Expr, alike: bool = False) -> Expr:
    """Returns an expression with a part of it replaced; alike: also where the same stands again."""
    if expr is part or (alike and text(expr) == text(part)):
        return other
    return rebuilt(expr, lambda inner: put(inner, part, other, alike))
