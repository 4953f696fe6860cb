"""What a whole run costs beside the verification of its steps: time for each step, and memory that stays.

Timed by `pytest tests/benchmarks/test_run_speed.py --benchmark-only -s`. The steps are not computed here, but the records are as
long as real ones; what the process itself does, which hands out steps and notes them, bounds how many workers it can feed.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Collection
from pathlib import Path
from typing import Any

from blueprint.verifying.runs.executors import Run, head_of_step
from blueprint.verifying.runs.ledger import Ledger
from blueprint.verifying.runs.report import summary_of
from blueprint.verifying.runs.steps import Died, File, Step
from blueprint.verifying.settings import VerifyOptions

MANY, FEW = 10_000, 300
MOST_BYTES = 6_000
"""For each step: the names and sizes of its files, its key, and the few numbers that tables and plots show of it."""
QUANTITIES = [f"quantity.{number}" for number in range(14)]


class AtOnce:
    """Finishes every step at once."""

    def __init__(self) -> None:
        self.found: list[tuple[int, dict[str, Any] | Died]] = []

    def free(self) -> bool:
        return not self.found

    def running(self) -> Collection[int]:
        return [at for at, _ in self.found]

    def start(self, at: int, step: Step) -> None:
        lines = [
            {"quantity": name, "verdict": "agrees", "largest": 1e-9, "allowed": 1e-6, "fill": "x" * 200}
            for name in QUANTITIES
        ]
        watched = {
            name: {"logged": at / 7, "recomputed": at / 7} for name in ("ratio", "approx_kl", "clip_fraction", "kl")
        }
        known = {"outcome": "agrees", "reason": "", "first": "", "cause": "", "quantities": lines, "watched": watched}
        self.found = [(at, head_of_step(step, VerifyOptions()) | known)]

    def wait(self) -> list[tuple[int, dict[str, Any] | Died]]:
        found, self.found = self.found, []
        return found

    def drop(self, steps: Collection[int]) -> None:
        self.found = []

    def close(self) -> None:
        self.found = []


def went(ledger: Path, count: int) -> int:
    """Goes through a run and gathers what is told of it; returns how many steps that is."""
    steps = [Step(number, (File(f"step_{number}.safetensors", 1 << 20, number),)) for number in range(count)]
    with Ledger(ledger) as kept:
        run = Run(steps, VerifyOptions(), kept)
        run.go(AtOnce(), lambda done: None)
        return len(summary_of(run.records()).steps)


def test_what_a_run_keeps_of_each_step(benchmark: Any, timed: bool, tmp_path: Path) -> None:
    count = MANY if timed else FEW
    went(tmp_path / "first.jsonl", 2)
    tracemalloc.start()
    assert went(tmp_path / "ledger.jsonl", count) == count
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    began = time.process_time()
    benchmark.pedantic(went, args=(tmp_path / "timed.jsonl", count), rounds=1)
    each = (time.process_time() - began) / count
    size = (tmp_path / "ledger.jsonl").stat().st_size / count
    print(f"\n{count} steps: {each * 1e3:.2f} ms and {peak / count:.0f} bytes each, of records of {size:.0f} bytes")
    assert peak / count < MOST_BYTES
