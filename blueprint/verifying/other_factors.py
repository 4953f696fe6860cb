"""Causes that are a factor too many: a coefficient of the step, a length or a number of tokens by which a part of an equation is
multiplied or divided, and should not be. λ that multiplies the next value, too; β on the whole loss; a score that is divided by
the length of its response.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from blueprint.inputs.catalogue import OFF
from blueprint.language import Axis, Block, Expr, Op, Position, Reduce, Ref, text, walk
from blueprint.language.blocks import Definition
from blueprint.misconceptions.rewriting import is_setting, put
from blueprint.verifying.constant_rows import without_ones
from blueprint.verifying.definitions import Definitions, Equations
from blueprint.verifying.equations import meaning_of, only_picks, plain_of, scales_one, to
from blueprint.verifying.in_memory import Try
from blueprint.verifying.other_operations import BRANCHES, factors_of

NEUTRAL = (0.0, 1.0)
"""By these nobody multiplies, or nothing is left to be seen of it."""
SIGNS = {"mul": "multiplied with", "div": "divided by"}


def tries(
    of: Definitions, settings: Mapping[str, float | str], wanted: tuple[str, ...], known: Collection[str]
) -> Iterator[Try]:
    """Yields such causes between the rows that are known and those that are wanted."""
    equations = of.under(settings)
    numbers = _coefficients(equations, settings)
    counts = [*_counts(equations, of.masks)]
    way = equations.on_the_way_to_any(wanted, known)
    for name in way:
        row, own = equations.rows[name], plain_of(equations, name)
        if own is None or name in of.masks or is_setting(row) or (only_picks(row) and not _repeats(own, way)):
            continue
        whole, seen = row.definitions[0].expr, {text(without_ones(own))}
        for part in _parts(own, scaled=not scales_one(equations, name, wanted)):
            along = {*row.axes, *_summed_around(own, part)}
            for factor in (*numbers, *(each for each in counts if {*each.block.axes} <= along)):
                for sign, says in SIGNS.items():
                    made = put(own, part, Op(sign, (part, factor)))
                    if (written := text(without_ones(made))) not in seen:
                        seen.add(written)
                        where = "it" if part is own else text(part)
                        label = (
                            f"another equation of {meaning_of(equations, name)}: {where} is {says} {_called(factor)}"
                        )
                        yield Try(label, settings, {"equations": {name: to(whole, made)}}, far=True)


def _repeats(own: Expr, way: Collection[str]) -> bool:
    """Tells whether an equation repeats a row that is known: the first place where that may be something else."""
    return isinstance(own, Ref) and own.block.name not in way


def _called(factor: Ref) -> str:
    return factor.block.about.meaning or factor.block.name


def _coefficients(equations: Equations, settings: Mapping[str, float | str]) -> list[Ref]:
    """Returns the settings by which something may be multiplied: numbers other than 0 and 1, of each number the first."""
    read = dict.fromkeys(
        node.block
        for row in equations.rows.values()
        for of in row.definitions
        for node in walk(of.expr)
        if isinstance(node, Ref) and is_setting(node.block)
    )
    numbers = {block: settings.get(block.name) for block in read}
    own = [
        block
        for block, value in numbers.items()
        if isinstance(value, int | float) and value not in NEUTRAL and abs(value) != OFF
    ]
    return [Ref(block, ()) for block in own]


def _counts(equations: Equations, masks: tuple[str, ...]) -> Iterator[Ref]:
    """Yields what a mask counts: the tokens of each response, and all."""
    for mask in dict.fromkeys(equations.rows[each] for each in masks if each in equations.rows):
        if len(mask.axes) > 1:
            first, *rest = mask.axes
            here = Ref(mask, tuple(map(Position, mask.axes)))
            for axes, says in (((first,), f"what counts of each {first.meaning}"), ((), "what counts of all")):
                over = tuple(axis for axis in mask.axes if axis not in axes)
                count = Block(f"{mask.name} of {says}", axes, replace(mask.about, meaning=f"the number of {says}"))
                count.definitions = [Definition(tuple(map(Position, axes)), Reduce("sum", over, here))]
                yield Ref(count, tuple(map(Position, axes)))


def _summed_around(own: Expr, part: Expr) -> set[Axis]:
    """Returns the axes along which the sums run in which a part stands."""
    around = (node for node in walk(own) if isinstance(node, Reduce) and any(each is part for each in walk(node.body)))
    return {axis for node in around for axis in node.axes}


def _parts(own: Expr, scaled: bool) -> Iterator[Expr]:
    """Yields the whole, if it is scaled, and every part that is no factor of something that is one, too, and no test of a branch."""
    scaling = {id(each) for whole in walk(own) for each in [*factors_of(whole)][1:]}
    tests = {
        id(each) for node in walk(own) if isinstance(node, Op) and node.name in BRANCHES for each in walk(node.args[0])
    }
    for part in walk(own):
        constant = isinstance(part, Ref) and is_setting(part.block)
        if isinstance(part, Ref | Op | Reduce) and not constant and id(part) not in scaling | tests:
            if part is not own or scaled:
                yield part
