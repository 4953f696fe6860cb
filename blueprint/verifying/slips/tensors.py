"""Causes of a tensor that deviates, tried in it alone: on a few responses first, then together, tile by tile."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from blueprint.dumps import Array, MinibatchError
from blueprint.verifying.compare import Compared, Rows, Tally
from blueprint.verifying.deviation import Deviation
from blueprint.verifying.neighbours import Neighbour
from blueprint.verifying.prefilter import apart, looked_at
from blueprint.verifying.settings import number_of
from blueprint.verifying.slips.own import Own
from blueprint.verifying.slips.slip import TensorSlip
from blueprint.verifying.tiled_passes import Work, one_thread
from blueprint.witness import advantages, rewards
from blueprint.witness.sums import Tiled
from blueprint.witness.tensors import with_end

WHITENED = {"advantages_used": "advantages", "rewards": "rewards.raw"}
"""By row that may be whitened, what it is before that."""


@dataclass
class Tried:
    """A slip, or a neighbour that changes no more than the whitening, and what it comes to so far."""

    slip: TensorSlip
    neighbour: Neighbour | None = None
    sums: Tiled = field(default_factory=Tiled)
    tally: Tally | None = None

    def row(self, own: Own, row: str) -> Tensor:
        """Returns what it makes of some responses as the row that was logged: whitened where the preset whitens."""
        here = own.under(self.neighbour.changes if self.neighbour else {}, self.sums)
        made = self.slip.made(here)
        if not self.slip.whitened or row not in WHITENED:
            return made
        if row == "rewards":
            return rewards.whitened_rows(here.texts.slots, here.rows | {"rewards.raw": made}, here.options)[row]
        rows = here.rows | {"advantages": with_end(made)}
        if self.slip.over is None:
            return advantages.whitened_rows(here.texts.slots, rows, here.options)[row]
        over = {"response": self.slip.over(here["response"], here.texts.slots)}
        found = advantages.whitened_rows(here.texts.slots, rows | over, here.options)
        return (made - found["advantage.mean"]) / found["advantage.divisor"]


def tried_alone(
    deviation: Deviation, slips: Sequence[TensorSlip], neighbours: Sequence[Neighbour]
) -> Iterator[tuple[Tried, Compared]]:
    """Yields the slips, and the neighbours that change no more than the whitening, with which the tensor agrees."""
    work, chosen = _work(deviation), looked_at(deviation)
    few = Own.of(work, deviation.local.whole, chosen)
    raw = WHITENED.get(deviation.compared.row, "")
    asked = [Tried(slip) for slip in slips] + [
        Tried(TensorSlip(each.said, lambda own: own[raw]), each) for each in neighbours
    ]
    left = [each for each in asked if not _ruled_out(deviation, few, each.slip, chosen)]
    if deviation.compared.row in WHITENED and left:
        for _, own in _tiles(work, deviation):
            for each in left:
                each.row(own, deviation.compared.row)
        for each in left:
            each.sums.settle(lambda name: True)
    yield from ((each, each.tally.found) for each in _agreeing(deviation, work, left) if each.tally)


def _work(deviation: Deviation) -> Work:
    """The file's own tensors before the deviating one; what rewards are whitened with is only found where they are."""
    work = Work(
        deviation.batch, deviation.settings, deviation.made_of, {}, deviation.tile_tokens, device=deviation.device
    )
    if number_of("reward.whiten", deviation.settings["reward.whiten"]):
        work.count()
    return work


def _ruled_out(deviation: Deviation, few: Own, slip: TensorSlip, chosen: Array) -> bool:
    try:
        made = slip.made(few)
    except MinibatchError:  # it reads what this file has not
        return True
    return apart(deviation, _as_array(made), chosen) > deviation.allowed


def _agreeing(deviation: Deviation, work: Work, left: list[Tried]) -> list[Tried]:
    """Goes through the tiles as long as anything agrees."""
    compared = deviation.compared
    for each in left:
        each.tally = Tally(deviation.batch, compared.name, compared.row, "", deviation.allowed, deviation.cells)
    for start, own in _tiles(work, deviation) if left else ():
        for each in left:
            rows: Rows = {compared.row: _as_array(each.row(own, compared.row)), "response": _as_array(own["response"])}
            if each.tally:
                each.tally.add(start, rows)
        left = [each for each in left if each.tally and each.tally.found.agrees]
        if not left:
            break
    return left


def _tiles(work: Work, deviation: Deviation) -> Iterator[tuple[int, Own]]:
    with one_thread():
        for rows in work.tiles:
            yield rows.start, Own.of(work, deviation.local.whole, rows)


def _as_array(values: Tensor) -> Array:
    found: Array = values[0].cpu().numpy()
    return found
