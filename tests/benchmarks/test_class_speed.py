"""What a class costs: a variant for each student, drawn until it is a good exercise, and a file for each.

Timed by `pytest tests/benchmarks/test_class_speed.py --benchmark-only`: 300 students of the default numbers on all cores, of
which the limit is 120 s on two.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from blueprint.classes.assignment import Assignment
from blueprint.classes.making import make
from blueprint.classes.roster import Student
from blueprint.inputs import load, toml_of

SIZES, SMALL = [300], 2


def test_a_class_is_made(benchmark: Any, tmp_path: Path, size: int, timed: bool) -> None:
    numbers, blanks = ("default", 12) if timed else ("kl-controller", 3)
    assignment = Assignment("hw1", toml_of(load(numbers)), blanks, seed=2026, secret="0f" * 32)
    students = [Student(str(number)) for number in range(size)]
    made = benchmark.pedantic(make, (assignment, students, tmp_path / "hw1"), rounds=1)
    assert len(made.key.students) == len({*(tmp_path / "hw1" / "students").iterdir()}) == size
