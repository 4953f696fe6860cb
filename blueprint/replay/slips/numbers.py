"""Causes of a deviating number, tried all together: one pass over the file in which each adds up what it would come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from blueprint.minibatch import MinibatchError
from blueprint.minibatch.batch import Array
from blueprint.replay.neighbours import Neighbour
from blueprint.replay.passes import one_thread
from blueprint.replay.question import Question
from blueprint.replay.settings import Setting, laid_over, number_of
from blueprint.replay.slips.adding import in_runs, joined, shares
from blueprint.replay.slips.own import Own
from blueprint.replay.slips.slip import Words, WordsSlip
from blueprint.replay.slips.tables import AS_THEY_ARE, MODES

Adds = Callable[[Own], Words]


class Sums:
    """What every response adds to a number by each of many causes, [B, 2]."""

    def __init__(self, question: Question, slips: Sequence[WordsSlip], neighbours: Sequence[Neighbour]) -> None:
        """Goes through the file once. `neighbours` are other values of conventions that change nothing before the number."""
        self.row, self.local = question.compared.row, question.local
        self.name = self.row if self.row in AS_THEY_ARE else question.quantity.name
        self.eps = number_of("loss.agg_eps", question.settings["loss.agg_eps"])
        asked: dict[str, tuple[Mapping[str, Setting], Adds]] = {"": (question.settings, AS_THEY_ARE[self.name])}
        for slip in slips:
            asked.setdefault(slip.said, (question.settings, slip.made))
        for each in neighbours:
            asked.setdefault(each.said, (laid_over(question.settings, each.changes), AS_THEY_ARE[self.name]))
        self.found = self._gone_through(asked)
        self.slips = tuple(dict.fromkeys(slip.said for slip in slips if slip.said in self.found))
        self.neighbours = tuple(each for each in neighbours if each.said in self.found)

    def number(self, said: str) -> float:
        """Returns the number by a cause."""
        return self._scale * joined(self.found[said], self.eps)

    def of_runs(self, size: int) -> float:
        """Returns the mean over runs of so many responses of each run's number."""
        return self._scale * in_runs(self.found[""], size, self.eps)

    @property
    def _scale(self) -> float:
        """What the number as it is comes to in the replay, over what is added up here: a coefficient, say, or a share."""
        whole, ours = self.local.whole, joined(self.found[""], self.eps)
        return whole.get(f"computed.{self.row}", whole[self.row]) / ours if ours else 1.0

    def _gone_through(self, asked: Mapping[str, tuple[Mapping[str, Setting], Adds]]) -> dict[str, Array]:
        work, whole = self.local.work, self.local.whole
        found: dict[str, list[Array]] = {said: [] for said in asked}
        with one_thread():
            for rows in work.tiles:
                own = Own.of(work, whole, rows)
                for said in tuple(found):
                    settings, adds = asked[said]
                    seq_eps = number_of("loss.seq_eps", settings["loss.seq_eps"])
                    here = own.under(settings) if settings is not work.settings else own
                    try:
                        found[said].append(shares(adds(here), self._mode(settings), whole["most"], seq_eps))
                    except MinibatchError:  # it reads what this file has not
                        del found[said]
        return {said: np.concatenate(each) for said, each in found.items()}

    def _mode(self, settings: Mapping[str, Setting]) -> str:
        said = str(settings[MODES.get(self.name, "loss.aggregation")])
        return str(settings["loss.aggregation"]) if said == "as-policy" else said
