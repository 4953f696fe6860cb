"""The loss of classic PPO: value loss in two norms, entropy, total. All rows (n, t)."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, Sum, block, is_off, less, maximum, minimum, where
from blueprint.workbooks.classic_ppo import sources
from blueprint.workbooks.classic_ppo.axes import n, t
from blueprint.workbooks.common.settings import Settings


class Distance(NamedTuple):
    """How far a value is from the return: the error, its size where the norm needs it, and the distance in the norm."""

    error: Block
    size: Block | None
    distance: Block

    def rows(self) -> tuple[Block, ...]:
        """Returns the rows that there are, in the order of computation."""
        return (self.error, self.distance) if self.size is None else (self.error, self.size, self.distance)


class ValueLoss(NamedTuple):
    """The distance of the new value, free and held near the old one, the larger of them, and the loss of the step."""

    free: Distance
    held: Block
    held_distance: Distance
    larger: Block
    loss: Block


class Total(NamedTuple):
    """The parts of the loss, what the weighted ones add, and the sum, which training makes smaller; no axes."""

    policy_loss: Block
    value_loss: Block
    entropy: Block
    adds_value: Block
    adds_entropy: Block
    total: Block

    def parts(self) -> tuple[Block, Block, Block]:
        """Returns the numbers that add up to the total."""
        return self.policy_loss, self.adds_value, self.adds_entropy


def value_loss(V_new: Block, V_old: Block, R: Block, norm: str, chosen: Settings) -> ValueLoss:
    """Measures how far the new value is from the return, free and held near the old value.

    norm: "l2" (the square) or "smooth_l1" (half the square up to 1, then the size less ½), fixed when a file is built.
    """
    reach = chosen.used["value_clip_range"]
    held = block("value.clipped", (n, t), "V_c", "V clipped to V_old ± ε_V")
    larger = block("value.larger", (n, t), "larger", "the larger of the two", unit="≥ 0")
    loss = block("value.step_loss", (n, t), "v_loss", "value loss of the step", unit="≥ 0", source=sources.VALUE)
    free = _distance("value.", "e", "value error V − R", V_new, R, norm)
    near = V_old[n, t] + maximum(-reach, minimum(reach, V_new[n, t] - V_old[n, t]))
    held[n, t] = where(is_off(reach), V_new[n, t], near)
    held_distance = _distance("value.clipped.", "e_c", "error of the clipped value", held, R, norm)
    larger[n, t] = maximum(free.distance[n, t], held_distance.distance[n, t])
    either = {"max": larger[n, t], "clipped_only": held_distance.distance[n, t]}
    loss[n, t] = chosen.used["value_factor"] * chosen.switch["value_combine"].choose(**either)
    return ValueLoss(free, held, held_distance, larger, loss)


def _distance(prefix: str, symbol: str, meaning: str, V: Block, R: Block, norm: str) -> Distance:
    error = block(f"{prefix}error", (n, t), symbol, meaning)
    error[n, t] = V[n, t] - R[n, t]
    if norm == "l2":
        square = block(f"{prefix}distance", (n, t), f"{symbol}²", "squared error", unit="≥ 0")
        square[n, t] = error[n, t] * error[n, t]
        return Distance(error, None, square)
    size = block(f"{prefix}size", (n, t), f"|{symbol}|", "size of the error", unit="≥ 0")
    told = "smooth L1: e²/2, beyond 1 |e| − ½"
    smooth = block(f"{prefix}distance", (n, t), f"s_{symbol}", told, unit="≥ 0", source=sources.SMOOTH)
    size[n, t] = abs(error[n, t])
    square_half, beyond = error[n, t] * error[n, t] / 2, (2 * size[n, t] - 1) / 2
    smooth[n, t] = where(less(size[n, t], 1), square_half, beyond)
    return Distance(error, size, smooth)


def mean(name: str, symbol: str, meaning: str, x: Block, N: Block, source: str = "") -> Block:
    """Averages a row over all N steps of the batch."""
    made = block(name, (), symbol, meaning, source=source)
    made[()] = Sum((n, t), x[n, t]) / N
    return made


def total(surrogate: Block, step_loss: Block, H: Block, N: Block, chosen: Settings) -> Total:
    """Adds the parts up. The surrogate and the entropy are to grow, so they enter with a minus."""
    c1, c2 = chosen.used["vf_coef"], chosen.used["ent_coef"]
    L = block("policy_loss", (), "L_policy", "policy loss: minus the mean of U_min", source=sources.CLIP)
    L[()] = -(Sum((n, t), surrogate[n, t]) / N)
    V = mean("value_loss", "L_value", "value loss: mean of v_loss", step_loss, N, sources.VALUE)
    H_mean = mean("entropy", "H_mean", "entropy: mean over all steps", H, N, sources.ENTROPY)
    value = block("adds.value_loss", (), "value_part", "value loss times vf_coef")
    bonus = block("adds.entropy", (), "entropy_part", "entropy bonus: −ent_coef times entropy")
    added = block("total_loss", (), "L", "total loss, which training makes smaller", source=sources.TOTAL)
    value[()] = c1 * V
    bonus[()] = -(c2 * H_mean)
    added[()] = L + c1 * V - c2 * H_mean
    return Total(L, V, H_mean, value, bonus, added)
