"""How long torch takes for 300 plain files at once, beside the same files one by one.

Timed by `pytest tests/benchmarks/test_witness_speed.py --benchmark-only -s`. Processor time of one thread, so that other
programs on the machine change it less; both sides take turns, and the median counts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

import torch

from blueprint.workbooks.registry import witness_of
from tests.witness.stage import Array, built_in, random_file

FILES, ALONE, TURNS = 300, 20, 5


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Lets torch use one thread, so that processor time is the time of the work and not of threads that wait."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def seconds(files: list[dict[str, Array]], together: bool) -> float:
    """Returns the processor time of one file, of many in one call or in a call each."""
    began = time.process_time()
    for some in [files] if together else [[file] for file in files]:
        witness_of(some, device="cpu")
    return (time.process_time() - began) / len(files)


@pytest.mark.parametrize("drawn", [False, True], ids=["of one shape", "of 20 shapes and sizes of models"])
def test_many_plain_files(benchmark: Any, timed: bool, drawn: bool) -> None:
    some = [random_file(seed) for seed in range(20)] if drawn else [dict(built_in("default"))]
    files = [some[number % len(some)] for number in range(FILES if timed else 3)]
    times: dict[bool, list[float]] = {True: [], False: []}

    def turn() -> None:
        for together in times:
            times[together].append(seconds(files if together else files[:ALONE], together))

    benchmark.pedantic(turn, rounds=TURNS if timed else 1)
    found = {together: statistics.median(each) for together, each in times.items()}
    benchmark.extra_info.update(together_ms=found[True] * 1e3, alone_ms=found[False] * 1e3)
    benchmark.extra_info["ratios"] = [one / alone for one, alone in zip(times[True], times[False], strict=True)]
    print(f"\n{len(files)} files: {found[True] * 1e3:.2f} ms each, {found[False] * 1e3:.2f} ms alone")
    assert found[True] < found[False] / 3 or not timed
