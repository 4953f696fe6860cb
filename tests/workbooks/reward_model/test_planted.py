"""Mistakes planted in the mathematics of reward models: check names the row, and says by which misconception it is what it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.language import Operand, Sum
from blueprint.workbooks.reward_model.definitions import n, o, p, q
from tests.workbooks.planting import Planting, planting_in
from tests.workbooks.test_backward import G

NAMED = (
    ("read.here", "every-position"), ("score", "sum-of-all"), ("score.used", "std-forgotten"),
    ("score.deviation", "variance-for-deviation"),
    ("difference", "sides-exchanged"), ("difference", "scores-added"), ("probability", "proportional"),
    ("argument", "margin-added"),
    ("argument.right", "wrong-side"), ("loss.logsigmoid", "sign-forgotten"), ("loss.log_exp", "one-forgotten"),
    ("position.since", "not-carried-on"), ("position.longer", "shorter-for-longer"), ("position.mean", "not-divided"),
    ("weight.pair", "rankings-for-pairs"), ("preference_loss", "weights-forgotten"), ("center.square", "not-squared"),
    ("l2.of_pair", "half-forgotten"), ("total_loss", "centring-forgotten"), ("accuracy", "divided-by-responses"),
    ("rewards.margins", "chosen-alone"),
)  # fmt: skip
"""Rows, and misconceptions of the list."""
OTHERS: dict[str, Callable[[G], Operand]] = {
    "chosen.score.column": lambda b: Sum(n, b["rejected.is"][o, n] * b["score.used"][n]),
    "ranking.mean": lambda b: Sum(p, b["pair.of_ranking"][q, p] * b["pair.kept"][p]),
    "right": lambda b: 1 - b["ranking.best"][p],
    "loss.pair.grad": lambda b: b["weight.pair"][p] * 2,
    "argument.grad": lambda b: -b["argument.right.grad"][p],
}  # fmt: skip
"""Rows, and another equation of which nobody has made a sentence."""


@pytest.fixture(scope="module")
def planting(tmp_path_factory: pytest.TempPathFactory) -> Planting:
    return planting_in("reward_model", "reward model", tmp_path_factory.mktemp("reward_model"))


@pytest.mark.parametrize(("row", "name"), NAMED)
def test_a_planted_misconception_is_named(planting: Planting, row: str, name: str) -> None:
    first = planting.misconception(row, name)
    assert first.name == row
    assert first.likely in planting.says(row, name)


@pytest.mark.parametrize("row", OTHERS)
def test_another_equation_is_seen(planting: Planting, row: str) -> None:
    assert planting.equation(row, OTHERS[row]).name == row


def test_the_workbook_as_it_is_agrees(planting: Planting) -> None:
    verdict = planting.as_it_is("difference")
    assert verdict.agrees
    assert len(verdict.lines) > 180
