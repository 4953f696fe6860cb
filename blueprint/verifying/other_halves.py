"""Causes that are half of another word: one equation as under it, and all others as they are. So a KL may be paid in the reward, as
one word says, and stay in the loss, as the other does; or a mean is over other tokens below the line than above it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache

from blueprint.language import Expr, text
from blueprint.misconceptions.rewriting import Change
from blueprint.verifying.definitions import Definitions, Equations
from blueprint.verifying.equations import meaning_of, read_from
from blueprint.verifying.in_memory import Try

HALVES = 2
"""A word that moves fewer equations has no half."""


def tries(
    of: Definitions,
    others: Iterable[Try],
    settings: Mapping[str, float | str],
    wanted: tuple[str, ...],
    known: Collection[str],
    time: Callable[[], bool] = lambda: True,
) -> Iterator[Try]:
    """Yields single equations between the rows that are known and those that are wanted, as some other settings have them.

    others: other settings, one word each, as a report puts them. time: whether there is time for more.
    """
    own = of.under(settings)
    on_the_way = own.on_the_way_to_any(wanted, known)
    for other in others:
        apart = equations_apart(own, of.under(other.settings)) if time() else {}
        here = [name for name in on_the_way if name in apart] if len(apart) >= HALVES else []
        for name in here:
            label = f"{other.label} in {meaning_of(own, name)} alone"
            yield Try(label, settings, {"equations": as_there(apart, [name])})
        if 1 < len(here) < len(apart):
            yield Try(f"{other.label} in {', '.join(here)} alone", settings, {"equations": as_there(apart, here)})


def equations_apart(own: Equations, theirs: Equations) -> dict[str, Expr]:
    """Returns by row the equation that others have of it, where both have one, and these are not the same."""
    here, there = _inside(own), _inside(theirs)
    return {name: made for name, (made, says) in there.items() if name in here and here[name][1] != says}


@lru_cache(maxsize=256)
def _inside(equations: Equations) -> Mapping[str, tuple[Expr, str]]:
    """Returns the equation of each row that has one inside, and how it is written."""
    every = {name: row.inside for name, row in equations.rows.items()}
    return {name: (own, text(own)) for name, own in every.items() if own is not None}


def as_there(apart: Mapping[str, Expr], names: Iterable[str]) -> dict[str, Change]:
    """Returns changes of some equations into those that others have, which read rows by their names."""

    def becomes(made: Expr) -> Change:
        return lambda expr, names: read_from(made, names)

    return {name: becomes(apart[name]) for name in names}
