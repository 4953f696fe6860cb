"""Blocks: named quantities with one number (or word) per member of their axes, typed in or defined by an equation; and what no
equation may be made of, since number, sheet and print would not mean the same.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from blueprint.language.axes import Axis, Edge, End, NotationError, Position, check_axes
from blueprint.language.nodes import Arithmetic, Constant, Expr, Find, Index, Lookup, Op, Operand, Ref, wrap
from blueprint.language.trees import (
    bound_axes,
    children,
    free_axes,
    is_limit,
    is_off_word,
    is_text,
    letters_of,
    overlap,
    walk,
)

At = Index | Axis | End | Arithmetic


@dataclass(frozen=True, eq=False)
class Definition:
    """One equation of a block: the cells it fills (`target`, an index per axis) and the expression that fills them."""

    target: tuple[Index, ...]
    expr: Expr


@dataclass(frozen=True)
class About:
    """What a reader wants to know of a block besides its equation.

    symbol:   how equations print it (`δ`).
    meaning:  one line in words.
    unit:     unit or range (`log-probability, ≤ 0`).
    source:   where it comes from: a paper with its equation, or a library with version and function.
    decimals: how many decimals a page shows.
    reads:    a number format of its own, where a page shows words for numbers (`[>=10]"many";0`).
    """

    symbol: str
    meaning: str = ""
    unit: str = ""
    source: str = ""
    decimals: int = 4
    reads: str = ""


class Block(Arithmetic):
    """A named quantity. `b[n, t]` reads it in an equation, `b[n, t] = …` defines it, once.

    name:  unique and dotted (`old.height`); files, commands and reports use it.
    axes:  its directions, in order; none for a single number.
    typed: its numbers are given, it has no equation.
    text:  its cells hold words.
    limit: each of its cells holds a number, or the word off (infinity among its values): a limit that limits nothing.
    edges: the cells beyond its ends that exist, each (axis, −1 before the first or +1 after the last).
    link:  it only repeats another block where it is needed, on another page.
    """

    def __init__(self, name: str, axes: tuple[Axis, ...], about: About, *, typed: bool = False, link: bool = False):
        if not isinstance(name, str) or not name.strip():
            raise NotationError(
                f"a block is called {name!r}: give it a word, such as “price”, by which files and commands know it"
            )
        if re.search(r" [+−/-] |·", about.symbol):
            raise NotationError(
                f"the symbol {about.symbol!r} of {name} would be read as a calculation: use one word, such as A_c"
            )
        check_axes(name, axes)
        self.name, self.axes, self.about, self.typed, self.link = name, axes, about, typed, link
        self.text = self.limit = False
        self.edges: set[tuple[Axis, int]] = set()
        self.definitions: list[Definition] = []

    @property
    def symbol(self) -> str:
        """How equations print the block."""
        return self.about.symbol

    @property
    def inside(self) -> Expr | None:
        """The equation of its cells; None where it has none, or more than one beside those of its ends."""
        inside = [each.expr for each in self.definitions if not any(isinstance(index, Edge) for index in each.target)]
        return inside[0] if len(inside) == 1 else None

    def __repr__(self) -> str:
        return f"<block {self.name}[{', '.join(axis.letter for axis in self.axes)}]>"

    def expression(self) -> Ref:
        """Returns the block as a number in a larger expression; only a block without axes is one."""
        if self.axes:
            raise NotationError(f"{self.name} has one number for each {letters(self.axes)}: write {self._usage()}")
        return Ref(self, ())

    def __getitem__(self, at: At | tuple[At, ...]) -> Ref:
        """Reads the block; each index is the axis's letter, a neighbour (`t + 1`), an edge, or an id that is looked up."""
        read = tuple(self._read(index, axis) for index, axis in self._slots(at))
        _refuse_repeated(self.name, read)
        return Ref(self, read)

    def __setitem__(self, at: At | tuple[At, ...], value: Operand) -> None:
        """Defines the block's cells, or only its edge, or only one part of a joined axis; each of them once."""
        target = tuple(self._write(index, axis) for index, axis in self._slots(at))
        expr = wrap(value)
        self._check_new(target)
        _refuse_repeated(self.name, target)
        _refuse_equation(self.name, target, expr)
        self.edges |= {(index.axis, index.side) for index in target if isinstance(index, Edge)}
        self.limit = self.limit or is_limit(expr)
        self.text = self.text or (is_text(expr) and not self.limit)
        self.definitions.append(Definition(target, expr))

    def _slots(self, at: At | tuple[At, ...]) -> list[tuple[At, Axis]]:
        given = at if isinstance(at, tuple) else (at,)
        if len(given) != len(self.axes):
            raise NotationError(f"{self.name} takes {len(self.axes)} indices, not {len(given)}: write {self._usage()}")
        return list(zip(given, self.axes, strict=True))

    def _read(self, index: At, axis: Axis) -> Index:
        if isinstance(index, Arithmetic):
            return Lookup(axis, index.expression())
        place = self._write(index, axis, may_shift=True)
        side = place.by if isinstance(place, Position) else place.side if isinstance(place, Edge) else 0
        if side and (axis, side) not in self.edges:
            edge = Edge(axis, side)
            cell = ", ".join(str(edge) if a is axis else a.letter for a in self.axes)
            first = f"make it with edges=({edge},)" if self.typed else f"first write {self.name}[{cell}] = …"
            raise NotationError(f"{self.name} has no cell at {edge}, which [{index}] reads: {first}")
        return place

    def _write(self, index: At, axis: Axis, may_shift: bool = False) -> Index:
        if isinstance(index, Axis):
            index = Position(index)
        if not isinstance(index, Position | Edge):
            raise NotationError(
                f"{self.name}[{index.symbol if isinstance(index, Block) else index}]: an index is a letter, a neighbour or "
                f"an edge: write {self._usage()}"
            )
        if isinstance(index, Position) and index.by and not may_shift:
            raise NotationError(
                f"{self.name}[{index}] cannot be written to: define {self._usage()} and read the neighbour"
            )
        if index.axis.extent is not axis.extent and index.axis not in axis.parts:
            raise NotationError(f"{self.name}[… {index} …] stands where {axis.letter} belongs: write {self._usage()}")
        if index.axis in axis.parts and (isinstance(index, Edge) or index.by):
            raise NotationError(f"{self.name}[… {index} …]: edges and neighbours are those of {axis}, not of its part")
        return Edge(axis, index.side) if isinstance(index, Edge) else index

    def _check_new(self, target: tuple[Index, ...]) -> None:
        if self.typed:
            raise NotationError(f"{self.name} is typed in: it cannot have an equation as well")
        if any(all(map(overlap, self.axes, target, other.target)) for other in self.definitions):
            raise NotationError(
                f"{self.name}[{', '.join(map(str, target))}] is defined already: an equation is written once"
            )

    def _usage(self) -> str:
        return f"{self.name}[{', '.join(axis.letter for axis in self.axes)}]" if self.axes else self.name


