"""A copy of a workbook with nothing but its cells, as an embedded engine wants it, whichever program saved the file.

ironcalc 0.9 looks for a sheet's notes at one place only and cannot open a file in which openpyxl has put them elsewhere;
and it takes a blank cell that openpyxl has marked as a number (t="n" without a value) for a 0.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

_RELATION = re.compile(rb'<Relationship [^>]*?Type="[^"]*/(?:comments|vmlDrawing|drawing|threadedComment)"[^>]*?/>')
_ELEMENT = re.compile(rb"<(?:legacyDrawing|drawing)\b[^>]*?/>")
_BLANK = re.compile(rb'(<c r="[A-Z]+[0-9]+"(?: s="[0-9]+")?) t="n"( ?/>)')
_FORMULA = re.compile(
    rb"<(?:\w+:)?c\b[^>]*?\br\s*=\s*[\"'](?P<cell>[A-Z]+[0-9]+)[\"'][^>]*>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)"
    rb"\s*+(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*+</(?:\w+:)?v>)?\s*+</(?:\w+:)?c>"
)
"""A formula without a value, or with an empty one."""


def slimmed(path: Path, target: Path) -> Path:
    """Writes a copy without notes and charts, in which blank cells are blank, and returns its path."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        for part in source.infolist():
            content = source.read(part)
            if part.filename.startswith("xl/worksheets/"):
                content = (_RELATION if part.filename.endswith(".rels") else _ELEMENT).sub(b"", content)
                content = _BLANK.sub(rb"\1\2", content)
            copy.writestr(part.filename, content)
    return target


def without_values(path: Path) -> set[str]:
    """Returns the addresses, on whichever sheet, at which formulas were saved without a value, or with an empty word."""
    with zipfile.ZipFile(path) as source:
        sheets = [source.read(part) for part in source.namelist() if part.startswith("xl/worksheets/")]
    return {match["cell"].decode() for content in sheets for match in _FORMULA.finditer(content)}
