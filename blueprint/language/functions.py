"""The words of the notation besides + − · /: functions of numbers, comparisons, choices, sums and lookups."""

from blueprint.language.axes import Axis, NotationError
from blueprint.language.nodes import WEIGHED, Changes, Count, Expr, Find, Op, Operand, Reduce, Ref, wrap
from blueprint.language.trees import letters_of, lookups_in, walk

CONDITIONS = ("less", "at_most", "equal", "filled", "is_off")


def exp(x: Operand) -> Op:
    """Raises e to the power x."""
    return Op("exp", (wrap(x),))


def log(x: Operand) -> Op:
    """Takes the natural logarithm of x > 0."""
    return Op("log", (wrap(x),))


def tanh(x: Operand) -> Op:
    """Takes the hyperbolic tangent of x."""
    return Op("tanh", (wrap(x),))


def sqrt(x: Operand) -> Op:
    """Takes the square root of x ≥ 0."""
    return Op("sqrt", (wrap(x),))


def rounded(x: Operand, decimals: Operand) -> Op:
    """Rounds x to a number of decimals, halves away from 0, as a sheet does. It has no slope: nothing can be learned through it."""
    return Op("rounded", (wrap(x), wrap(decimals)))


def maximum(a: Operand, b: Operand) -> Op:
    """Takes the larger of two numbers; the largest along an axis is `Max`."""
    return Op("maximum", (wrap(a), wrap(b)))


def minimum(a: Operand, b: Operand) -> Op:
    """Takes the smaller of two numbers."""
    return Op("minimum", (wrap(a), wrap(b)))


def weighed(weight: Operand, part: Operand) -> Op:
    """Multiplies a part by its weight. With the weight 0 the part is not read and may have no number; printed: weight·part."""
    return Op("mul", (wrap(weight), wrap(part)), WEIGHED)


def less(a: Operand, b: Operand) -> Op:
    """Gives 1 where a < b, else 0."""
    return Op("less", _flat("less", a, b))


def at_most(a: Operand, b: Operand) -> Op:
    """Gives 1 where a ≤ b, else 0."""
    return Op("at_most", _flat("at_most", a, b))


def equal(a: Operand, b: Operand) -> Op:
    """Gives 1 where a = b, else 0."""
    return Op("equal", _flat("equal", a, b))


def filled(cell: Operand) -> Op:
    """Gives 1 where a typed cell holds something, 0 where it is blank."""
    (held,) = _flat("filled", cell)
    if not (isinstance(held, Ref) and (held.block.typed or held.block.text)):
        raise NotationError(f"filled({held}): only a typed cell, or a cell of words, can be blank")
    return Op("filled", (held,))


def is_off(limit: Operand) -> Op:
    """Gives 1 where a limit is the word off, 0 where it is a number; with off nothing can be calculated."""
    held = wrap(limit)
    if not (isinstance(held, Ref) and held.block.limit):
        raise NotationError(f"is_off({held}): only a limit can be off: make it with typed(…, limit=True)")
    return Op("is_off", (held,))


def where(condition: Operand, then: Operand, otherwise: Operand) -> Op:
    """Takes `then` where the condition (less, at_most, equal, filled, is_off) holds, else `otherwise`."""
    test = wrap(condition)
    if not (isinstance(test, Op) and test.name in CONDITIONS):
        raise NotationError(
            f"where({test}, …) asks for a condition: write less(a, b), at_most(a, b), equal(a, b), filled(a) or"
            " is_off(a)"
        )
    *_, yes, no = _flat("where", *test.args, then, otherwise)
    return Op("where", (test, yes, no))


def choose(number: Operand, **alternatives: Operand) -> Op:
    """Takes the alternative whose 0-based number is given; each alternative is a row (or number) of its own."""
    if not alternatives:
        raise NotationError("choose(…) needs alternatives: write choose(number, k1=…, k2=…)")
    rows = {label: wrap(alternative) for label, alternative in alternatives.items()}
    if strays := [f"{label}={row}" for label, row in rows.items() if not isinstance(row, Ref)]:
        raise NotationError(
            f"choose(… {strays[0]}): each alternative is a step of its own, so that one sees its numbers"
        )
    return Op("choose", (wrap(number), *rows.values()), labels=tuple(rows))


