"""Everything that a file of a step of GRPO logged compared with everything that was computed again, and how far apart it may be;
also where files hold a part of the batch over which advantages were whitened, or say only how many tokens count.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from blueprint.verifying import (
    OF_RESPONSES,
    SUMS,
    TOLERANCES,
    Again,
    Axes,
    Compared,
    Judge,
    Quantity,
    Settings,
    coarsest,
    compare_number,
    distance,
    first_spot,
    folded,
    held_in,
    last_digit,
    once_each,
)
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.feeding import wide

LOGPROBS = ("logprobs_old", "logprobs_new")
SIGNAL = ("scores", "advantages")


OF_ADVANTAGES = 2e-6
"""Sixteen units in the last place of float32: so far off a difference over a spread may be, besides what rewards are rounded to."""


KL = ("logprobs_new", "logprobs_ref")
OF_ONE = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""By dtype in which a library computes, the unit in the last place of 1."""
LOSS = ("advantages", "ratio", "token_loss")
OF_ROWS = "a mean over responses"
ROWS = (
    Quantity("advantages", (), SIGNAL),
    Quantity("ratio", (), LOGPROBS),
    Quantity("token_loss", ("advantages", "ratio"), (*SIGNAL, *LOGPROBS), (
        ("token_loss.weighed", "with the weight of the rollout correction"), ("token_loss.all", "with that and the KL"))),
    Quantity("rollout_weights", (), ("logprobs_old", "logprobs_rollout")),
    Quantity("kl_new", (), KL),
)  # fmt: skip
NUMBERS = (
    Quantity("mean.reward", (), ("scores",)),
    Quantity("mean.spread", (), ("scores",)),
    Quantity("group.share_same", (), ("scores",)),
    Quantity("mean.ratio", ("ratio",), LOGPROBS),
    Quantity("approx_kl", (), LOGPROBS),
    *(
        Quantity(f"clip.{name}", ("advantages", "ratio"), LOGPROBS, ((f"clip.{name}.rows", OF_ROWS),))
        for name in ("fraction_low", "fraction_high", "fraction")
    ),
    Quantity("kl.mean_new", ("kl_new",), KL),
    Quantity("policy_loss", LOSS, (*SIGNAL, *LOGPROBS)),
    Quantity("kl_loss", ("kl_new",), KL, (("adds.kl_loss", "times β"),)),
    Quantity(
        "entropy",
        (),
        ("entropy",),
        (("entropy.mean", "a mean over all tokens"), ("entropy.share", "its share of the mean over a larger batch")),
    ),
    Quantity(
        "total_loss", (*LOSS, "kl_new", "policy_loss", "kl_loss", "entropy"), (*SIGNAL, *KL, "logprobs_old", "entropy")
    ),
)
ALL = {each.name: each for each in (*ROWS, *NUMBERS)}


