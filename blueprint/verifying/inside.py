"""What stands inside of an equation: its sums, what a function of one cell is of, and what is squared."""

from blueprint.language import Expr, Op, Position, Reduce, Ref, text, walk


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
