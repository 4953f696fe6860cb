"""One neighbouring convention at a time: does a quantity agree with it?"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from blueprint.dumps import Minibatch
from blueprint.verifying.compare import Compared, Rows, Tally, compare_number, compare_tiles
from blueprint.verifying.deviation import Deviation, as_given
from blueprint.verifying.judge import Judge
from blueprint.verifying.logged import TENSORS
from blueprint.verifying.neighbours import Neighbour
from blueprint.verifying.prefilter import cut
from blueprint.verifying.recompute import replay
from blueprint.verifying.settings import Setting, laid_over, number_of
from blueprint.verifying.tiled_passes import Work, unseen


def tried(deviation: Deviation, neighbour: Neighbour) -> Compared:
    """Compares the quantity with what the neighbour makes of it, a tensor only up to the first tile that deviates.

    Raises MinibatchError where the neighbour reads what the file has not.
    """
    if deviation.quantity in TENSORS:
        return _tensor(deviation, neighbour)
    logged = deviation.compared.logged
    assert logged is not None
    ours = neighbour.factor * _number(deviation, neighbour)
    return compare_number(
        deviation.compared.name, deviation.compared.row, "", (logged, ours), deviation.compared.allowed
    )


def _tensor(deviation: Deviation, neighbour: Neighbour) -> Compared:
    compared, allowed = deviation.compared, deviation.allowed
    tally = Tally(deviation.batch, compared.name, compared.row, "", allowed, deviation.cells)
    compare_tiles([tally], _tiles(deviation, neighbour), patient=False)
    return tally.found


def _parts(deviation: Deviation, neighbour: Neighbour) -> Iterator[tuple[int, Minibatch, dict[str, Setting]]]:
    """Yields the batch as the neighbour has it, or its microbatches, each with its first response."""
    batch = neighbour.altered(deviation.batch) if neighbour.altered else deviation.batch
    settings = laid_over(deviation.settings, neighbour.changes)
    size = len(batch.slots)
    height = neighbour.microbatch or size
    for start in range(0, size, height):
        yield start, batch if height == size else cut(batch, slice(start, start + height)), settings


def _tiles(deviation: Deviation, neighbour: Neighbour) -> Iterator[tuple[int, Rows]]:
    """Yields the rows as far as the advantages; what advantages are whitened with is only found where it is read."""
    for start, batch, settings in _parts(deviation, neighbour):
        work = Work(batch, settings, deviation.made_of, {}, deviation.tile_tokens, device=deviation.device)
        if deviation.quantity.whitened or number_of("reward.whiten", settings["reward.whiten"]):
            work.count()
        for rows in work.tiles:
            found = work.learnt_from(rows)
            yield start + rows.start, {name: row[0].cpu().numpy() for name, row in found.items() if row.dim() == 3}


def _number(deviation: Deviation, neighbour: Neighbour) -> float:
    """The number, or the mean of those of microbatches; only a factor asks for nothing to be computed."""
    row, found = deviation.compared.row, list[float]()
    if neighbour.factor != 1:
        return deviation.local.whole.get(f"computed.{row}", deviation.local.whole[row])
    for _, batch, settings in _parts(deviation, neighbour):
        tokens, device = deviation.tile_tokens, deviation.device
        whole = replay(batch, settings, unseen, tokens, deviation.made_of, deviation.numbers, device).whole
        found.append(whole.get(f"computed.{row}", whole[row]))
    return float(np.mean(found))


def parts_explain(deviation: Deviation, neighbour: Neighbour) -> bool:
    """Tells whether every number of the file is the mean of those of the microbatches, and its other tensors stand.

    Each is computed from the file's own tensors, so that it is only asked how losses became numbers.
    """
    judge, given = deviation.judge, as_given(deviation.given)
    own = Judge(deviation.batch, deviation.local, judge.factor).compared(meant=dict(deviation.given))
    if not all(
        own[each.name].agrees for each in judge.logged.tensors if each != deviation.quantity and each.name in own
    ):
        return False
    wholes = [
        replay(batch, settings, unseen, deviation.tile_tokens, given, {}, deviation.device).whole
        for _, batch, settings in _parts(deviation, neighbour)
    ]
    compared = (
        compare_number(each.name, row, "", (value, _mean(wholes, row)), judge.allowed_number(each, value))
        for each, value, _ in judge.logged.numbers
        for row in [each.rows[0][0]]
        if each.needs not in deviation.local.missing
    )
    return all(each.agrees for each in compared)


def _mean(wholes: Sequence[Mapping[str, float]], row: str) -> float:
    return float(np.mean([whole.get(f"computed.{row}", whole[row]) for whole in wholes]))
