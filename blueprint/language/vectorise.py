"""One expression, compiled once into a function of where the loops stand; the table NUMPY holds the operations."""

from collections.abc import Callable
from math import isfinite
from typing import Any, TypeVar

import numpy as np

from blueprint.language.axes import Axis, NotationError, Position
from blueprint.language.nodes import Changes, Constant, Count, Expr, Find, Lookup, Op, Reduce, Ref
from blueprint.language.trees import is_limit, is_off_word, letters_of, lookups_in
from blueprint.language.values import Array, At, Values, Where

Getter = Callable[[At], Any]
T = TypeVar("T")

NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "abs": np.abs,
    **{name: getattr(np, name) for name in ("exp", "log", "tanh", "sqrt", "maximum", "minimum")},
    "rounded": lambda a, d: np.copysign(np.floor(np.abs(a) * 10.0**d + 0.5) / 10.0**d, a) + 0.0,
    "less": lambda a, b: _compared(np.less, a, b),
    "at_most": lambda a, b: _compared(np.less_equal, a, b),
    "equal": lambda a, b: (_lower(a) == _lower(b)) * 1.0 if _holds_words(a) else _compared(np.equal, a, b),
    "filled": lambda a: np.not_equal(a, "") * 1.0 if _holds_words(a) else np.logical_not(np.isnan(a)) * 1.0,
    "is_off": lambda a: np.isposinf(a) * 1.0,
    "where": lambda test, a, b: _known(np.asarray(test) >= 0, np.where(np.asarray(test) == 1, a, b)),
    "choose": lambda number, *rows: _known(_is_id(number, len(rows)), np.choose(_safe(number, len(rows)), rows)),
}


def calculation(op: Op) -> Callable[..., Any]:
    """Returns what an operation does with its numbers."""
    return _weighed if op.weighed else NUMPY[op.name]


def _weighed(weight: Any, part: Any) -> Any:
    return np.where(np.equal(weight, 0), 0.0, np.multiply(weight, part))


REDUCTIONS: dict[str, Callable[..., Any]] = {"sum": np.sum, "max": np.max}


def compiled(expr: Expr, frame: tuple[Axis, ...], values: Values) -> Getter:
    """Returns a function that computes the expression for all members of the frame's axes at once.

    Its result can be broadcast to one dimension per frame axis, in order; all other axes stand where `at` says.
    """
    match expr:
        case Constant(value):
            return lambda at: value
        case Ref():
            return _lookup(expr, frame, values) if lookups_in(expr) else _aligned(expr, frame, values)
        case Op(_, args):
            parts = [operand(arg, expr, values, lambda arg: compiled(arg, frame, values)) for arg in args]
            done = calculation(expr)
            if len(parts) == 2:
                one, other = parts
                return lambda at: done(one(at), other(at))
            return lambda at: done(*[part(at) for part in parts])
        case Reduce("sum", axes, Op("mul", (Ref() as left, Ref() as right))) if not lookups_in(left, right):
            return _dot(left, right, axes, frame, values)
        case Reduce(name, axes, body):
            inner = compiled(body, frame + axes, values)
            dims = tuple(range(len(frame), len(frame) + len(axes)))
            held = inner if name == "sum" or values.beyond or is_limit(body) else lambda at: _finite(inner(at))
            return lambda at: REDUCTIONS[name](held(at), axis=dims)
        case Find(name, axis, among, value):
            return _find(name, compiled(among, (*frame, axis), values), compiled(value, frame, values))
        case Changes():
            return lambda at: 0.0
        case Count("size", axis):
            return lambda at: values.size(axis)
        case Count("number", axis) if axis in frame:
            return lambda at: _members(axis, frame, values) + axis.start
        case Count("number", axis):
            return lambda at: at[axis] + axis.start
    raise NotationError(f"values: {expr!r} is no node of the notation")


LAZY = ("where", "choose", "filled", "is_off")


def operand(arg: Expr, inside: Op, values: Values, make: Callable[[Expr], Callable[[T], Any]]) -> Callable[[T], Any]:
    """Compiles an operand; infinity is only what a limit may be, and the word off among limits is that."""
    if is_off_word(arg) and is_limit(inside):
        return lambda at: np.inf
    part = make(arg)
    if inside.name in LAZY or values.beyond or isinstance(arg, Constant) or is_limit(arg):
        return part
    return lambda at: _finite(part(at))


def _finite(cells: Any) -> Any:
    """Returns the cells with NaN for infinity: the spreadsheet has an error there, whatever is calculated with it."""
    if isinstance(cells, float):
        return cells if isfinite(cells) else np.nan
    if _holds_words(cells):
        return cells
    finite = np.isfinite(cells)
    return cells if finite.all() else np.where(finite, cells, np.nan)


def _known(known: Any, cells: Any) -> Any:
    """Returns the cells, NaN where they are not known."""
    if known is True or known.all():
        return cells
    kind = object if _holds_words(cells) else float
    return np.where(known, np.asarray(cells, dtype=kind), np.nan)


