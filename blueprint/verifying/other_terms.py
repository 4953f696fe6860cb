"""Causes that are a term too many: a row to which c times another one is added, as label smoothing adds the margin to a loss, or a
KL is paid in the loss that is paid in the reward, too; or a number of each prompt to what each of its responses has.

They are tried with c = 1. Where nothing behind it bends, what comes of it is straight in c, so that the c that a file would need
follows.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from blueprint.language import Block, Constant, Count, Expr, Op, Position, Reduce, Ref, text
from blueprint.verifying.constant_rows import constant_rows
from blueprint.verifying.equations import Between, alike, another_row, meaning_of, only_picks, to
from blueprint.verifying.in_memory import Try

MOST_ROWS, MOST_OTHERS = 16, 16
"""So many rows, the nearest first, get a term too many, and so many others are one."""


def tries(between: Between) -> Iterator[Try]:
    """Yields rows on the way with another row added."""
    equations, masks = between.equations, between.masks
    there = [name for name in between.way if name in between.wanted or not only_picks(equations.rows[name])]
    rows = (equations.rows[name] for name in there if name not in masks)
    for row, own in [(row, row.inside) for row in rows if row.axes and row.inside is not None][:MOST_ROWS]:
        for other in (*alike(equations, between.wanted[0], row, MOST_OTHERS), *_of_fewer_axes(between, row)):
            if other not in masks and row.name not in equations.made_of((other,)):
                part = Ref(equations.rows[other], tuple(map(Position, equations.rows[other].axes)))
                label = f"another equation of {meaning_of(equations, row.name)}: {{}}{text(part)} is added"
                yield _added(label, between.settings, row.name, own, part, 1.0)
    yield from _means_added(between)


def _means_added(between: Between) -> Iterator[Try]:
    """Yields a number that is wanted with the mean of a row of two axes added: a KL that is paid in the loss, too.

    The mean is over all that counts, or over the sums along the second axis.
    """
    equations, constant = between.equations, constant_rows(between.equations)
    mask = next((equations.rows[name] for name in between.masks if len(equations.rows[name].axes) == 2), None)
    wanted = equations.rows.get(between.wanted[0])
    if mask is None or wanted is None or wanted.axes or wanted.inside is None:
        return
    here, count = tuple(map(Position, mask.axes)), Reduce("sum", mask.axes, Ref(mask, tuple(map(Position, mask.axes))))
    for row in (equations.rows[name] for name in dict.fromkeys((*between.way, *equations.rows))):
        made = row.axes == mask.axes and row not in constant and not row.text and not only_picks(row)
        if not made or row.name in between.masks:
            continue
        total = Reduce("sum", mask.axes, Op("mul", (Ref(mask, here), Ref(row, here))))
        means = {"": count, f"the sums of each {mask.axes[0].meaning} of ": Count("size", mask.axes[0])}
        for of, many in means.items():
            part = Ref(another_row(row, (), Op("div", (total, many))), ())
            label = f"another equation of {meaning_of(equations, wanted.name)}: {{}}the mean of {of}{row.name} is added"
            yield _added(label, between.settings, wanted.name, wanted.inside, part, 1.0)


def _of_fewer_axes(between: Between, row: Block) -> list[str]:
    """Returns rows that have one number for several cells of a row, those on the way first."""
    rows, constant = between.equations.rows, constant_rows(between.equations)
    ordered = dict.fromkeys((*between.way, *rows))
    found = [name for name in ordered if rows[name].axes and {*rows[name].axes} < {*row.axes} and not rows[name].text]
    return [name for name in found if rows[name] not in constant and not only_picks(rows[name])][:MOST_OTHERS]


def _added(label: str, settings: Mapping[str, float | str], name: str, own: Expr, part: Expr, by: float) -> Try:
    """Returns a row with another one added, times a number."""
    digits = f"{abs(by):.2g}"
    over = 10 ** len(f"{abs(by):f}".rstrip("0").partition(".")[2])
    times: Expr = Op("div", (Op("mul", (Constant(round(abs(by) * over)), part)), Constant(over)))
    made = Op("add" if by > 0 else "sub", (own, part if abs(by) == 1 else times))
    said = label.format(f"{'−' * (by < 0)}{digits}·" if by != 1 else "")
    again = partial(_added, label, settings, name, own, part)
    return Try(said, settings, {"equations": {name: to(own, made)}}, far=True, term=again)
