"""Benchmarks are timed with `--benchmark-only`; else each runs once, small and without a clock, so that none breaks unseen."""

from __future__ import annotations

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Gives a benchmark its module's SIZES, or its SMALL one."""
    if "size" in metafunc.fixturenames:
        timed = metafunc.config.option.benchmark_only
        metafunc.parametrize("size", metafunc.module.SIZES if timed else [metafunc.module.SMALL], ids=str)


@pytest.fixture
def timed(request: pytest.FixtureRequest) -> bool:
    """Tells whether times count; they mean nothing in a small run."""
    return bool(request.config.option.benchmark_only)