def _compared(compare: Callable[..., Any], a: Any, b: Any) -> Any:
    """Returns 1 or 0, and NaN where a blank cell is compared (a spreadsheet would take it for 0)."""
    return _known(~(np.isnan(a) | np.isnan(b)), compare(a, b) * 1.0)


def _lower(words: Any) -> Any:
    return np.char.lower(np.asarray(words, dtype=str))


def _is_id(ids: Any, size: int) -> Any:
    """Tells which ids are whole numbers from 0 to size − 1: numpy would count −1 from the end, INDEX refuses it."""
    number = np.asarray(ids, dtype=float)
    return (number >= 0) & (number < size) & (number == np.floor(number))


def _safe(ids: Any, size: int) -> Any:
    return np.where(_is_id(ids, size), ids, 0).astype(int)


def _holds_words(cells: Any) -> bool:
    return np.asarray(cells).dtype.kind in "OU"


def _members(axis: Axis, frame: tuple[Axis, ...], values: Values) -> Array:
    """Returns the places of an axis's members, as they lie in the frame."""
    return np.arange(values.size(axis)).reshape([-1 if other is axis else 1 for other in frame])


def _where(ref: Ref, frame: tuple[Axis, ...], values: Values) -> Where:
    """Returns where the cells of a reference without lookups lie, while loops go through the axes outside the frame."""
    return values.where(ref.block, ref.at, [axis for axis in letters_of(ref.at) if axis not in frame])


def _aligned(ref: Ref, frame: tuple[Axis, ...], values: Values) -> Getter:
    where, block = _where(ref, frame, values), ref.block
    order = sorted(range(len(where.letters)), key=lambda i: frame.index(where.letters[i]))
    shape = [values.size(axis) if axis in where.letters else 1 for axis in frame]
    if block.text:  # a single word is no array
        return lambda at: np.reshape(np.asarray(values.arrays[block][where.place(at)]).transpose(order), shape)
    if not where.moves and where.letters == frame:  # the cells lie as they are asked for
        start = where.start
        return lambda at: values.arrays[block][start]
    if order == sorted(order):
        return lambda at: values.arrays[block][where.place(at)].reshape(shape)
    return lambda at: values.arrays[block][where.place(at)].transpose(order).reshape(shape)


def _lookup(ref: Ref, frame: tuple[Axis, ...], values: Values) -> Getter:
    """Picks cells by computed ids: every index becomes an array of places over the frame."""
    slots = list(zip(ref.block.axes, ref.at, strict=True))
    ids = {i: compiled(index.id, frame, values) for i, (_, index) in enumerate(slots) if isinstance(index, Lookup)}

    def get(at: At) -> Array:
        block, places = ref.block, []
        known: Any = True
        for i, (slot, index) in enumerate(slots):
            if i in ids:
                found_ids, size = ids[i](at), values.size(slot)
                known = known & _is_id(found_ids, size)
                places.append(_safe(found_ids, size) + values.before(block, slot))
            elif isinstance(index, Position) and index.axis in frame:
                places.append(_members(index.axis, frame, values) + values.offset(block, slot, index.axis) + index.by)
            elif isinstance(index, Position):
                places.append(np.asarray(at[index.axis] + index.by + values.offset(block, slot, index.axis)))
        found: Array = _known(known, values.arrays[block][tuple(places)])
        return found

    return get


def _dot(left: Ref, right: Ref, axes: tuple[Axis, ...], frame: tuple[Axis, ...], values: Values) -> Getter:
    """Sums products without building the products: numpy's einsum, on the letters of the two references."""
    code = {axis: i for i, axis in enumerate(frame + axes)}
    of_left, of_right = (_where(ref, frame + axes, values) for ref in (left, right))
    kept = [axis for axis in frame if axis in of_left.letters or axis in of_right.letters]
    left_code, right_code, sum_code = ([code[x] for x in each] for each in (of_left.letters, of_right.letters, kept))
    shape = [values.size(axis) if axis in kept else 1 for axis in frame]

    def get(at: At) -> Array:
        a, b = values.arrays[left.block][of_left.place(at)], values.arrays[right.block][of_right.place(at)]
        return np.reshape(np.einsum(a, left_code, b, right_code, sum_code), shape)

    return get


def _find(name: str, among: Getter, value: Getter) -> Getter:
    def last_not_above(at: At) -> Any:
        cells = np.asarray(among(at))
        place = np.sum(cells <= np.asarray(value(at))[..., None], axis=-1) - 1.0
        return _known((place >= 0) & np.all(cells[..., 1:] >= cells[..., :-1], axis=-1), place)

    def equal_word(at: At) -> Array:
        same = _lower(among(at)) == _lower(value(at))[..., None]
        return np.where(same.any(axis=-1), same.argmax(axis=-1), np.nan)

    return last_not_above if name == "find" else equal_word
