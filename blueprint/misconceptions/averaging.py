"""What a mean may be by mistake: a sum, a mean over other cells, a mean of means; and a sum a mean."""

from collections.abc import Iterator

from blueprint.language import Axis, Constant, Count, Expr, Op, Position, Reduce, Ref

Part = tuple[str, str, Expr | None]
"""What may stand for a part of an equation: name and sentence of the mistake, and the other part; None: nothing."""


def means(part: Op) -> Iterator[Part]:
    """Yields the other means that a quotient of a sum may be."""
    above, below = part.args
    if not isinstance(above, Reduce) or above.name != "sum":
        return
    everything = _times([Count("size", axis) for axis in above.axes])
    yield "mean-over-everything", "It is divided by all columns, pads and all.", Op("div", (above, everything))
    if len(above.axes) > 1:
        first = above.axes[0]
        says = f"It is divided by the number of {first.plural}."
        yield f"mean-over-{first.letter}", says, Op("div", (above, Count("size", first)))
        yield from _mean_of_means(above)
    match below:
        case Op("maximum", (Op("sub", (number, _)), _)) | Op("sub", (number, _)):
            yield (
                "n-for-n-less",
                f"It is divided by {number}, from which nothing is taken off.",
                Op("div", (above, number)),
            )
        case _:
            less = Op("sub", (below, Constant(1)))
            yield "n-less-one", f"It is divided by {below} − 1.", Op("div", (above, less))


def means_of_sum(part: Reduce) -> Iterator[Part]:
    """Yields the mean that a sum may be."""
    mask = _mask(part)
    number = Reduce("sum", part.axes, mask) if mask is not None else _times([Count("size", each) for each in part.axes])
    yield "mean-for-sum", "It is averaged, and the sum is asked for.", Op("div", (part, number))


def _mean_of_means(above: Reduce) -> Iterator[Part]:
    """Yields the mean of the means along the other axes, of a sum of which a mask says what counts."""
    first, *others = above.axes
    mask = _mask(above)
    if mask is None:
        return
    along = tuple(others)
    counted = Op("maximum", (Reduce("sum", along, mask), Constant(1)))
    inner = Op("div", (Reduce("sum", along, above.body), counted))
    says = f"The means of the {first.plural} are averaged: here each {others[0].meaning} counts the same."
    yield "mean-of-means", says, Op("div", (Reduce("sum", (first,), inner), Count("size", first)))


def _mask(part: Reduce) -> Ref | None:
    """Returns the factor of a sum that says what counts: the one of whole numbers, 0 or 1."""
    if not isinstance(part.body, Op) or part.body.name != "mul":
        return None
    for each in part.body.args:
        if isinstance(each, Ref) and not each.block.about.decimals and {*part.axes} <= _runs(each):
            return each
    return None


def _runs(ref: Ref) -> set[Axis]:
    return {index.axis for index in ref.at if isinstance(index, Position)}


def _times(numbers: list[Expr]) -> Expr:
    product, *others = numbers
    for each in others:
        product = Op("mul", (product, each))
    return product