def letters(axes: tuple[Axis, ...]) -> str:
    """Lists the letters of axes in a sentence."""
    return " and ".join(axis.letter for axis in axes)


def _refuse_repeated(name: str, at: tuple[Index, ...]) -> None:
    """Refuses one letter in two places of a block: only a second letter can run by itself."""
    letters = letters_of(at)
    if twice := next((letter for letter in letters if letters.count(letter) > 1), None):
        raise NotationError(f"{name} has {twice} in two places: give one of them a letter of its own, t.alias('u')")


def _refuse_equation(name: str, target: tuple[Index, ...], expr: Expr) -> None:
    """Refuses members that nothing names, what would stand still in a sum, words for numbers, and limits that may be off."""
    own = letters_of(target)
    for free in sorted(free_axes(expr).difference(own), key=str):
        raise NotationError(
            f"{name}[{', '.join(map(str, target))}] does not say which {free.letter} ({free.meaning}) its equation"
            f" reads: sum over {free.letter}, or give {name} that axis"
        )
    nodes = [*walk(expr)]
    worded = any(map(_is_word, nodes))
    for node in nodes:
        if axis := next((axis for axis in bound_axes(node) if axis in own), None):
            raise NotationError(
                f"{name} has a {axis} of its own, so {node} cannot go through {axis}:"
                f" go through {axis}.alias(…), a second letter over the same {axis.meaning}s"
            )
        if worded and _takes_word_for_number(node):
            raise NotationError(f"{name} takes a word for a number in {node}")
    limits = any(isinstance(node, Ref) and node.block.limit for node in nodes)
    if limits and (limit := next(_calculated(expr, frozenset()), None)):
        raise NotationError(f"{name} calculates with {limit}, which may be off: write where(is_off({limit}), …, …)")


def _is_word(node: Expr) -> bool:
    """Tells whether a node without others inside it gives words: without one, no expression does."""
    return (isinstance(node, Ref) and node.block.text) or (isinstance(node, Constant) and isinstance(node.value, str))


def _takes_word_for_number(node: Expr) -> bool:
    """Tells whether words stand where numbers are calculated, or a choice is between a word and a number."""
    match node:
        case Op("where" | "choose", (_, *branches)):
            limits = any(map(is_limit, branches))
            words = [each for each in branches if not (limits and (is_limit(each) or is_off_word(each)))]
            return {is_text(branch) for branch in words} | ({False} if limits else set()) == {True, False}
        case Op("equal", (one, other)) | Find("match", _, one, other):
            return is_text(one) != is_text(other)
        case Op("filled"):
            return False
    return any(map(is_text, children(node)))


def _calculated(expr: Expr, known: frozenset[str]) -> Iterator[str]:
    """Yields the limits that an expression calculates with, but for those of which it is known that they are on."""
    match expr:
        case Op("is_off" | "filled" | "equal"):
            return
        case Op("where", (Op("is_off", (Ref(limit),)), then, otherwise)):
            yield from (*_calculated(then, known), *_calculated(otherwise, known | {limit.name}))
        case Op("where" | "choose", (test, *branches)):
            yield from (limit for each in (test, *branches) for limit in _calculated(each, known))
        case _:
            for inner in children(expr):
                yield from _calculated(inner, known)
                if isinstance(inner, Ref) and inner.block.limit and inner.block.name not in known:
                    yield inner.block.symbol
