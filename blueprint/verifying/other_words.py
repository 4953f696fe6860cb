"""Causes that are another word of a setting, and not it alone.

Half of it: one equation as under it, and all others as they are. So a KL may be paid in the reward, as one word says, and stay in
the loss, as the other does. Or it, and one more change: of a part of the equations that only it has, as an estimator that the run
should not have without its half; or another word of what only it reads, a KL that the run should not pay there by another estimate.
As of any two changes some come near a number by chance, so that these take evidence.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import log2

from blueprint.language import Expr, text
from blueprint.misconceptions.rewriting import Change
from blueprint.verifying.constant_rows import equations_apart, in_force
from blueprint.verifying.equations import CERTAIN, Between, changes_of, meaning_of, read_from
from blueprint.verifying.in_memory import Try

HALVES = 2
"""A word that moves fewer equations has no half."""


def half_words(between: Between, others: Iterable[Try], time: Callable[[], bool] = lambda: True) -> Iterator[Try]:
    """Yields equations between the rows that are known and those that are wanted, as some other settings have them.

    others: other settings, one word each, as a report puts them. time: whether there is time for more.
    """
    own, settings = between.equations, between.settings
    on_the_way = own.on_the_way_to_any(between.wanted, between.known)
    for other in others:
        apart = equations_apart(own, between.of.under(other.settings)) if time() else {}
        here = [name for name in on_the_way if name in apart] if len(apart) >= HALVES else []
        for name in here:
            label = f"{other.label} in {meaning_of(own, name)} alone"
            yield Try(label, settings, {"equations": as_there(between, apart, [name])})
        if 1 < len(here) < len(apart):
            yield Try(
                f"{other.label} in {', '.join(here)} alone", settings, {"equations": as_there(between, apart, here)}
            )


def with_one_change(between: Between, others: Sequence[Try]) -> list[Try]:
    """Returns each of some other settings with one more change: another word of what only it reads, then every change of one part
    of equations that only it has."""
    of, settings, wanted, known = between.of, between.settings, between.wanted, between.known
    own, found, words = of.under(settings), list[Try](), list[Try]()
    plain, on_the_way = in_force(own, wanted, known), own.on_the_way_to_any(wanted, known)
    there = {other.label: of.under(other.settings) for other in others}
    moved = {other.label: equations_apart(own, there[other.label]) for other in others}
    for other in others:
        only, here = in_force(there[other.label], wanted, known) - plain, moved[other.label]
        for more in others if only else ():
            changes = {key: value for key, value in more.settings.items() if value != settings[key]}
            both = [name for name in moved[more.label] if name in only]
            if both and all(other.settings[key] == settings[key] for key in changes):
                label = f"{other.label}, and {more.label}"
                words.append(Try(label, {**other.settings, **changes}))
                first = as_there(between, here, [name for name in on_the_way if name in here])
                some = first | as_there(between, moved[more.label], both)
                words.append(Try(f"{label}, in {', '.join(some)} alone", settings, {"equations": some}))
        for name in (each for each in there[other.label].rows if each in only):
            for made in changes_of(there[other.label], name, wanted, of):
                label = f"{other.label}, and another equation of {meaning_of(there[other.label], name)}: {made.says}"
                found += [] if made.far else [other._replace(label=label, ways={"equations": {name: made.change}})]
    return [each._replace(bits=log2(len(words) + len(found)) + CERTAIN) for each in (*words, *found)]


def as_there(between: Between, apart: Mapping[str, Expr], names: Iterable[str]) -> dict[str, Change]:
    """Returns changes of some equations into those that others have, which read rows by their names."""

    def becomes(name: str) -> Change:
        here = between.equations.rows[name].inside
        own = "" if here is None else text(here)
        return lambda expr, names: read_from(apart[name], names) if text(expr) == own else expr

    return {name: becomes(name) for name in names}
