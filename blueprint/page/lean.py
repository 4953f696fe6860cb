"""A copy of a workbook that an engine loads sooner: without the names of cells that no formula reads.

ironcalc looks up each name for each formula while it loads: a workbook with a thousand names takes half as long again with all
of them. What a formula comes to does not hang on names that it does not say.
"""

import re
import zipfile
from pathlib import Path

_NAME = re.compile(rb'<(?:\w+:)?definedName\b[^>]*?\bname="([^"]*)"[^>]*>([^<]*)</(?:\w+:)?definedName>')
_FORMULA = re.compile(rb"<(?:\w+:)?f\b[^>]*>([^<]*)<")
_WORD = re.compile(rb"[^\W\d][\w.\\]*", re.ASCII)
BOOK, SHEETS = "xl/workbook.xml", "xl/worksheets/"


def lean(path: Path, target: Path) -> Path:
    """Writes the copy, and returns its path."""
    with zipfile.ZipFile(path) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    said = {word.lower() for name, part in parts.items() if name.startswith(SHEETS) for word in _words(part)}
    # A name may be made of other names.
    said |= {word.lower() for match in _NAME.finditer(parts.get(BOOK, b"")) for word in _WORD.findall(match[2])}
    if BOOK in parts:
        parts[BOOK] = _NAME.sub(lambda match: match[0] if match[1].lower() in said else b"", parts[BOOK])
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as copy:
        for name, part in parts.items():
            copy.writestr(name, part)
    return target


def _words(part: bytes) -> set[bytes]:
    return {word for formula in set(_FORMULA.findall(part)) for word in _WORD.findall(formula)}
