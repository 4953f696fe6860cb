"""The parts of an equation: changed, turned, moved to a neighbour, or left out."""

from collections.abc import Callable

from blueprint.language import Axis, Block, Constant, Expr, Op, Position, Reduce, Ref, equal, rebuilt, walk, where


def everywhere(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Returns the expression with every part of it changed, the innermost first."""
    return change(rebuilt(expr, lambda inner: everywhere(inner, change)))


def negative(expr: Expr) -> Expr:
    """Turns a sign: a minus that stands there goes."""
    return expr.args[0] if isinstance(expr, Op) and expr.name == "neg" else -expr


def neighbour(ref: Ref, axis: Axis, by: int) -> Ref | None:
    """Returns a reference `by` columns from the cell's own; None where the row has no cell beyond its end."""
    slots = [slot for slot, index in zip(ref.block.axes, ref.at, strict=True) if getattr(index, "axis", None) is axis]
    if by and not all((slot, by) in ref.block.edges for slot in slots):
        return None
    moved = (Position(axis, by) if isinstance(i, Position) and i.axis is axis else i for i in ref.at)
    return Ref(ref.block, tuple(moved))


def moved(ref: Ref, by: int) -> Ref:
    """Returns a reference so many columns from the cell's own; the same one where it is there, or cannot be."""
    axes = [index.axis for index in ref.at if isinstance(index, Position) and index.by != by]
    moved = (neighbour(ref, axis, by) for axis in reversed(axes))
    return next((each for each in moved if each is not None), ref)


def summed_over(expr: Expr) -> tuple[Axis, ...]:
    """Returns the axes of the first sum in an expression; none where there is none."""
    sums = (node for node in walk(expr) if isinstance(node, Reduce) and node.name == "sum")
    return next((node.axes for node in sums), ())


def same(one: Expr, other: Expr) -> bool:
    """Tells whether two expressions are the same tree: the same operations, of the same cells."""
    return str(one) == str(other) and [*map(id, _blocks(one))] == [*map(id, _blocks(other))]


def _blocks(expr: Expr) -> list[Block]:
    return [node.block for node in walk(expr) if isinstance(node, Ref)]


def left_out(expr: Expr, hit: Callable[[Expr], bool]) -> Expr | None:
    """Returns the expression without the parts that are hit; None where nothing is left of it."""
    if hit(expr):
        return None
    match expr:
        case Op(name, (left, right)) if name in ("add", "sub", "mul", "div", "maximum", "minimum"):
            return rest(expr, left_out(left, hit), left_out(right, hit))
        case Op("where", (Op("equal", (weight, Constant(0))), Constant(0), part)):  # a part of weight 0 is not read
            of, kept_part = left_out(weight, hit), left_out(part, hit)
            return kept_part if of is None or kept_part is None else where(equal(of, 0), 0, kept_part)
        case Op(name, args, labels) if name not in ("choose", "where"):
            kept = tuple(each for each in (left_out(arg, hit) for arg in args) if each is not None)
            return Op(name, kept, labels) if len(kept) == len(args) else None
        case Reduce(name, axes, body):
            inner = left_out(body, hit)
            return None if inner is None else Reduce(name, axes, inner)
    return expr


def rest(expr: Op, left: Expr | None, right: Expr | None) -> Expr | None:
    """Returns what is left of an operation on two of which one or both may be gone."""
    if left is None:
        if right is None or expr.name in ("add", "mul", "maximum", "minimum"):
            return right
        return negative(right) if expr.name == "sub" else Op("div", (Constant(1), right))
    return left if right is None else Op(expr.name, (left, right))


def is_setting(block: Block) -> bool:
    """Tells whether a number is typed, or chosen between typed ones."""
    chosen = (isinstance(node, Op) and node.name == "filled" for d in block.definitions for node in walk(d.expr))
    return not block.axes and not block.text and (block.typed or any(chosen))