class StepJudge(Judge):
    """Compares what a file logged with what was computed again, token by token. factor: multiplies every tolerance."""

    def __init__(self, batch: GroupedStep, straight: Again, factor: float = 1.0) -> None:
        """Takes sizes from the straight recomputation, so that what is allowed does not depend on what is tried."""
        super().__init__(batch, straight, ALL, factor)
        self.batch, self._dtypes = batch, held_in(batch)

    def _each(self, quantity: Quantity, found: Again) -> Compared | None:
        there = quantity not in ROWS or self.batch.mask.any()
        return super()._each(quantity, found) if there else None

    def tolerance(self, quantity: Quantity) -> float:
        """Returns the tolerance by the coarsest number format of a quantity and of what it is made of."""
        return self.factor * TOLERANCES[self._dtype(quantity)]

    def _row(self, quantity: Quantity, row: str, means: str, found: Again) -> Compared:
        """Compares a tensor of the file with a row; behind the response nothing counts, nor where rounding decides it."""
        mask, usual = self.batch.mask, self.straight.rows.get(row, found.rows[row])
        theirs, ours = wide(self.batch.tensors[quantity.name], mask), found.rows[row]
        base = self.tolerance(quantity)
        if row == "advantages" and self._in_one_go():
            base = min(base, self.factor * OF_ADVANTAGES)
        room = self.straight.room.get(row, np.zeros((len(mask), 1)))
        larger = np.maximum(
            np.abs(usual), np.fmin(np.abs(theirs), np.abs(ours))
        )  # what is tried may be larger, as theirs is
        scale = room * (1 + larger) if row != "advantages" else 1 + larger
        grown = np.maximum(
            1.0, np.fmin(np.abs(theirs), np.abs(ours)) / (1 + np.abs(usual))
        )  # and so is what rounding does
        allowed = base * scale + (self.factor * room * grown if row == "advantages" else 0)
        where = mask & np.broadcast_to(np.isfinite(allowed), mask.shape)
        single = quantity.name in self.batch.of_responses
        where = once_each(where) if single else where
        apart = np.where(where, distance(np.where(where, theirs, 0.0), np.where(where, ours, 0.0)), 0.0)
        wrong = where & (~(apart <= allowed) | np.isinf(apart))
        spot = first_spot(self.batch, wrong, theirs, ours, range(len(wrong)))
        typical = float(np.median(allowed[where])) if allowed.shape == where.shape and where.any() else base
        shown = apart[wrong] if wrong.any() else apart * np.minimum(1, typical / np.where(allowed > 0, allowed, 1))
        size = float(np.abs(ours[where]).mean()) if where.any() else 0.0
        cells = int(where.sum()), int(wrong.sum()), float(shown.max(initial=0.0))
        dtype = self._dtype(quantity)
        more = max(typical - base * (1 + size), 0.0)  # of the median cell, more than rounding of the number itself
        return Compared(
            quantity.name, row, means, *cells, typical, spot, size=max(size, float(np.abs(ours).max(initial=0.0) > 0) * 1.0),
            extra=more, dtype=dtype, arithmetic=self.factor * SUMS[dtype] * (1 + size), axes=OF_RESPONSES if single else Axes(),
            ours=folded(ours[where]),
        )  # fmt: skip

    def _number(self, quantity: Quantity, row: str, means: str, found: Again) -> Compared:
        name, tolerance, logged = quantity.name, self.tolerance(quantity), self.batch.logged[quantity.name]
        size = self.straight.sizes.get(row, 1.0)
        extra = last_digit(logged, self.batch.decimals) + (
            self._near_the_clip(tolerance) if name.startswith("clip.") else 0.0
        )
        extra += self._of_k3(row)
        ours = float(self._in_range(row, np.asarray(logged), np.asarray(found.numbers[row]), self._dtype(quantity)))
        largest = max(abs(self.straight.numbers.get(row, 0.0)), float(np.fmin(abs(ours), abs(logged))))
        allowed = tolerance * (size + largest) + extra
        both = compare_number(name, row, means, (logged, ours), allowed)
        arithmetic = self.factor * SUMS[self._dtype(quantity)] * size
        return replace(both, size=size, extra=extra, dtype=self._dtype(quantity), arithmetic=arithmetic)

    def _of_k3(self, row: str) -> float:
        """Returns how far off e^−x − 1 + x may leave a number: of a tiny x little more than the rounding of 1 is left."""
        used = self.straight.settings
        coef = abs(float(used["kl.coef"])) if used["kl.place"] == "loss" else 0.0
        times = {"kl_loss": 1.0, "kl.mean_new": 1.0, "adds.kl_loss": coef, "total_loss": coef}.get(row, 0.0)
        one = OF_ONE[coarsest(self._dtypes, KL)]
        return self.factor * times * one if used["kl.estimator"] == "k3" else 0.0

    def _in_one_go(self) -> bool:
        """Whether advantages are a few operations on rewards of float32, without a sum over tokens."""
        used = self.straight.settings
        plain = used["advantage.whiten"] != "tokens" and used["advantage.credit"] == "outcome"
        paid = used["kl.place"] in ("none", "loss") or not float(used["kl.coef"])
        return plain and paid and coarsest(self._dtypes, SIGNAL) == "float32"

    @property
    def rounding_rules(self) -> bool:
        """Whether rounding of the rewards may move some advantage by more than advantages are rounded to, or are large: of
        rewards that are all equal, nothing but rounding is left."""
        room, rows = self.straight.room.get("advantages"), self.straight.rows
        if room is None:
            return False
        largest = float(np.abs(rows["advantages"]).max())
        return bool(room.max() > min(self.tolerance(ALL["advantages"]) * (1 + largest), largest))

    def _near_the_clip(self, tolerance: float) -> float:
        """Returns the share of tokens whose clip rounding decides, of the ratio or of an advantage that is all but 0; where a mean
        is over responses, they may weigh more."""
        ratio, mask = self.straight.rows.get("ratio"), self.batch.mask
        if ratio is None:
            return 0.0
        settings = self.straight.settings
        ends = 1 - float(settings["loss.clip_low"]), 1 + float(settings["loss.clip_high"])
        near = np.min([np.abs(ratio - end) for end in ends], axis=0) <= tolerance * (1 + ratio)
        if (A := self.straight.rows.get("advantages")) is not None:
            nothing = np.abs(A) <= self.factor * OF_ADVANTAGES + self.straight.room["advantages"]
            near |= nothing & ((ratio < ends[0]) | (ratio > ends[1]))
        near &= mask
        by_token = near.sum() / max(1, mask.sum())
        by_row = (near.sum(axis=1) / np.maximum(1, mask.sum(axis=1))).mean()
        return float(max(by_token, by_row))


FEWEST = 6
"""Different advantages below which a straight line through them proves nothing."""
OVER_BATCH = ("batch", "residual", "batch_of_advantages")


@dataclass(frozen=True)
class Straight:
    """Â = slope·A + constant, of advantages before the batch's mean and deviation."""

    slope: float
    constant: float

    def __str__(self) -> str:
        """Says mean and deviation of the larger batch."""
        return f"mean {-self.constant / self.slope:.6g} and deviation {1 / self.slope:.6g}"


def left_open(
    judge: StepJudge, straight: Mapping[str, Compared], settings: Settings, alone: bool
) -> dict[str, Straight]:
    """Returns advantages that only the mean and deviation of another batch explain, and what follows from them is not looked at.

    Only where those are asked for, and the file, alone, does not say that it is all of its step; a line that falls, or a batch
    that is too small to tell, leaves nothing open.
    """
    compared, batch = straight.get("advantages"), judge.batch
    one = batch.place and (batch.place.world_size, batch.place.minibatches, batch.place.microbatches) == (1, 1, 1)
    over = settings["advantage.whiten"] != "none" or settings["group.std"] in OVER_BATCH
    if compared is None or compared.agrees or not over or (alone and one):
        return {}
    raw = judge.straight.rows["advantages.raw"][batch.mask]
    logged = np.asarray(batch.tensors["advantages"], np.float64)[batch.mask]
    if len(np.unique(raw.round(9))) < FEWEST or not np.isfinite(logged).all():
        return {}
    line = np.stack([raw, np.ones_like(raw)], axis=1)
    (slope, constant), *_ = np.linalg.lstsq(line, logged, rcond=None)
    off = np.abs(line @ np.array([slope, constant]) - logged).max()
    room = judge.tolerance(ALL["advantages"]) * (1 + np.abs(logged).max())
    return {"advantages": Straight(float(slope), float(constant))} if slope > 0 and off <= room else {}
