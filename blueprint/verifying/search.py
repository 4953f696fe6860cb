"""Why a quantity deviates: causes are tried on it alone, then in all that leads to it, until one explains all of it."""

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
from blueprint.verifying.causes import Causes, Match, ranked
from blueprint.verifying.deviation import Budget, Deviation
from blueprint.verifying.fit_coefficient import fitted
from blueprint.verifying.judge import Judge
from blueprint.verifying.larger_batch import whitened_elsewhere
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
from blueprint.verifying.permuted import permuted
from blueprint.verifying.prefilter import possible
from blueprint.verifying.recompute import replay
from blueprint.verifying.settings import laid_over
from blueprint.verifying.slips import tables
from blueprint.verifying.tiled_passes import unseen
from blueprint.verifying.try_alternative import parts_explain, tried
from blueprint.verifying.verdict import Progress
from blueprint.workbooks.common.conventions.data import rlhf

PAIRS, PAIRS_WORDS = 1200, 1 << 24
"""So many pairs of conventions are tried at most, and only as long as that goes through no more words than this."""

FINE_ENOUGH = 1e-3
"""A tolerance below which a coefficient of three digits tells something."""

THRESHOLD = "loss.ratio_threshold"

Watch = Callable[[str, int], Progress]


def causes_of(deviation: Deviation, watch: Watch) -> Causes:
    """Returns what explains a deviation altogether, the likeliest first: if some explain the rest of the file, too, only those.

    Empty where no single known cause does, and no pair of conventions; also where nothing asks for one, as the file's own
    rows lead to the quantity as it is: then every convention that changes nothing would match.
    """
    if _agrees_as_it_is(deviation):
        return Causes()
    search = Search(deviation, watch)
    for look in (search.singles, search.elsewhere, search.pairs):
        found = look()
        if found:
            matches = ranked((search.match(each) for each in found), deviation.negligible)
            return Causes(matches, search.tried, search.known)
    return Causes((), search.tried, search.known)


class Search:
    """Looks for causes, as long as the budget lasts."""

    def __init__(self, deviation: Deviation, watch: Watch) -> None:
        """Has tried nothing yet."""
        self.deviation, self.watch, self.budget = deviation, watch, Budget.of(deviation)
        self.tried, self.known = 0, 0

    def singles(self) -> list[Explained]:
        """Returns the single causes: slips and conventions in the quantity alone, then in all that leads to it."""
        every = list(_singles(self.deviation))
        self.known += len(every) + _slips(self.deviation)
        self.tried += _slips(self.deviation)
        found = self._alone(every, slips=True)
        further = [each for each in every if not can_be_alone(self.deviation, each)]
        if found and self.deviation.quantity not in TENSORS:
            return found
        return found + self._through(further, "trying neighbouring conventions")

    def pairs(self) -> list[Explained]:
        """Returns two conventions at a time, as far as that is cheap."""
        every = _pairs(self.deviation)
        most = PAIRS_WORDS // self.deviation.batch.mask.size
        self.known += len(every)
        near = every[:most]
        further = [each for each in near if not can_be_alone(self.deviation, each)]
        return self._alone(near, slips=False) or self._through(further, "trying pairs of them")

    def elsewhere(self) -> list[Explained]:
        """Returns what rows in another order explain, or a larger batch."""
        found = list(permuted(self.deviation))
        line = None if found or self.deviation.compared.means else whitened_elsewhere(self.deviation)
        return [line] if line else found

    def match(self, found: Explained) -> Match:
        """Returns a cause with what else still deviates then."""
        of = found.neighbour or Neighbour("")
        return Match(found.said, found.compared.largest, tuple(self._still(found)), of.rank, of.beyond, of.changes)

    def _alone(self, neighbours: Sequence[Neighbour], slips: bool) -> list[Explained]:
        self.tried += sum(can_be_alone(self.deviation, each) for each in neighbours)
        return explained_alone(self.deviation, neighbours, slips)

    def _through(self, neighbours: Sequence[Neighbour], what: str) -> list[Explained]:
        """Tries neighbours one by one, in everything that leads to the quantity; those first that few responses allow."""
        found, words = [], self.deviation.batch.mask.size
        left = possible(self.deviation, neighbours) if self.deviation.quantity in TENSORS else list(neighbours)
        self.tried += len(neighbours) - len(left)
        progress = self.watch(what, len(left) * words)
        for each in left:
            if not self.budget.allows(self.deviation):
                break
            self.tried += 1
            try:
                compared = tried(self.deviation, each)
            except MinibatchError:  # it reads what this file has not
                continue
            finally:
                progress(words)
            if compared.agrees:
                found.append(Explained(each.said, compared, each))
        return found

    def _still(self, found: Explained) -> Iterable[tuple[str, float]]:
        """Returns what else deviates with a cause: in the quantity alone, or in all that leads to it if less does then."""
        others = self.deviation.others
        if not others:
            return ()
        if found.neighbour is None:
            left = [each for each in others if not explained_by(self.deviation.about(each), found.said)]
            return [(each.name, each.largest) for each in left]
        alone = [(each.name, each.largest) for each in others]
        through = _left_by(self.deviation, found.neighbour)
        return alone if through is None or len(through) >= len(alone) else through


