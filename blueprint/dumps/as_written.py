"""What the numbers of a file count as, by how they were written: tensors wider than they were computed, as jsonl writes all of
them; logged numbers with fewer digits, as trainers round them.
"""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import TypeVar

import numpy as np

from blueprint.dumps.batch import Dump
from blueprint.dumps.formats import Array

FEW, BITS = 4, 11
"""So many different numbers of a file that take more than so many bits, and no more than float32 has, tell that it was made of
float32: each by itself would come about by chance once in half a billion times."""
ENOUGH = 16
"""So many different numbers that are not whole tell that they are of half precision: a few round ones are so by chance."""
TELLING = ("logp", "entropy", "values", "advantages", "returns")
"""Parts of names of tensors whose numbers show what they were rounded to, also where they are short; scores are often round."""
FEWEST_DECIMALS, MOST_DIGITS = 2, 7
"""A number of so many decimals, and of no more digits than float32 has, may have been rounded when it was written."""
FEWEST_ROUNDED, MOST_DECIMALS = 3, 6
"""Where so many numbers of a step may have been, and none has more decimals than so many, all were: 0 and 0.5, too."""

D = TypeVar("D", bound=Dump)


def as_computed(dump: D) -> D:
    """Returns a dump whose tensors of float64 count as a coarser dtype where all of their numbers are of it, and enough of them
    tell so.

    So it is in every file of jsonl, which has no other dtype, and where a hook wrote `tolist()` or `astype(float)`.
    """
    wide = {
        name: _numbers(dump, name) for name, dtype in dump.dtypes.items() if dtype == "float64" and name in dump.tensors
    }
    found = dict[str, str]()
    single = {name: each for name, each in wide.items() if _is_exact(each, "float32")}
    if len(_different(each[np.ldexp(np.frexp(each)[0], BITS) % 1 != 0] for each in single.values())) >= FEW:
        found |= dict.fromkeys(single, "float32")
    for dtype in ("float16", "bfloat16"):
        half = {name: each for name, each in single.items() if _tells(name) and _is_exact(each, dtype)}
        if len(_different(each[each % 1 != 0] for each in half.values())) >= ENOUGH:
            found |= dict.fromkeys(half, dtype)
    return replace(dump, dtypes={**dump.dtypes, **found}) if found else dump


def _tells(name: str) -> bool:
    return any(part in name for part in TELLING)


def _numbers(dump: Dump, name: str) -> Array:
    """Returns the numbers of a tensor, inside the mask where it has the mask's shape."""
    array = np.asarray(dump.tensors[name], np.float64)
    inside = array[dump.mask.astype(bool)] if array.ndim > 1 and array.shape == dump.mask.shape else array
    return np.asarray(inside[np.isfinite(inside)])


def _different(numbers: Iterable[Array]) -> Array:
    return np.unique(np.concatenate([*numbers, np.empty(0)]))


def _is_exact(numbers: Array, dtype: str) -> bool:
    """Whether all numbers are ones of a dtype; numpy has no bfloat16, which is the upper half of a float32."""
    with np.errstate(over="ignore", under="ignore"):
        narrow = numbers.astype(np.float16 if dtype == "float16" else np.float32)
    short = dtype != "bfloat16" or not (narrow.view(np.uint32) & 0xFFFF).any()
    return bool(short and np.array_equal(narrow.astype(np.float64), numbers))


def written_with(value: float) -> int:
    """Returns the decimals of a number that may have been rounded when it was written, else 0.

    0, 1 and 0.5 may well be what they say; NaN has no digit.
    """
    decimals, digits = _counted(value)
    return decimals if value != 0 and decimals >= FEWEST_DECIMALS and digits <= MOST_DIGITS else 0


def decimals_of_all(values: Iterable[float]) -> int:
    """Returns to how many decimals all numbers that a step logged were rounded, as the longest of them has; 0: not all were."""
    rounded = set[float]()
    for value in values:
        decimals, digits = _counted(value)
        if decimals and digits > MOST_DIGITS:
            return 0
        rounded |= {value} if written_with(value) else set()
    most = max(map(written_with, rounded), default=0)
    return most if len(rounded) >= FEWEST_ROUNDED and most <= MOST_DECIMALS else 0


def _counted(value: float) -> tuple[int, int]:
    """Returns how many decimals, and how many digits, a number was written with; none of one that is not finite."""
    if not np.isfinite(value):
        return 0, 0
    digits = Decimal(repr(float(value))).normalize().as_tuple()
    return max(0, -int(digits.exponent)), len(digits.digits)
