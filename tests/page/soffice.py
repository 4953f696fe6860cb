"""Lets LibreOffice load workbooks, compute every formula anew, and save them again; and reads what it computed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from openpyxl.utils.datetime import to_excel

from blueprint.page.engine import Cells, EngineMissing, Value, reading
from blueprint.page.grid import address
from blueprint.page.saved_file import Workbook

PROGRAMS = ("soffice", "libreoffice", "/Applications/LibreOffice.app/Contents/MacOS/soffice")
SECONDS = 300.0
TABLES = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,true,true,false,false,false,-1"
"""Commas, texts in quotes, UTF-8, from the first line on; what cells hold, not what they show; every sheet."""
FIELD = re.compile(r'("(?:[^"]|"")*"|[^,\n"]*)(,|\n|\Z)')
DATE = re.compile(r"\d{4}-\d\d-\d\d")

# LibreOffice trusts cached numbers on load unless OOXMLRecalcMode is 0, "always".
PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop>
</item>
</oor:items>
"""


def libreoffice() -> str | None:
    """Finds the program LibreOffice, or returns None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def convert(program: str, paths: Sequence[Path], room: Path) -> list[Path]:
    """Saves each workbook again, recalculated, under the empty folder `room`; returns the new files in order.

    Raises RuntimeError if LibreOffice writes no result, which it does without a word in its exit status.
    """
    return [result for (result,) in _converted(program, paths, room, "xlsx", "{}.xlsx")]


def _converted(program: str, paths: Sequence[Path], room: Path, to: str, written: str) -> list[list[Path]]:
    """Returns what LibreOffice wrote for each workbook, by the pattern of its names."""
    copies = [room / f"{i}.xlsx" for i, _ in enumerate(paths)]  # two folders may hold files of one name
    for path, copy in zip(paths, copies, strict=True):
        shutil.copyfile(path, copy)
    options = [f"-env:UserInstallation={_profile(room)}", "--headless", "--norestore", "--convert-to", to]
    said = _run([program, *options, "--outdir", str(room / "out"), *map(str, copies)])
    results = [[*(room / "out").glob(written.format(copy.stem))] for copy in copies]
    for path, result in zip(paths, results, strict=True):
        if not result:
            raise RuntimeError(
                f"LibreOffice wrote no result for {path}; it said: {' '.join(said.split()) or 'nothing'}"
            )
    return results


def _profile(room: Path) -> str:
    """Writes a profile for one call, since two calls that share one silently write nothing; returns its address."""
    user = room / "profile" / "user"
    user.mkdir(parents=True)
    (user / "registrymodifications.xcu").write_text(PROFILE, encoding="utf-8")
    return user.parent.as_uri()


def _run(command: list[str]) -> str:
    """Runs a command to its end and returns what it said; after SECONDS it is ended with all its children."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True
    ) as process:
        try:
            return process.communicate(timeout=SECONDS)[0]
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"LibreOffice did not finish within {SECONDS:g} seconds; give it fewer files.") from None
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Ends a process that still runs, and its children: `soffice` only starts the program that works."""
    if process.poll() is not None:
        return
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)


def with_libreoffice(paths: Sequence[Path]) -> list[Cells]:
    """Returns, for each workbook, the value of every formula cell as LibreOffice computes it, to 15 digits.

    It is read from tables, one for each sheet, which LibreOffice writes in two thirds of the time of a workbook.

    Raises EngineMissing without LibreOffice, and RuntimeError if a path is no readable workbook or a result is missing.
    """
    program = libreoffice()
    if program is None:
        raise EngineMissing("LibreOffice is not installed; get it from libreoffice.org, so that `soffice` is found.")
    # The originals first: LibreOffice would read any text file as a table.
    formulas = [_formulas(path) for path in paths]
    with TemporaryDirectory() as folder:
        results = _converted(program, paths, Path(folder), TABLES, "{}-*.csv") if paths else []
        tables = [{path.stem.partition("-")[2]: _table(path) for path in each} for each in results]
    return [
        {(sheet, cell): _value(found[sheet], at) for (sheet, cell), at in cells.items()}
        for cells, found in zip(formulas, tables, strict=True)
    ]


def _table(path: Path) -> list[list[str]]:
    """Returns the fields of a table by row; texts keep their quotes."""
    rows: list[list[str]] = [[]]
    for field, end in FIELD.findall(path.read_text(encoding="utf-8")):
        rows[-1].append(field)
        if end != ",":
            rows.append([])
    return rows


def _value(table: list[list[str]], at: tuple[int, int]) -> Value:
    """Returns what a cell holds; beyond the last row and column in use cells are blank, and are not written."""
    row, column = at
    field = table[row - 1][column - 1] if row <= len(table) and column <= len(table[row - 1]) else ""
    match field:
        case "":
            return None
        case "TRUE" | "FALSE":
            return field == "TRUE"
        case _ if field[0] == '"':
            return field[1:-1].replace('""', '"')
        case _ if field[0] == "#" or field.startswith("Err:"):
            return field
        case _ if DATE.fullmatch(field):
            return float(to_excel(date.fromisoformat(field)))
    return float(field)


def _formulas(path: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """Returns the row and column of every formula of a file, by sheet and address."""
    with reading(path):
        sheets = Workbook(path).cells
    return {
        (title, address(row - 1, column - 1)): (row, column)
        for title, sheet in sheets.items()
        for row, column in sheet.formulas
    }
