"""Lets Gnumeric load workbooks, compute every formula anew, and save them again; and reads what it computed.

Its `ssconvert` keeps the numbers that a file holds unless it is told to recalculate (`RECALCULATE`), as LibreOffice does.
"""

from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from blueprint.page.engine import Cells, EngineMissing, Value, reading
from tests.audit import MAIN, shared_texts, sheet_parts

PROGRAM, RECALCULATE, WRITES = "ssconvert", ("--recalc",), "Gnumeric_Excel:xlsx2"
SECONDS = 120.0


def gnumeric() -> str | None:
    """Finds the program that opens and saves without a window, or returns None."""
    return shutil.which(PROGRAM)


def with_gnumeric(paths: Sequence[Path], options: Sequence[str] = RECALCULATE) -> list[Cells]:
    """Returns, for each workbook, the value of every formula cell as Gnumeric computes it; without options, as it opens it.

    Raises EngineMissing without Gnumeric, and RuntimeError if a path is no workbook or a result is missing.
    """
    program = gnumeric()
    if program is None:
        raise EngineMissing("Gnumeric is not installed; get it with `apt-get install gnumeric`: it brings `ssconvert`.")
    with TemporaryDirectory() as folder:
        return [_saved([program, *options], path, Path(folder) / f"{i}.xlsx") for i, path in enumerate(paths)]


def _saved(program: Sequence[str], path: Path, target: Path) -> Cells:
    """Has one workbook opened and saved: in one call for several, ssconvert would make one of them."""
    command = [*program, "-T", WRITES, str(path), str(target)]
    with reading(path):
        said = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS).stderr
    if not target.exists():
        raise RuntimeError(f"Gnumeric wrote no result for {path}; it said: {' '.join(said.split()) or 'nothing'}")
    with zipfile.ZipFile(target) as archive:
        texts = [*shared_texts(archive)]
        return {
            (sheet, cell.attrib["r"]): _value(cell.get("t"), cell.findtext(f"{MAIN}v"), texts)
            for sheet, part in sheet_parts(archive).items()
            for cell in ET.fromstring(archive.read(part)).iter(f"{MAIN}c")
            if cell.find(f"{MAIN}f") is not None
        }


def _value(kind: str | None, written: str | None, texts: Sequence[str]) -> Value:
    """Returns what a cell holds, by what the file says that it is; an error is its text."""
    match kind:
        case _ if written is None:
            return None
        case "s":
            return texts[int(written)]
        case "b":
            return written == "1"
        case "str" | "e":
            return written
    return float(written)
