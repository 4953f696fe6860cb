"""Everything that a file of a step of GRPO logged compared with everything that was computed again, and how far apart it may be."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying import (
    SUMS,
    TOLERANCES,
    Compared,
    Quantity,
    coarsest,
    compare_number,
    distance,
    first_spot,
    held_in,
    last_digit,
)
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.replayed import Replayed

LOGPROBS = ("logprobs_old", "logprobs_new")
SIGNAL = ("scores", "advantages")


OF_ADVANTAGES = 2e-6
"""Sixteen units in the last place of float32: so far off a difference over a spread may be, besides what rewards are rounded to."""


KL = ("logprobs_new", "logprobs_ref")
LOSS = ("advantages", "ratio", "token_loss")
OF_ROWS = "a mean over responses"
ROWS = (
    Quantity("advantages", (), SIGNAL),
    Quantity("ratio", (), LOGPROBS),
    Quantity("token_loss", ("advantages", "ratio"), (*SIGNAL, *LOGPROBS), (
        ("token_loss.weighed", "with the weight of the rollout correction"), ("token_loss.all", "with that and the KL"))),
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
    Quantity("entropy", (), ("entropy",), (("entropy.mean", "a mean over all tokens"),)),
    Quantity(
        "total_loss", (*LOSS, "kl_new", "policy_loss", "kl_loss", "entropy"), (*SIGNAL, *KL, "logprobs_old", "entropy")
    ),
)
ALL = {each.name: each for each in (*ROWS, *NUMBERS)}


class Judge:
    """Compares what a file logged with what was computed again. factor: multiplies every tolerance."""

    def __init__(self, batch: GroupedStep, straight: Replayed, factor: float = 1.0) -> None:
        """Takes sizes from the straight recomputation, so that what is allowed does not depend on what is tried."""
        self.batch, self.straight, self.factor = batch, straight, factor
        self._dtypes = held_in(batch)

    def compared(self, found: Replayed, only: str = "") -> dict[str, Compared]:
        """Returns what each logged quantity comes to, in the order of derivation; of what may stand for it, the nearest.

        only: the one that is asked for; "": all.
        """
        tensors, logged = self.batch.tensors, self.batch.logged
        both = [
            _nearest([self._row(each, row, means, found) for row, means in each.rows if row in found.rows])
            for each in ROWS
            if each.name in tensors
            and self.batch.mask.any()
            and only in ("", each.name)
            and self._can(each, found)
            and each.name not in self.straight.started
        ]
        both += [
            _nearest([self._number(each, row, means, found) for row, means in each.rows if row in found.numbers])
            for each in NUMBERS
            if each.name in logged and only in ("", each.name) and self._can(each, found)
        ]
        return {each.name: each for each in both}

    @staticmethod
    def _can(quantity: Quantity, found: Replayed) -> bool:
        made = found.rows.keys() | found.numbers.keys()
        return quantity.name not in found.lacks and quantity.name in made

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        return self.batch.called.get(name, name)

    def uncompared(self) -> dict[str, str]:
        """Returns by what the file calls it what was logged and cannot be computed, and what that takes."""
        lacks, logged = self.straight.lacks, self.batch.tensors.keys() | self.batch.logged.keys()
        return {self.called(each): lacks[each] for each in ALL if each in logged and each in lacks}

    def tolerance(self, quantity: Quantity) -> float:
        """Returns the tolerance by the coarsest number format of a quantity and of what it is made of."""
        return self.factor * TOLERANCES[self._dtype(quantity)]

    def _dtype(self, quantity: Quantity) -> str:
        return coarsest(self._dtypes, (quantity.name, *quantity.made_of))

    def _row(self, quantity: Quantity, row: str, means: str, found: Replayed) -> Compared:
        """Compares a tensor of the file with a row; behind the response nothing counts, nor where rounding decides it."""
        mask, usual = self.batch.mask, self.straight.rows.get(row, found.rows[row])
        theirs = np.asarray(self.batch.tensors[quantity.name], np.float64)
        theirs = np.broadcast_to(theirs[:, None] if theirs.ndim == 1 else theirs, mask.shape)
        ours, base = found.rows[row], self.tolerance(quantity)
        if row == "advantages" and self._in_one_go():
            base = min(base, self.factor * OF_ADVANTAGES)
        room = self.straight.room.get(row, np.zeros((len(mask), 1)))
        scale = room * (1 + np.abs(usual)) if row != "advantages" else 1 + np.abs(usual)
        allowed = base * scale + (self.factor * room if row == "advantages" else 0)
        where = mask & np.broadcast_to(np.isfinite(allowed), mask.shape)
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
            extra=more, dtype=dtype, arithmetic=self.factor * SUMS[dtype] * (1 + size),
        )  # fmt: skip

    def _number(self, quantity: Quantity, row: str, means: str, found: Replayed) -> Compared:
        name, tolerance, logged = quantity.name, self.tolerance(quantity), self.batch.logged[quantity.name]
        size = self.straight.sizes.get(row, 1.0)
        extra = last_digit(logged) + (self._near_the_clip(tolerance) if name.startswith("clip.") else 0.0)
        allowed = tolerance * (size + abs(self.straight.numbers.get(row, 0.0))) + extra
        both = compare_number(name, row, means, (logged, found.numbers[row]), allowed)
        arithmetic = self.factor * SUMS[self._dtype(quantity)] * size
        return replace(both, size=size, extra=extra, dtype=self._dtype(quantity), arithmetic=arithmetic)

    def _in_one_go(self) -> bool:
        """Whether advantages are a few operations on rewards of float32, without a sum over tokens."""
        used = self.straight.settings
        plain = used["advantage.whiten"] != "tokens" and used["advantage.credit"] == "outcome"
        paid = used["kl.place"] in ("none", "loss") or not float(used["kl.coef"])
        return plain and paid and coarsest(self._dtypes, SIGNAL) == "float32"

    @property
    def rounding_rules(self) -> bool:
        """Whether rounding of the rewards may move some advantage by more than advantages are rounded to."""
        room, rows = self.straight.room.get("advantages"), self.straight.rows
        return room is not None and bool(
            room.max() > self.tolerance(ALL["advantages"]) * (1 + np.abs(rows["advantages"]).max())
        )

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


def _nearest(found: Sequence[Compared]) -> Compared:
    """Returns the first that agrees, else the usual one."""
    return next((each for each in found if each.agrees), found[0])


def given_of(batch: GroupedStep) -> dict[str, Array]:
    """Returns the results that a file has, to go on with in place of what was computed."""
    return {name: batch.tensors[name] for name in ("advantages",) if name in batch.tensors}
