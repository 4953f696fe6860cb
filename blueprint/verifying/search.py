"""Why a quantity deviates: causes are tried on it alone, then in all that leads to it, until one explains all of it."""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice

from blueprint.dumps import MinibatchError
from blueprint.verifying.compare import Compared
from blueprint.verifying.deviation import Deviation
from blueprint.verifying.fitted import fitted, permuted, whitened_elsewhere
from blueprint.verifying.judge import Judge
from blueprint.verifying.logged import TENSORS, reads
from blueprint.verifying.meanings import FINE
from blueprint.verifying.neighbours import (
    Explained,
    Neighbour,
    by_alignment,
    by_conventions,
    by_factors,
    by_microbatches,
    by_presets,
    values_of,
)
from blueprint.verifying.slips.tables import SLIPS
from blueprint.verifying.tiled_passes import Watch
from blueprint.verifying.trying import (
    can_be_alone,
    explained_alone,
    made_of_logged,
    parts_explain,
    possible,
    tried,
)
from blueprint.verifying.verdict import Causes, Match, ranked
from blueprint.workbooks.common.conventions.data import rlhf

TIMES = 4
"""Recomputations of the whole file that are spent on causes which ask for one each, at most …"""

FLOOR = 1 << 20
"""… or so many tokens, a second or two."""

PAIRS, PAIRS_TOKENS = 1200, 1 << 24
"""So many pairs of conventions are tried at most, and only as long as that goes through no more tokens than this."""

FINE_ENOUGH = 1e-3
"""A tolerance below which a coefficient of three digits tells something."""

NEGLIGIBLE = 1e-3
"""A share of what is allowed as small as rounding of float64 makes a difference."""

THRESHOLD = "loss.ratio_threshold"


def causes_of(deviation: Deviation, watch: Watch) -> Causes:
    """Returns what explains a deviation altogether, the likeliest first: if some explain the rest of the file, too, only those.

    Empty where no single known cause does, and no pair of conventions; also where nothing asks for one, as the file's own
    rows lead to the quantity as it is: then every convention that changes nothing would match.
    """
    if _agrees_as_it_is(deviation):
        return Causes()
    search = Search(deviation, watch)
    found = search.singles() or search.otherwise() or search.pairs()
    return Causes(ranked(map(search.match, found), NEGLIGIBLE * deviation.compared.allowed), search.tried, search.known)


