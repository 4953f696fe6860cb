"""Mistakes planted in the mathematics of DPO: check names the row, and says by which misconception it is what it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.language import Operand, Sum
from blueprint.workbooks.dpo.definitions.logprobs import n, o, p
from tests.workbooks.planting import Planting, planting_in
from tests.workbooks.test_backward import G

NAMED = (
    ("policy.sum", "prompt-counted"), ("reference.mean", "not-divided"), ("logp.shorter", "longer-for-shorter"),
    ("chosen.against", "reference-forgotten"), ("rejected.against", "ratio-upside-down"), ("margin", "sides-exchanged"),
    ("margin.scaled", "beta-forgotten"), ("margin.argument", "gamma-inside-beta"), ("margin.right", "wrong-side"),
    ("loss.sigmoid", "smoothing-on-the-wrong-side"), ("loss.robust", "divided-by-one-minus-eps"),
    ("loss.ipo_target", "one-over-beta"), ("loss.ipo_off", "scaled-margin"), ("loss.apo_down", "chosen-pushed-up"),
    ("chosen.log_odds", "log-for-probability"), ("kto.z", "divided-by-pairs"), ("kto.against.argument", "z-forgotten"),
    ("nll.counted", "rejected-too"), ("nll", "response-for-the-mean"), ("loss.paired", "divided-by-responses"),
    ("total_loss", "nll-subtracted"), ("rejected.logged", "beta-forgotten"),
)  # fmt: skip
"""Rows, and misconceptions of the list."""
OTHERS: dict[str, Callable[[G], Operand]] = {
    "chosen.logp.column": lambda b: Sum(n, b["pair.rejected"][o, n] * b["policy.curved"][n]),
    "loss.weighed": lambda b: b["weight.used"][p] * b["loss.pair"][p] * b["loss.pair"][p],
    "loss.pair.grad": lambda b: b["loss.weighed.grad"][p] * 2,
    "margin.grad": lambda b: b["margin.scaled.grad"][p],
}  # fmt: skip
"""Rows, and another equation of which nobody has made a sentence."""


@pytest.fixture(scope="module")
def planting(tmp_path_factory: pytest.TempPathFactory) -> Planting:
    return planting_in("dpo", "dpo", tmp_path_factory.mktemp("dpo"))


@pytest.mark.parametrize(("row", "name"), NAMED)
def test_a_planted_misconception_is_named(planting: Planting, row: str, name: str) -> None:
    first = planting.misconception(row, name)
    assert first.name == row
    assert first.likely in planting.says(row, name)


@pytest.mark.parametrize("row", OTHERS)
def test_another_equation_is_seen(planting: Planting, row: str) -> None:
    assert planting.equation(row, OTHERS[row]).name == row


def test_the_workbook_as_it_is_agrees(planting: Planting) -> None:
    verdict = planting.as_it_is("margin")
    assert verdict.agrees
    assert len(verdict.lines) > 450
