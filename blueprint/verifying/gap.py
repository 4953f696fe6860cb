"""How far two tensors of a file are apart that should be the same before the first update, token by token, and how far they may be.

Two forwards of the same model differ: kernels do by the shape of a batch, and with them the last digits. docs/verify.md has the
sources of the numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from blueprint.dumps import Array, Minibatch
from blueprint.verifying.tolerances import HALF, held_in

QUIET = 1e-4
"""A token is quiet whose difference is at most this, times 1 + its size: as of a forward in float32 that was done twice."""

LARGEST = 1.0
"""A difference counts as at most this much, in nats or deviations of the values, so that one token does not stand for all."""

FEWEST_TOKENS, OUTLYING = 16, 8.0
"""Tokens of a row that is looked at alone, and how many times as far apart as the median of all rows it must be."""

TOKENS = 1 << 20
"""Of a larger batch, rows with so many tokens are looked at, spread over it."""


@dataclass(frozen=True)
class Gap:
    """Two tensors over some rows of a file, as [N, T].

    rows: [N], which rows of the batch these are. tokens: 1 where a token of the response stands. old, new: 0 elsewhere.
    unit: what differences are counted in: 1 for log-probs, the spread of the values for values.
    spread: how much the old numbers differ among themselves, in units.
    rounding: by how much being stored moves both, root mean square, in units.
    """

    name: str
    rows: Array
    tokens: Array
    old: Array
    new: Array
    unit: float
    spread: float
    rounding: float

    @property
    def apart(self) -> Array:
        """new − old, [N, T], in units; 0 outside the response."""
        return np.asarray((self.new - self.old) / self.unit)

    @property
    def loud(self) -> Array:
        """Where the two are further apart than two forwards in float32, [N, T]."""
        return np.asarray(np.abs(self.new - self.old) > QUIET * (1 + np.abs(self.old))) & self.tokens

    def size(self) -> float:
        """Returns the root mean square difference of the loud tokens, or of all where none is loud, in units."""
        loud = self.loud
        return rms(self.apart[loud if loud.any() else self.tokens])

    def of_rows(self) -> Array:
        """Returns the root mean square difference of each row, [N], in units; 0 of a row without tokens."""
        squares = np.where(self.tokens, np.clip(self.apart, -LARGEST, LARGEST) ** 2, 0.0)
        return np.asarray(np.sqrt(squares.sum(axis=1) / np.maximum(self.tokens.sum(axis=1), 1)))

    def has_a_row_off(self, most: float) -> bool:
        """Tells whether a row that is not short is further apart than noise ever is, and not just as noisy as the others."""
        sizes = self.of_rows()
        off = sizes > max(most, OUTLYING * float(np.median(sizes)))
        return bool((off & (self.tokens.sum(axis=1) >= FEWEST_TOKENS)).any())


def rms(apart: Array) -> float:
    """Returns the root mean square of differences, none of which counts as more than `LARGEST`."""
    return float(np.sqrt(np.mean(np.clip(apart, -LARGEST, LARGEST) ** 2))) if apart.size else 0.0


def gap(batch: Minibatch, old: str, new: str) -> Gap | None:
    """Returns how far apart two tensors are; None where one is missing, or no token stands anywhere."""
    if not {old, new} <= batch.tensors.keys() or not batch.mask.any():
        return None
    responses, slots = batch.mask.shape
    rows = np.unique(np.linspace(0, responses - 1, min(responses, max(1, TOKENS // slots))).astype(int))
    tokens = batch.mask[rows].astype(bool)
    one, two = (np.where(tokens, np.asarray(batch.tensors[name][rows], dtype=np.float64), 0.0) for name in (old, new))
    unit = 1.0
    if old.startswith("values"):  # a quarter of their size where they hardly differ: rounding goes by the size
        unit = max(float(np.std(one[tokens])), float(np.sqrt(np.mean(one[tokens] ** 2))) / 4) or 1.0
    dtypes = held_in(batch)
    moved = [_rounded(values[tokens], dtypes.get(name, "float64")) for name, values in ((old, one), (new, two))]
    return Gap(
        new, rows, tokens, one, two, unit, float(np.std(one[tokens])) / unit, float(np.hypot(moved[0], moved[1])) / unit
    )


def _rounded(values: Array, dtype: str) -> float:
    """Returns by how much half a unit in the last place moves numbers, root mean square; what is finer than half counts as 0."""
    if dtype not in HALF or not values.size:
        return 0.0
    units = 2.0 ** (np.frexp(values)[1] - 1) * (2.0**-7 if dtype == "bfloat16" else 2.0**-10)
    return float(np.sqrt(np.mean(units**2) / 12))


USUAL = MappingProxyType({"float64": 1e-6, "float32": 0.003, "float16": 0.03, "bfloat16": 0.06})
"""By dtype of the forward, how far the log-probs of two forwards usually are apart at most, root mean square, in nats."""

MOST = MappingProxyType({"float64": 1e-5, "float32": 0.03, "float16": 0.1, "bfloat16": 0.25})
"""How far they ever are: what is farther apart is no noise of a forward."""

USUAL_SHARE, MOST_SHARE = 0.05, 0.15
"""In half dtypes both are at most such a share of how much the log-probs differ among themselves: noise is a share of the logits,
and those of a tiny model are small. What float32 does is always allowed."""

COMPARED = ("logprobs_old", "logprobs_new", "values_old", "values_new")


def forward(batch: Minibatch, gaps: Mapping[str, Gap]) -> tuple[str, str]:
    """Returns in which dtype the models computed, and how that is known; bfloat16, as most libraries do, where nothing tells."""
    if batch.forward_dtype:
        return batch.forward_dtype, "as the file says"
    dtypes = held_in(batch)
    half = next((dtypes[name] for name in COMPARED if dtypes.get(name) in HALF), None)
    if half:
        return half, "as its numbers are rounded"
    values = gaps.get("values_new")
    if values is not None and not values.loud.any() and values.apart.any():
        return "float32", "as the values show"
    return "bfloat16", "unless forward_dtype says another one"


def limits(each: Gap, dtype: str) -> tuple[float, float]:
    """Returns how far the numbers of two forwards usually are apart at most, and how far they ever are."""
    usual, most = USUAL[dtype], MOST[dtype]
    if dtype in HALF:
        usual = max(USUAL["float32"], min(usual, USUAL_SHARE * each.spread))
        most = max(MOST["float32"], min(most, MOST_SHARE * each.spread))
    return float(np.hypot(usual, each.rounding)), float(np.hypot(max(usual, most), each.rounding))
