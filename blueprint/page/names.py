"""Defined names: what formulas and readers call a block. One per block."""

from __future__ import annotations

import re

from blueprint.language import Block

# What a spreadsheet takes for a cell (A1, LAM1), for a row or column (R, C, R1C1), or for a function of its own.
_CELL = re.compile(r"[A-Za-z]{1,3}\d+|[Rr]\d*|[Cc]\d*|[Rr]\d*[Cc]\d*")
_FUNCTIONS = {
    "gamma",
    "beta",
    "max",
    "min",
    "sum",
    "exp",
    "index",
    "match",
    "choose",
    "var",
    "mode",
    "rank",
    "rate",
    "true",
    "false",
}


def defined_name(block: Block) -> str:
    """Returns a block's defined name: its dotted name with low lines, and one more where it would mean something else.

    LibreOffice allows no dots in names; `gamma` is a function, so a block of that name becomes `gamma_`.
    """
    return range_name(block.name)


def range_name(dotted: str) -> str:
    """Returns what the range of a block of this name is called."""
    name = re.sub(r"\W", "_", dotted)
    if name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if _CELL.fullmatch(name) or name.lower() in _FUNCTIONS else name
