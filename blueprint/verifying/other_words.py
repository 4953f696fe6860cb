"""Causes that are another formula, and that one with a part that is otherwise: an estimator that the run should not have, without
its half. As of any two changes some come near a number by chance, so that it takes evidence.
"""

from collections.abc import Collection, Mapping
from math import log2
from typing import Any

from blueprint.verifying.definitions import Definitions
from blueprint.verifying.equations import changes_of, meaning_of
from blueprint.verifying.other_settings import Conventions

CERTAIN = 10.0
"""So many bits more than it takes to pick one among all must agree."""


def tries(
    of: Definitions,
    conventions: Conventions,
    settings: Mapping[str, float | str],
    keys: Collection[str],
    wanted: tuple[str, ...],
    known: Collection[str],
) -> list[Any]:
    """Returns each other word of some settings with every change of one part of the equations that only it has."""
    own, found = of.under(settings).on_the_way_to_any(wanted, known), list[Any]()
    for key in (each for each in keys if isinstance(settings[each], str)):
        for word in conventions.values(settings, key):
            other = conventions.changed(settings, {key: word})
            equations = of.under(other.settings)
            for name in (each for each in equations.on_the_way_to_any(wanted, known) if each not in own):
                for made in changes_of(equations, name, wanted, of):
                    label = f"{other.label}, and another equation of {meaning_of(equations, name)}: {made.says}"
                    found += [] if made.far else [other._replace(label=label, ways={"equations": {name: made.change}})]
    return [each._replace(bits=log2(len(found)) + CERTAIN) for each in found]
