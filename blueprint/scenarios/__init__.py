"""Scenarios: what goes wrong in training and what people stumble over, each as data, a TOML file of this folder.

A scenario is the numbers of a built-in workbook with a few of them changed (`numbers` and `[set]`), or a few lines in the notation
where no built-in workbook has such rows (`code`). Beside it stand other settings of the same numbers (`[[beside]]`), and the rows
by which they are told apart (`show`). The page of docs/scenarios is made of this file and of the numbers in the workbooks.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PREFIX = "scenario/"
"""What stands before its name where numbers are asked for: `blueprint build --numbers scenario/kl-spike`."""
GROUPS = {
    "failure": "Failure modes of a run",
    "case": "Cases",
    "confusion": "What people stumble over",
}
"""The groups of scenarios, in the order of a list, with their headings."""


@dataclass(frozen=True)
class Beside:
    """Other settings of the same numbers. name: what a column is called; set: by key what is changed in the built-in numbers."""

    name: str
    set: Mapping[str, Any]


@dataclass(frozen=True)
class Scenario:
    """A question that a workbook answers.

    Attributes:
        name: that of its file. group: a key of GROUPS. asks: the question. confusions: which of the twenty-eight it answers.
        numbers: the built-in numbers that it begins with, "" where `code` makes a workbook of its own, called `book` there.
        column: what the column of its own numbers is called. set: by key what it changes. beside: what it is held against.
        show: rows of the table, each `block` or `block@letter=number,letter=number`.
        begins, sees, why, do: the setting of the scene; what one sees, why, what to do about it. A field in braces is a cell:
            `{block@n=1,t=2}`, or `{usual: block}` of the column that is called so; two of them may be divided.
        threads: where people asked.
    """

    name: str
    group: str
    asks: str
    confusions: tuple[int, ...]
    begins: str
    sees: str
    why: str
    do: str
    show: tuple[str, ...]
    numbers: str = ""
    code: str = ""
    column: str = "here"
    set: Mapping[str, Any] = field(default_factory=dict)
    beside: tuple[Beside, ...] = ()
    threads: str = ""


@cache
def scenarios() -> dict[str, Scenario]:
    """Read every scenario, by its name, group by group."""
    found = [_read(path) for path in sorted(FOLDER.glob("*.toml"))]
    order = list(GROUPS)
    return {each.name: each for each in sorted(found, key=lambda each: (order.index(each.group), each.name))}


def _read(path: Path) -> Scenario:
    told = tomllib.loads(path.read_text(encoding="utf-8"))
    told |= {key: tuple(told.get(key, ())) for key in ("confusions", "show")}
    told["beside"] = tuple(Beside(each["name"], each["set"]) for each in told.get("beside", ()))
    return Scenario(path.stem, **told)
