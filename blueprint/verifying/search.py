"""Why a quantity deviates: causes are tried on it alone, then in all that leads to it, until one explains all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice

from blueprint.dumps import MinibatchError
from blueprint.verifying.alone import (
    Explained,
    can_be_alone,
    explained_alone,
    explained_by,
    made_of_logged,
    number_as_it_is,
    number_compared,
)
from blueprint.verifying.budget import Budget
from blueprint.verifying.causes import Causes, Match, ranked
from blueprint.verifying.elsewhere import whitened_elsewhere
from blueprint.verifying.fits import fitted
from blueprint.verifying.judge import Judge
from blueprint.verifying.logged import TENSORS
from blueprint.verifying.neighbours import (
    Neighbour,
    by_alignment,
    by_conventions,
    by_factors,
    by_microbatches,
    by_presets,
    paired,
    values_of,
)
from blueprint.verifying.passes import unseen
from blueprint.verifying.permuted import permuted
from blueprint.verifying.probe import possible
from blueprint.verifying.question import Question
from blueprint.verifying.recompute import replay
from blueprint.verifying.settings import laid_over
from blueprint.verifying.slips import tables
from blueprint.verifying.trying import parts_explain, tried
from blueprint.verifying.verdict import Progress
from blueprint.workbooks.common.conventions.data import rlhf

PAIRS, PAIRS_WORDS = 1200, 1 << 24
"""So many pairs of conventions are tried at most, and only as long as that goes through no more words than this."""

FINE_ENOUGH = 1e-3
"""A tolerance below which a coefficient of three digits tells something."""

THRESHOLD = "loss.ratio_threshold"

Watch = Callable[[str, int], Progress]


def causes_of(question: Question, watch: Watch) -> Causes:
    """Returns what explains a deviation altogether, the likeliest first: if some explain the rest of the file, too, only those.

    Empty where no single known cause does, and no pair of conventions; also where nothing asks for one, as the file's own
    rows lead to the quantity as it is: then every convention that changes nothing would match.
    """
    if _agrees_as_it_is(question):
        return Causes()
    search = Search(question, watch)
    for look in (search.singles, search.elsewhere, search.pairs):
        found = look()
        if found:
            matches = ranked((search.match(each) for each in found), question.negligible)
            return Causes(matches, search.tried, search.known)
    return Causes((), search.tried, search.known)


class Search:
    """Looks for causes, as long as the budget lasts."""

    def __init__(self, question: Question, watch: Watch) -> None:
        """Has tried nothing yet."""
        self.question, self.watch, self.budget = question, watch, Budget.of(question)
        self.tried, self.known = 0, 0

    def singles(self) -> list[Explained]:
        """Returns the single causes: slips and conventions in the quantity alone, then in all that leads to it."""
        every = list(_singles(self.question))
        self.known += len(every) + _slips(self.question)
        self.tried += _slips(self.question)
        found = self._alone(every, slips=True)
        further = [each for each in every if not can_be_alone(self.question, each)]
        if found and self.question.quantity not in TENSORS:
            return found
        return found + self._through(further, "trying neighbouring conventions")

    def pairs(self) -> list[Explained]:
        """Returns two conventions at a time, as far as that is cheap."""
        every = _pairs(self.question)
        most = PAIRS_WORDS // self.question.batch.mask.size
        self.known += len(every)
        near = every[:most]
        further = [each for each in near if not can_be_alone(self.question, each)]
        return self._alone(near, slips=False) or self._through(further, "trying pairs of them")

    def elsewhere(self) -> list[Explained]:
        """Returns what rows in another order explain, or a larger batch."""
        found = list(permuted(self.question))
        line = None if found or self.question.compared.means else whitened_elsewhere(self.question)
        return [line] if line else found

    def match(self, found: Explained) -> Match:
        """Returns a cause with what else still deviates then."""
        of = found.neighbour or Neighbour("")
        return Match(found.said, found.compared.largest, tuple(self._still(found)), of.rank, of.beyond, of.changes)

    def _alone(self, neighbours: Sequence[Neighbour], slips: bool) -> list[Explained]:
        self.tried += sum(can_be_alone(self.question, each) for each in neighbours)
        return explained_alone(self.question, neighbours, slips)

    def _through(self, neighbours: Sequence[Neighbour], what: str) -> list[Explained]:
        """Tries neighbours one by one, in everything that leads to the quantity; those first that few responses allow."""
        found, words = [], self.question.batch.mask.size
        left = possible(self.question, neighbours) if self.question.quantity in TENSORS else list(neighbours)
        self.tried += len(neighbours) - len(left)
        progress = self.watch(what, len(left) * words)
        for each in left:
            if not self.budget.allows(self.question):
                break
            self.tried += 1
            try:
                compared = tried(self.question, each)
            except MinibatchError:  # it reads what this file has not
                continue
            finally:
                progress(words)
            if compared.agrees:
                found.append(Explained(each.said, compared, each))
        return found

    def _still(self, found: Explained) -> Iterable[tuple[str, float]]:
        """Returns what else deviates with a cause: in the quantity alone, or in all that leads to it if less does then."""
        others = self.question.others
        if not others:
            return ()
        if found.neighbour is None:
            left = [each for each in others if not explained_by(self.question.about(each), found.said)]
            return [(each.name, each.largest) for each in left]
        alone = [(each.name, each.largest) for each in others]
        through = _left_by(self.question, found.neighbour)
        return alone if through is None or len(through) >= len(alone) else through


def _left_by(question: Question, neighbour: Neighbour) -> list[tuple[str, float]] | None:
    """Returns what deviates once everything is computed with the neighbour; None where that says nothing."""
    if neighbour.factor != 1:
        return None
    if neighbour.microbatch:
        return [] if parts_explain(question, neighbour) else None
    batch = neighbour.altered(question.batch) if neighbour.altered else question.batch
    try:
        found = replay(
            batch, laid_over(question.settings, neighbour.changes), unseen, question.tile_tokens, device=question.device
        )
    except MinibatchError:
        return None
    compared = Judge(batch, found, question.judge.factor).compared()
    return [(name, each.largest) for name, each in compared.items() if not each.agrees]


def _agrees_as_it_is(question: Question) -> bool:
    """Tells whether the file's own rows lead to the quantity without any cause."""
    as_it_is = Neighbour("the preset as it is")
    if question.quantity in TENSORS:
        return tried(question, as_it_is).agrees
    return number_compared(question, number_as_it_is(question)).agrees


