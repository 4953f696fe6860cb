"""How far a policy is from the reference, estimated on the word that was written."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, exp, less, maximum, where
from blueprint.language.nodes import Arithmetic
from blueprint.workbooks.common.conventions import sources
from blueprint.workbooks.common.definitions.choices import Choices, Step, clamped, rows


class Drifting(NamedTuple):
    """Who drifts, and by which settings that is estimated.

    name, of: what the names of the blocks begin with, and their symbols end with. clamp: what the names of its clamps
    begin with.
    """

    name: str
    of: str
    whose: str
    estimator: str
    clamp: str

    @property
    def clamps(self) -> tuple[str, ...]:
        """The settings of its clamps."""
        return tuple(f"{self.clamp}_{end}" for end in ("in", "out", "of"))


OLD = Drifting("kl", "", "old policy", "kl_estimator", "reward.kl_clamp")
"""The policy that wrote, whose KL the reward pays."""
NEW = Drifting("kl_new", "_θ", "new policy", "loss.kl_estimator", "loss.kl_clamp")
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
    name, of, told = who.name, who.of, f"KL estimate, {who.whose}"
    n, t, at, estimator = use.n, use.t, (*use.lead, use.n, use.t), use.switch[who.estimator]
    held_in, clamps = not use.is_fixed(*who.clamps), use.switch[who.clamps[2]]
    free, held = _log_ratios(who, logp[n, t] - logp_ref[n, t], held_in, use)
    k1 = use.row(f"{name}.k1", f"k1{of}", f"{told}: the log-ratio", source=sources.KL_CLAMP)
    k2 = use.row(f"{name}.k2", f"k2{of}", f"{told}: half of k1²", unit="≥ 0", source=sources.KL)
    k3 = use.row(f"{name}.k3", f"k3{of}", f"{told}: exp(−k) − 1 + k", unit="≥ 0", source=sources.KL)
    used = use.row(f"{name}.used", f"KL{of}", f"{told}: the one in use", source=sources.KL_CLAMP)
    k1[at] = clamps.choose(all=held.cell, k3=free.cell)
    with_size = "abs" in estimator.words
    size = use.step(with_size, abs(k1[at]), f"{name}.abs", f"|k1|{of}", f"{told}: its size", source=sources.KL)
    k = held.cell if held_in else k1[at]
    k2[at] = k1[at] * k1[at] / 2
    k3[at] = exp(-k) - 1 + k
    each = {"k1": k1[at], "k2": k2[at], "k3": k3[at], "abs": size.cell}
    if exact is not None:
        each["full"] = exact[n, t]
    picked = estimator.choose(**{word: each[word] for word in estimator.words})
    chosen = use.step(held_in, picked, f"{name}.chosen", f"KL_est{of}", f"{told}: the chosen one", source=sources.KL)
    holds = _holds(who, use) if held_in else None
    cut, told = clamped(chosen.cell, use.used[who.clamps[1]]), f"{told}: clamped"
    clipped = use.step(held_in, cut, f"{name}.clamped", f"KL_cut{of}", told, source=sources.KL_CLAMP)
    used[at] = where(less(0, holds[use.lead]), clipped.cell, chosen.cell) if holds is not None else chosen.cell
    return Estimates(rows(free, held, k1, size, k2, k3, chosen, holds, clipped), k1, k2, k3, used)


def _log_ratios(who: Drifting, ratio: Arithmetic, held_in: bool, use: Choices) -> tuple[Step, Step]:
    """Makes the log-ratio, bare and clamped, where there are clamps."""
    name, of, told = who.name, who.of, f"{who.whose}: log-ratio to the reference"
    free = use.step(held_in, ratio, f"{name}.free", f"k_raw{of}", told, source=sources.KL)
    cut, told = clamped(free.cell, use.used[who.clamps[0]]), f"KL estimate, {who.whose}: clamped log-ratio"
    return free, use.step(held_in, cut, f"{name}.held", f"k{of}", told, source=sources.KL_CLAMP)


def _holds(who: Drifting, use: Choices) -> Block:
    """Tells whether the clamps hold the estimate in use."""
    holds = use.one(f"{who.name}.holds", f"cut{who.of}", f"{who.whose}: 1 if its KL is clamped", decimals=0)
    holds[use.lead] = maximum(use.switch[who.clamps[2]].says("all"), use.switch[who.estimator].says("k3"))
    return holds
