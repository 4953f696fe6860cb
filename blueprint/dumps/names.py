"""The table of names: what each library calls a tensor or a logged result, `names.csv`, and a hyperparameter, its record.

A row is a neutral name, a column a library; `read at` tells the versions. In a cell stand names, separated by blanks; a
name with `?` yields to others that say the same, one with `!` goes before them. A tensor's name with `?` is a second meaning
of it: in TRL 0.11.4 `logprobs` are the old ones in `step`, and the new ones in `train_minibatch`, beside `old_logprobs`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from blueprint.inputs.setting import dotted
from blueprint.workbooks.common.conventions.data import LIVE

LIBRARIES = ("trl_0.11.4", "trl_1.12", "openrlhf", "verl", "nemo_rl")
"""The columns of the table; each is also the name of a preset."""

TENSOR, AID, UNUSED, SETTING, LOGGED, BEYOND = "tensor", "aid", "unused", "setting", "logged", "beyond"
"""Kinds of rows: what a minibatch keeps, what only helps to read it, what is known and not needed, metadata, and settings
that no convention expresses, with the logged numbers that they change."""


@dataclass(frozen=True, eq=False)
class Row:
    """A neutral name: its kind, its shape in words, what it is, and what its values are called ("kl" is "k1")."""

    kind: str
    name: str
    shape: str
    meaning: str
    words: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Alias:
    """What a library (None: anyone) calls a row. strength: 2 goes before others, 0 yields to others."""

    spelling: str
    row: Row
    library: str | None
    strength: int


@cache
def rows() -> tuple[Row, ...]:
    """Returns the rows of the table but for `read at`."""
    return tuple(row for row, _ in _read())


@cache
def aliases(*kinds: str) -> tuple[Alias, ...]:
    """Returns what the rows of some kinds are called: by their own name first, then column by column."""
    return tuple(alias for row, cells in _read() if row.kind in kinds for alias in _aliases(row, cells))


@cache
def second_meanings() -> Mapping[str, tuple[str, frozenset[str]]]:
    """Returns what tensors are called by a name that has another meaning first; and all names of that other meaning.

    The second one is meant where the file has one of those names too.
    """
    found = {}
    for second in (each for each in aliases(TENSOR) if each.strength == 0):
        beside = [each for each in aliases(TENSOR) if each.library == second.library and each.strength]
        first = next(each.row for each in beside if each.spelling == second.spelling)
        others = frozenset(each.spelling for each in beside if each.row is first) - {second.spelling}
        found[second.spelling] = (second.row.name, others)
    return found


@cache
def read_at() -> dict[str, str]:
    """Returns by library the version whose source the names are from."""
    return next({library: line[library] for library in LIBRARIES} for line in _lines() if line["kind"] == "read at")


@cache
def own_to(library: str) -> frozenset[str]:
    """Returns the names of tensors that only one library uses, TRL's two trainers told apart."""
    used: dict[str, set[str | None]] = {}
    for alias in aliases(TENSOR, AID, UNUSED):
        used.setdefault(alias.spelling, set()).add(alias.library)
    return frozenset(spelling for spelling, by in used.items() if by == {library})


def _aliases(row: Row, cells: Mapping[str | None, str]) -> list[Alias]:
    own = [Alias(row.name, row, None, 1)] if row.kind not in (UNUSED, BEYOND) else []
    listed = [(library, word) for library, cell in cells.items() for word in cell.split()]
    strengths = {"?": 0, "!": 2}
    return (
        own
        + [
            Alias(word.rstrip("?!"), row, library, strengths.get(word[-1], 1))
            for library, word in listed
            if word != row.name
        ]
        + [Alias(row.name, row, library, 1) for library, word in listed if word == row.name]
    )


@cache
def _read() -> tuple[tuple[Row, Mapping[str | None, str]], ...]:
    found = []
    for line in _lines():
        if line["kind"] != "read at":
            words = dict(pair.split("=", 1) for pair in line["words"].split())
            cells: dict[str | None, str] = {library: line[library] for library in LIBRARIES} | {None: line["also"]}
            found.append((Row(line["kind"], line["name"], line["shape"], line["meaning"], words), cells))
    return tuple(found)


@cache
def _lines() -> list[dict[str, str]]:
    """Reads the table, and after it what settings are called, of their records."""
    text = files("blueprint.dumps").joinpath("names.csv").read_text(encoding="utf-8")
    lines: list[dict[str, str]] = list(csv.DictReader(text.splitlines()))
    empty: dict[str, str] = dict.fromkeys(lines[0], "")
    settings = [(key, called) for key, setting in LIVE.items() for called in setting.called]
    return lines + [
        empty | {"kind": SETTING, "name": dotted(key), "words": called.get("values", ""), **called}
        for key, called in settings
    ]
