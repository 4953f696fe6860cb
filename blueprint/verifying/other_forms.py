"""Causes that are another form of an equation than any one of its parts changed: each is one idea, with a module of its own."""

from collections.abc import Collection, Iterator, Mapping

from blueprint.verifying.definitions import Definitions
from blueprint.verifying.in_memory import Try
from blueprint.verifying.other_bounds import tries as of_bounds
from blueprint.verifying.other_factors import tries as of_factors
from blueprint.verifying.other_order import tries as of_order
from blueprint.verifying.other_parentheses import tries as of_parentheses
from blueprint.verifying.other_terms import tries as of_terms


def tries(
    of: Definitions,
    settings: Mapping[str, float | str],
    wanted: tuple[str, ...],
    known: Collection[str],
    masks: tuple[str, ...] = (),
) -> Iterator[list[Try]]:
    """Yields such causes between the rows that are known and those that are wanted, in stages, the likelier first.

    masks: rows that are 1 where something counts, beside those that the definitions name.
    """
    yield list(of_parentheses(of, settings, wanted, known))
    yield list(of_order(of, settings, wanted, known, masks))
    yield list(of_bounds(of, settings, wanted, known))
    yield list(of_factors(of, settings, wanted, known, masks))
    yield list(of_terms(of, settings, wanted, known, masks))
