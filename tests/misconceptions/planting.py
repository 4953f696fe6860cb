"""Plants a misconception of the list into a fresh blueprint: the row has the wrong equation, and all that reads it goes on."""

from __future__ import annotations

from blueprint.language import Definition
from blueprint.misconceptions import Rows
from blueprint.page.outline import Blueprint
from blueprint.workbooks.kind import Kind


def plant(name: str, row: str, outline: Blueprint, kind: Kind) -> None:
    """Gives a row the equation of a misconception. Raises LookupError where that is none of this workbook."""
    block = next((block for block in outline.blocks() if block.name == row), None)
    known = Rows.of(outline).rewritten(kind, block) if block is not None else ()
    wrong = next((each for each in known if each.name == name), None)
    if block is None or wrong is None:
        raise LookupError(f"{row} has no misconception {name}: {', '.join(each.name for each in known)}")
    block.definitions = [Definition(d.target, wrong.instead.get(d, d.expr)) for d in block.definitions]
