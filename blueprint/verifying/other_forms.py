"""The doors to causes that are another form of an equation than any one of its parts changed; each is one idea, with a module."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from blueprint.verifying.definitions import Definitions
from blueprint.verifying.equations import Between
from blueprint.verifying.in_memory import Try
from blueprint.verifying.other_axes import tries as of_axes
from blueprint.verifying.other_bounds import tries as of_bounds
from blueprint.verifying.other_factors import tries as of_factors
from blueprint.verifying.other_order import tries as of_order
from blueprint.verifying.other_parentheses import tries as of_parentheses
from blueprint.verifying.other_rows import tries as of_rows
from blueprint.verifying.other_terms import tries as of_terms
from blueprint.verifying.other_whitening import tries as of_whitening
from blueprint.verifying.other_words import half_words, with_one_change
from blueprint.verifying.substitutes import tries as of_substitutes

FORMS = (of_axes, of_parentheses, of_order, of_whitening, of_bounds, of_factors, of_terms, of_rows)
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


def of_what_is_read(
    of: Definitions,
    settings: Mapping[str, float | str],
    wanted: str | tuple[str, ...],
    known: Collection[str],
    signs: bool = True,
    everywhere: bool = False,
    time: Callable[[], bool] = lambda: True,
) -> Iterator[list[Try]]:
    """Yields what is one change of a library's code, and no change of one part of an equation, in stages."""
    rows = (wanted,) if isinstance(wanted, str) else wanted
    return of_substitutes(Between(of, settings, rows, known), signs, everywhere, time)


def of_half_words(
    of: Definitions,
    others: Sequence[Try],
    settings: Mapping[str, float | str],
    wanted: tuple[str, ...],
    known: Collection[str],
    time: Callable[[], bool] = lambda: True,
) -> list[Try]:
    """Returns half of each of some other words: some equations as it has them, and all others as they are."""
    return list(half_words(Between(of, settings, wanted, known), others, time))


def of_other_words(
    of: Definitions,
    others: Sequence[Try],
    settings: Mapping[str, float | str],
    wanted: tuple[str, ...],
    known: Collection[str],
) -> list[Try]:
    """Returns each of some other words with one more change of what only it has, or reads."""
    return with_one_change(Between(of, settings, wanted, known), others)