def _slips(question: Question) -> int:
    name = question.quantity.name
    return len(tables.TENSORS.get(name, ())) + len(tables.NUMBERS.get(name, ()))


def _singles(question: Question) -> Iterator[Neighbour]:
    known, responses = rlhf(), len(question.batch.slots)
    moves = question.moves if _stopped(question) else tuple(name for name in question.moves if name != THRESHOLD)
    yield from by_conventions(moves, question.settings, known)
    yield from _fitted(question)
    if not made_of_logged(question):
        yield from by_alignment(question.batch, question.reads)
    yield from by_microbatches(responses)
    if question.quantity not in TENSORS:
        yield from by_factors(responses)
    moving = question.moves if made_of_logged(question) else tuple(question.settings)
    yield from by_presets(question.settings, question.preset, known, moving)


def _stopped(question: Question) -> bool:
    """Tells whether a loss is 0, in the file or here: only then it matters from which mean ratio on losses do not count."""
    return question.compared.logged == 0 or question.local.whole["loss.keep"] == 0


def _fitted(question: Question) -> Iterator[Neighbour]:
    """Yields coefficients that were not tried yet; where rounding hides three digits, none for a single number."""
    if question.quantity not in TENSORS and question.judge.tolerance(question.quantity) > FINE_ENOUGH:
        return
    for each in fitted(question.local, question.quantity.name, question.compared.logged):
        tried_already = all(value in values_of(key, rlhf()) for key, value in each.changes.items())
        if not tried_already:
            yield each


def _pairs(question: Question) -> list[Neighbour]:
    """Returns conventions two at a time; of what is made of logged rows only those that change nothing before it."""
    singles = paired(question.moves, question.settings, rlhf())
    if made_of_logged(question):
        singles = [each for each in singles if can_be_alone(question, each)]
    both = (
        Neighbour(f"{one.said}, and {other.said}", {**one.changes, **other.changes}, rank=4)
        for one, other in combinations(singles, 2)
        if not set(one.changes) & set(other.changes)
    )
    return list(islice(both, PAIRS))
