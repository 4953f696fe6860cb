"""One neighbouring convention at a time: does a quantity agree with it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from blueprint.dumps import Minibatch
from blueprint.verifying.compare import Compared, Rows, Tally, compare_number, compare_tiles
from blueprint.verifying.judge import Judge
from blueprint.verifying.logged import TENSORS
from blueprint.verifying.neighbours import Neighbour
from blueprint.verifying.passes import Work, unseen
from blueprint.verifying.probe import cut
from blueprint.verifying.question import Question, as_given
from blueprint.verifying.recompute import replay
from blueprint.verifying.settings import Setting, laid_over, number_of


def tried(question: Question, neighbour: Neighbour) -> Compared:
    """Compares the quantity with what the neighbour makes of it, a tensor only up to the first tile that deviates.

    Raises MinibatchError where the neighbour reads what the file has not.
    """
    if question.quantity in TENSORS:
        return _tensor(question, neighbour)
    logged = question.compared.logged
    assert logged is not None
    ours = neighbour.factor * _number(question, neighbour)
    return compare_number(question.compared.name, question.compared.row, "", (logged, ours), question.compared.allowed)


def _tensor(question: Question, neighbour: Neighbour) -> Compared:
    compared, allowed = question.compared, question.allowed
    tally = Tally(question.batch, compared.name, compared.row, "", allowed, question.cells)
    compare_tiles([tally], _tiles(question, neighbour), patient=False)
    return tally.found


def _parts(question: Question, neighbour: Neighbour) -> Iterator[tuple[int, Minibatch, dict[str, Setting]]]:
    """Yields the batch as the neighbour has it, or its microbatches, each with its first response."""
    batch = neighbour.altered(question.batch) if neighbour.altered else question.batch
    settings = laid_over(question.settings, neighbour.changes)
    size = len(batch.slots)
    height = neighbour.microbatch or size
    for start in range(0, size, height):
        yield start, batch if height == size else cut(batch, slice(start, start + height)), settings


def _tiles(question: Question, neighbour: Neighbour) -> Iterator[tuple[int, Rows]]:
    """Yields the rows as far as the advantages; what advantages are whitened with is only found where it is read."""
    for start, batch, settings in _parts(question, neighbour):
        work = Work(batch, settings, question.made_of, {}, question.tile_tokens, device=question.device)
        if question.quantity.whitened or number_of("reward.whiten", settings["reward.whiten"]):
            work.count()
        for rows in work.tiles:
            found = work.learnt_from(rows)
            yield start + rows.start, {name: row[0].cpu().numpy() for name, row in found.items() if row.dim() == 3}


def _number(question: Question, neighbour: Neighbour) -> float:
    """The number, or the mean of those of microbatches; only a factor asks for nothing to be computed."""
    row, found = question.compared.row, list[float]()
    if neighbour.factor != 1:
        return question.local.whole.get(f"computed.{row}", question.local.whole[row])
    for _, batch, settings in _parts(question, neighbour):
        tokens, device = question.tile_tokens, question.device
        whole = replay(batch, settings, unseen, tokens, question.made_of, question.numbers, device).whole
        found.append(whole.get(f"computed.{row}", whole[row]))
    return float(np.mean(found))


def parts_explain(question: Question, neighbour: Neighbour) -> bool:
    """Tells whether every number of the file is the mean of those of the microbatches, and its other tensors stand.

    Each is computed from the file's own tensors, so that it is only asked how losses became numbers.
    """
    judge, given = question.judge, as_given(question.given)
    own = Judge(question.batch, question.local, judge.factor).compared(meant=dict(question.given))
    if not all(
        own[each.name].agrees for each in judge.logged.tensors if each != question.quantity and each.name in own
    ):
        return False
    wholes = [
        replay(batch, settings, unseen, question.tile_tokens, given, {}, question.device).whole
        for _, batch, settings in _parts(question, neighbour)
    ]
    compared = (
        compare_number(each.name, row, "", (value, _mean(wholes, row)), judge.allowed_number(each, value))
        for each, value, _ in judge.logged.numbers
        for row in [each.rows[0][0]]
        if each.needs not in question.local.missing
    )
    return all(each.agrees for each in compared)


def _mean(wholes: Sequence[Mapping[str, float]], row: str) -> float:
    return float(np.mean([whole.get(f"computed.{row}", whole[row]) for whole in wholes]))
