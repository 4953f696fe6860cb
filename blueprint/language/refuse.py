"""What a definition must not say, because the number, the sheet and the print would not mean the same by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from blueprint.language.axes import Axis, Edge, Position
from blueprint.language.errors import NotationError
from blueprint.language.nodes import Constant, Expr, Find, Index, Op, Reduce, Ref
from blueprint.language.trees import children, walk

if TYPE_CHECKING:
    from blueprint.language.blocks import Block

OFF_WORD = "off"
"""What stands in a cell, and in a formula, for a limit that limits nothing."""


def refuse_repeated(name: str, at: tuple[Index, ...]) -> None:
    """Refuses one letter in two places of a block: only a second letter can run by itself."""
    letters = [index.axis for index in at if isinstance(index, Position)]
    if twice := next((letter for letter in letters if letters.count(letter) > 1), None):
        raise NotationError(f"{name} has {twice} in two places: give one of them a letter of its own, t.alias('u')")


def refuse_bound(name: str, target: tuple[Index, ...], expr: Expr) -> None:
    """Refuses a Sum, Max or search over a letter that the target has already: it would stand still."""
    own = {index.axis for index in target if isinstance(index, Position)}
    for node in walk(expr):
        bound = node.axes if isinstance(node, Reduce) else (node.axis,) if isinstance(node, Find) else ()
        for axis in bound:
            if axis in own:
                raise NotationError(
                    f"{name} has a {axis} of its own, so {node} cannot go through {axis}:"
                    f" go through {axis}.alias(…), a second letter over the same {axis.meaning}s"
                )


def refuse_words(name: str, expr: Expr) -> None:
    """Refuses words where numbers are calculated, and choices between a word and a number."""
    for node in walk(expr):
        match node:
            case Op("where" | "choose", (_, *branches)):
                limits = any(map(is_limit, branches))
                words = [each for each in branches if not (limits and (is_limit(each) or _is_off(each)))]
                mixed = {is_text(branch) for branch in words} | ({False} if limits else set()) == {True, False}
            case Op("equal", args):
                mixed = is_text(args[0]) != is_text(args[1])
            case Op("filled"):
                mixed = False
            case Op(_, args):
                mixed = any(map(is_text, args))
            case Reduce(_, _, body):
                mixed = is_text(body)
            case Find("find", _, among, value):
                mixed = is_text(among) or is_text(value)
            case Find(_, _, among, value):
                mixed = is_text(among) != is_text(value)
            case Ref():
                mixed = any(is_text(index.id) for index in node.at if not isinstance(index, Position | Edge))
            case _:
                mixed = False
        if mixed:
            raise NotationError(f"{name} takes a word for a number in {node}")


def refuse_off(name: str, expr: Expr) -> None:
    """Refuses to calculate with a limit where it may be off: a sheet cannot calculate with a word."""
    for limit in _calculated(expr, frozenset()):
        raise NotationError(
            f"{name} calculates with {limit.symbol}, which may be off: write where(is_off({limit.symbol}), …, …)"
        )


def _calculated(expr: Expr, known: frozenset[Block]) -> Iterator[Block]:
    """Yields the limits that an expression calculates with, but for those of which it is known that they are on."""
    match expr:
        case Op("is_off" | "filled" | "equal"):
            return
        case Op("where", (Op("is_off", (Ref(limit),)), then, otherwise)):
            yield from _within((then,), known)
            yield from _within((otherwise,), known | {limit})
        case Op("where" | "choose", (test, *branches)):
            yield from (*_calculated(test, known), *_within(branches, known))
        case _:
            for inner in children(expr):
                yield from _calculated(inner, known)
                if isinstance(inner, Ref) and inner.block.limit and inner.block not in known:
                    yield inner.block


def _within(branches: Iterable[Expr], known: frozenset[Block]) -> Iterator[Block]:
    for branch in branches:
        yield from _calculated(branch, known)


def overlap(slots: tuple[Axis, ...], one: tuple[Index, ...], other: tuple[Index, ...]) -> bool:
    """Tells whether two targets of a block have a cell in common."""
    return all(_meet(slot, a, b) for slot, a, b in zip(slots, one, other, strict=True))


def _meet(slot: Axis, a: Index, b: Index) -> bool:
    match a, b:
        case Edge(_, side), Edge(_, other):
            return side == other
        case Position(first), Position(second):
            return first is second or slot.extent in (first.extent, second.extent)
        case _:
            return False


def is_text(expr: Expr) -> bool:
    """Tells whether an expression gives words."""
    match expr:
        case Constant():
            return isinstance(expr.value, str)
        case Ref():
            return expr.block.text
        case Op("where" | "choose"):
            return any(is_text(arg) for arg in expr.args[1:])
        case _:
            return False


def _is_off(expr: Expr) -> bool:
    return isinstance(expr, Constant) and expr.value == OFF_WORD


def is_limit(expr: Expr) -> bool:
    """Tells whether an expression gives a limit: a number, or the word off."""
    match expr:
        case Constant():
            return False
        case Ref():
            return expr.block.limit
        case Op("where", (Op("is_off", (Ref(limit),)), then, Ref(known))) if known is limit:
            return is_limit(then)
        case Op("where" | "choose"):
            return any(is_limit(arg) for arg in expr.args[1:])
        case _:
            return False
