"""Records the cases: of a workbook a hash of each part of its file, with its numbers apart; of a command its code and its words."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import blueprint as bp
from blueprint.inputs import NumbersError
from blueprint.language.lost import NoNumber
from blueprint.workbooks.kind import KindError
from tests.commands import run_command
from tests.same.cases import ROOT, BookCase, SaidCase

SAVED = re.compile(r"(?<=<v>)-?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?(?=</v>)")
"""A number that is stored in a cell: it may differ in its last bits where sums are taken in another order."""
SHARED = re.compile(r'(<c [^>]*t="s"[^>]*>)<v>(\d+)</v>')
"""A text that is stored once for all cells: the cell holds its place among the shared ones."""
STRINGS = "xl/sharedStrings.xml"
Record = dict[str, Any]


def record(cases: Iterable[BookCase | SaidCase], folder: Path, workers: int) -> None:
    """Writes a file for each case into the folder, and finishes nothing twice."""
    folder.mkdir(parents=True, exist_ok=True)
    waiting = [(case, folder) for case in cases if not _target(case, folder).exists()]
    with ProcessPoolExecutor(workers) as pool:
        for done, name in enumerate(pool.map(_one, waiting, chunksize=4), 1):
            if done % 50 == 0 or done == len(waiting):
                print(f"{done} of {len(waiting)}: {name}", flush=True)


def read(path: Path) -> tuple[Record, np.ndarray]:
    """Returns what was recorded of a case, and the numbers of its workbook."""
    with np.load(path) as file:
        return json.loads(str(file["record"])), file["numbers"]


def _target(case: BookCase | SaidCase, folder: Path) -> Path:
    """Returns the file of a case: its name as it is read, and a hash that tells long ones apart."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", case.name)[:80]
    return folder / f"{plain}-{hashlib.sha256(case.name.encode()).hexdigest()[:8]}.npz"


def _one(waiting: tuple[BookCase | SaidCase, Path]) -> str:
    case, folder = waiting
    os.chdir(ROOT)
    found, numbers = of_book(case) if isinstance(case, BookCase) else of_command(case)
    target = _target(case, folder)
    part = target.with_suffix(".part")
    with part.open("wb") as file:
        np.savez_compressed(file, record=json.dumps({"name": case.name, **found}), numbers=numbers)
    part.rename(target)
    return case.name


def of_book(case: BookCase) -> tuple[Record, np.ndarray]:
    """Returns the hash of each part of the saved file without its numbers, and these; or why there is no such workbook."""
    try:
        book = bp.build(case.numbers, preset=case.preset, gradients=case.gradients)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "book.xlsx"
            book.save(path)
            return of_file(path)
    except (KindError, NumbersError, NoNumber) as error:
        return {"refused": str(error)}, np.zeros(0)


def of_file(path: Path) -> tuple[Record, np.ndarray]:
    """Returns the hash of each part of a file without its numbers, and these; a shared text counts in the cells that show it."""
    parts: dict[str, list[Any]] = {}
    numbers: list[str] = []
    with zipfile.ZipFile(path) as file:
        names = file.namelist()
        texts = file.read(STRINGS).decode("utf-8").split("</si>") if STRINGS in names else []
        for name in names:
            text, stored = file.read(name).decode("utf-8"), []
            if name.startswith("xl/worksheets/sheet"):
                text = SHARED.sub(lambda cell: f"{cell[1]}<t>{texts[int(cell[2])]}</t>", text)
                stored = SAVED.findall(text)
                text = SAVED.sub("…", text)
            if name != STRINGS:
                parts[name] = [hashlib.sha256(text.encode()).hexdigest()[:16], len(stored)]
                numbers += stored
    return {"parts": parts}, np.array(numbers, dtype=float)


def of_command(case: SaidCase) -> tuple[Record, np.ndarray]:
    """Returns the exit code of a command and what it printed."""
    result = run_command(*case.arguments)
    return {"code": result.exit_code, "out": result.stdout, "err": result.stderr}, np.zeros(0)
