"""Causes that read another tensor in the place of one, or the sum or the difference of two: advantages made anew of returns and new
values, a log-prob to which a difference of two others is added.

Two are taken of the tensors that a trainer holds: what a dump gives, and the rows that have a plain name, such as `returns`. One is
taken that nothing on the way reads; rows on the way are among the changes of equations.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, permutations

from blueprint.language import Block, Expr, Op, Position, Ref, text
from blueprint.misconceptions.rewriting import Change
from blueprint.verifying.constant_rows import constant_rows
from blueprint.verifying.equations import Between, meaning_of, reaches, to
from blueprint.verifying.in_memory import Try
from blueprint.verifying.other_factors import FLAG
from blueprint.verifying.substitutes import wherever

Of = Callable[[Ref], Expr]
"""What stands in the place of a row, by where it is read."""
MOST_READ, MOST_MADE = 4, 12
"""So many rows that are read, and that are made, are taken for others."""
MOST_FAR, MOST_HELD = 24, 16
"""So many others are one of them, and of so many tensors two are."""


def tries(between: Between) -> Iterator[Try]:
    """Yields tensors that are wanted, and rows that are read on the way, for which something made of two tensors is taken."""
    rows = between.equations.rows
    asked = [
        rows[name] for name in between.wanted if name in rows and rows[name].axes and rows[name].inside is not None
    ]
    read = [each for each in between.read.items() if each[0].name not in between.masks][:MOST_READ]
    changed: list[tuple[Block, Callable[[Of], dict[str, Change]]]] = [
        *((row, lambda made, row=row: {row.name: to(row.inside, made(_here(row)))}) for row in asked),
        *((row, lambda made, row=row, of=of: dict.fromkeys(of, wherever(row, made))) for row, of in read),
    ]
    yield from _single(between, read)
    for row, changes in changed:
        held, label = _held(between, row), meaning_of(between.equations, row.name)
        for name, pairs in (("sub", permutations(held, 2)), ("add", combinations(held, 2))):
            for one, other in pairs:
                made = _made_of_two(name, one, other)
                said = f"{label}: {text(made(_here(row)))} is taken"
                yield Try(said, between.settings, {"equations": changes(made)}, far=True)


def _single(between: Between, read: Sequence[tuple[Block, Sequence[str]]]) -> Iterator[Try]:
    """Yields rows for which another one is taken that is not on the way, and so not among the changes of equations."""
    equations, constant = between.equations, constant_rows(between.equations)
    near = {*between.way, *equations.made_of(between.wanted)}
    far = {name: row for name, row in equations.rows.items() if name not in near and not row.typed and _is_number(row)}
    made = [equations.rows[name] for name in between.way if name not in between.masks]
    made = [row for row in made if row.axes and row.inside is not None]
    readers_of = [(row, readers, False) for row, readers in read] + [
        (row, [row.name], True) for row in made[:MOST_MADE]
    ]
    for row, readers, is_made in readers_of:
        alike = {name: other for name, other in far.items() if other.axes == row.axes and other not in constant}
        for name, other in sorted(alike.items(), key=partial(_how_far, row))[:MOST_FAR]:
            if row.name not in equations.made_of((name,)):
                change = to(row.inside, _here(other)) if is_made else wherever(row, partial(_as, other))
                label = f"{meaning_of(equations, row.name)}: {meaning_of(equations, name)} is taken"
                yield Try(label, between.settings, {"equations": dict.fromkeys(readers, change)}, far=True)


def _how_far(row: Block, other: tuple[str, Block]) -> tuple[bool, bool]:
    """Puts what belongs to a row first, `kl_new.k3` for `kl_new.k1`, then what has a plain name."""
    own, name = row.name.partition(".")[0], other[0]
    return name.partition(".")[0] != own, "." in name


def _as(other: Block, ref: Ref) -> Ref:
    return Ref(other, ref.at) if reaches(other, ref) else ref


def _here(row: Block) -> Ref:
    return Ref(row, tuple(map(Position, row.axes)))


def _held(between: Between, block: Block) -> list[Block]:
    """Returns the tensors of a row's shape that a trainer holds, without masks and the row itself."""
    equations = between.equations
    made_of_it = [name for name in equations.rows if block.name in equations.made_of((name,))]
    constant = [each.name for each in constant_rows(equations)]
    left_out = {block.name, *made_of_it, *constant, *between.masks, *between.wanted}
    return [
        row
        for name, row in equations.rows.items()
        if row.axes == block.axes and _is_number(row) and name not in left_out and (row.typed or "." not in name)
    ][:MOST_HELD]


def _is_number(row: Block) -> bool:
    """Tells whether a row has numbers, neither words nor whether something is so."""
    return not row.text and row.about.unit != FLAG


def _made_of_two(name: str, one: Block, other: Block) -> Of:
    """Returns what stands in the place of a reference: an operation of two rows, read at the same cells, where both have them."""
    return lambda ref: (
        Op(name, (Ref(one, ref.at), Ref(other, ref.at))) if reaches(one, ref) and reaches(other, ref) else ref
    )
