"""Changes of one expression by itself, whatever rows there are: other sizes, signs, operations, functions and numbers in it, and an
extreme in the place of a mean.
"""

from collections.abc import Iterator

from blueprint.language import (
    Constant,
    Count,
    Expr,
    Lookup,
    Op,
    Position,
    Reduce,
    Ref,
    exp,
    less,
    log,
    sqrt,
    text,
    walk,
)
from blueprint.misconceptions.rewriting import is_setting, put
from blueprint.verifying.other_cells import running


def sizes(expr: Expr, scaled: bool) -> Iterator[tuple[str, Expr]]:
    """Yields the whole and each part of it doubled, halved, squared, with the other sign; and the largest for a sum.

    A factor that is doubled doubles the product: only that is. scaled: whether the whole is, or the one row that reads it.
    """
    parts = [node for node in walk(expr) if node is not expr and isinstance(node, Ref | Op | Reduce)]
    parts.sort(key=lambda node: not isinstance(node, Ref))
    scaling = {id(each) for whole in walk(expr) for each in [*factors_of(whole)][whole is not expr :]}
    turned = {id(each.args[1]) for each in walk(expr) if isinstance(each, Op) and each.name in ("add", "sub")}
    for said, part in [("it", expr), *((text(node), node) for node in parts if not _is_test(expr, node))]:
        if scaled if part is expr else id(part) not in scaling:
            yield f"{said} is doubled", put(expr, part, Op("mul", (Constant(2), part)))
            yield f"{said} is halved", put(expr, part, Op("div", (part, Constant(2))))
            if id(part) not in turned:
                yield f"{said} is taken with the other sign", put(expr, part, Op("neg", (part,)))
        yield f"{said} is squared", put(expr, part, Op("mul", (part, part)))
        if part is expr and not _has_exp(expr):
            yield "e to the power of it is taken", exp(expr)
        if isinstance(part, Ref) and not is_setting(part.block):
            yield f"the size of {said} is taken, without its sign", put(expr, part, Op("abs", (part,)))
    if any(isinstance(node, Op) and node.name == "log" for node in walk(expr)):
        yield "its logarithms are to base 2", Op("div", (expr, log(Constant(2))))
    for node in walk(expr):
        if isinstance(node, Reduce) and node.name == "sum":
            yield "the largest is taken, not the sum", put(expr, node, Reduce("max", node.axes, node.body))
            for axis in node.axes:
                yield f"it is divided by all {axis.plural}", put(expr, node, Op("div", (node, Count("size", axis))))


def _has_exp(expr: Expr) -> bool:
    """Whether it is made of exponentials: one more is a number that nobody would log."""
    return any(isinstance(node, Op) and node.name == "exp" for node in walk(expr))


def factors_of(expr: Expr) -> Iterator[Expr]:
    """Yields the whole and everything in it that multiplies or divides the whole."""
    yield expr
    match expr:
        case Op("mul" | "div" | "neg", args):
            for part in args:
                yield from factors_of(part)
        case Reduce("sum", _, body):
            yield from factors_of(body)


