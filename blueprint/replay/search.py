"""Why a quantity deviates: neighbouring conventions are tried, one at a time, then two, until one explains all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from blueprint.minibatch import MinibatchError
from blueprint.numbers import rlhf
from blueprint.replay.elsewhere import whitened_elsewhere
from blueprint.replay.fits import fitted
from blueprint.replay.judge import Judge
from blueprint.replay.logged import TENSORS
from blueprint.replay.neighbours import (
    Neighbour,
    by_alignment,
    by_conventions,
    by_factors,
    by_microbatches,
    by_presets,
    paired,
    values_of,
)
from blueprint.replay.passes import Progress, unseen
from blueprint.replay.question import Question
from blueprint.replay.recompute import replay
from blueprint.replay.settings import laid_over
from blueprint.replay.trying import parts_explain, tried

PAIRS, PAIRS_WORDS = 1200, 1 << 24
"""So many pairs of conventions are tried at most, and only as long as that goes through no more words than this."""

FINE_ENOUGH = 1e-3
"""A tolerance below which a coefficient of three digits tells something."""

NEARLY = 10.0
"""How much worse than the best match another one may be, and still be named."""

Watch = Callable[[str, int], Progress]


@dataclass(frozen=True)
class Match:
    """A neighbour with which a quantity agrees. rest: whether everything else that was logged then agrees, too."""

    said: str
    largest: float
    rest: bool


def causes_of(question: Question, watch: Watch) -> tuple[Match, ...]:
    """Returns what explains a deviation altogether, the best first: if some explain the rest of the file, too, only those.

    Empty where no single known convention does, and no pair of them; also where nothing asks for one, as the file's own
    rows lead to the quantity as it is: then every convention that changes nothing would match.
    """
    if tried(question, Neighbour("the preset as it is")).agrees:
        return ()
    found = _matching(question, list(_singles(question)), "trying neighbouring conventions", watch)
    if not found and not question.compared.means and (line := whitened_elsewhere(question)):
        return (Match(*line, question.alone),)
    if not found:
        found = _matching(question, list(_pairs(question)), "trying pairs of them", watch)
    best = min((match.largest for match in found), default=0.0)
    named = [match for match in found if match.largest <= max(NEARLY * best, question.negligible)]
    whole = [match for match in named if match.rest]
    return tuple(sorted(whole or named, key=lambda match: match.largest))


def _singles(question: Question) -> Iterator[Neighbour]:
    known, responses = rlhf(), len(question.batch.slots)
    yield from by_conventions(question.moves, question.settings, known)
    yield from by_presets(question.settings, question.preset, known)
    yield from by_alignment(question.batch, question.reads)
    yield from by_microbatches(responses)
    if question.quantity not in TENSORS:
        yield from by_factors(responses)
    yield from _fitted(question)


def _fitted(question: Question) -> Iterator[Neighbour]:
    """Yields coefficients that were not tried yet; where rounding hides three digits, none for a single number."""
    if question.quantity not in TENSORS and question.judge.tolerance(question.quantity) > FINE_ENOUGH:
        return
    for each in fitted(question.local, question.quantity.name, question.compared.logged):
        tried_already = all(value in values_of(key, rlhf()) for key, value in each.changes.items())
        if not tried_already:
            yield each


def _pairs(question: Question) -> Iterator[Neighbour]:
    """Yields conventions two at a time, as far as that is cheap."""
    singles = paired(question.moves, question.settings, rlhf())
    most = min(PAIRS, PAIRS_WORDS // question.batch.mask.size)
    both = ((one, other) for one, other in combinations(singles, 2) if not set(one.changes) & set(other.changes))
    for number, (one, other) in enumerate(both):
        if number == most:
            return
        yield Neighbour(f"{one.said}, and {other.said}", {**one.changes, **other.changes})


def _matching(question: Question, neighbours: Sequence[Neighbour], what: str, watch: Watch) -> list[Match]:
    found, words = [], question.batch.mask.size
    progress = watch(what, len(neighbours) * words)
    for each in neighbours:
        try:
            compared = tried(question, each)
        except MinibatchError:  # it reads what this file has not
            continue
        finally:
            progress(words)
        if compared.agrees:
            found.append(Match(each.said, compared.largest, _explains_the_rest(question, each)))
    return found


def _explains_the_rest(question: Question, neighbour: Neighbour) -> bool:
    """Tells whether all that was logged agrees, once everything is computed with the neighbour."""
    if neighbour.factor != 1:
        return question.alone
    if neighbour.microbatch:
        return question.alone or parts_explain(question, neighbour)
    batch = neighbour.altered(question.batch) if neighbour.altered else question.batch
    try:
        found = replay(
            batch, laid_over(question.settings, neighbour.changes), unseen, question.tile_tokens, device=question.device
        )
    except MinibatchError:
        return False
    return all(each.agrees for each in Judge(batch, found, question.judge.factor).compared().values())
