"""Dumps of pairs, chosen responses first, then rejected ones: how they stand in the blocks of definitions, and in parts."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from blueprint.dumps import Array
from blueprint.verifying.in_memory import Ways
from blueprint.verifying.stages import Selection


@lru_cache(maxsize=256)
def places(pairs: int) -> Mapping[str, Selection]:
    """Returns where responses and pairs stand in columns, by what definitions call it."""
    pair, other = np.arange(pairs), np.arange(pairs) + pairs
    both = np.concatenate([pair, pair])
    return {"chosen": Selection(pair, both), "rejected": Selection(other, both), "same": Selection(pair, pair)}


def parts_of(pairs: int, ways: Ways) -> list[Array]:
    """Returns the pairs of each part of a file where means are over so many parts; all where there are none."""
    size = -(-pairs // int(ways.get("parts", 1)))
    return [np.arange(start, min(start + size, pairs)) for start in range(0, pairs, size)]


def factor_of(ways: Ways, name: str) -> float:
    """Returns what a quantity is multiplied by."""
    return float(ways.get("factor", {}).get(name, 1.0))
