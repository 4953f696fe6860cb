"""Mistakes planted in the mathematics of DPO: check names the row, and says by which misconception it is what it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.language import Definition, Operand, Sum
from blueprint.language.nodes import wrap
from blueprint.misconceptions import misconceptions_of
from blueprint.page.outline import Blueprint
from blueprint.workbooks.dpo.definitions.axes import n, o, p
from blueprint.workbooks.registry import kind_named
from tests.checking.test_gradient_causes import Bench, outline, saved
from tests.misconceptions.planting import plant, right_again
from tests.workbooks.test_backward import G

KIND = kind_named("dpo")
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
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return saved(tmp_path_factory.mktemp("dpo"), "dpo")["dpo"]


@pytest.fixture(scope="module")
def fresh() -> Blueprint:
    return outline("dpo")


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
    verdict = bench.with_book(Book(fresh), "margin")
    assert verdict.agrees
    assert len(verdict.lines) > 450
