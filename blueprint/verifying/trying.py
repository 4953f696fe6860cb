"""Causes tried: on the deviating quantity alone, made again from the file's own rows before it, or in all that leads to it."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import torch

from blueprint.dumps import Array, Minibatch
from blueprint.verifying.compare import Compared, Rows, Tally, compare_number, compare_tiles
from blueprint.verifying.deviation import FEW, Deviation, as_given
from blueprint.verifying.file_inputs import cut
from blueprint.verifying.formulas import Options, Texts, ppo, rewards, totals
from blueprint.verifying.judge import Judge
from blueprint.verifying.logged import TENSORS
from blueprint.verifying.neighbours import Explained, Neighbour
from blueprint.verifying.settings import Settings
from blueprint.verifying.slips.slip import Own
from blueprint.verifying.slips.tables import NUMBERS
from blueprint.verifying.slips.trying import WHITENED, Sums, tried_alone
from blueprint.verifying.tiled_passes import one_thread, passes

WHITENING = ("advantage.ddof", "advantage.stats", "advantage.eps_form", "advantage.mean_eps", "advantage.ddof_eps",
             "whiten_eps")  # fmt: skip
"""Conventions of whitening, which move nothing before it."""

BEFORE = frozenset({"batch.response_mask", "loss.ratio_threshold"})
"""Conventions of a number that say which tokens there are, or that ask for the whole file first."""

JOINS = frozenset({"vf_coef", "ent_coef", "policy_kl_coef", "loss.joint", "loss.kl_coef", "reward.kl_in"})
"""Conventions of how parts become a total."""


AT_ONCE = 64
"""So many conventions are computed side by side at most, as files that have the same responses."""


def explained_alone(deviation: Deviation, neighbours: Sequence[Neighbour], slips: Sequence[Any]) -> list[Explained]:
    """Returns the slips and neighbours with which the quantity agrees; the neighbours are such as can be tried alone."""
    if deviation.quantity in TENSORS:
        return list(tried_alone(deviation, slips, neighbours))
    numbers = (
        Explained(said, deviation.with_number(ours), neighbour)
        for said, ours, neighbour in _numbers(deviation, neighbours, slips)
        if ours is not None
    )
    return [each for each in numbers if each.compared.agrees]


def can_be_alone(deviation: Deviation, neighbour: Neighbour) -> bool:
    """Tells whether a neighbour can be tried on the quantity alone: it changes nothing before it."""
    name, in_tensor = deviation.quantity.name, deviation.quantity in TENSORS
    if not neighbour.changes:
        of_runs = neighbour.microbatch > 0 and made_of_logged(deviation)
        return not in_tensor and (neighbour.factor != 1 or of_runs)
    if in_tensor:
        own = {*WHITENING, *(("whiten_advantages",) if name == "advantages" else ())}
        return deviation.compared.row in WHITENED and set(neighbour.changes) <= own
    own = {*deviation.quantity.moves, "clip_range", "loss.clip_range_high"} - BEFORE if name in NUMBERS else set()
    return set(neighbour.changes) <= (JOINS if name == "total_loss" else own)


def made_of_logged(deviation: Deviation) -> bool:
    """Tells whether a number is made of inputs and logged rows alone, and slips stand for what may be wrong with those."""
    return deviation.quantity.name in NUMBERS and set(deviation.quantity.after) <= deviation.known


def _numbers(
    deviation: Deviation, neighbours: Sequence[Neighbour], slips: Sequence[Any]
) -> Iterator[tuple[str, float | None, Neighbour | None]]:
    """Yields what the number comes to by every slip and neighbour, None where that reads what the file has not."""
    local, name = deviation.local, deviation.quantity.name
    ours, changes = local.number(deviation.compared.row), [each for each in neighbours if each.changes]
    yield from ((each.said, each.factor * ours, each) for each in neighbours if each.factor != 1)
    if name == "total_loss":
        yield from ((each.said, each.made(local.whole), None) for each in slips)
        yield from ((each.said, _total(deviation, each), each) for each in changes)
    elif name in NUMBERS:
        sums = Sums(deviation, slips, changes)
        yield from ((each.said, sums.number(each), None) for each in slips)
        yield from ((each.said, sums.number(each), each) for each in changes)
        yield from ((each.said, sums.of_runs(each.microbatch), each) for each in neighbours if each.microbatch)


def _total(deviation: Deviation, neighbour: Neighbour) -> float:
    """The total under other conventions, from parts as they are."""
    local = deviation.local
    own = Own.of(local.work, local.whole, slice(0, 1)).under(neighbour.changes)
    parts = ("policy_loss", "value_loss", "entropy", "policy_kl", "kl_loss")
    known = {name: own.texts.mask.new_full((1,), local.whole[name]) for name in parts}
    prices = rewards.price_rows(own.rows, own.options)
    return float(totals.total_rows(known | prices, own.options)[deviation.compared.row])


def tried(deviation: Deviation, neighbour: Neighbour) -> Compared:
    """Compares the quantity with what the neighbour makes of it, a tensor only up to the first tile that deviates.

    Raises MinibatchError where the neighbour reads what the file has not.
    """
    compared = deviation.compared
    if deviation.quantity in TENSORS:
        tally = Tally(deviation.batch, compared.name, compared.row, "", deviation.allowed, deviation.cells)
        compare_tiles([tally], _tiles(deviation, neighbour), patient=False)
        return tally.found
    given, numbers = deviation.made_of, deviation.numbers
    parts = (deviation.again(batch, settings, given, numbers) for _, batch, settings in _parts(deviation, neighbour))
    return deviation.with_number(float(np.mean([each.number(compared.row) for each in parts])))


def _parts(deviation: Deviation, neighbour: Neighbour) -> Iterator[tuple[int, Minibatch, Settings]]:
    """Yields the batch as the neighbour has it, or its microbatches, each with its first response."""
    batch, settings = neighbour.of(deviation.batch), neighbour.over(deviation.settings)
    size = len(batch.slots)
    height = neighbour.microbatch or size
    for start in range(0, size, height):
        yield start, batch if height == size else cut(batch, slice(start, start + height)), settings


def _tiles(deviation: Deviation, neighbour: Neighbour) -> Iterator[tuple[int, Rows]]:
    """Yields the rows as far as the advantages; what advantages are whitened with is only found where it is read."""
    for start, batch, settings in _parts(deviation, neighbour):
        work = deviation.work(batch, settings)
        if deviation.quantity.whitened or passes(settings) > 2:
            work.count()
        for rows in work.tiles:
            found = work.before_losses(rows)[2]
            yield start + rows.start, {name: row[0].cpu().numpy() for name, row in found.items() if row.dim() == 3}


def parts_explain(deviation: Deviation, neighbour: Neighbour) -> bool:
    """Tells whether every number of the file is the mean of those of the microbatches, and its other tensors stand.

    Each is computed from the file's own tensors, so that it is only asked how losses became numbers.
    """
    judge, local = deviation.judge, deviation.local
    own = Judge(deviation.batch, local, judge.factor).compared(meant=dict(deviation.given))
    others = [each.name for each in judge.tensors if each != deviation.quantity]
    if not all(own[name].agrees for name in others if name in own):
        return False
    given = as_given(deviation.given)
    replays = [deviation.again(batch, settings, given) for _, batch, settings in _parts(deviation, neighbour)]
    means = {each.name: float(np.mean([one.number(each.rows[0][0]) for one in replays])) for each, *_ in judge.numbers}
    return all(
        compare_number(each.name, "", "", (logged, means[each.name]), judge.allowed_number(each, logged)).agrees
        for each, logged, _ in judge.numbers
        if each.needs not in local.missing
    )


def possible(deviation: Deviation, neighbours: Sequence[Neighbour]) -> list[Neighbour]:
    """Returns the neighbours that a few responses do not rule out for a tensor, the first that deviates among them.

    Advantages are compared before whitening, which needs no statistics of the batch: whatever whitening did, the file's
    must then be a straight line of them. Rewards that are whitened, and microbatches, are not ruled out here.
    """
    rows = deviation.looked_at(FEW)
    few = cut(deviation.batch, rows)
    tested = [each for each in neighbours if not each.microbatch and passes(each.over(deviation.settings)) == 2]
    height = int(np.clip(deviation.local.work.tile_tokens // few.mask.size, 1, AT_ONCE))
    out = set[int]()
    for start in range(0, len(tested), height):
        some = tested[start : start + height]
        found = zip(some, _side_by_side(deviation, few, some), strict=True)
        out |= {id(each) for each, ours in found if deviation.apart(ours, rows) > deviation.allowed}
    return [each for each in neighbours if id(each) not in out]


def _side_by_side(deviation: Deviation, few: Minibatch, neighbours: Sequence[Neighbour]) -> list[Array]:
    """Returns the row that each neighbour makes of a few responses, before whitening."""
    works = [deviation.work(each.of(few), each.over(deviation.settings)) for each in neighbours]
    texts, options, given = zip(*(work.inputs(slice(0, len(few.slots))) for work in works), strict=True)
    with one_thread():
        found = ppo.signal(
            Texts(**{each.name: torch.cat([getattr(one, each.name) for one in texts]) for each in fields(Texts)}),
            Options({name: torch.cat([one.values[name] for one in options]) for name in options[0].values}),
            {name: torch.cat([one[name] for one in given]) for name in given[0]},
        )
    row = found["advantages" if deviation.quantity.whitened else deviation.compared.row].cpu().numpy()
    if deviation.quantity.name == "scores":
        row = row * np.nan_to_num(np.asarray(few.tensors["scores"], dtype=np.float64)).sum(axis=1, keepdims=True)
    return list(row)
