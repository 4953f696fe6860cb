"""How long a replay of a minibatch takes, in plain copies of its tensors, and how much memory it needs beside them.

Timed by `pytest tests/benchmarks/test_verify_speed.py --benchmark-only -s`. Processor time of one thread, as a replay uses
one; copies and replays take turns, and medians count.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.dumps import Minibatch
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying.replay import replay

SIZES, SMALL = [(4096, 128), (1024, 1024), (9766, 1024)], (32, 16)
WORDS = ("logprobs_old", "logprobs_ref", "logprobs_new", "entropy", "values_old", "values_new")
TURNS, TICK = 5, 1e-9
MOST_COPIES, MOST_BESIDE = 1000, 0.25e9
"""A hundred rows of float64 are computed of six of float32, twice over: some hundred copies."""


def made(size: tuple[int, int]) -> Minibatch:
    """Returns a minibatch of made-up numbers in float32, with responses of every length."""
    drawn = np.random.default_rng(0)
    tensors: dict[str, Any] = {name: -drawn.random(size, dtype=np.float32) for name in WORDS}
    tensors["response_mask"] = np.arange(size[1]) < drawn.integers(1, size[1] + 1, (size[0], 1))
    tensors["scores"] = drawn.random(size[0], dtype=np.float32)
    slots, first = np.full(size[0], size[1]), np.zeros(size[0], dtype=int)
    return Minibatch("made", tensors, dict.fromkeys(tensors, "float32"), {}, slots, first)


def _seconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


@pytest.mark.parametrize("library", ["verl", "openai"])
def test_a_replay_in_copies(benchmark: Any, timed: bool, size: tuple[int, int], library: str) -> None:
    batch, settings = made(size), rlhf().preset(library).values
    targets = {name: np.empty_like(each) for name, each in batch.tensors.items()}

    def copy() -> None:
        for name, each in batch.tensors.items():
            np.copyto(targets[name], each)

    copy()
    replay(batch, settings)
    turns = (TURNS if batch.mask.size < 1 << 22 else 2) if timed else 1
    times = benchmark.pedantic(
        lambda: [(_seconds(copy), _seconds(lambda: replay(batch, settings))) for _ in range(turns)], rounds=1
    )
    unit, ours = (max(statistics.median(each), TICK) for each in zip(*times, strict=True))
    benchmark.extra_info.update(seconds=round(ours, 3), ratios=[max(b, TICK) / max(a, TICK) for a, b in times])
    print(f"\n{size} {library}: {ours:.2f} s, {ours / unit:.0f} copies of {unit * 1e3:.1f} ms")
    assert ours / unit <= MOST_COPIES or not timed


def peak_of(size: tuple[int, int]) -> tuple[int, int]:
    """Returns the most memory that a process held before and after a replay, in bytes."""
    batch = made(size)
    before = _most_held()
    replay(batch, rlhf().preset("verl").values)
    return before, _most_held()


def _most_held() -> int:
    """Linux says it of a program from where it began; getrusage would tell of the program that started it, too."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def test_memory_does_not_grow_with_the_minibatch(benchmark: Any, timed: bool) -> None:
    """Each size in a process of its own, for the most memory that one ever held is what is asked for."""

    def more(size: tuple[int, int]) -> int:
        asked = f"from {__name__} import peak_of; print(*peak_of({size}))"
        said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout
        before, after = map(int, said.split())
        print(f"\n{size}: {before / 1e9:.2f} GB before, {after / 1e9:.2f} GB after")
        return after - before

    sizes = SIZES[1:] if timed else [SMALL]
    found = benchmark.pedantic(lambda: [*map(more, sizes)], rounds=1)
    assert max(found) <= MOST_BESIDE
