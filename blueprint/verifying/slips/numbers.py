"""Causes of a deviating number, tried all together: one pass over the file in which each adds up what it would come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from blueprint.dumps import MinibatchError
from blueprint.dumps.batch import Array
from blueprint.verifying.neighbours import Neighbour
from blueprint.verifying.passes import one_thread
from blueprint.verifying.question import Question
from blueprint.verifying.settings import Setting, laid_over, number_of
from blueprint.verifying.slips.adding import in_runs, joined, shares
from blueprint.verifying.slips.own import Own
from blueprint.verifying.slips.slip import Words, WordsSlip
from blueprint.verifying.slips.tables import AS_THEY_ARE, MODES

Adds = Callable[[Own], Words]
Cause = WordsSlip | Neighbour | None
"""What a number may be by; none is the number as it is."""


class Sums:
    """What every response adds to a number by each of many causes, [B, 2]."""

    def __init__(self, question: Question, slips: Sequence[WordsSlip], neighbours: Sequence[Neighbour]) -> None:
        """Goes through the file once. `neighbours` are other values of conventions that change nothing before the number."""
        self.row, self.local = question.compared.row, question.local
        self.name = self.row if self.row in AS_THEY_ARE else question.quantity.name
        self.eps = number_of("loss.agg_eps", question.settings["loss.agg_eps"])
        as_it_is = AS_THEY_ARE[self.name]
        asked: dict[Cause, tuple[Mapping[str, Setting], Adds]] = {None: (question.settings, as_it_is)}
        asked |= {slip: (question.settings, slip.made) for slip in slips}
        asked |= {each: (laid_over(question.settings, each.changes), as_it_is) for each in neighbours}
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
