"""Causes that are another formula, and that one with a part that is otherwise: an estimator that the run should not have, without
its half; a limit that is on, and holds whatever the sign. As of any two changes some come near a number by chance, so that it
takes evidence.
"""

from collections.abc import Collection, Mapping, Sequence
from math import log2

from blueprint.verifying.constant_rows import in_force
from blueprint.verifying.definitions import Definitions
from blueprint.verifying.equations import changes_of, meaning_of
from blueprint.verifying.in_memory import Try
from blueprint.verifying.other_halves import as_there, equations_apart

CERTAIN = 10.0
"""So many bits more than it takes to pick one among all must agree."""


def tries(
    of: Definitions,
    others: Sequence[Try],
    settings: Mapping[str, float | str],
    wanted: tuple[str, ...],
    known: Collection[str],
) -> list[Try]:
    """Returns each of some other settings with one more change: another word of what only it reads, then every change of one part
    of equations that only it has."""
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
                some = as_there(here, [name for name in on_the_way if name in here]) | as_there(moved[more.label], both)
                words.append(Try(f"{label}, in {', '.join(some)} alone", settings, {"equations": some}))
        for name in (each for each in there[other.label].rows if each in only):
            for made in changes_of(there[other.label], name, wanted, of):
                label = f"{other.label}, and another equation of {meaning_of(there[other.label], name)}: {made.says}"
                found += [] if made.far else [other._replace(label=label, ways={"equations": {name: made.change}})]
    return [each._replace(bits=log2(len(words) + len(found)) + CERTAIN) for each in (*words, *found)]
