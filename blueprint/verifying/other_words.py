"""Causes that are another formula, and that one with a part that is otherwise: an estimator that the run should not have, without
its half; a limit that is on, and holds whatever the sign. As of any two changes some come near a number by chance, so that it
takes evidence.
"""

from collections.abc import Collection, Iterable, Mapping
from math import log2

from blueprint.verifying.definitions import Definitions
from blueprint.verifying.equations import changes_of, meaning_of
from blueprint.verifying.in_memory import Try

CERTAIN = 10.0
"""So many bits more than it takes to pick one among all must agree."""


def tries(
    of: Definitions,
    others: Iterable[Try],
    settings: Mapping[str, float | str],
    wanted: tuple[str, ...],
    known: Collection[str],
) -> list[Try]:
    """Returns each of some other settings with every change of one part of the equations that only it has."""
    own, found = of.under(settings).on_the_way_to_any(wanted, known), list[Try]()
    for other in others:
        equations = of.under(other.settings)
        for name in (each for each in equations.on_the_way_to_any(wanted, known) if each not in own):
            for made in changes_of(equations, name, wanted, of):
                label = f"{other.label}, and another equation of {meaning_of(equations, name)}: {made.says}"
                found += [] if made.far else [other._replace(label=label, ways={"equations": {name: made.change}})]
    return [each._replace(bits=log2(len(found)) + CERTAIN) for each in found]
