"""Explained variance in the three forms that are in use."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Sum, less, maximum, where
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.choices import Choices


class Variance(NamedTuple):
    """Mean, the row less its mean, and the variance."""

    mean: Block
    centred: Block
    variance: Block


class Explained(NamedTuple):
    """How much of the returns' variance a critic foresaw, in steps."""

    words: Block
    free: Block
    of_returns: Variance
    residuals: tuple[Block, Block]
    of_residuals: tuple[Variance, Variance]
    mse: Block
    error: Block
    used: Block


def explained(M: Block, R: Block, V_old: Block, V_new: Block, floor: Block, use: Choices) -> Explained:
    """Asks how much of the returns' variance a critic foresaw: 1 − error / variance; 0 if the returns agree.

    M, R, V_old: rows; V_new: (n, t). floor: a smaller variance of returns is mere rounding.
    """
    L, row = use.lead, (*use.lead, n, t)
    N = use.one("ev.count")
    free = use.one("ev.free")
    N[L] = maximum(Sum((n, t), M[row]), 1)
    free[L] = maximum(N[L] - use.used["advantage.ddof"], 1)
    of_returns = _variance("returns", "R_ev", "returns", R, M, N, free, use)
    old = use.row("ev.residual_old")
    new = use.row("ev.residual_new")
    old[row] = M[row] * (R[row] - V_old[row])
    new[row] = M[row] * (R[row] - V_new[n, t])
    of_old, of_new = (
        _variance(f"residual_{name}", f"res_{name}", f"residuals, {name} critic", x, M, N, free, use)
        for name, x in (("old", old), ("new", new))
    )
    mse = use.one("ev.mse")
    mse[L] = Sum((n, t), new[row] * new[row]) / N[L]
    error = use.one("ev.error")
    forms = {"var_old": of_old.variance[L], "var_new": of_new.variance[L], "mse_new": mse[L]}
    error[L] = use.switch["metrics.explained"].choose(**forms)
    used = use.one("ev.used")
    share = error[L] / (of_returns.variance[L] + use.used["metrics.ev_eps"])
    used[L] = where(less(floor, of_returns.variance[L]), 1 - share, 0)
    return Explained(N, free, of_returns, (old, new), (of_old, of_new), mse, error, used)


def _variance(name: str, of: str, told: str, x: Block, M: Block, N: Block, free: Block, use: Choices) -> Variance:
    L, row = use.lead, (*use.lead, n, t)
    mean = use.one(f"ev.{name}_mean")
    centred = use.row(f"ev.{name}_centred")
    variance = use.one(f"ev.{name}_variance")
    mean[L] = Sum((n, t), M[row] * x[row]) / N[L]
    centred[row] = M[row] * (x[row] - mean[L])
    variance[L] = Sum((n, t), centred[row] * centred[row]) / free[L]
    return Variance(mean, centred, variance)
