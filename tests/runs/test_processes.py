"""Steps in processes of this machine: the death of one costs nothing, and none is left behind."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the processes verify, which needs torch: install the extra [torch]")

from blueprint.verifying.runs.executors import Processes, Run
from blueprint.verifying.runs.ledger import Ledger
from blueprint.verifying.runs.steps import File, Step
from blueprint.verifying.settings import VerifyOptions
from tests.runs.hurt import slow, work


def steps(count: int) -> list[Step]:
    return [Step(number, (File(f"{number}.npz", 10, 0),)) for number in range(count)]


def test_a_killed_worker_costs_nothing_and_counts_nothing_twice(tmp_path: Path) -> None:
    """Step 3 kills its process once, step 5 every time; all others are verified once, by two processes."""
    executor = Processes(partial(work, tmp_path, deadly={3: 1, 5: 9}), 2)
    with Ledger(tmp_path / "ledger.jsonl") as ledger:
        run = Run(steps(9), VerifyOptions(), ledger)
        run.go(executor, lambda done: None)
        executor.close()
        found = list(run.records())
    assert [each["step"] for each in found] == list(range(9))
    assert [each["step"] for each in found if each["outcome"] != "agrees"] == [5]
    assert found[5]["reason"].endswith("it was ended by SIGKILL, as the system does where memory runs out")
    tries = [len((tmp_path / f"{step}.tries").read_text().splitlines()) for step in range(9)]
    assert tries == [1, 1, 1, 2, 1, 2, 1, 1, 1]
    assert len((tmp_path / "ledger.jsonl").read_text().splitlines()) == 10


def test_what_is_dropped_or_closed_leaves_no_process(tmp_path: Path) -> None:
    executor = Processes(partial(slow, tmp_path), 2)
    for at, step in enumerate(steps(2)):
        executor.start(at, step)
    assert [at for at, _ in executor.wait()] == [0]
    while not (tmp_path / "1.begun").exists():
        time.sleep(0.02)
    pids = [worker.process.pid for worker in executor._workers]
    executor.drop([1])
    assert executor.running() == []
    executor.close()
    assert [pid for pid in pids if pid and Path(f"/proc/{pid}").exists()] == []
    assert os.getpid() not in pids
