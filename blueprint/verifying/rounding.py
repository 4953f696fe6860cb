"""How far rounding alone may move a logged number from the one computed again, by the dtype of what it was made of.

|a − b| ≤ tolerance · (1 + largest number of the row); what is further apart differs. The reasons, and what was measured, stand
in docs/verify.md.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType

import numpy as np
import torch

from blueprint.dumps import Minibatch, as_computed, written_with

TOLERANCES = MappingProxyType({"float64": 1e-9, "float32": 2e-5, "float16": 2**-9, "bfloat16": 2**-6})
"""By dtype of torch, from the finest to the coarsest."""

LARGEST = {"float64": np.inf, "float32": 3.4e38, "bfloat16": 3.4e38, "float16": 65504.0}
"""By dtype, beyond what a library that computes in it has no number."""

HALF = ("float16", "bfloat16")

LOOPED = ("advantages", "returns")
LOOPS = {"float64": 1e-12, "float32": 4e-6, "float16": 4e-6, "bfloat16": 4e-6}
SUMS = {"float64": 1e-13, "float32": 1e-6, "float16": 1e-6, "bfloat16": 1e-6}
"""What a library's own loops along a response, and its other sums, may be off, of the size of their terms: by what its file is
rounded to, as far as that tells what it computed with; sums of half-precision numbers are made in float32."""

SHARES = ("clip_fraction.used", "clip_fraction.dual", "clip_fraction.value")
"""Shares of tokens on which rounding decides whether a clip holds: one may be off by as many tokens."""


def held_in(batch: Minibatch) -> dict[str, str]:
    """Returns by tensor the dtype that its numbers have been rounded to, in torch's words; others than these are left out.

    A dtype narrower than float64 is taken at its word. Numbers of float64 count as what they were computed as: those of
    jsonl come as float64, and all of them may be float32 numbers.
    """
    dtypes = as_computed(batch).dtypes
    return {name: dtype for name, dtype in dtypes.items() if dtype in TOLERANCES and name in batch.tensors}


def coarsest(dtypes: Mapping[str, str], names: Collection[str]) -> str:
    """Returns the coarsest dtype of some tensors; whole numbers, and true and false, are exact."""
    order = list(TOLERANCES)
    return order[max((order.index(dtypes[name]) for name in names if dtypes.get(name) in TOLERANCES), default=0)]


def last_digit(value: float, decimals: int = 0) -> float:
    """Returns half a unit of the last digit of a number that was written with few, else 0.

    0.1235 may stand for anything between 0.12345 and 0.12355; 0, 1 and 0.5 may well be what they say. NaN has no digit.
    decimals: to how many all numbers of the step were rounded, if they were: 0 and 0.5, too.
    """
    decimals = written_with(value) or (decimals if np.isfinite(value) else 0)
    return 0.5 * 10.0**-decimals if decimals else 0.0


def half_unit(value: float, dtype: str) -> float:
    """Returns half a unit in the last place of a number in a dtype: so much rounding to it may have moved the number."""
    half = 2.0 ** (np.frexp(value)[1] - 2) * torch.finfo(getattr(torch, dtype)).eps
    return float(half) if value != 0 and np.isfinite(value) else 0.0


def stored(value: float, dtype: str) -> float:
    """Returns half a unit in the last place of a number that is exact in float16 or bfloat16, where its file has those."""
    exact = dtype in HALF and float(torch.tensor(value, dtype=getattr(torch, dtype))) == value
    return half_unit(value, dtype) if exact else 0.0
