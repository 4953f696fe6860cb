"""Work on steps that comes to a bad end where a test wants it to; a module of its own, since other processes import it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from blueprint.verifying.runs.executors import head_of_step
from blueprint.verifying.runs.steps import Step
from blueprint.verifying.settings import VerifyOptions


def done(step: Step, kind: str = "agrees") -> dict[str, Any]:
    """Returns a record, with the process that made it."""
    return head_of_step(step, VerifyOptions()) | {
        "outcome": kind,
        "reason": "",
        "quantities": [],
        "watched": {},
        "by": os.getpid(),
    }


def work(folder: Path, step: Step, deadly: dict[int, int]) -> dict[str, Any]:
    """Notes in a folder who begins with a step; over a deadly one it is killed, as often as is said."""
    tries = folder / f"{step.number}.tries"
    with tries.open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    if len(tries.read_text(encoding="utf-8").splitlines()) <= deadly.get(step.number or 0, 0):
        os.kill(os.getpid(), signal.SIGKILL)
    return done(step)


def slow(folder: Path, step: Step) -> dict[str, Any]:
    """Takes longer than any test waits, but for step 0."""
    (folder / f"{step.number}.begun").touch()
    if step.number:
        time.sleep(300)
    return done(step)


def patient(folder: Path, step: Step) -> dict[str, Any]:
    """Notes on which node of Ray it works, and goes on when it is told."""
    import ray

    with (folder / f"{step.number}.nodes").open("a", encoding="utf-8") as file:
        file.write(ray.get_runtime_context().get_node_id() + "\n")
    while not (folder / "go").exists():
        time.sleep(0.02)
    return done(step)
