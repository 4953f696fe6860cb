"""How far a policy is from the reference, estimated on the word that was written."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Arithmetic, Block, exp, less, maximum, where
from blueprint.workbooks.common.definitions.choices import Choices, Step, clamped, rows


class Drifting(NamedTuple):
    """Who drifts, and by which settings that is estimated.

    name: what the names of the blocks begin with. clamp: what the names of its clamps begin with.
    """

    name: str
    estimator: str
    clamp: str

    @property
    def clamps(self) -> tuple[str, ...]:
        """The settings of its clamps."""
        return tuple(f"{self.clamp}_{end}" for end in ("in", "out", "of"))


OLD = Drifting("kl", "kl_estimator", "reward.kl_clamp")
"""The policy that wrote, whose KL the reward pays."""
NEW = Drifting("kl_new", "loss.kl_estimator", "loss.kl_clamp")
"""The policy in training, whose KL a loss pays."""


class Estimates(NamedTuple):
    """KL estimates on the sampled word, all rows: those on the way, in order, and the one in use.

    Where its clamps are fixed there is no bare and no clamped log-ratio: k1 is the log-ratio.
    """

    steps: tuple[Block, ...]
    k1: Block
    k2: Block
    k3: Block
    used: Block


def kl_estimates(who: Drifting, logp: Block, logp_ref: Block, exact: Block | None, use: Choices) -> Estimates:
    """Estimates how far a policy is from the reference; 0 outside the response, where both log-probs are 0.

    k3 is always made of the clamped log-ratio, the others are where the clamps are of all. logp, logp_ref, exact: (n, t);
    without an exact KL there is no word for it to choose.
    """
    name, n, t, at, estimator = who.name, use.n, use.t, (*use.lead, use.n, use.t), use.switch[who.estimator]
    held_in, clamps = not use.is_fixed(*who.clamps), use.switch[who.clamps[2]]
    free, held = _log_ratios(who, logp[n, t] - logp_ref[n, t], held_in, use)
    k1, k2, k3, used = use.rows(*(f"{name}.{step}" for step in ("k1", "k2", "k3", "used")))
    k1[at] = clamps.choose(all=held.cell, k3=free.cell)
    size = use.step("abs" in estimator.words, f"{name}.abs", abs(k1[at]))
    k = held.cell if held_in else k1[at]
    k2[at] = k1[at] * k1[at] / 2
    k3[at] = exp(-k) - 1 + k
    each = {"k1": k1[at], "k2": k2[at], "k3": k3[at], "abs": size.cell}
    if exact is not None:
        each["full"] = exact[n, t]
    picked = estimator.choose(**{word: each[word] for word in estimator.words})
    chosen = use.step(held_in, f"{name}.chosen", picked)
    holds = _holds(who, use) if held_in else None
    clipped = use.step(held_in, f"{name}.clamped", clamped(chosen.cell, use.used[who.clamps[1]]))
    used[at] = where(less(0, holds[use.lead]), clipped.cell, chosen.cell) if holds is not None else chosen.cell
    return Estimates(rows(free, held, k1, size, k2, k3, chosen, holds, clipped), k1, k2, k3, used)


def _log_ratios(who: Drifting, ratio: Arithmetic, held_in: bool, use: Choices) -> tuple[Step, Step]:
    """Makes the log-ratio, bare and clamped, where there are clamps."""
    free = use.step(held_in, f"{who.name}.free", ratio)
    return free, use.step(held_in, f"{who.name}.held", clamped(free.cell, use.used[who.clamps[0]]))


def _holds(who: Drifting, use: Choices) -> Block:
    """Tells whether the clamps hold the estimate in use."""
    holds = use.one(f"{who.name}.holds")
    holds[use.lead] = maximum(use.switch[who.clamps[2]].says("all"), use.switch[who.estimator].says("k3"))
    return holds
