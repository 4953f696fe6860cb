"""What is typed in a student's file: the numbers of the key, but for what the student's variant has otherwise."""

from collections.abc import Mapping
from math import isinf, isnan
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.classes.key import Key, KeyStudent
from blueprint.inputs import load, source_of
from blueprint.language import OFF_WORD, Array, Block
from blueprint.page.outline import Blueprint
from blueprint.workbooks.registry import blueprint_of


def base_of(key: Key) -> Blueprint:
    """Returns the blueprint of the key's numbers, from which every variant departs; it has no blanks. Raises NumbersError."""
    return blueprint_of(load(source_of(key.numbers, Path(f"{key.assignment}.toml"))))


def variant_of(base: Blueprint, student: KeyStudent) -> Blueprint:
    """Returns the blueprint of a student's variant."""
    return with_departures(base, student.typed)


def with_departures(base: Blueprint, typed: Mapping[str, Any]) -> Blueprint:
    """Returns a blueprint in which other things are typed, as `departures` says them. Raises NotationError."""
    blocks = {block.name: block for block in base.typed}
    return base.with_typed({name: _read(blocks.get(name), cells) for name, cells in typed.items()})


def departures(base: Blueprint, other: Blueprint) -> dict[str, Any]:
    """Returns what one blueprint types otherwise than another of the same blocks, as JSON has it, by the block's name."""
    named = {block.name: np.asarray(cells) for block, cells in other.typed.items()}
    return {
        block.name: _written(named[block.name].tolist())
        for block, cells in base.typed.items()
        if not _same(np.asarray(cells), named[block.name])
    }


def _same(one: Array, other: Array) -> bool:
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f" and other.dtype.kind == "f")


def _written(cells: Any) -> Any:
    """Returns cells as JSON has them: null for an empty one, off for a limit that limits nothing."""
    if isinstance(cells, list):
        return [_written(each) for each in cells]
    if isinstance(cells, float) and isnan(cells):
        return None
    return OFF_WORD if isinstance(cells, float) and isinf(cells) else cells


def _read(block: Block | None, cells: Any) -> Any:
    """Returns nested lists as cells."""
    if isinstance(cells, list):
        return [_read(block, each) for each in cells]
    if cells is None:
        return float("nan")
    return float("inf") if cells == OFF_WORD and block is not None and block.limit else cells
