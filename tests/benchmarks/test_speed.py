"""How long a build takes, as ratios: against bare XlsxWriter writing the same cells, and against a smaller build.

Timed by `pytest tests/benchmarks --benchmark-only`; else each runs once on a small workbook, and no time counts.
Processor time (user and system), not time on the wall: other programs on the machine change it less. The two sides take
turns, and the median of the ratios of the turns counts.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import openpyxl

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from tests.benchmarks import bare

ROUNDS = 5
MOST_WHOLE = 2.5
LARGE = ("default", "sizes.episodes=16", "sizes.max_new_tokens=36")
MIDDLE = ("default", "sizes.episodes=4", "sizes.max_new_tokens=12")
TINY = ("very-very-sleepy",)
"""Numbers, and what is laid over them."""


def children() -> float:
    """Returns the processor time of all processes that this one started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def build(case: Sequence[str], path: Path) -> int:
    """Builds a workbook in this process and returns how many formulas it has."""
    numbers, *overrides = case
    return Book(blueprint_of(load(numbers, overrides))).save(path)


def delivered(path: Path) -> tuple[bare.Cells, list[dict[str, Any]]]:
    """Reads every cell of a workbook, and the formats, off the file."""
    formulas, values = openpyxl.load_workbook(path), openpyxl.load_workbook(path, data_only=True)
    looks: dict[int, tuple[int, dict[str, Any]]] = {}
    cells: bare.Cells = {}
    for sheet in formulas:
        listed = cells.setdefault(sheet.title, [])
        for row in sheet.iter_rows():
            for cell in row:
                if cell.value is not None or cell.has_style:
                    look, _ = looks.setdefault(cell.style_id, (len(looks), _look(cell)))
                    formula = cell.value if cell.data_type == "f" else None
                    value = values[sheet.title].cell(cell.row, cell.column).value
                    value = "" if formula and value is None else value  # an empty text reads as nothing
                    listed.append((cell.row - 1, cell.column - 1, formula, value, look))
    return cells, [look for _, look in looks.values()]


def contents(path: Path) -> list[Any]:
    """Returns every formula and value of a workbook with its place."""
    return [(sheet, cell[:4]) for sheet, listed in delivered(path)[0].items() for cell in listed]


def _look(cell: Any) -> dict[str, Any]:
    font, sides = cell.font, ("left", "right", "top", "bottom")
    look = {"font_name": font.name, "font_size": font.sz, "bold": font.b, "italic": font.i}
    fill = {"bg_color": f"#{cell.fill.fgColor.rgb[2:]}"} if cell.fill.fill_type == "solid" else {}
    borders = {side: 1 for side in sides if getattr(cell.border, side).style}
    return look | fill | borders | {"num_format": cell.number_format}


def median_ratio(benchmark: Any, ours: Callable[[], float], other: Callable[[], float]) -> float:
    """Lets two sides take turns, each of which returns the seconds it took; returns the median ratio of ours to the other's."""
    times: list[tuple[float, float]] = []
    benchmark.pedantic(lambda: times.append((ours(), other())), rounds=ROUNDS, warmup_rounds=1)
    ratios = sorted(a / b for a, b in times[-ROUNDS:])
    benchmark.extra_info["ratios"] = ratios
    return statistics.median(ratios)


def seconds(work: Callable[[], Any], timed: bool) -> float:
    """Returns the processor time that some work takes; timed: begins with nothing left to collect, which takes seconds itself."""
    if timed:
        gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


def process(command: Sequence[str], bytecode: Path) -> tuple[float, str]:
    """Runs a program; returns its processor time and what it printed.

    bytecode: where compiled modules are kept from one run to the next, as those of an installed package are.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = children()
    said = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**environment, "PYTHONPYCACHEPREFIX": str(bytecode)}
    )
    return children() - began, said.stdout


def test_a_whole_build_against_bare_xlsxwriter(benchmark: Any, timed: bool, tmp_path: Path) -> None:
    ours, cells, bytecode = tmp_path / "ours.xlsx", tmp_path / "cells", tmp_path / "bytecode"
    numbers = "default" if timed else "very-very-sleepy"
    command = [sys.executable, "-m", "blueprint", "build", "--numbers", numbers, "--no-proof", "--force"]
    command += ["-o", str(ours)]
    process(command, bytecode)
    cells.write_bytes(pickle.dumps(delivered(ours)))

    def written_barely() -> float:
        took, unneeded = process([sys.executable, bare.__file__, str(cells), str(tmp_path / "bare.xlsx")], bytecode)
        return took - float(unneeded)

    ratio = median_ratio(benchmark, lambda: process(command, bytecode)[0], written_barely)
    assert contents(tmp_path / "bare.xlsx") == contents(ours)
    assert ratio <= MOST_WHOLE or not timed


def test_200_000_formulas_against_bare_xlsxwriter(benchmark: Any, timed: bool, tmp_path: Path) -> None:
    ours, case = tmp_path / "ours.xlsx", LARGE if timed else TINY
    benchmark.extra_info["formulas"] = build(case, ours)
    cells, looks = delivered(ours)
    gc.freeze()  # so that the collector does not walk through these cells while either side is timed
    try:
        ratio = median_ratio(
            benchmark,
            lambda: seconds(lambda: build(case, ours), timed),
            lambda: seconds(lambda: bare.write(cells, looks, tmp_path / "bare.xlsx"), timed),
        )
    finally:
        gc.unfreeze()
    assert contents(tmp_path / "bare.xlsx") == contents(ours)
    assert ratio <= 1.5 or not timed


def test_a_formula_takes_as_long_in_a_large_workbook(benchmark: Any, timed: bool, tmp_path: Path) -> None:
    path = tmp_path / "ours.xlsx"
    many, few = (LARGE, MIDDLE) if timed else (TINY, TINY)
    large, small = build(many, path), build(few, path)
    benchmark.extra_info["formulas"] = [small, large]
    share = small / large
    ratio = median_ratio(
        benchmark,
        lambda: seconds(lambda: build(many, path), timed),
        lambda: seconds(lambda: build(few, path), timed) / share,
    )
    assert ratio <= 1.2 or not timed