def means(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields the first, last, largest, smallest, the root mean square in the place of a mean, and one of n + 1 numbers, or
    without weights."""
    above_lines = {id(part.args[0]) for part in walk(expr) if isinstance(part, Op) and part.name == "div"}
    for part in walk(expr):
        match part:
            case Op("div", (Reduce("sum", axes, body) as above, below)):
                bodies, more = [body], Op("add", (below, Constant(1)))
                yield f"it is divided by {text(below)} + 1", put(expr, part, Op("div", (above, more)))
            case Reduce("sum", axes, Op("mul", args)):
                bodies = [each for each in args if isinstance(each, Ref) and {*axes} <= {*running(each)}]
                for body in [] if id(part) in above_lines else bodies:  # its weights forgotten
                    mean: Expr = Reduce("sum", axes, body)
                    for axis in axes:
                        mean = Op("div", (mean, Count("size", axis)))
                    yield f"the mean of {text(body)} over all is taken, without its weights", put(expr, part, mean)
            case _:
                continue
        for body in bodies:
            if len(axes) == 1 and isinstance(body, Ref):
                last = Op("sub", (Count("size", axes[0]), Constant(1)))
                for says, place in (("first", Constant(0)), ("last", last)):
                    at = tuple(
                        Lookup(axes[0], place) if isinstance(i, Position) and i.axis is axes[0] else i for i in body.at
                    )
                    yield f"the {says} of {text(body)} is taken", put(expr, part, Ref(body.block, at))
            if id(part) not in above_lines:
                squares = put(part, body, Op("mul", (body, body)))
                yield f"the root mean square of {text(body)} is taken", put(expr, part, sqrt(squares))
            yield f"the largest of {text(body)} is taken", put(expr, part, Reduce("max", axes, body))
            least = Op("neg", (Reduce("max", axes, Op("neg", (body,))),))
            yield f"the smallest of {text(body)} is taken", put(expr, part, least)


def of_exponentials(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields the logarithm of the mean of exponentials in the place of a mean, as where log σ is taken of the mean of σ."""
    for mean in walk(expr):
        match mean:
            case Op("div", (Reduce("sum", _, Ref() as body), _)):
                bodies = [body]
            case Reduce("sum", axes, Op("mul", (Ref() as one, Ref() as two))):  # one of them is the weight of each
                bodies = [each for each in (one, two) if {*axes} <= {*running(each)}]
            case _:
                continue
        for body in bodies:
            least = Op("neg", (log(put(mean, body, exp(Op("neg", (body,))))),))
            for sign, made in (("", log(put(mean, body, exp(body)))), ("minus ", least)):
                yield (
                    f"it is {sign}the logarithm of the mean of exponentials of {sign}{text(body)}",
                    put(expr, mean, made),
                )


def is_square(expr: Expr) -> bool:
    """Tells whether an expression is a row times itself."""
    match expr:
        case Op("mul", (Ref() as left, Ref() as right)):
            return left.block is right.block and left.at == right.at
    return False


def _is_test(expr: Expr, part: Expr) -> bool:
    """Whether a part is what a branch is taken by."""
    return any(isinstance(node, Op) and node.name in BRANCHES and node.args[0] is part for node in walk(expr))


BRANCHES = ("where", "choose", "is_off")
OPERATIONS = ("add", "sub", "mul", "div")
COMPARED = {"less": "at_most", "at_most": "less"}
HALF = Op("div", (Constant(1), Constant(2)))


def operations(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields another operation or function in the place of one, and an ε that stands elsewhere."""
    for part in walk(expr):
        others = list[Expr]()
        match part:
            case Op(name, (left, right)) if name in OPERATIONS:
                if not is_square(part):  # less itself, or divided by itself, it is a number
                    others += [Op(other, (left, right)) for other in OPERATIONS if other != name]
                    others += [Op("div", (right, left)), Op("sub", (right, left))] if name in ("mul", "add") else []
                    alone = name == "div" and not (isinstance(right, Ref) and is_setting(right.block))
                    others += [right] if alone else []
                match name, left:
                    case "div", Op("mul", (one, two)):  # a factor and what is divided by exchanged
                        others += [Op("div", (Op("mul", (one, right)), two)), Op("div", (Op("mul", (two, right)), one))]
                if name == "add" and isinstance(right, Ref) and is_setting(right.block):  # ε in the root, or the least
                    others += [sqrt(Op("mul", (left, left)) + right), Op("maximum", (left, right))]
            case Op("maximum" | "minimum" as name, args):
                least = Op("minimum" if name == "maximum" else "maximum", args)
                others += [least, *([Op("neg", (least,))] if all(isinstance(each, Ref) for each in args) else [])]
                others += [Op("add", args)]
            case Op("less" | "at_most" as name, (left, right) as args):
                others += [Op(COMPARED[name], args)]
                others += [Op(name, (left, Constant(0))), Op(name, (Constant(0), right))]
            case Op("where", (_, then, otherwise)):
                others += [then, otherwise]
            case Op("exp", (inner,)):
                others += [log(1 + inner), 1 + inner, exp(inner) - 1, exp(log(Constant(2)) * inner)]
            case Op("log", (inner,)):
                others += [exp(inner), log(1 + inner)]
                match inner:
                    case Op("add", (Constant(1), rest)):  # a library has one function for ln(1 + x)
                        others += [rest, exp(rest)]
            case Op("abs", (inner,)):
                others += [Op("sub", (less(0, inner), less(inner, 0)))]  # of 0 it is 0
            case Reduce("max", axes, Ref() as body):
                others += [Reduce("sum", axes, body), Op("neg", (Reduce("max", axes, Op("neg", (body,))),))]
        others += [*_of_a_margin(part), *_of_each_by_itself(part)]
        for other in others:
            yield f"{text(other)} stands where {text(part)} should", put(expr, part, other)


def _of_each_by_itself(part: Expr) -> list[Expr]:
    """Returns the sum of a function of two numbers in the place of the function of their sum, and the mean of these two."""
    match part:
        case Op("exp" | "log" | "sqrt" | "abs" as name, (Op("add" | "sub" as between, both),)):
            if all(isinstance(each, Ref) and each.block.axes for each in both):
                each_of = Op(between, tuple(Op(name, (each,)) for each in both))
                return [each_of, Op("div", (each_of, Constant(2)))]
    return []


def _of_a_margin(part: Expr) -> list[Expr]:
    """Returns other gains of a margin in the place of log σ(x): less a hinge, less a square, less an exponential, σ, the margin;
    and in the place of σ the exponential, the margin, log σ, tanh of its half."""
    match part:
        case Op("div", (Op("exp", (Op("minimum", (x, Constant(0))),)), Op("add", (Constant(1), Op("exp", _))))):  # σ
            return [exp(x), x, log(part), 2 * part - 1]
        case Op("neg", (Op("add", (Op("maximum", (Constant(0), Op("neg", (x,)))), Op("log", _))),)):
            off = Op("sub", (Constant(1), x))
            hinge, chance = (
                Op("maximum", (Constant(0), off)),
                Op("div", (Constant(1), Op("add", (Constant(1), exp(-x))))),
            )
            lost: tuple[Expr, ...] = (hinge, Op("mul", (hinge, hinge)), Op("mul", (off, off)), exp(Op("neg", (x,))))
            return [*(Op("neg", (each,)) for each in lost), chance, Op("sub", (chance, Constant(1))), x]
    return []


def constants(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields other numbers in the place of one that is written: 0, ½, 1, 2, one more, twice; of a setting ten times, a tenth, its
    root and its inverse."""
    for part in walk(expr):
        if isinstance(part, Constant) and isinstance(part.value, int):
            for other in (
                Constant(0),
                HALF,
                Constant(1),
                Constant(2),
                Constant(part.value + 1),
                Constant(part.value - 1),
                Constant(2 * part.value),
                Constant(-part.value),
            ):
                yield f"{text(other)} stands for {text(part)} in {text(expr)}", put(expr, part, other)
        elif isinstance(part, Ref) and is_setting(part.block):
            ten, said = Constant(10), text(part)
            yield f"ten times {said} is read", put(expr, part, Op("mul", (ten, part)))
            yield f"a tenth of {said} is read", put(expr, part, Op("div", (part, ten)))
            yield f"the root of {said} is read", put(expr, part, sqrt(part))
            yield f"1 / {said} is read", put(expr, part, Op("div", (Constant(1), part)))
