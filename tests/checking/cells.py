"""Changes single cells of a saved workbook as XML, so that everything else in the file stays as it was."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from blueprint.page.parse_cell import ERRORS
from tests.audit import sheet_parts

Edits = Mapping[str, tuple[str | None, float | str | None]]
"""By address the formula of a cell (None: no formula) and the value that it shows (None: none)."""


def change(source: Path, target: Path, sheet: str, edits: Edits) -> None:
    """Writes a copy in which cells of a sheet have another formula and another shown value."""
    change_sheets(source, target, {sheet: edits})


def change_sheets(source: Path, target: Path, edits: Mapping[str, Edits]) -> None:
    """Writes a copy in which cells of several sheets are others; unpacked, since it is read once, and soon."""
    with zipfile.ZipFile(source) as archive:
        sheets = sheet_parts(archive)
        changes = {sheets[sheet]: cells for sheet, cells in edits.items()}
        parts = [(info.filename, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts:
            archive.writestr(name, _part(content, changes[name]) if name in changes else content)


def _part(content: bytes, edits: Edits) -> bytes:
    text = content.decode("utf-8")
    for cell, (formula, value) in edits.items():
        text = _changed(text, cell, formula, value)
    return text.encode("utf-8")


def _changed(xml: str, cell: str, formula: str | None, value: float | str | None) -> str:
    pattern = re.compile(rf'<c r="{cell}"(?P<style> s="\d+")?(?P<type> t="\w+")?(?:/>|>.*?</c>)')
    match = pattern.search(xml)
    assert match, f"there is no cell {cell}"
    written = "" if formula is None else f"<f>{escape(formula)}</f>"
    attributes = f'r="{cell}"{match["style"] or ""}{_kind(value)}'
    return f"{xml[: match.start()]}<c {attributes}>{written}{_shown(value)}</c>{xml[match.end() :]}"


def _kind(value: float | str | None) -> str:
    if isinstance(value, str):
        return ' t="e"' if value in ERRORS else ' t="str"'
    return ' t="b"' if isinstance(value, bool) else ""


def _shown(value: float | str | None) -> str:
    if value is None:
        return ""
    return f"<v>{escape(value) if isinstance(value, str) else value + 0}</v>"  # TRUE + 0 is 1
