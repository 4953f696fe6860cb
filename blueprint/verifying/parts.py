"""What a part of a step cannot tell alone: with which mean and deviation it was whitened.

What it can tell is compared all the same. Whitened numbers must lie on a straight line of those before whitening, in all files
of the step on the same one; what stands behind them must follow from the file's own.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying.compare import Compared
from blueprint.verifying.judge import Judge
from blueprint.verifying.larger_batch import Straight, straight
from blueprint.verifying.logged import ALL, PARTS, before
from blueprint.verifying.recompute import Replay

BEFORE_WHITENING = MappingProxyType(
    {"rewards": ("rewards.raw", "reward.whiten"), "advantages": ("advantages", "whiten_advantages")}
)
"""By tensor, the row that is whitened to it, and the convention that says so."""

TWO = 2
"""Numbers through which some straight line always goes."""

Lines = Mapping[str, Straight | None]
"""By tensor the line that it lies on; None where there are too few words to tell."""

NO_LINES: Lines = MappingProxyType({})


def beyond_it(judge: Judge, local: Replay, compared: Mapping[str, Compared], known: Lines = NO_LINES) -> Lines:
    """Returns the whitened tensors that deviate and of which all is explained by another batch's mean and deviation.

    local: the replay from the file's own rows. compared: each quantity beside what the inputs lead to. known: the lines that
    more files of the step lie on.
    """
    found: dict[str, Straight | None] = {}
    for name, (row, switch) in BEFORE_WHITENING.items():
        if name in compared and not compared[name].agrees and local.options[switch] != "off":
            raw, theirs = _both(judge, local, name, row)
            keeps_mean = name == "rewards" or local.options[switch] == "keep_mean"
            line = known.get(name) or straight(raw, theirs, keeps_mean, TWO + 1)
            few = len(raw) <= TWO and line is None
            if few or (line is not None and line.apart(raw, theirs) <= _allowed(judge, name, theirs, line)):
                found[name] = line
    return found


def shares_beyond(own: Mapping[str, Compared]) -> Lines:
    """Returns the losses that deviate and may all be one and the same share of means that the file does not know; else none.

    own: each quantity beside what the file's own rows before it lead to.
    """
    wrong = [each for name, each in own.items() if name in PARTS and not each.agrees]
    sure = max(
        wrong, key=lambda each: abs(each.recomputed or 0.0) / each.allowed if each.allowed else 0.0, default=None
    )
    if sure is None or not sure.recomputed or not sure.logged or not sure.logged / sure.recomputed > 0:
        return NO_LINES
    share = sure.logged / sure.recomputed
    same = (
        abs((each.logged or 0.0) - share * (each.recomputed or 0.0)) <= max(1.0, share) * each.allowed for each in wrong
    )
    return {each.name: None for each in wrong} if all(same) else NO_LINES


def _both(judge: Judge, local: Replay, name: str, row: str) -> tuple[Array, Array]:
    """Returns the numbers before whitening, and those of the file, where they are compared."""
    cells, theirs = judge.cells(name), np.asarray(judge.batch.tensors[name], dtype=np.float64)
    tiles = local.tiles((row, f"computed.{row}"))
    raw = [np.asarray(rows.get(f"computed.{row}", rows[row]))[:, : theirs.shape[1]] for _, rows in tiles]
    return np.concatenate(raw)[cells], theirs[cells]


def _allowed(judge: Judge, name: str, theirs: Array, line: Straight) -> float:
    """Returns what rounding allows of the logged numbers: rounding, too, was divided by the deviation."""
    return judge.tolerance(ALL[name]) * (1 + float(np.abs(theirs).max(initial=0.0))) * max(1.0, line.slope)


def from_there_on(
    compared: Mapping[str, Compared], own: Mapping[str, Compared], open_: Collection[str]
) -> dict[str, Compared]:
    """Returns what was compared; what is made of a tensor that is left open, with what the file's own rows lead to."""
    left = set(open_)
    return {
        name: replace(own[name], means=each.means) if name in own and left & set(before(name)) else each
        for name, each in compared.items()
    }
