"""Changes single cells of a saved workbook as XML, so that everything else in the file stays as it was."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from tests.audit import sheet_parts


def change(source: Path, target: Path, sheet: str, edits: dict[str, tuple[str | None, float | str | None]]) -> None:
    """Writes a copy in which cells have another formula (None: no formula) and another shown value (None: none)."""
    with zipfile.ZipFile(source) as archive:
        part = sheet_parts(archive)[sheet]
        parts = [(info, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, content in parts:
            if info.filename == part:
                text = content.decode("utf-8")
                for cell, (formula, value) in edits.items():
                    text = _changed(text, cell, formula, value)
                content = text.encode("utf-8")
            archive.writestr(info, content)


def _changed(xml: str, cell: str, formula: str | None, value: float | str | None) -> str:
    pattern = re.compile(rf'<c r="{cell}"(?P<style> s="\d+")?(?P<type> t="\w+")?(?:/>|>.*?</c>)')
    match = pattern.search(xml)
    assert match, f"there is no cell {cell}"
    kind = ' t="str"' if isinstance(value, str) else ""
    written = "" if formula is None else f"<f>{formula.replace('&', '&amp;').replace('<', '&lt;')}</f>"
    shown = "" if value is None else f"<v>{value}</v>"
    return xml[: match.start()] + f'<c r="{cell}"{match["style"] or ""}{kind}>{written}{shown}</c>' + xml[match.end() :]
