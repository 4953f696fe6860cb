"""Mistakes planted in the mathematics of reward models: check names the row, and says by which misconception it is what it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.language import Definition, Operand, Sum
from blueprint.language.nodes import wrap
from blueprint.misconceptions import misconceptions_of
from blueprint.page.outline import Blueprint
from blueprint.workbooks.registry import kind_named
from blueprint.workbooks.reward_model.definitions.axes import n, o, p, q
from tests.checking.test_gradient_causes import Bench, outline, saved
from tests.misconceptions.planting import plant, right_again
from tests.workbooks.test_backward import G

KIND = kind_named("reward_model")
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
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return saved(tmp_path_factory.mktemp("reward_model"), "reward model")["reward model"]


@pytest.fixture(scope="module")
def fresh() -> Blueprint:
    return outline("reward model")


@pytest.mark.parametrize(("row", "name"), NAMED)
def test_a_planted_misconception_is_named(bench: Bench, fresh: Blueprint, row: str, name: str) -> None:
    blocks = {block.name: block for block in fresh.blocks()}
    with right_again(blocks[row]):
        plant(name, row, blocks, KIND)
        (first,) = bench.with_book(Book(fresh), row).firsts
    assert first.name == row
    assert first.likely in {
        each.says for each in misconceptions_of(KIND) if each.name == name and each.bound(row) is not None
    }


@pytest.mark.parametrize("row", OTHERS)
def test_another_equation_is_seen(bench: Bench, fresh: Blueprint, row: str) -> None:
    blocks = {block.name: block for block in fresh.blocks()}
    with right_again(blocks[row]):
        (right,) = blocks[row].definitions
        blocks[row].definitions = [Definition(right.target, wrap(OTHERS[row](blocks)))]
        assert bench.with_book(Book(fresh), row).firsts[0].name == row


def test_the_workbook_as_it_is_agrees(bench: Bench, fresh: Blueprint) -> None:
    verdict = bench.with_book(Book(fresh), "difference")
    assert verdict.agrees
    assert len(verdict.lines) > 180
