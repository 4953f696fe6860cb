"""Causes that are bounds where there should be none: a log-ratio that is held between −10 and 10 before its exponential, a KL that
is at most 10, a ratio whose logarithm is held between −ε and ε.
"""

from collections.abc import Collection, Iterator, Mapping

from blueprint.inputs.catalogue import OFF
from blueprint.language import Constant, Expr, Op, Ref, text, walk
from blueprint.misconceptions.mechanical import of_logarithm
from blueprint.misconceptions.rewriting import everywhere, is_setting, put, same
from blueprint.verifying.definitions import Definitions, Equations
from blueprint.verifying.equations import meaning_of, plain_of, to
from blueprint.verifying.in_memory import Try

BOUNDS = (5, 10, 20)
"""Numbers between which libraries hold log-ratios, and estimates that are made of their exponentials."""


def tries(
    of: Definitions,
    settings: Mapping[str, float | str],
    wanted: tuple[str, ...],
    known: Collection[str],
    masks: tuple[str, ...] = (),
) -> Iterator[Try]:
    """Yields such causes between the rows that are known and those that are wanted. masks: none is changed."""
    equations = of.under(settings)
    way = equations.on_the_way_to_any(wanted, known)
    read = dict.fromkeys(read for name in way for read in equations.reads(equations.rows[name]) if is_setting(read))
    limits = [each for each in read if each.name in of.settings and of.settings[each.name].limit]
    bounds: list[Expr] = [*map(Constant, BOUNDS)]
    bounds += [Ref(each, ()) for each in limits if float(settings[each.name]) != OFF]
    yield from _as_logarithms(equations, way, settings)
    for name in way:
        own = plain_of(equations, name)
        if own is None or name in (*of.masks, *masks):
            continue
        for part in _of_exponentials(own):
            for says, held in (each for bound in bounds for each in _held(part, bound)):
                label = f"another equation of {meaning_of(equations, name)}: {text(part)} is held {says}"
                whole = equations.rows[name].definitions[0].expr
                yield Try(label, settings, {"equations": {name: to(whole, put(own, part, held))}})


def _as_logarithms(equations: Equations, way: list[str], settings: Mapping[str, float | str]) -> Iterator[Try]:
    """Yields all bounds 1 ± ε as e^±ε, where one row has the lower and another the upper: the logarithm is held, not the ratio."""
    rows = [name for name in way if any(_moves(each.expr) for each in equations.rows[name].definitions)]
    if len(rows) > 1:
        changes = dict.fromkeys(rows, lambda expr, names: everywhere(expr, of_logarithm))
        yield Try(
            f"the logarithm is held between the bounds, not the ratio, in {' and '.join(rows)}",
            settings,
            {"equations": changes},
        )


def _moves(expr: Expr) -> bool:
    return not same(everywhere(expr, of_logarithm), expr)


def _of_exponentials(own: Expr) -> Iterator[Expr]:
    """Yields the exponentials in an equation, what each is of, and what is made of them by sums and products alone."""
    for part in walk(own):
        if isinstance(part, Op) and part.name == "exp":
            yield from (part, part.args[0])
        elif isinstance(part, Op) and part.name in ("add", "sub", "mul") and _has_exponential(part):
            yield part


def _has_exponential(expr: Expr) -> bool:
    return any(isinstance(node, Op) and node.name == "exp" for node in walk(expr))


def _held(part: Expr, bound: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields a part between two bounds, and by either alone."""
    most, least = Op("minimum", (part, bound)), Op("maximum", (part, Op("neg", (bound,))))
    if not (isinstance(part, Op) and part.name == "exp"):  # that is positive
        yield f"between −{text(bound)} and {text(bound)}", Op("maximum", (most, Op("neg", (bound,))))
        yield f"at least at −{text(bound)}", least
    yield f"at most at {text(bound)}", most
