"""Causes that are a change of one function by which a library makes several rows: of what takes its means, of an equation that
stands in several rows alike, of half of something.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from blueprint.language import (
    Block,
    Constant,
    Count,
    Expr,
    Op,
    Position,
    Reduce,
    Ref,
    reading,
    rebuilt,
    text,
    typed,
    walk,
)
from blueprint.misconceptions.rewriting import Change, Names, is_setting
from blueprint.verifying.definitions import Definitions, Equations
from blueprint.verifying.equations import another_row, changes_of_form, meaning_of, only_picks, to
from blueprint.verifying.other_cells import beside, is_here, of_all

Labelled = tuple[str, dict[str, Change]]
"""What is said of it, and by row how its equation is changed."""
SEVERAL = 2
"""What is read in fewer places is a part of one equation."""


class Way(NamedTuple):
    """The rows between those that are known and the one that is wanted, the nearest to it first.

    masks: rows that are 1 where something counts. before: those that the known ones are made of.
    everywhere: whether what one function makes is looked for among all rows. sided: whose equations they are, where responses have
        two sides.
    """

    equations: Equations
    wanted: str
    rows: list[str]
    masks: tuple[str, ...] = ()
    before: frozenset[str] = frozenset()
    everywhere: bool = False
    sided: Definitions | None = None

    def readers(self) -> dict[Block, list[str]]:
        """Returns by row the rows that read it, each as often as it does."""
        found: dict[Block, list[str]] = {}
        for name in self.rows:
            for node in (node for of in self.equations.rows[name].definitions for node in walk(of.expr)):
                if isinstance(node, Ref) and node.block.axes and not is_setting(node.block):
                    found.setdefault(node.block, []).append(name)
        return found

    @property
    def plain(self) -> list[str]:
        """The rows of one equation, that is no choice of where something stands."""
        of = self.equations
        return [name for name in self.rows if of.rows[name].inside is not None and not only_picks(of.rows[name])]


def all_means(way: Way) -> Iterator[Labelled]:
    """Yields every mean as another number, as where the one function is changed by which a library takes all of them."""
    there = [name for name, row in way.equations.rows.items() if _has_mean(row)]
    rows = [name for name in way.rows if name in there]
    others: dict[str, Callable[[Expr, Expr], Expr]] = {
        "they are doubled": lambda above, below: Op("mul", (Constant(2), Op("div", (above, below)))),
        "they are taken with the other sign": lambda above, below: Op("neg", (Op("div", (above, below)),)),
        "they are sums": lambda above, below: above,
        "they are the number of what is averaged": lambda above, below: below,
        "they are upside down": lambda above, below: Op("div", (below, above)),
        "they are multiplied with the number, not divided by it": lambda above, below: Op("mul", (above, below)),
        "they are means of the means of each response": _of_each_first,
        "what does not count is in the sum, too": lambda above, below: Op("div", (_unmasked(above, below), below)),
        "they are over all there is, pads too": _over_all,
        "they are divided by what does not count": lambda above, below: Op("div", (above, _left_over(below))),
    }
    for says, made in others.items():
        if len(rows) >= SEVERAL:
            yield f"all means otherwise: {says}", dict.fromkeys(rows, _where(_is_mean, made))
        if way.everywhere and rows and len(there) > max(len(rows), SEVERAL - 1):
            yield f"all means otherwise, of whatever: {says}", dict.fromkeys(there, _where(_is_mean, made))


def _unmasked(above: Expr, below: Expr) -> Expr:
    """Returns the sum above a mean without the mask that is counted below."""
    match above, below:
        case Reduce("sum", axes, Op("mul", (value, mask))), Reduce("sum", _, counts) if text(mask) == text(counts):
            return Reduce("sum", axes, value)
    return above


def _over_all(above: Expr, below: Expr) -> Expr:
    """Returns the mean without its mask, over every place."""
    made = _unmasked(above, below)
    for axis in made.axes if isinstance(made, Reduce) and made is not above else ():
        made = Op("div", (made, Count("size", axis)))
    return Op("div", (above, below)) if made is above else made


def _left_over(below: Expr) -> Expr:
    """Returns how many do not count, of a sum of those that do."""
    match below:
        case Reduce("sum", axes, Ref() as mask):
            return Reduce("sum", axes, Op("sub", (Constant(1), mask)))
    return below


def _of_each_first(above: Expr, below: Expr) -> Expr:
    """Returns the mean along the first axis of the means along the others; of a sum along one axis the mean as it is."""
    match above, below:
        case Reduce("sum", (first, *rest) as axes, body), Reduce("sum", same, counts) if rest and [*same] == [*axes]:
            each = Op("div", (Reduce("sum", tuple(rest), body), Reduce("sum", tuple(rest), counts)))
            row = another_row(next(iter(_rows(body))), (first,), each, "mean of each")
            return Op("div", (Reduce("sum", (first,), Ref(row, (Position(first),))), Count("size", first)))
    return Op("div", (above, below))


def _rows(expr: Expr) -> Iterator[Block]:
    return (node.block for node in walk(expr) if isinstance(node, Ref))


def _has_mean(row: Block) -> bool:
    return any(_is_mean(node) for of in row.definitions for node in walk(of.expr))


def _is_mean(expr: Expr) -> bool:
    return (
        isinstance(expr, Op) and expr.name == "div" and isinstance(expr.args[0], Reduce) and expr.args[0].name == "sum"
    )


def one_function(way: Way) -> Iterator[Labelled]:
    """Yields every change of an equation in all rows that have one of the same form, as where one function makes them: those on the
    way, those that nothing known is made of, and all that there are."""
    rows_of = way.equations.rows
    every = _forms(way, (name for name in rows_of if way.everywhere and not only_picks(rows_of[name])))
    for form, rows in _forms(way, way.plain).items():
        whole = tuple(dict.fromkeys((*rows, *every.get(form, ()))))
        if len(form) < LONG or len(whole) < SEVERAL:
            continue
        made = {row: _by_form(way, row) for row in whole}
        behind = tuple(row for row in whole if row in rows or row not in way.before)
        for together in dict.fromkeys(each for each in (tuple(rows), behind, whole) if len(each) >= SEVERAL):
            for key, (says, _) in made[together[0]].items():
                if all(key in made[row] for row in together):
                    changed = {row: to(way.equations.rows[row].inside, made[row][key][1]) for row in together}
                    yield f"another equation of {', '.join(together)}, alike in all: {says}", changed


def _by_form(way: Way, row: str) -> dict[str, tuple[str, Expr]]:
    """Returns the changes of an equation, and what each says, by the form that it then has."""
    own = way.equations.rows[row].inside
    return {_form(made): (says, made) for says, made in changes_of_form(own, row, way.masks, way.everywhere)}


def _forms(way: Way, names: Iterable[str]) -> dict[str, list[str]]:
    """Returns by the form of an equation the rows that have it."""
    forms = dict[str, list[str]]()
    for name in names:
        if (own := way.equations.rows[name].inside) is not None:
            forms.setdefault(_form(own), []).append(name)
    return forms


LONG = 12
"""An equation whose form is shorter is no function that somebody writes once."""


def _form(expr: Expr | None) -> str:
    """Returns an equation without the names of the rows that it reads, in the order in which it reads them."""
    if expr is None:
        return ""
    names = dict.fromkeys(node.block for node in walk(expr) if isinstance(node, Ref) and not is_setting(node.block))
    letters = {block: typed(f"x{at}", block.axes) for at, block in enumerate(names)}
    return text(reading(expr, letters))


def halves(way: Way) -> Iterator[Labelled]:
    """Yields another number or operation where half of something is taken, which a library may write as ½ times it."""
    half = Op("div", (Constant(1), Constant(2)))
    others: dict[str, Callable[[Expr, Expr], Expr]] = {
        "1½ times it": lambda above, below: Op("add", (above, Op("div", (above, below)))),
        "½ more than it": lambda above, below: Op("add", (half, above)),
        "½ less it": lambda above, below: Op("sub", (half, above)),
        "½ divided by it": lambda above, below: Op("div", (half, above)),
    }
    for name in way.rows:
        if any(_is_half(node) for of in way.equations.rows[name].definitions for node in walk(of.expr)):
            for says, made in others.items():
                label = f"another equation of {meaning_of(way.equations, name)}: {says} stands where half of it should"
                yield label, {name: _where(_is_half, made)}


def _is_half(expr: Expr) -> bool:
    match expr:
        case Op("div", (_, Constant(2))):
            return True
    return False


def _where(hit: Callable[[Expr], bool], made: Callable[[Expr, Expr], Expr]) -> Change:
    """Makes a change of an equation: something else stands for each of its fractions that is hit, of what is above and below."""

    def change(expr: Expr, names: Names) -> Expr:
        found = rebuilt(expr, lambda inner: change(inner, names))
        return made(*found.args) if hit(expr) and isinstance(found, Op) else found

    return change


def of_another_place(block: Block) -> Iterator[tuple[str, Callable[[Ref], Expr]]]:
    """Yields a row as it is one place before or behind along the last axis, 0 beyond the end, unless it is whole numbers, as masks
    are; and the mean, the largest and the smallest of all in the place of each number of a row along one axis."""
    axes = block.axes
    if len(axes) > 1 and block.about.decimals:
        for says, by in (("before", -1), ("behind", 1)):
            yield f"that of the {axes[-1].meaning} {says} is taken, 0 beyond the end", partial(_moved, by)
    if len(axes) == 1:
        for says, number in of_all(Ref(block, (Position(axes[0]),)), axes[0]).items():
            yield f"the {says} of all is taken", partial(_always, number)


def _moved(by: int, ref: Ref) -> Expr:
    return beside(ref, ref.block.axes[-1], by, Constant(0)) if is_here(ref) else ref


def _always(number: Ref, ref: Ref) -> Expr:
    return number
