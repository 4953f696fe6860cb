"""The front door: a line each for what notebooks need. What lies behind a door is imported when it is used.

>>> import blueprint as bp
>>> book = bp.build("default", preset="verl", set={"ppo.gamma": 0.95})
>>> print(book["advantages"].loc[1, 5].round(4))
0.8341
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.book import Book
from blueprint.workbooks.registry import blueprint_of

if TYPE_CHECKING:
    from blueprint.checking.checker import Outcome
    from blueprint.reopening import SavedBook
    from blueprint.verifying import StepVerdict, Verdict

AnyPath = str | PathLike[str]


def build(
    numbers: AnyPath | Mapping[str, Any] = "default",
    *,
    preset: str | None = None,
    set: Mapping[str, Any] | None = None,
    conventions: str | None = None,
    compare: str | None = None,
    gradients: bool = False,
) -> Book:
    """Computes RLHF PPO, or another workbook, from its numbers: a book that can be read, explained and saved.

    numbers: a built-in name (`blueprint list`), a path ending in .toml, or the same tables as dicts, with lists or arrays in
        them. set: other values by dotted key. preset, conventions, compare, gradients: as in `blueprint build`.
    Raises NumbersError for numbers that are none, in a sentence, and NoNumber where a computation ends.

    >>> import blueprint as bp
    >>> book = bp.build("default", set={"ppo.gamma": 0.95})
    >>> book["advantages"].shape
    (2, 8)
    >>> bp.build({"level": "weights", "sizes": {"max_new_tokens": 3}, "ppo": {"gamma": 0.9}})["advantages"].columns.name
    'position'
    """
    from blueprint.inputs import load

    given = {"preset": preset, "conventions": conventions, "compare": compare, "gradients": "on" if gradients else None}
    chosen = {key: value for key, value in given.items() if value is not None}
    return Book(blueprint_of(load(numbers, {**chosen, **(set or {})})))


def open(path: AnyPath) -> SavedBook:
    """Opens a saved workbook, edited or not: a book of what is typed in it. Raises ReadError for a file that is none of ours."""
    from blueprint.reopening import book_of

    return book_of(path)


def check(*paths: AnyPath, device: str = "auto", dtype: str = "float64") -> Outcome:
    """Holds saved workbooks against torch, cell by cell: `.frame` has a row for each quantity of each file.

    Raises ReadError for a file that cannot be read, WitnessError for a device, and ImportError without torch.
    """
    from blueprint.checking import Checked
    from blueprint.checking.checker import check as held_against_torch

    return held_against_torch([Checked(Path(path)) for path in paths], device, dtype)


def verify(
    *paths: AnyPath,
    preset: str | None = None,
    set: Mapping[str, Any] | None = None,
    tolerance: float = 1.0,
    device: str = "cpu",
) -> Verdict | StepVerdict:
    """Computes a minibatch of a real run again: `.first` is what went wrong first, `.causes` why, `.agrees` whether nothing did.

    paths: one file, or the files of one step, which are joined. A rollout of classic PPO is computed by its own conventions.
    preset: whose conventions, if the file does not say it. set: other values by key. tolerance: multiplies every tolerance.
    Raises MinibatchError for a file that cannot be read or not be computed with, and ImportError without torch.
    """
    from blueprint.dumps import read_dump
    from blueprint.verifying import VerifyOptions, verify_dumps, verify_one

    changes = tuple(f"{key}={value}" for key, value in (set or {}).items())
    options, dumps = VerifyOptions(preset, changes, tolerance, device), [read_dump(path) for path in paths]
    return verify_one(dumps[0], options).verdict if len(dumps) == 1 else verify_dumps(dumps, options)
