"""Benchmarks are timed with `--benchmark-only`; else each runs once, small and without a clock, so that none breaks unseen."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Gives a benchmark its module's SIZES, or its SMALL one."""
    if "size" in metafunc.fixturenames:
        timed = metafunc.config.option.benchmark_only
        metafunc.parametrize("size", metafunc.module.SIZES if timed else [metafunc.module.SMALL], ids=str)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Prints the ratios that were measured, as the README does; small runs without a clock have none."""
    if not config.option.benchmark_only:
        return
    measured = [(each.fullname, each.extra_info["ratios"]) for each in config._benchmarksession.benchmarks  # type: ignore[attr-defined]
                if "ratios" in each.extra_info]  # fmt: skip
    for line in table_of(measured):
        terminalreporter.write_line(line)


def table_of(measured: Sequence[tuple[str, Sequence[float]]]) -> list[str]:
    """Returns the lines of a table: each benchmark, the median of its ratios, and the least and the largest of all."""
    rows = [
        f"| {name.rpartition('::')[2]} | {median(ratios):.1f} | {min(ratios):.1f} … {max(ratios):.1f} ({len(ratios)}) |"
        for name, ratios in measured
    ]
    return ["| | ratio | all |", "|---|---|---|", *rows] if rows else []


@pytest.fixture
def timed(request: pytest.FixtureRequest) -> bool:
    """Tells whether times count; they mean nothing in a small run."""
    return bool(request.config.option.benchmark_only)
