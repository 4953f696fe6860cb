"""What the page Errata says of the lab's cart-pole, against the tables that `blueprint lab cart-pole` wrote."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
TABLES = DOCS / "data" / "cart-pole"
PAGE = " ".join((DOCS / "errata.md").read_text(encoding="utf-8").split())


def rows(table: str, label: str) -> list[dict[str, str]]:
    """Reads the rows of a table that have a label."""
    with (TABLES / table).open(encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file) if row["label"] == label]
    assert found
    return found


def by_seed(found: list[dict[str, str]], value: Callable[[list[dict[str, str]]], str]) -> list[str]:
    """Returns a value for each seed, in order."""
    return [
        value([row for row in found if row["seed"] == seed]) for seed in sorted({row["seed"] for row in found}, key=int)
    ]


def evaluations(table: str, label: str) -> str:
    """Returns the mean length over new episodes of each seed, as a sentence lists them."""
    return ", ".join(f"{float(row['evaluation']):.0f}" for row in rows(table, label))


def reached(found: list[dict[str, str]], length: float = 200.0) -> str:
    """Returns after how many steps the mean length was first so much."""
    steps = [int(row["steps"]) for row in found if row["length"] and float(row["length"]) >= length]
    return f"{steps[0]:,}" if steps else "never"


def listed(steps: list[str]) -> str:
    """Writes them as the page does: never, after 100,352 steps."""
    return re.sub(r"\d", r"after \g<0>", ", ".join(steps), count=1) + " steps"


@pytest.mark.parametrize("shared", ["true", "false"])
def test_the_trunk(shared: str) -> None:
    label = f"shared_trunk {shared}"
    first = listed(by_seed(rows("trunk/iterations.csv", label), reached))
    assert f"| {evaluations('trunk/results.csv', label)} | {first} |" in PAGE


def test_iterations_that_end_no_episode() -> None:
    apart = rows("trunk/iterations.csv", "shared_trunk false")
    first, second, third = by_seed(apart, lambda found: str(sum(row["ended"] == "0" for row in found)))
    assert f"in the lab {first}, {second} and {third} of 50 end no episode" in PAGE


def test_ppo_and_a2c_with_the_same_number_of_steps() -> None:
    ppo, a2c = (evaluations("methods/results.csv", method) for method in ("ppo", "a2c"))
    assert f"five seeds of PPO reach {ppo}, and of A2C {a2c}." in PAGE
