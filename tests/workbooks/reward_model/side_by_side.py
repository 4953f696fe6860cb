"""Reward models by the definitions, all recorded runs on one batch side by side: a member of an axis for each run."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.inputs import settings_in
from blueprint.language import Axis, Block, Values, compute, needs, typed
from blueprint.language.gradient import gradient
from blueprint.workbooks.common import Choices, Switch
from blueprint.workbooks.reward_model.backward import MOVED
from blueprint.workbooks.reward_model.definitions.axes import n, o, p, q, t
from blueprint.workbooks.reward_model.definitions.steps import LABELS
from blueprint.workbooks.reward_model.steps import Derived, derived
from tests.workbooks.dpo.recorded import Array
from tests.workbooks.reward_model.recorded import Batch, Run, pairs, rankings, runs

RECORDS = settings_in(Path(str(files("blueprint.workbooks.reward_model")))).settings
RUN = Axis("l", "run", start=1)
Numbers = dict[str, tuple[tuple[Axis, ...], object]]


def numbers_of(of: Batch) -> Numbers:
    """Returns what every run starts from, by name: along what it lies, and its numbers."""
    count, many = len(of.head), len(of.chosen)
    ranking = np.array(of.ranking)
    return {
        "count.responses": ((), count), "overflow.sheet": ((), 708.0), "shift": ((), 10.0), "scale": ((), 2.0),
        "head": ((n, t), of.head), "token.id": ((n, t), of.ids), "text.there": ((n, t), of.text),
        "token.is_end": ((n, t), (of.ids == 1) * of.text),
        "chosen.number": ((p,), 1.0 + np.array(of.chosen)), "rejected.number.column": ((o,), 1.0 + np.array(of.rejected)),
        "pair.margin": ((p,), of.margin), "pair.ranking": ((p,), ranking),
        "chosen.is": ((o, n), np.eye(count)[of.chosen]), "rejected.is": ((o, n), np.eye(count)[of.rejected]),
        "pair.same": ((o, p), np.eye(many)),
        "pair.of_ranking": ((q, p), np.array([ranking == at for at in range(1, 1 + many)], float)),
    }  # fmt: skip


class Beside:
    """All runs on one batch."""

    def __init__(self, ranked: bool):
        self.of, self.runs = rankings() if ranked else pairs(), list(runs(ranked))
        numbers = numbers_of(self.of)
        self.given = {name: typed(name, axes) for name, (axes, _) in numbers.items()}
        self.numbers: dict[Block, object] = {self.given[name]: each for name, (_, each) in numbers.items()}
        self.given["pair.counts"] = typed("pair.counts", (p,))
        self.steps = self._outlined()

    def _outlined(self) -> Derived:
        used: dict[str, Any] = {}
        switch: dict[str, Any] = {}
        for key, setting in RECORDS.items():
            asked = [run.conventions.get(key, setting.value) for run in self.runs]
            made = typed(key, (RUN,), key.replace(".", "_"), limit=setting.limit)
            self.numbers[made] = [setting.words.index(str(word)) for word in asked] if setting.words else asked
            used[key] = made[RUN]
            if setting.words:
                switch[key] = Switch(setting.words, made[RUN])
        return derived(self.given, Choices(used, switch, (RUN,), labels=LABELS.labels))

    def computed(self, wanted: Iterable[Block], counts: Array) -> Values:
        """Computes blocks and all that they are made of, with the pairs that count."""
        blocks = list(dict.fromkeys(each for made in wanted for each in _behind(made)))
        typed_ = {**self.numbers, self.given["pair.counts"]: counts}
        sizes = {
            RUN: len(self.runs),
            n: len(self.of.head),
            t: self.of.head.shape[1],
            p: len(self.of.chosen),
            q: len(self.of.chosen),
        }
        return compute(blocks, sizes, {block: typed_[block] for block in blocks if block.typed}, beyond=True)

    @cache  # noqa: B019
    def values(self, counts: tuple[float, ...]) -> Values:
        """Computes every row."""
        return self.computed(self.steps.rows.values(), np.array(counts))

    @cache  # noqa: B019
    def slopes(self, counts: tuple[float, ...]) -> Array:
        """The slope of each run's loss by the score after each token, [run, response, position]."""
        rows = self.steps.rows
        made = gradient(
            rows["total_loss"],
            [self.given["head"]],
            constant=[rows["softmax.held"]],
            along=(RUN,),
            declared=MOVED.declared(rows),
        )
        return np.asarray(self.computed(made.blocks, np.array(counts))[made[self.given["head"]]], float)

    def place(self, run: Run) -> int:
        """Returns which of them a run is."""
        return [(each.library, each.variant) for each in self.runs].index((run.library, run.variant))

    def row(self, name: str, run: Run) -> Any:
        """Returns a row of one run; of one that no convention moves, what holds for all."""
        block = self.steps.rows[name]
        values = self.values(tuple(run.counts))[block]
        return values[self.place(run)] if RUN in block.axes else values


@cache
def beside(ranked: bool) -> Beside:
    """Returns all runs of pairs, or of rankings."""
    return Beside(ranked)


def _behind(block: Block) -> tuple[Block, ...]:
    found = [block]
    for each in found:
        found += [need.read for need in needs(each) if all(need.read is not known for known in found)]
    return tuple(found)
