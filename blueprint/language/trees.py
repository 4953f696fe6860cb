"""Trees: what an expression is made of, what it gives, and the same expression with something else inside it."""

from collections.abc import Callable, Iterable, Iterator

from blueprint.language.axes import Axis, Edge, Position
from blueprint.language.nodes import Constant, Count, Expr, Find, Index, Lookup, Op, Reduce, Ref

OFF_WORD = "off"
"""What stands in a cell, and in a formula, for a limit that limits nothing."""


def letters_of(at: Iterable[Index]) -> list[Axis]:
    """Returns the axes of which indices mean the member at hand or its neighbour."""
    return [index.axis for index in at if isinstance(index, Position)]


def lookups_in(*refs: Ref) -> list[Lookup]:
    """Returns the computed indices of references."""
    return [index for ref in refs for index in ref.at if isinstance(index, Lookup)]


def children(expr: Expr) -> tuple[Expr, ...]:
    """Returns the expressions directly inside this one, indices included."""
    if isinstance(expr, Op):  # in the order of how often each is asked for
        return expr.args
    if isinstance(expr, Ref):
        return tuple([index.id for index in expr.at if isinstance(index, Lookup)])
    if isinstance(expr, Reduce):
        return (expr.body,)
    return (expr.among, expr.value) if isinstance(expr, Find) else ()


def rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Returns the expression with everything directly inside it, ids included, changed."""
    match expr:
        case Ref(block, at):
            return Ref(block, tuple(Lookup(i.axis, change(i.id)) if isinstance(i, Lookup) else i for i in at))
        case Op(name, args, labels):
            return Op(name, tuple(map(change, args)), labels)
        case Reduce(name, axes, body):
            return Reduce(name, axes, change(body))
        case Find(name, axis, among, value):
            there = change(among)
            assert isinstance(there, Ref)
            return Find(name, axis, there, change(value))
        case _:
            return expr


def reindexed(expr: Expr, change: Callable[[Index], Index]) -> Expr:
    """Returns the expression with other indices; within a search they stay."""
    if isinstance(expr, Ref):
        return Ref(expr.block, tuple(map(change, expr.at)))
    return rebuilt(expr, lambda inner: reindexed(inner, change)) if isinstance(expr, Op | Reduce) else expr


def at_member(expr: Expr, axis: Axis, member: Expr, shifted: bool = True) -> Expr:
    """Returns the expression for one member: every index that runs along `axis` is that one, or, if shifted, the one before it."""

    def chosen(index: Index) -> Index:
        if not isinstance(index, Position) or index.axis is not axis:
            return index
        return Lookup(axis, Op("sub", (member, Constant(1))) if shifted and index.by < 0 else member)

    return reindexed(expr, chosen)


def walk(expr: Expr) -> Iterator[Expr]:
    """Yields the expression and everything inside it, outermost first."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += children(node)[::-1]


def bound_axes(expr: Expr) -> tuple[Axis, ...]:
    """Returns the axes that a Sum, a Max or a search goes through."""
    return expr.axes if isinstance(expr, Reduce) else (expr.axis,) if isinstance(expr, Find) else ()


def free_axes(expr: Expr) -> set[Axis]:
    """Returns the axes whose member at hand the expression needs; the axes of a Sum, Max or find are bound."""
    if isinstance(expr, Op):  # most are one
        return set().union(*map(free_axes, expr.args))
    match expr:
        case Ref(_, at):
            return set(letters_of(at)).union(*[free_axes(lookup.id) for lookup in lookups_in(expr)])
        case Reduce(_, axes, body):
            return free_axes(body).difference(axes)
        case Find(_, axis, among, value):
            return (free_axes(among) - {axis}) | free_axes(value)
        case Count("number", axis):
            return {axis}
    return set()


def overlap(slot: Axis, a: Index, b: Index) -> bool:
    """Tells whether two indices of one axis of a block have a place in common."""
    match a, b:
        case Edge(_, side), Edge(_, other):
            return side == other
        case Position(first), Position(second):
            return first is second or slot.extent in (first.extent, second.extent)
    return False


def is_text(expr: Expr) -> bool:
    """Tells whether an expression gives words."""
    match expr:
        case Constant(value):
            return isinstance(value, str)
        case Ref(block):
            return block.text
        case Op("where" | "choose", (_, *branches)):
            return any(map(is_text, branches))
    return False


def is_limit(expr: Expr) -> bool:
    """Tells whether an expression gives a limit: a number, or the word off."""
    match expr:
        case Ref(block):
            return block.limit
        case Op("where", (Op("is_off", (Ref(limit),)), then, Ref(known))) if known is limit:
            return is_limit(then)
        case Op("where" | "choose", (_, *branches)):
            return any(map(is_limit, branches))
    return False


def is_off_word(expr: Expr) -> bool:
    """Tells whether an expression is the word off."""
    return isinstance(expr, Constant) and expr.value == OFF_WORD
