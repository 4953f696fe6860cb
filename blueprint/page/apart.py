"""Recalculates a workbook of somebody else: a copy with nothing but its cells, in a process of its own.

ironcalc 0.9 takes a formula apart by recursion, so that some kB of brackets overflow the stack and end the process without
a word; and a product over whole sheets computes for hours. It looks for a sheet's notes at one place only, and cannot open a
file in which openpyxl has put them elsewhere; and it takes a blank cell that openpyxl has marked as a number (t="n" without
a value) for a 0; where lxml is installed openpyxl writes such a cell in two tags. A workbook that we have just written
needs none of this.
"""

import json
import os
import re
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from blueprint.page.recalculate import Cells, with_ironcalc

SECONDS, SECONDS_ON_THE_CLOCK = 20, 200
"""What a file may cost: of the processor's time, and where that is not measured or the machine is busy, of ours."""
MEMORY = 1 << 30
"""Bytes that it may take, beyond those of Python itself."""
_COMMAND = ("-m", "blueprint.page.apart")
_STOPPED = f"the engine was stopped: its formulas are nested too deeply, or take more than {SECONDS} seconds or {MEMORY >> 30} GB"


_RELATION = re.compile(rb'<Relationship [^>]*?Type="[^"]*/(?:comments|vmlDrawing|drawing|threadedComment)"[^>]*?/>')
_ELEMENT = re.compile(rb"<(?:legacyDrawing|drawing)\b[^>]*?/>")
_BLANK = re.compile(rb'(<c r="[A-Z]+[0-9]+"(?: s="[0-9]+")?) t="n"( ?/>|></c>)')
_FORMULA = re.compile(
    rb"<(?:\w+:)?c\b[^>]*?\br\s*=\s*[\"'](?P<cell>[A-Z]+[0-9]+)[\"'][^>]*>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)"
    rb"\s*+(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*+</(?:\w+:)?v>)?\s*+</(?:\w+:)?c>"
)
"""A formula without a value, or with an empty one."""


def recalculated_apart(path: Path) -> Cells:
    """Returns the value of every formula of a file, as `with_ironcalc` does. Raises RuntimeError, also for a bound passed."""
    with TemporaryDirectory() as folder:
        result = Path(folder) / "cells.json"
        _run(str(path), str(result))
        try:
            found = json.loads(result.read_bytes())
        except (OSError, ValueError):
            raise RuntimeError(_STOPPED) from None
    if isinstance(found, str):
        raise RuntimeError(found)
    return {(sheet, cell): value for sheet, cell, value in found}


def _run(*arguments: str) -> None:
    """Runs this module to its end, whatever that is; `-P`: a folder that one is in holds modules of anybody."""
    package = str(Path(__file__).parents[2])
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))}
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-P", *_COMMAND, *arguments], env=os.environ | paths | {"OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=SECONDS_ON_THE_CLOCK, check=False,
        )  # fmt: skip


def _limit() -> None:
    """Bounds this process, where the system has such bounds."""
    try:
        import resource
    except ImportError:  # Windows
        return
    bounds = ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, _reserved() + MEMORY), (resource.RLIMIT_CORE, 0))
    for what, most in bounds:
        with suppress(ValueError, OSError):  # the user's own bound may be lower
            resource.setrlimit(what, (most, most))


def _reserved() -> int:
    """Returns the bytes that Python and its libraries have reserved before any file is read; many are never used."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):  # another system
        return MEMORY


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


def main(path: str, result: str) -> None:
    """Recalculates a file, and writes its cells as JSON, or what is wrong with it."""
    _limit()
    found: list[tuple[object, ...]] | str
    try:
        found = [(*cell, value) for cell, value in with_ironcalc(Path(path)).items()]
    except RuntimeError as error:
        found = str(error)
    Path(result).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