class Search:
    """Looks for causes, as long as there are tokens left that may be gone through."""

    def __init__(self, deviation: Deviation, watch: Watch) -> None:
        """Has tried nothing yet."""
        self.deviation, self.watch = deviation, watch
        self.tokens_left, self.tried, self.known = max(TIMES * deviation.cost, FLOOR), 0, 0

    def singles(self) -> list[Explained]:
        """Returns the single causes: slips and conventions in the quantity alone, then in all that leads to it."""
        every, slips = list(_singles(self.deviation)), SLIPS.get(self.deviation.quantity.name, ())
        self.known += len(every) + len(slips)
        return self._explained(every, slips, "trying neighbouring conventions", self.deviation.quantity in TENSORS)

    def pairs(self) -> list[Explained]:
        """Returns two conventions at a time, as far as that is cheap."""
        every = _pairs(self.deviation)
        self.known += len(every)
        return self._explained(every[: PAIRS_TOKENS // self.deviation.batch.mask.size], (), "trying pairs of them")

    def otherwise(self) -> list[Explained]:
        """Returns what rows in another order explain, or a larger batch."""
        found = list(permuted(self.deviation))
        line = None if found or self.deviation.compared.means else whitened_elsewhere(self.deviation)
        return [line] if line else found

    def match(self, found: Explained) -> Match:
        """Returns a cause with what else still deviates then."""
        of = found.neighbour or Neighbour("")
        return Match(found.said, found.compared.largest, self._still(found), of.rank, of.beyond, of.changes)

    def _explained(
        self, neighbours: Sequence[Neighbour], slips: Sequence[object], what: str, go_on: bool = False
    ) -> list[Explained]:
        """Tries causes in the quantity alone, and where none explains it, or it is to go on, the others in all before it."""
        alone = [each for each in neighbours if can_be_alone(self.deviation, each)]
        self.tried += len(slips) + len(alone)
        found = explained_alone(self.deviation, alone, slips)
        if found and not go_on:
            return found
        return found + self._through([each for each in neighbours if each not in alone], what)

    def _through(self, neighbours: Sequence[Neighbour], what: str) -> list[Explained]:
        """Tries neighbours one by one, in everything that leads to the quantity; those first that few responses allow."""
        found, tokens = [], self.deviation.batch.mask.size
        left = possible(self.deviation, neighbours) if self.deviation.quantity in TENSORS else neighbours
        self.tried += len(neighbours) - len(left)
        progress = self.watch(what, len(left) * tokens)
        for each in left:
            self.tokens_left -= self.deviation.cost
            if self.tokens_left < 0:
                break
            self.tried += 1
            try:
                compared = tried(self.deviation, each)
            except MinibatchError:  # it reads what this file has not
                continue
            finally:
                progress(tokens)
            if compared.agrees:
                found.append(Explained(each.said, compared, each))
        return found

    def _still(self, found: Explained) -> tuple[tuple[str, float], ...]:
        """Returns what else deviates with a cause: in the quantity alone, or in all that leads to it if less does then."""
        others = self.deviation.others
        if found.neighbour is None:
            same = {
                each.name: [slip for slip in SLIPS.get(each.name, ()) if slip.said == found.said] for each in others
            }
            others = tuple(
                each for each in others if not explained_alone(self.deviation.about(each), (), same[each.name])
            )
        elif others:
            others = min(others, _left_by(self.deviation, found.neighbour), key=len)
        return tuple((each.name, each.largest) for each in others)


def _left_by(deviation: Deviation, neighbour: Neighbour) -> tuple[Compared, ...]:
    """Returns what deviates once everything is computed with the neighbour; what does without it, where that says nothing."""
    if neighbour.factor != 1 or neighbour.microbatch:
        return () if neighbour.microbatch and parts_explain(deviation, neighbour) else deviation.others
    batch = neighbour.of(deviation.batch)
    try:
        found = deviation.again(batch, neighbour.over(deviation.settings))
    except MinibatchError:
        return deviation.others
    return tuple(each for each in Judge(batch, found, deviation.judge.factor).compared().values() if not each.agrees)


def _agrees_as_it_is(deviation: Deviation) -> bool:
    """Tells whether the file's own rows lead to the quantity without any cause."""
    if deviation.quantity in TENSORS:
        return tried(deviation, Neighbour("the preset as it is")).agrees
    return deviation.with_number(deviation.local.number(deviation.compared.row)).agrees


def _singles(deviation: Deviation) -> Iterator[Neighbour]:
    known, responses = rlhf(), len(deviation.batch.slots)
    # only where a loss is 0, in the file or here, it matters from which mean ratio on losses do not count
    stopped = deviation.compared.logged == 0 or deviation.local.whole["loss.keep"] == 0
    yield from by_conventions(
        (each for each in deviation.moves if stopped or each != THRESHOLD), deviation.settings, known
    )
    yield from _fitted(deviation)
    if not made_of_logged(deviation):
        yield from by_alignment(deviation.batch, reads(deviation.quantity.needs, deviation.known))
    yield from by_microbatches(responses)
    if deviation.quantity not in TENSORS:
        yield from by_factors(responses)
    moving = deviation.moves if made_of_logged(deviation) else tuple(deviation.settings)
    yield from by_presets(deviation.settings, deviation.preset, known, moving)


def _fitted(deviation: Deviation) -> Iterator[Neighbour]:
    """Yields coefficients that were not tried yet; where rounding hides three digits, none for a single number."""
    if deviation.quantity in TENSORS or deviation.judge.tolerance(deviation.quantity) <= FINE_ENOUGH:
        for each in fitted(deviation.local, deviation.quantity.name, deviation.compared.logged):
            if not all(value in values_of(key, rlhf()) for key, value in each.changes.items()):
                yield each


def _pairs(deviation: Deviation) -> list[Neighbour]:
    """Returns conventions two at a time; of what is made of logged rows only those that change nothing before it."""
    alone, coarse = made_of_logged(deviation), [name for name in deviation.moves if not name.endswith(FINE)]
    singles = by_conventions(coarse, deviation.settings, rlhf())
    pairs = combinations([each for each in singles if not alone or can_be_alone(deviation, each)], 2)
    apart = ((one, other) for one, other in pairs if not set(one.changes) & set(other.changes))
    return [
        Neighbour(f"{one.said}, and {other.said}", {**one.changes, **other.changes}, rank=4)
        for one, other in islice(apart, PAIRS)
    ]
