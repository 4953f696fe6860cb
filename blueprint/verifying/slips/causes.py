"""All slips by quantity, and slips in the total; and how they and neighbouring conventions are tried in one quantity alone: of a
tensor tile by tile, of a number all in one pass over the file.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from torch import Tensor

from blueprint.dumps import Array, MinibatchError
from blueprint.verifying.compare import Rows, Tally
from blueprint.verifying.deviation import ROWS, Deviation, Explained, Neighbour
from blueprint.verifying.formulas import Tiled, rewards, with_end
from blueprint.verifying.settings import Setting, laid_over, number_of
from blueprint.verifying.slips import losses, returns
from blueprint.verifying.slips.slip import Number, Own, Slip, TensorSlip
from blueprint.verifying.tiled_passes import Work, one_thread, passes

TENSORS: Mapping[str, tuple[TensorSlip, ...]] = {
    "rewards": returns.REWARDS,
    "advantages": returns.ADVANTAGES,
    "returns": returns.RETURNS,
}

NUMBERS: Mapping[str, losses.Summed] = {
    **losses.METRICS,
    "policy_loss": losses.Summed(losses.policy_words, losses.POLICY),
    "value_loss": losses.Summed(losses.value_words, losses.VALUE, "value.aggregation"),
}

PARTS = {"value_loss": "the value loss", "entropy": "the entropy", "kl_loss": "the KL"}
TIMES: tuple[tuple[str, Callable[[float], float]], ...] = (
    ("{} with the wrong sign in the total", lambda coefficient: -2.0),
    ("{} left out of the total", lambda coefficient: -1.0),
    ("{} twice in the total", lambda coefficient: 1.0),
    ("half of {} in the total", lambda coefficient: -0.5),
    ("{} without its coefficient", lambda coefficient: 1 / coefficient - 1 if coefficient else -1.0),
    ("{} with its coefficient twice", lambda coefficient: coefficient - 1),
)
"""How often, given its coefficient, a part is added to the total that is right to make the one that was logged."""


def _more(part: str, times: Callable[[float], float], known: Mapping[str, float]) -> float:
    adds = known[f"adds.{part}"]
    return known["total_loss"] + times(abs(adds / known[part]) if known[part] else 0.0) * adds


TOTAL: tuple[Slip, ...] = (
    *(Slip(said.format(called), partial(_more, part, times)) for part, called in PARTS.items() for said, times in TIMES),
    Slip("the policy loss with the wrong sign in the total",
         lambda known: known["total_loss"] - 2 * known["policy_loss"]),
    Slip("the policy loss left out of the total", lambda known: known["total_loss"] - known["policy_loss"]),
)  # fmt: skip

SLIPS: Mapping[str, tuple[Slip, ...]] = {
    "total_loss": TOTAL,
    **TENSORS,
    **{name: each.slips for name, each in NUMBERS.items()},
}
"""By quantity, its slips."""


WHITENED = {"advantages_used": "advantages", "rewards": "rewards.raw"}
"""By row that may be whitened, what it is before that."""


@dataclass
class Tried:
    """A slip in a tensor, or a neighbour that changes no more than the whitening, and what it comes to so far."""

    slip: TensorSlip
    tally: Tally
    neighbour: Neighbour | None = None
    sums: Tiled = field(default_factory=Tiled)

    def row(self, own: Own, row: str) -> Tensor:
        """Returns what it makes of some responses as the row that was logged: whitened where the preset whitens."""
        here = own.under(self.neighbour.changes if self.neighbour else {}, self.sums)
        made = self.slip.made(here)
        if not self.slip.whitened or row not in WHITENED:
            return made
        if row == "rewards":
            return rewards.whitened_rewards(here.texts.slots, here.rows | {"rewards.raw": made}, here.options)[row]
        rows = here.rows | {"advantages": with_end(made)}
        if self.slip.over is None:
            return rewards.whitened_advantages(here.texts.slots, rows, here.options)[row]
        over = {"response": self.slip.over(here["response"], here.texts.slots)}
        found = rewards.whitened_advantages(here.texts.slots, rows | over, here.options)
        return (made - found["advantage.mean"]) / found["advantage.divisor"]


def tried_alone(
    deviation: Deviation, slips: Sequence[TensorSlip], neighbours: Sequence[Neighbour]
) -> Iterator[Explained]:
    """Yields the slips, and the neighbours that change no more than the whitening, with which the tensor agrees."""
    work, row = deviation.work(deviation.batch, deviation.settings), deviation.compared.row
    if passes(work.settings) > 2:  # what rewards are whitened with is only found where they are
        work.count()
    chosen = deviation.looked_at(ROWS)
    few = Own.of(work, deviation.local.whole, chosen)
    causes: list[tuple[TensorSlip, Neighbour | None]] = [(slip, None) for slip in slips]
    causes += [(TensorSlip(each.said, lambda own: own[WHITENED[row]]), each) for each in neighbours]
    left = [
        Tried(
            slip,
            Tally(deviation.batch, deviation.compared.name, row, "", deviation.allowed, deviation.cells),
            neighbour,
        )
        for slip, neighbour in causes
        if not _ruled_out(deviation, few, slip, chosen)
    ]
    if left and row in WHITENED:
        for _, own in _tiles(work, deviation):
            for each in left:
                each.row(own, row)
        for each in left:
            each.sums.settle(lambda name: True)
    for start, own in _tiles(work, deviation):
        for each in left:
            rows: Rows = {row: _as_array(each.row(own, row)), "response": _as_array(own["response"])}
            each.tally.add(start, rows)
        left = [each for each in left if each.tally.found.agrees]
        if not left:
            return
    yield from (Explained(each.slip.said, each.tally.found, each.neighbour) for each in left)


def _ruled_out(deviation: Deviation, few: Own, slip: TensorSlip, chosen: Array) -> bool:
    try:
        return deviation.apart(_as_array(slip.made(few)), chosen) > deviation.allowed
    except MinibatchError:  # it reads what this file has not
        return True


def _tiles(work: Work, deviation: Deviation) -> Iterator[tuple[int, Own]]:
    with one_thread():
        for rows in work.tiles:
            yield rows.start, Own.of(work, deviation.local.whole, rows)


def _as_array(values: Tensor) -> Array:
    return np.asarray(values[0].cpu().numpy())


Cause = Slip | Neighbour | None
"""What a number may be by; none is the number as it is."""


class Sums:
    """What every response adds to a number by each of many causes, [B, 2]."""

    def __init__(self, deviation: Deviation, slips: Sequence[Slip], neighbours: Sequence[Neighbour]) -> None:
        """Goes through the file once. `neighbours` are other values of conventions that change nothing before the number."""
        self.row, self.local, settings = deviation.compared.row, deviation.local, deviation.settings
        words, _, self.mode = NUMBERS[self.row if self.row in NUMBERS else deviation.quantity.name]
        self.eps = number_of("loss.agg_eps", settings["loss.agg_eps"])
        causes: dict[Cause, tuple[Mapping[str, Setting], Number]] = {None: (settings, words)}
        causes |= {slip: (settings, slip.made) for slip in slips}
        causes |= {each: (laid_over(settings, each.changes), words) for each in neighbours}
        found: dict[Cause, list[Array]] = {cause: [] for cause in causes}
        for _, own in _tiles(self.local.work, deviation):
            for cause in tuple(found):
                try:
                    found[cause].append(self._shares(own, *causes[cause]))
                except MinibatchError:  # it reads what this file has not
                    del found[cause]
        self.found = {cause: np.concatenate(each) for cause, each in found.items()}

    def number(self, cause: Cause) -> float | None:
        """Returns the number by a slip or a neighbour; None where that reads what the file has not."""
        return self._scale * self.added(cause) if cause in self.found else None

    def added(self, cause: Cause) -> float:
        """Returns what the words of a cause add up to here."""
        return self._joined(self.found[cause])

    def of_runs(self, size: int) -> float:
        """Returns the mean over runs of so many responses of each run's number."""
        parts = self.found[None]
        runs = [self._joined(parts[start : start + size]) for start in range(0, len(parts), size)]
        return self._scale * float(np.mean(runs))

    def _joined(self, parts: Array) -> float:
        """Returns the number of some responses: what they add over what it is divided by and eps, by 1 if that is nothing."""
        above, below = parts.sum(axis=0)
        return float(above / (below + self.eps if below else 1.0))

    @property
    def _scale(self) -> float:
        """What the number as it is comes to in the replay, over what is added up here: a coefficient, say, or a share."""
        ours = self.added(None)
        return self.local.number(self.row) / ours if ours else 1.0

    def _shares(self, own: Own, settings: Mapping[str, Setting], adds: Number) -> Array:
        """Returns for each response what its words add, and what that is divided by in the end, [N, 2]."""
        words = adds(own.under(settings) if settings is not own.settings else own)
        by = words.by or str(settings[self.mode])
        by = str(settings["loss.aggregation"]) if by == "as-policy" else by
        added, count = (_as_array(each.sum(dim=-1)) for each in (words.counted * words.each, words.counted))
        wrote = (count != 0).astype(np.float64)
        below = {
            "token-mean": count,
            "token-sum": np.zeros_like(count),
            "seq-mean-token-sum-norm": wrote * self.local.whole["response.most"],
        }
        if by == "seq-mean-token-mean":
            added = added / np.where(count == 0, 1.0, count + number_of("loss.seq_eps", settings["loss.seq_eps"]))
        return np.stack([added, below.get(by, wrote)], axis=1)
