"""Causes of a deviating number, tried all together: one pass over the file in which each adds up what it would come to."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from blueprint.dumps import Array, MinibatchError
from blueprint.verifying.deviation import Deviation
from blueprint.verifying.neighbours import Neighbour
from blueprint.verifying.settings import Setting, laid_over, number_of
from blueprint.verifying.slips.own import Own
from blueprint.verifying.slips.slip import Words, WordsSlip
from blueprint.verifying.slips.tables import AS_THEY_ARE, MODES
from blueprint.verifying.tiled_passes import one_thread

Adds = Callable[[Own], Words]
Cause = WordsSlip | Neighbour | None
"""What a number may be by; none is the number as it is."""


class Sums:
    """What every response adds to a number by each of many causes, [B, 2]."""

    def __init__(self, deviation: Deviation, slips: Sequence[WordsSlip], neighbours: Sequence[Neighbour]) -> None:
        """Goes through the file once. `neighbours` are other values of conventions that change nothing before the number."""
        self.row, self.local = deviation.compared.row, deviation.local
        self.name = self.row if self.row in AS_THEY_ARE else deviation.quantity.name
        self.eps = number_of("loss.agg_eps", deviation.settings["loss.agg_eps"])
        as_it_is = AS_THEY_ARE[self.name]
        asked: dict[Cause, tuple[Mapping[str, Setting], Adds]] = {None: (deviation.settings, as_it_is)}
        asked |= {slip: (deviation.settings, slip.made) for slip in slips}
        asked |= {each: (laid_over(deviation.settings, each.changes), as_it_is) for each in neighbours}
        self.found = self._gone_through(asked)

    def number(self, cause: Cause) -> float | None:
        """Returns the number by a slip or a neighbour; None where that reads what the file has not."""
        return self._scale * self.added(cause) if cause in self.found else None

    def added(self, cause: Cause) -> float:
        """Returns what the words of a cause add up to here."""
        return joined(self.found[cause], self.eps)

    def of_runs(self, size: int) -> float:
        """Returns the mean over runs of so many responses of each run's number."""
        return self._scale * in_runs(self.found[None], size, self.eps)

    @property
    def _scale(self) -> float:
        """What the number as it is comes to in the replay, over what is added up here: a coefficient, say, or a share."""
        whole, ours = self.local.whole, self.added(None)
        return whole.get(f"computed.{self.row}", whole[self.row]) / ours if ours else 1.0

    def _gone_through(self, asked: Mapping[Cause, tuple[Mapping[str, Setting], Adds]]) -> dict[Cause, Array]:
        work, whole = self.local.work, self.local.whole
        found: dict[Cause, list[Array]] = {cause: [] for cause in asked}
        with one_thread():
            for rows in work.tiles:
                own = Own.of(work, whole, rows)
                for cause in tuple(found):
                    settings, adds = asked[cause]
                    seq_eps = number_of("loss.seq_eps", settings["loss.seq_eps"])
                    here = own.under(settings) if settings is not work.settings else own
                    try:
                        found[cause].append(shares(adds(here), self._mode(settings), whole["response.most"], seq_eps))
                    except MinibatchError:  # it reads what this file has not
                        del found[cause]
        return {cause: np.concatenate(each) for cause, each in found.items()}

    def _mode(self, settings: Mapping[str, Setting]) -> str:
        said = str(settings[MODES.get(self.name, "loss.aggregation")])
        return str(settings["loss.aggregation"]) if said == "as-policy" else said


def shares(words: Words, by: str, most: float, seq_eps: float) -> Array:
    """Returns for each response what its words add, and what that is divided by in the end, [N, 2].

    by: an aggregation, where the words do not say theirs. most: the largest number of slots. seq_eps: what is added to the
    number of words of a response.
    """
    counted = words.counted
    added, count = (counted * words.each).sum(dim=-1)[0].cpu().numpy(), counted.sum(dim=-1)[0].cpu().numpy()
    wrote = (count != 0).astype(np.float64)
    below = {
        "token-mean": count,
        "token-sum": np.zeros_like(count),
        "seq-mean-token-sum": wrote,
        "seq-mean-token-sum-norm": wrote * most,
        "seq-mean-token-mean": wrote,
    }
    way = words.by or by
    above = added / np.where(count == 0, 1.0, count + seq_eps) if way == "seq-mean-token-mean" else added
    return np.stack([above, below[way]], axis=1)


def joined(parts: Array, eps: float) -> float:
    """Returns the number of some responses: what they add over what it is divided by and eps, by 1 if that is nothing."""
    above, below = parts.sum(axis=0)
    return float(above / (below + eps if below else 1.0))


def in_runs(parts: Array, size: int, eps: float) -> float:
    """Returns the mean over runs of so many responses of the number of each."""
    return float(np.mean([joined(parts[start : start + size], eps) for start in range(0, len(parts), size)]))
