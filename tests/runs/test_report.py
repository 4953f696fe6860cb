"""A run as text, as a table and as a plot."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from blueprint.verifying.runs.report import MOST_STRETCHES, MOST_UNVERIFIED, Summary, csv_of, draw, summary_of, text_of


def quantity(name: str, verdict: str = "agrees", largest: float | None = 1e-9) -> dict[str, Any]:
    return {"quantity": name, "called": name, "verdict": verdict, "largest": largest, "allowed": 1e-6}


def a_record(
    step: int | None, *parts: list[dict[str, Any]], outcome: str = "agrees", reason: str = ""
) -> dict[str, Any]:
    """Returns what a ledger has of a step: of each file the quantities."""
    wrong = [(at, each) for at, quantities in enumerate(parts) for each in quantities if each["verdict"] == "DIFFERS"]
    where, first, text = (f"{step}_{wrong[0][0]}.npz", wrong[0][1]["quantity"], "all of it") if wrong else ("", "", "")
    number = step or 0
    watched = {
        "approx_kl": {"logged": 0.01 * number, "recomputed": 0.01 * number + (0.5 if number == 2 else 0)},
        "ratio": {"logged": None, "recomputed": 1.0 + number},
        "ratio_at_first_update": {"logged": None, "recomputed": 1.0},
    }
    head = {"step": step, "name": "odd.npz" if step is None else f"step {step}", "outcome": outcome, "reason": reason}
    said = {"first": first, "cause": f"a cause of {first}" if first else "", "where": where, "text": text}
    return head | said | {"quantities": [each for part in parts for each in part], "watched": watched if parts else {}}


def a_run() -> Summary:
    """Steps 0 to 6: rewards deviate in the second file of step 2, advantages in 3, and nothing can be read of 5."""
    good = [quantity("rewards"), quantity("advantages")]
    return summary_of(
        [
            a_record(0, good),
            a_record(1, good, good),
            a_record(
                2,
                good,
                [quantity("rewards", "DIFFERS", 1e-3), quantity("advantages", "follows", 2e-3)],
                outcome="differs",
            ),
            a_record(3, [quantity("rewards"), quantity("advantages", "DIFFERS", None)], outcome="differs"),
            a_record(4, [quantity("rewards"), quantity("advantages", "too coarse")]),
            a_record(5, outcome="not verified", reason="5.npz: the file is empty."),
            a_record(None, good),
        ]
    )


def test_a_run_is_told_by_stretches_quantities_and_numbers() -> None:
    lines = text_of(a_run(), ["something was assumed"]).splitlines()
    for line in (
        "0 … 1    2      agrees",
        "2        1      differs       rewards         1e+03 tolerances (step 2)  a cause of rewards",
        "3        1      differs       advantages      inf tolerances (step 3)    a cause of advantages",
        "5        1      not verified",
        "rewards     5                            1        step 2    step 2    0.001, 1e+03 tolerances",
        "advantages  3       1           1        1        step 2    step 3    inf, inf tolerances",
        "ratio at the first update  6      1                     not logged",
        "approx_kl                  6      0 … 0.52    0 … 0.04  0.5 (step 2)",
        "The first that deviates is step 2, file 2_1.npz:",
        "  all of it",
        "  step 5: 5.npz: the file is empty.",
        "Of 7 steps 4 agree, 2 deviate, 1 could not be verified.",
        "Note: something was assumed.",
    ):
        assert line in lines, "\n".join(["", line, *lines])


def test_a_long_run_stays_a_page() -> None:
    """Every other of 400 steps deviates, every third of another 300 cannot be verified."""
    wrong = [quantity("returns", "DIFFERS", 1.0)]
    steps = [
        a_record(step, wrong, outcome="differs") if step % 2 else a_record(step, [quantity("returns")])
        for step in range(400)
    ]
    steps += [a_record(step, outcome="not verified", reason="cut off") for step in range(400, 700)]
    text = text_of(summary_of(steps))
    assert len(text.splitlines()) < MOST_STRETCHES + MOST_UNVERIFIED + 30
    assert "… 377 stretches more  676    see --csv FILE" in text
    assert f"… and {300 - MOST_UNVERIFIED} others: see --csv FILE." in text
    assert "Of 700 steps 200 agree, 200 deviate, 300 could not be verified." in text


def test_the_table_has_a_line_for_each_step() -> None:
    head, *lines = csv_of(a_run()).splitlines()
    assert head.startswith(
        "step,name,outcome,first,cause,reason,rewards.tolerances,advantages.tolerances,ratio_at_first_update.logged,"
    )
    assert len(lines) == 7
    assert lines[2].startswith("2,step 2,differs,rewards,a cause of rewards,,1000,2000,,1.0,,3.0,0.02,0.52,")
    assert lines[5].startswith("5,step 5,not verified,,,5.npz: the file is empty.,,,,")
    assert lines[6].startswith(",odd.npz,agrees,,,,0.001,0.001,")


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_plot_shows_what_deviates_and_what_was_watched(tmp_path: Path, ending: str) -> None:
    pytest.importorskip("matplotlib", reason="a plot needs matplotlib: install the extra [plot]")
    path = tmp_path / f"run.{ending}"
    draw(a_run(), path)
    content = path.read_bytes()
    if ending == "png":
        assert content.startswith(b"\x89PNG")
        return
    text = content.decode()
    for said in (
        "largest difference, in tolerances",
        "rewards",
        "advantages",
        "mean ratio",
        "approximate KL",
        "at the first update",
    ):
        assert f"<!-- {said}" in text, said
    assert "not verified" in text
    assert "KL to the reference" not in text


def test_a_run_of_which_nothing_could_be_verified_is_drawn_and_told(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="a plot needs matplotlib: install the extra [plot]")
    found = summary_of([a_record(4, outcome="not verified", reason="cut off")])
    draw(found, tmp_path / "run.svg")
    assert (tmp_path / "run.svg").stat().st_size > 1000
    assert "Of 1 step 1 could not be verified." in text_of(found)
    assert math.isclose(found.steps[0].worst, 0.0)
