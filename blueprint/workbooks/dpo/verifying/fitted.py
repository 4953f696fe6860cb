"""Numbers that a file gives away: β by its rewards or its loss; ε, the weight of the NLL and the target margin by its loss."""

from collections.abc import Callable, Iterator
from functools import partial
from math import exp, isfinite, log

import numpy as np

from blueprint.verifying import Given, Settings
from blueprint.workbooks.dpo.dumps import PairStep
from blueprint.workbooks.dpo.verifying.recompute import recompute

DIGITS = 3
"""So many digits somebody may have typed."""
REACH = {"beta": (1e-4, 1e3), "loss.gamma": (1e-4, 1e3), "loss.label_smoothing": (1e-4, 0.499)}
"""Where a number is looked for."""
PLACES, HALVED = 15, 18
MOST_NLL = 100.0


def fitted(batch: PairStep, settings: Settings, name: str, given: Given) -> Iterator[tuple[str, float]]:
    """Yields settings with the numbers that make a quantity what the file logged, to three digits."""
    if "reward" in name or name == "margin":
        yield from _ratio(batch, settings, name, given)
        return
    if name not in batch.logged or not isfinite(batch.logged[name]):
        return

    def off(key: str, value: float) -> float:
        return recompute(batch, {**settings, key: value}, given=given).numbers[name] - batch.logged[name]

    none, one = off("loss.nll_coef", 0.0), off("loss.nll_coef", 1.0)
    if none != one and isfinite(none) and isfinite(one):
        yield from _typed("loss.nll_coef", none / (none - one), MOST_NLL)
    for key in REACH:
        yield from _root(key, partial(off, key))


def _ratio(batch: PairStep, settings: Settings, name: str, given: Given) -> Iterator[tuple[str, float]]:
    """Rewards are β times log-ratios, whatever is logged of them."""
    ours = recompute(batch, settings, given=given)
    if name in batch.tensors:
        theirs, mine = np.asarray(batch.tensors[name], np.float64), ours.rows[name]
        at = int(np.argmax(np.abs(mine)))
        share = float(theirs[at] / mine[at]) if mine[at] else np.nan
    else:
        share = batch.logged[name] / ours.numbers[name] if ours.numbers[name] else np.nan
    yield from _typed("beta", float(settings["beta"]) * share, REACH["beta"][1])


def _root(key: str, off: Callable[[float], float]) -> Iterator[tuple[str, float]]:
    """Halves intervals in which a difference changes its sign, on the scale of logarithms."""
    grid = np.geomspace(*REACH[key], PLACES)
    found = [off(float(each)) for each in grid]
    for low, high, one, other in zip(grid, grid[1:], found, found[1:], strict=False):
        if not (isfinite(one) and isfinite(other)) or one * other > 0:
            continue
        a, b, sign = log(float(low)), log(float(high)), np.sign(one)
        for _ in range(HALVED):
            middle = (a + b) / 2
            a, b = (middle, b) if np.sign(off(exp(middle))) == sign else (a, middle)
        yield from _typed(key, exp((a + b) / 2), REACH[key][1])


def _typed(key: str, value: float, most: float) -> Iterator[tuple[str, float]]:
    """Yields a number as it would be typed."""
    if isfinite(value) and 0 < value <= most:
        yield key, float(f"{value:.{DIGITS}g}")
