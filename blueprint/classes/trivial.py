"""Where a carried number makes a step trivial, so that doing it shows nothing: the guard of error carried forward.

Who enters 0 in a first step would find the next ones easy (Numbas#368): a factor that is 0, a ratio of exactly 1, a number
that is only repeated, also since it is so large that it swallows what is added to it, a clip that is no longer reached. Where a
clip is reached only with the carried number, the step has become longer, not trivial.
"""

from collections.abc import Callable, Iterable, Iterator
from math import isfinite

from blueprint.language import Cell, Expr, Op, Values, filled_by, reads
from blueprint.language.cells import Members, alternative_of, value_of
from blueprint.language.trees import children

CHOICES = ("minimum", "maximum", "where", "choose")


def trivial(
    cell: Cell, between: Iterable[Cell], true: Values, carried: Values, within: Callable[[float], float]
) -> str:
    """Says why a step is trivial on carried numbers although it is not on the true ones; "" where it is not.

    between: the cells between the earlier blanks and this one, itself among them.
    within: how far the cell may be off a number; more for a large one, of which fewer digits are shown.
    carried: the values with the student's numbers, in which `own` is what the step comes to.
    """
    own, meant = float(carried.own[cell.block][_at(cell, carried)]), float(true.cell(cell.block, *cell.places))
    if not isfinite(own):
        return "there the step comes to no number"
    for plain in (0.0, 1.0, -1.0):
        if abs(own - plain) <= within(plain) < abs(meant - plain):
            return f"there the step comes to {plain:g}, whatever it is"
    if _repeats(cell, own, carried, within(own)) and not _repeats(cell, meant, true, within(meant)):
        return "there the step only repeats a number that it reads"
    if any(_falls_otherwise(_branches(each, true), _branches(each, carried)) for each in between):
        return "there a minimum, a maximum or a choice falls otherwise, and the step is another one"
    return ""


def _at(cell: Cell, values: Values) -> tuple[int, ...]:
    """Returns the index of a cell in the block's array."""
    block = cell.block
    return tuple(place + values.before(block, axis) for place, axis in zip(cell.places, block.axes, strict=True))


def _repeats(cell: Cell, number: float, values: Values, within: float) -> bool:
    """Tells whether a cell holds one of the numbers that its equation reads."""
    read = (values.cell(each.block, *each.places) for found in reads(cell, values) for each in found.cells)
    return any(isinstance(each, float) and abs(each - number) <= within for each in read)


def _falls_otherwise(true: Iterable[int | None], carried: Iterable[int | None]) -> bool:
    """Tells whether a choice takes another alternative, or a minimum or maximum has nothing left to decide."""
    return any(was != now and now is not None for was, now in zip(true, carried, strict=True))


def _branches(cell: Cell, values: Values) -> list[int | None]:
    """Returns what each choice of a cell's equation takes; of a minimum or maximum −1 if its two are equal, else None."""
    filled = filled_by(*cell, values)
    return list(_taken(filled.definition.expr, filled.members, values)) if filled else []


def _taken(expr: Expr, members: Members, values: Values) -> Iterator[int | None]:
    if not isinstance(expr, Op):  # what a sum goes through has members of its own
        return
    for inner in children(expr):
        yield from _taken(inner, members, values)
    if expr.name in ("where", "choose"):
        alternative = alternative_of(expr, members, values)
        yield next((i for i, each in enumerate(expr.args) if each is alternative), -1)
    elif expr.name in CHOICES:
        left, right = (value_of(each, members, values) for each in expr.args)
        yield -1 if left == right else None
