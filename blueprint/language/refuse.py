"""What a definition must not say, because the number, the sheet and the print would not mean the same by it."""

from __future__ import annotations

from blueprint.language.axes import Axis, Edge, Position
from blueprint.language.errors import NotationError
from blueprint.language.nodes import Constant, Expr, Find, Index, Op, Reduce, Ref, walk


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
                mixed = {is_text(branch) for branch in branches} == {True, False}
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
