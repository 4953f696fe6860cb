"""Causes that are another form of an equation than any one of its parts changed: each is one idea, with a module of its own."""

from collections.abc import Callable, Collection, Iterator, Mapping

from blueprint.verifying.definitions import Definitions
from blueprint.verifying.equations import Between
from blueprint.verifying.in_memory import Try
from blueprint.verifying.other_bounds import tries as of_bounds
from blueprint.verifying.other_factors import tries as of_factors
from blueprint.verifying.other_norms import tries as of_norms
from blueprint.verifying.other_order import tries as of_order
from blueprint.verifying.other_parentheses import tries as of_parentheses
from blueprint.verifying.other_terms import tries as of_terms

FORMS = (of_parentheses, of_order, of_norms, of_bounds, of_factors, of_terms)
"""The likelier first."""


def tries(
    of: Definitions,
    settings: Mapping[str, float | str],
    wanted: tuple[str, ...],
    known: Collection[str],
    masks: tuple[str, ...] | None = (),
    time: Callable[[], bool] = lambda: True,
) -> Iterator[list[Try]]:
    """Yields such causes between the rows that are known and those that are wanted, in stages, the likelier first.

    masks: rows that are 1 where something counts, beside those that the definitions name; None: the file has none. time: whether
    there is time for more.
    """
    between = Between(of, settings, wanted, known, masks)
    for form in FORMS:
        yield list(form(between)) if time() else []