def Sum(over: Axis | tuple[Axis, ...], body: Operand) -> Reduce:
    """Sums one reference, or a product of two, over one or more axes."""
    return _reduce("sum", over, wrap(body))


def Max(over: Axis | tuple[Axis, ...], body: Operand) -> Reduce:
    """Takes the largest of one reference over one or more axes."""
    ref = wrap(body)
    if not isinstance(ref, Ref):
        raise NotationError(f"Max over {ref}: make it a step of its own and take the Max of that")
    return _reduce("max", over, ref)


def find(over: Axis, cumulative: Operand, value: Operand) -> Find:
    """Finds the id of the last member whose (ascending) number is not above the value: where a point falls on a line of pieces."""
    return Find("find", over, _listed(over, cumulative), wrap(value))


def match(over: Axis, words: Operand, word: Operand) -> Find:
    """Finds the 0-based id of a word in a list of words; upper and lower case count as the same."""
    return Find("match", over, _listed(over, words), wrap(word))


def number(axis: Axis) -> Count:
    """Gives the number of the member at hand: 1, 2, … along time, 0, 1, … for ids."""
    _need_letters((axis,))
    return Count("number", axis)


def size(axis: Axis) -> Count:
    """Gives how many members an axis has."""
    _need_letters((axis,))
    return Count("size", axis)


def constant(value: int) -> Expr:
    """Writes 0, 1 or 2 out where Python's own number would vanish, as in x · 1: what is tried is to be seen."""
    return wrap(value)


def changes() -> Changes:
    """Gives how many typed blocks are no longer as they were when the page was made; 0 while computing."""
    return Changes()


def _flat(name: str, *operands: Operand) -> tuple[Expr, ...]:
    """Returns the operands of a condition or a choice, and refuses another one inside them."""
    args = tuple(map(wrap, operands))
    inner = (node for arg in args for node in walk(arg) if isinstance(node, Op))
    if nested := next((node.name for node in inner if node.name in (*CONDITIONS, "where")), ""):
        raise NotationError(f"{nested}(…) inside {name}(…) would nest two IFs: make the inner one a step of its own")
    return args


def _reduce(name: str, over: Axis | tuple[Axis, ...], body: Expr) -> Reduce:
    axes = over if isinstance(over, tuple) else (over,)
    _need_letters(axes)
    if isinstance(body, Op) and body.weighed:
        raise NotationError(f"Sum over {body}: within a sum both factors are read; make {body} a step of its own")
    for factor in body.args if isinstance(body, Op) and body.name == "mul" else (body,):
        if not isinstance(factor, Ref):
            raise NotationError(
                f"Sum over {body}: it takes one reference or a product of two; make {factor} a step of its own"
            )
        _need_axes(axes, factor)
    return Reduce(name, axes, body)


def _listed(axis: Axis, cells: Operand) -> Ref:
    ref = wrap(cells)
    if not isinstance(ref, Ref):
        raise NotationError(f"a lookup searches the cells of one block, not {ref}: make it a step of its own")
    _need_axes((axis,), ref)
    return ref


def _need_letters(axes: tuple[Axis, ...]) -> None:
    if strays := [axis for axis in axes if not isinstance(axis, Axis)]:
        raise NotationError(f"{strays[0]} is no axis: write its letter, such as t")
    if not axes or len(set(axes)) < len(axes):
        raise NotationError(f"Sum over ({', '.join(map(str, axes))}): name each axis once")


def _need_axes(axes: tuple[Axis, ...], ref: Ref) -> None:
    _need_letters(axes)
    if strays := [axis for axis in axes if axis not in letters_of(ref.at)]:
        axis = strays[0]
        raise NotationError(f"{ref} does not run along {axis} ({axis.meaning}): it cannot be gone through over {axis}")
    if lookups_in(ref):
        raise NotationError(
            f"{ref} is looked up: its range would stay where it is when the id changes; make it a step of its own"
        )
