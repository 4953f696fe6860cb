"""What one file of a class costs to grade: it is read, marked with its wrong numbers explained, and held against the key.

Timed by `pytest tests/benchmarks/test_grading_speed.py --benchmark-only`. 300 files have to be graded within 30 s on two cores, so
that one may cost 0.2 s of a core.
"""

from pathlib import Path
from typing import Any

from blueprint.classes.grading_policy import GradingPolicy
from blueprint.classes.worker import Job, Worker
from tests.classes.handing_in import Asked, hand_in, key_of, right

ASKED: list[Asked] = [
    *((name, [(0, t)], "number") for name in ("td_errors", "advantages", "ratio", "surrogate") for t in (4, 5, 6)),
]


def test_one_file_of_a_class(benchmark: Any, tmp_path: Path) -> None:
    key = key_of("default", ASKED, {"1": {}})
    answers = right(key, key.students[0]) | {"b02": [9.8765], "b05": [1.2345], "b11": [-0.4321]}
    path = hand_in(tmp_path / "a.xlsx", key, key.students[0], answers)
    worker = Worker(key, GradingPolicy.model_validate({}))
    worked = benchmark(worker.work, Job(path))
    assert worked.marks is not None
    assert [id for id, mark in worked.marks.items() if mark.status != "right"] == ["b02", "b05", "b11"]
