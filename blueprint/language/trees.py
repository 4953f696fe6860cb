"""Trees: what an expression is made of, and what it must not be made of, since number, sheet and print would not mean the same."""

from collections.abc import Callable, Iterable, Iterator

from blueprint.language.axes import Axis, Edge, NotationError, Position
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


def refuse_repeated(name: str, at: tuple[Index, ...]) -> None:
    """Refuses one letter in two places of a block: only a second letter can run by itself."""
    letters = letters_of(at)
    if twice := next((letter for letter in letters if letters.count(letter) > 1), None):
        raise NotationError(f"{name} has {twice} in two places: give one of them a letter of its own, t.alias('u')")


def refuse_equation(name: str, target: tuple[Index, ...], expr: Expr) -> None:
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
