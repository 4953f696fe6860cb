"""How long a build takes, as ratios: against bare XlsxWriter writing the same cells, and against a smaller build.

Run by `pytest tests/benchmarks --benchmark-only`. Processor time (user and system), not time on the wall: other programs
on the machine change it less. The two sides take turns, and the median of the ratios of the turns counts.
"""

from __future__ import annotations

import gc
import pickle
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from blueprint.book import Book
from blueprint.numbers import load
from blueprint.ppo import rlhf_ppo
from tests.benchmarks import bare

ROUNDS = 5
LARGE = ["sizes.episodes=16", "sizes.max_new_tokens=36"]
SMALL = ["sizes.episodes=4", "sizes.max_new_tokens=12"]


def children() -> float:
    """Returns the processor time of all processes that this one started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def build(overrides: list[str], path: Path) -> int:
    """Builds a workbook in this process and returns how many formulas it has."""
    return Book(rlhf_ppo(load("default", overrides))).save(path)


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


def median_ratio(benchmark: Any, ours: Callable[[], Any], other: Callable[[], float]) -> float:
    """Lets the two sides take turns; returns the median ratio of our time to the seconds that `other` returns."""
    others: list[float] = []
    benchmark.pedantic(ours, setup=lambda: others.append(other()), rounds=ROUNDS, warmup_rounds=1)
    ratios = sorted(a / b for a, b in zip(benchmark.stats.stats.data, others[1:], strict=True))
    benchmark.extra_info["ratios"] = [round(ratio, 3) for ratio in ratios]
    return float(statistics.median(ratios))


def seconds(work: Callable[[], Any]) -> float:
    """Returns the processor time that some work takes."""
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


@pytest.mark.benchmark(timer=children)
def test_a_whole_build_against_bare_xlsxwriter(benchmark: Any, tmp_path: Path) -> None:
    ours, cells = tmp_path / "ours.xlsx", tmp_path / "cells"
    command = [sys.executable, "-m", "blueprint", "build", "--no-proof", "-o", str(ours)]
    subprocess.run(command, check=True, capture_output=True)
    cells.write_bytes(pickle.dumps(delivered(ours)))

    def written_barely() -> float:
        began = children()
        program = [sys.executable, bare.__file__, str(cells), str(tmp_path / "bare.xlsx")]
        unneeded = float(subprocess.run(program, check=True, capture_output=True, text=True).stdout)
        return children() - began - unneeded

    ratio = median_ratio(benchmark, lambda: subprocess.run(command, check=True, capture_output=True), written_barely)
    assert contents(tmp_path / "bare.xlsx") == contents(ours)
    assert ratio <= 3


@pytest.mark.benchmark(timer=time.process_time)
def test_200_000_formulas_against_bare_xlsxwriter(benchmark: Any, tmp_path: Path) -> None:
    ours = tmp_path / "ours.xlsx"
    benchmark.extra_info["formulas"] = build(LARGE, ours)
    cells, looks = delivered(ours)
    gc.freeze()  # so that the collector does not walk through these cells while either side is timed
    try:
        ratio = median_ratio(
            benchmark,
            lambda: build(LARGE, ours),
            lambda: seconds(lambda: bare.write(cells, looks, tmp_path / "bare.xlsx")),
        )
    finally:
        gc.unfreeze()
    assert ratio <= 1.5


@pytest.mark.benchmark(timer=time.process_time)
def test_a_formula_takes_as_long_in_a_large_workbook(benchmark: Any, tmp_path: Path) -> None:
    path = tmp_path / "ours.xlsx"
    large, small = build(LARGE, path), build(SMALL, path)
    benchmark.extra_info["formulas"] = [small, large]
    share = small / large
    ratio = median_ratio(benchmark, lambda: build(LARGE, path), lambda: seconds(lambda: build(SMALL, path)) / share)
    assert ratio <= 1.2
