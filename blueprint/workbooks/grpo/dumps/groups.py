"""Which responses answer the same prompt: told by the file, by the place in the rollout, or by equal prompts."""

import zlib
from typing import NamedTuple

import numpy as np

from blueprint.dumps import Array, require
from blueprint.workbooks.grpo.dumps.step import TOLD

NO_GROUP = -1


class Groups(NamedTuple):
    """A number for each response, [B], the same for those to a prompt; and how that was told, in words."""

    numbers: Array | None
    by: str = ""


def groups_of(
    told: Array | tuple[str, ...] | None, index: Array | None, prompts: Array | None, count: int, each: int | None
) -> Groups:
    """Tells groups by the first of these that there is.

    told: what the file says, numbers or words. index: row of the whole rollout, in which the responses to a prompt stand side by
    side. prompts: tokens, [B, P]. count: responses. each: how many a prompt has.
    """
    if told is not None:
        require(len(told) == count, f"group: found {len(told)} entries, expected {count}, one for each response.")
        return Groups(_numbered(told), TOLD)
    if index is not None and each:
        return Groups(index // each, f"by row_index, {each} side by side")
    same = None if prompts is None else _of_prompts(prompts)
    if each and count % each == 0:
        blocks = np.arange(count) // each
        if same is None:
            return Groups(blocks, f"{each} rows side by side, as num_generations says")
        if (same.reshape(-1, each) == same[::each, None]).all():
            return Groups(blocks, f"{each} rows with the same prompt side by side")
    return Groups(same, "by equal prompts" if same is not None else "")


def _numbered(told: Array | tuple[str, ...]) -> Array:
    """Returns whole numbers for what the file says; words become numbers that are the same in every file."""
    if isinstance(told, np.ndarray) and told.dtype.kind in "iu":
        return told.astype(np.int64)
    return np.array([zlib.crc32(str(each).encode()) for each in told], np.int64)


def _of_prompts(prompts: Array) -> Array:
    """Returns a number for each prompt; pads stand in front or behind, and are the same for equal ones."""
    return np.array([zlib.crc32(np.ascontiguousarray(each, np.int64).tobytes()) for each in prompts], np.int64)
