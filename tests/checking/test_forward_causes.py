"""A wrong row of the derivation is named first, with the misconception by which it is what it is; a wrong cell, too."""

from __future__ import annotations

from copy import copy

import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.checking.checker import judge
from blueprint.checking.recomputed import OfPage
from blueprint.misconceptions import misconceptions_of
from blueprint.workbooks.registry import kind_named
from tests.checking.test_gradient_causes import Bench, outline, saved
from tests.misconceptions.planting import plant

KIND = kind_named("rlhf_ppo")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return saved(tmp_path_factory.mktemp("causes"), "forward")["forward"]


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("advantages", "lambda-forgotten"),
        ("td_errors", "value-of-now-for-next"),
        ("kl.k1", "kl-turned"),
        ("advantage.variance", "n-for-n-minus-one"),
        ("surrogate", "max-for-min"),
        ("old_critic.inputs", "token-written-for-read"),
        ("total_loss", "entropy-turned"),
    ],
)
def test_a_wrong_row_is_named_first_with_its_misconception(bench: Bench, row: str, name: str) -> None:
    made = outline("forward")
    plant(name, row, {block.name: block for block in made.blocks()}, KIND)
    (first,) = bench.with_book(Book(made), row).firsts
    assert first.name == row
    assert first.likely in {
        each.says for each in misconceptions_of(KIND) if each.name == name and each.bound(row) is not None
    }


def test_a_number_that_no_misconception_gives_has_no_likely_cause(bench: Bench) -> None:
    file = copy(bench.file)
    A = file.arrays["advantages"].copy()
    A[0, 5] += 0.123
    file.arrays = {**file.arrays, "advantages": A}
    (first, *_) = judge(file, bench.torch, OfPage(), "float64").firsts
    assert (first.name, first.likely) == ("advantages", "")
