"""Reward models on batches that no library ran: workbook, page and autograd agree, whatever the form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

import blueprint as bp
from blueprint.book import Book
from blueprint.inputs import load
from blueprint.page.contents import kind_of
from blueprint.workbooks.registry import blueprint_of
from tests.preference_runs import Array
from tests.workbooks.apart import NEAR, by_autograd, by_page

FORMS = ("logsigmoid", "log_exp", "per_position", "softmax_best")
TEXTS = ["one <eos>", "one two <eos>", "one two <eos>", "<eos>", "two"]
"""One token, an empty response, two equal texts, common prefixes."""
HEAD = [[1, 710, 0], [0, 0, 0], [2, -1, 0], [0, 3, 3], [-5, 0.5, 2]]
FAR = {
    "text.texts": TEXTS,
    "scores.head": HEAD,
    "pairs.chosen": [1, 2, 2, 4, 1], "pairs.rejected": [2, 1, 3, 5, 1], "pairs.margin": [0, 1, 0.5, 700, 0],
    "pairs.ranking": [1, 2, 1, 3, 4], "pairs.counts": [1, 1, 1, 0, 1], "gradients": "on", "loss.margin": "typed",
    "reward.center": 0.01, "reward.l2": 0.001,
}  # fmt: skip
"""Differences of ±710 and of 0, a pair of one response with itself, and one that does not count."""
ENDLESS = {f"page: {name}" for name in ("loss.pair", "preference_loss", "total_loss", "head.score.grad")}
"""What has ln(1 + e^710) on the page."""


def formulas(overrides: dict[str, Any]) -> tuple[Book, dict[str, Array]]:
    """Returns a book, and its formulas' numbers."""
    book = Book(blueprint_of(load("reward-batch", overrides)))
    return book, {block.name: array for block, array in book.values.arrays.items() if kind_of(block) == "formula"}


def torch_apart(book: Book, near: float = NEAR) -> dict[str, float]:
    """Returns the results in which the page parts from a book, and the slopes in which autograd does. near: of slopes."""
    found = by_page(book) | by_autograd(book)
    assert len(found) > 20
    return {name: each for name, each in found.items() if not each <= (NEAR if name.startswith("page: ") else near)}


@pytest.mark.parametrize(
    ("form", "read"),
    [*((form, "last_token") for form in FORMS), ("logsigmoid", "before_end"), ("softmax_best", "last_column")],
)
def test_far_scores_ties_and_short_texts(form: str, read: str) -> None:
    average = "rankings" if form == "softmax_best" else "pairs"
    book, rows = formulas({**FAR, "loss.form": form, "score.read": read, "loss.average": average})
    assert [name for name, row in rows.items() if row.dtype != object and not np.isfinite(row).all()] == []
    far = torch_apart(book, near=1e-11)
    # ln(1 + e^710) is infinite to the page; a sheet, which can hold no such number, holds the exponent.
    assert {name for name in far if name.startswith("page: ")} == (ENDLESS if form == "log_exp" else set())
    assert {name for name, each in far.items() if form != "log_exp" or np.isfinite(each)} == set()


def test_the_page_has_ln_of_1_and_e_to_the_700() -> None:
    texts = [[1, 700, 0], *HEAD[1:]]
    book, _ = formulas({**FAR, "scores.head": texts, "loss.form": "log_exp", "pairs.margin": [0, 1, 0.5, 0, 0]})
    assert torch_apart(book, near=1e-11) == {}


def test_what_710_costs_and_what_a_tie_is() -> None:
    """A pair that is wrong by 710 costs 710 and pulls with all its weight; one that is a tie is wrong, and costs ln 2."""
    _, rows = formulas({**FAR, "loss.margin": "off", "reward.center": 0, "reward.l2": 0})
    assert rows["difference"].tolist() == [710, -710, 0, 5, 0]
    assert rows["loss.logsigmoid"][:2].tolist() == [0, 710]
    assert rows["loss.logsigmoid"][[2, 4]] == pytest.approx(np.log(2), abs=1e-15)
    assert rows["right"].tolist() == [1, 0, 0, 1, 0]
    assert float(rows["accuracy"]) == 0.25
    assert rows["argument.grad"][[1, 4]].tolist() == [-0.25, -0.125]
    assert rows["weight.pair"].tolist() == [0.25, 0.25, 0.25, 0, 0.25]


def test_two_of_a_ranking_are_bradley_terry_in_a_softmax() -> None:
    _, soft = formulas({"loss.form": "softmax_best", "loss.average": "rankings"})
    assert float(soft["total_loss"]) == pytest.approx(0.8727539218240903, abs=1e-12)


def test_only_differences_count() -> None:
    """A number added to every score changes no loss and no slope; centring is what holds them."""
    _, rows = formulas({"gradients": "on"})
    head = np.array(load("reward-batch")["scores.head"]) + 100
    _, shifted = formulas({"gradients": "on", "scores.head": head.tolist()})
    assert float(shifted["total_loss"]) == pytest.approx(float(rows["total_loss"]), abs=1e-12)
    assert np.abs(shifted["score.grad"] - rows["score.grad"]).max() <= 1e-12
    assert np.abs(rows["score.grad"].sum()) <= 1e-16


def test_four_answers_are_six_pairs_and_the_bias_has_no_slope() -> None:
    book = Book(blueprint_of(load("reward-model")))
    rows = {block.name: array for block, array in book.values.arrays.items()}
    assert [*zip(rows["chosen.number"], rows["rejected.number"], strict=True)][:6] == [
        (2, 1),
        (2, 4),
        (2, 3),
        (1, 4),
        (1, 3),
        (4, 3),
    ]
    assert rows["epochs.accuracy"].tolist() == [0.75, 0.75, 0.875, 1]
    assert np.diff(rows["epochs.total_loss"]).max() < 0
    assert abs(float(rows["reward_model.head.b.grad"])) <= 1e-15
    assert rows["epoch4.score"][[1, 0, 3, 2]].tolist() == sorted(rows["epoch4.score"][:4], reverse=True)


@pytest.mark.parametrize("apart", [1400.0, -1400.0])
def test_a_probability_of_scores_that_are_far_apart_is_a_number_on_one_page_too(tmp_path: Path, apart: float) -> None:
    """e^1400 is more than a cell holds; σ of −1400 is 0."""
    row = {"prompt": "a", "chosen": "b", "rejected": "c", "score_chosen": apart / 2, "score_rejected": -apart / 2}
    book = bp.build([row], kind="reward_model")
    book.save(tmp_path / "far.xlsx")
    assert book.prove(tmp_path / "far.xlsx").failures == []
    assert book.loss == max(0.0, -apart)
