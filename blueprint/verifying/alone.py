"""Causes in the deviating quantity alone: it is made again from the file's own rows before it, and nothing else is."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from blueprint.verifying.compare import Compared, compare_number
from blueprint.verifying.deviation import Deviation
from blueprint.verifying.logged import TENSORS
from blueprint.verifying.neighbours import Neighbour
from blueprint.verifying.slips import Own, tables
from blueprint.verifying.slips.tables import TOTAL
from blueprint.verifying.slips.trying import WHITENED, Sums, tried_alone
from blueprint.witness import rewards, totals

WHITENING = ("advantage.ddof", "advantage.stats", "advantage.eps_form", "advantage.mean_eps", "advantage.ddof_eps",
             "whiten_eps")  # fmt: skip
"""Conventions of whitening, which move nothing before it."""

BEFORE = frozenset({"batch.response_mask", "loss.ratio_threshold"})
"""Conventions of a number that say which words there are, or that ask for the whole file first."""

JOINS = frozenset({"vf_coef", "ent_coef", "policy_kl_coef", "loss.joint", "loss.kl_coef", "reward.kl_in"})
"""Conventions of how parts become a total."""


@dataclass(frozen=True)
class Explained:
    """Something with which the quantity agrees; neighbour: what it is, if no slip."""

    said: str
    compared: Compared
    neighbour: Neighbour | None = None


Asked = Callable[[str], bool]
"""Tells by how a slip is said whether it is tried."""


def explained_alone(deviation: Deviation, neighbours: Sequence[Neighbour], slips: bool = True) -> list[Explained]:
    """Returns the slips, and those of the neighbours that can be tried so, with which the quantity agrees."""
    asked = [each for each in neighbours if can_be_alone(deviation, each)]
    return _explained(deviation, asked, lambda said: slips)


def explained_by(deviation: Deviation, said: str) -> bool:
    """Tells whether a slip that is said so explains the quantity, too."""
    return bool(_explained(deviation, (), lambda slip: slip == said))


def _explained(deviation: Deviation, neighbours: Sequence[Neighbour], asked: Asked) -> list[Explained]:
    if deviation.quantity in TENSORS:
        slips = [each for each in tables.TENSORS.get(deviation.quantity.name, ()) if asked(each.said)]
        found = tried_alone(deviation, slips, neighbours)
        return [Explained(each.slip.said, compared, each.neighbour) for each, compared in found]
    return [each for each in _numbers(deviation, neighbours, asked) if each.compared.agrees]


def can_be_alone(deviation: Deviation, neighbour: Neighbour) -> bool:
    """Tells whether a neighbour can be tried on the quantity alone: it changes nothing before it."""
    changes, name = set(neighbour.changes), deviation.quantity.name
    if neighbour.altered:
        return False
    if deviation.quantity in TENSORS:
        switch = {"whiten_advantages"} if name == "advantages" else set[str]()
        whitens = deviation.compared.row in WHITENED and not neighbour.microbatch
        return whitens and bool(changes) and changes <= {*WHITENING, *switch}
    if neighbour.factor != 1:
        return True
    if name == "total_loss":
        return bool(changes) and changes <= JOINS
    if neighbour.microbatch:
        return made_of_logged(deviation)
    own = {*deviation.quantity.moves, "clip_range", "loss.clip_range_high"} - BEFORE
    return name in tables.AS_THEY_ARE and bool(changes) and changes <= own


def made_of_logged(deviation: Deviation) -> bool:
    """Tells whether a number is made of inputs and logged rows alone, and slips stand for what may be wrong with those."""
    return deviation.quantity.name in tables.AS_THEY_ARE and set(deviation.quantity.after) <= _logged(deviation)


def _logged(deviation: Deviation) -> set[str]:
    return {name.partition(".")[0] for name in deviation.made_of} | set(deviation.numbers)


def _numbers(deviation: Deviation, neighbours: Sequence[Neighbour], asked: Asked) -> Iterator[Explained]:
    """Yields what the number comes to by every slip and neighbour."""
    ours, name = number_as_it_is(deviation), deviation.quantity.name
    for each in neighbours:
        if each.factor != 1:
            yield Explained(each.said, number_compared(deviation, each.factor * ours), each)
    if name == "total_loss":
        yield from _totals(deviation, neighbours, asked)
    elif name in tables.AS_THEY_ARE:
        yield from _added_up(deviation, neighbours, asked)


def _totals(deviation: Deviation, neighbours: Sequence[Neighbour], asked: Asked) -> Iterator[Explained]:
    for slip in TOTAL:
        if asked(slip.said):
            yield Explained(slip.said, number_compared(deviation, slip.made(deviation.local.whole)))
    for each in neighbours:
        if each.changes:
            yield Explained(each.said, number_compared(deviation, _total(deviation, each)), each)


def _added_up(deviation: Deviation, neighbours: Sequence[Neighbour], asked: Asked) -> Iterator[Explained]:
    slips = [each for each in tables.NUMBERS[deviation.quantity.name] if asked(each.said)]
    changes = [each for each in neighbours if each.changes]
    sums = Sums(deviation, slips, changes)
    numbers: list[tuple[str, float | None, Neighbour | None]]
    numbers = [(slip.said, sums.number(slip), None) for slip in slips]
    numbers += [(each.said, sums.number(each), each) for each in changes]
    numbers += [(each.said, sums.of_runs(each.microbatch), each) for each in neighbours if each.microbatch]
    for said, number, neighbour in numbers:
        if number is not None:
            yield Explained(said, number_compared(deviation, number), neighbour)


def number_as_it_is(deviation: Deviation) -> float:
    """Returns what the file's own rows make of the number."""
    row, whole = deviation.compared.row, deviation.local.whole
    return whole.get(f"computed.{row}", whole[row])


def number_compared(deviation: Deviation, ours: float) -> Compared:
    """Compares the logged number with another."""
    found = deviation.compared
    assert found.logged is not None
    return compare_number(found.name, found.row, "", (found.logged, ours), found.allowed)


def _total(deviation: Deviation, neighbour: Neighbour) -> float:
    """The total under other conventions, from parts as they are."""
    own = Own.of(deviation.local.work, deviation.local.whole, slice(0, 1)).under(neighbour.changes)
    parts = ("policy_loss", "value_loss", "entropy", "policy_kl", "kl_loss")
    known = {name: torch.tensor([deviation.local.whole[name]], dtype=torch.float64) for name in parts}
    known = {name: each.to(own.texts.mask.device) for name, each in known.items()}
    prices = rewards.price_rows(own.rows, own.options)
    return float(totals.total_rows(known | prices, own.options)[deviation.compared.row])
