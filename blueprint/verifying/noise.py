"""How far two forwards of the same model may be apart: kernels differ by the shape of a batch, and with them the last digits.

docs/verify.md has the sources of the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from blueprint.dumps import Minibatch
from blueprint.verifying.gap import Gap
from blueprint.verifying.tolerances import HALF, held_in

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