def _left_by(deviation: Deviation, neighbour: Neighbour) -> list[tuple[str, float]] | None:
    """Returns what deviates once everything is computed with the neighbour; None where that says nothing."""
    if neighbour.factor != 1:
        return None
    if neighbour.microbatch:
        return [] if parts_explain(deviation, neighbour) else None
    batch = neighbour.altered(deviation.batch) if neighbour.altered else deviation.batch
    try:
        found = replay(
            batch,
            laid_over(deviation.settings, neighbour.changes),
            unseen,
            deviation.tile_tokens,
            device=deviation.device,
        )
    except MinibatchError:
        return None
    compared = Judge(batch, found, deviation.judge.factor).compared()
    return [(name, each.largest) for name, each in compared.items() if not each.agrees]


def _agrees_as_it_is(deviation: Deviation) -> bool:
    """Tells whether the file's own rows lead to the quantity without any cause."""
    as_it_is = Neighbour("the preset as it is")
    if deviation.quantity in TENSORS:
        return tried(deviation, as_it_is).agrees
    return number_compared(deviation, number_as_it_is(deviation)).agrees


def _slips(deviation: Deviation) -> int:
    name = deviation.quantity.name
    return len(tables.TENSORS.get(name, ())) + len(tables.NUMBERS.get(name, ()))


def _singles(deviation: Deviation) -> Iterator[Neighbour]:
    known, responses = rlhf(), len(deviation.batch.slots)
    moves = deviation.moves if _stopped(deviation) else tuple(name for name in deviation.moves if name != THRESHOLD)
    yield from by_conventions(moves, deviation.settings, known)
    yield from _fitted(deviation)
    if not made_of_logged(deviation):
        yield from by_alignment(deviation.batch, deviation.reads)
    yield from by_microbatches(responses)
    if deviation.quantity not in TENSORS:
        yield from by_factors(responses)
    moving = deviation.moves if made_of_logged(deviation) else tuple(deviation.settings)
    yield from by_presets(deviation.settings, deviation.preset, known, moving)


def _stopped(deviation: Deviation) -> bool:
    """Tells whether a loss is 0, in the file or here: only then it matters from which mean ratio on losses do not count."""
    return deviation.compared.logged == 0 or deviation.local.whole["loss.keep"] == 0


def _fitted(deviation: Deviation) -> Iterator[Neighbour]:
    """Yields coefficients that were not tried yet; where rounding hides three digits, none for a single number."""
    if deviation.quantity not in TENSORS and deviation.judge.tolerance(deviation.quantity) > FINE_ENOUGH:
        return
    for each in fitted(deviation.local, deviation.quantity.name, deviation.compared.logged):
        tried_already = all(value in values_of(key, rlhf()) for key, value in each.changes.items())
        if not tried_already:
            yield each


def _pairs(deviation: Deviation) -> list[Neighbour]:
    """Returns conventions two at a time; of what is made of logged rows only those that change nothing before it."""
    singles = paired(deviation.moves, deviation.settings, rlhf())
    if made_of_logged(deviation):
        singles = [each for each in singles if can_be_alone(deviation, each)]
    both = (
        Neighbour(f"{one.said}, and {other.said}", {**one.changes, **other.changes}, rank=4)
        for one, other in combinations(singles, 2)
        if not set(one.changes) & set(other.changes)
    )
    return list(islice(both, PAIRS))
