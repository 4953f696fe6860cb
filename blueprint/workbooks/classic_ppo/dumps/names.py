"""The table of names of classic PPO, `names.csv`: what each library calls a tensor, a setting or a logged number.

A name with `-` in front is the number with its sign turned. `clip_vloss` of CleanRL is read in `said`: it decides what
`clip_coef` means for the values.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

LIBRARIES = ("cleanrl", "sb3", "torchrl")
TENSOR, SETTING, LOGGED = "tensor", "setting", "logged"
SPELLED = {"stable_baselines3": "sb3", "stablebaselines3": "sb3", "stable_baselines": "sb3"}
"""What people call a library, where it is not the name of its column."""


@dataclass(frozen=True)
class Row:
    """A neutral name: its kind, shape in words, meaning, what each library calls it (None: anyone), what values mean."""

    kind: str
    name: str
    shape: str
    meaning: str
    called: Mapping[str | None, tuple[str, ...]]
    words: Mapping[str, str]


@cache
def rows(kind: str) -> tuple[Row, ...]:
    """Returns the rows of a kind."""
    text = files("blueprint.workbooks.classic_ppo.dumps").joinpath("names.csv").read_text(encoding="utf-8")
    lines = (line for line in csv.DictReader(text.splitlines()) if line["kind"] == kind)
    return tuple(_row(line) for line in lines)


def _row(line: dict[str, str]) -> Row:
    called: dict[str | None, tuple[str, ...]] = {library: tuple(line[library].split()) for library in LIBRARIES}
    called[None] = tuple(line["also"].split())
    words = dict(pair.split("=", 1) for pair in line["words"].split())
    return Row(line["kind"], line["name"], line["shape"], line["meaning"], called, words)


def meant(kind: str, name: str, library: str | None) -> list[tuple[Row, float]]:
    """Returns the rows that a name may mean, each with 1, or −1 where its sign is turned.

    A neutral name means itself; else the file's library decides, and where none is known every library's names count.
    """
    table = rows(kind)
    if own := [(row, 1.0) for row in table if row.name == name and not _own_word(row, name, library)]:
        return own
    columns = [library, None] if library in LIBRARIES else [*LIBRARIES, None]
    found = {
        (row.name, sign): (row, sign)
        for row in table
        for column in columns
        for sign, spelled in ((1.0, name), (-1.0, f"-{name}"))
        if spelled in row.called[column]
    }
    return list(found.values())


def _own_word(row: Row, name: str, library: str | None) -> bool:
    """Whether a library uses a neutral name for something else."""
    return any(name in other.called.get(library, ()) for other in rows(row.kind) if other.name != row.name)


def library_of(said: str) -> str:
    """Returns a library's name as the presets have it: "Stable-Baselines3" is sb3."""
    plain = said.lower().replace("-", "_").replace(" ", "_")
    return SPELLED.get(plain, plain)
