"""Sheets of DPO: Walk follows the pair that is picked, curves go through the pairs' dots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint import Book
from blueprint.page.outline import Step
from tests.page.workshop import made


@pytest.fixture(scope="module")
def book() -> Book:
    """Makes the workbook of one batch."""
    return made(numbers="dpo-batch")


def test_the_curves_are_the_losses_of_pairs_with_those_margins() -> None:
    book = made("dpo.beta=1", "loss.label_smoothing=0.1", numbers="dpo-batch")

    def row(name: str) -> np.ndarray:
        return np.asarray(book.values[book.blocks[name]])

    margin, grid = row("margin.argument"), row("curve.u")
    assert np.abs(margin).max() * 2 == pytest.approx(grid.max(), rel=1e-12)
    right = np.logaddexp(0, -grid)
    assert row("curve.sigmoid") == pytest.approx(right, rel=1e-12)
    assert row("curve.smoothed") == pytest.approx(0.9 * right + 0.1 * np.logaddexp(0, grid), rel=1e-12)
    assert row("loss.sigmoid") == pytest.approx(np.interp(margin, grid, row("curve.smoothed")), abs=0.02)
    assert row("loss.unsure") == pytest.approx(np.interp(margin, grid, row("pull.sigmoid")), abs=0.02)
    assert row("loss.hinge") == pytest.approx(np.maximum(0, 1 - margin), rel=1e-12)
    # (h − 1/(2β))² · 4β², what the curve of IPO draws
    assert (4 * row("loss.ipo")) == pytest.approx((1 - 2 * margin) ** 2, rel=1e-12)
    assert row("curve.ipo") == pytest.approx((1 - 2 * grid) ** 2, rel=1e-12)


def test_the_slope_of_a_curve_is_minus_its_pull() -> None:
    book = made("loss.label_smoothing=0.1", numbers="dpo-batch")
    grid, loss, pull = (book.values[book.blocks[name]] for name in ("curve.u", "curve.smoothed", "pull.smoothed"))
    assert np.gradient(loss, grid)[1:-1] == pytest.approx(-pull[1:-1], abs=0.003)


def test_the_heads_say_which_response_of_which_pair_it_is(book: Book) -> None:
    ((_, heads),) = book.blueprint.heads.items()
    assert heads == [f"pair {pair}, {side}" for pair in (1, 2, 3, 4) for side in ("chosen", "rejected")]


def test_walk_goes_back_downhill_for_the_pair_and_every_number_of_it_is_recalculated(tmp_path: Path) -> None:
    outline = made("gradients=on", numbers="dpo-batch").blueprint.with_typed({"walk.pair": 3})
    (walk,) = (sheet for sheet in outline.sheets if sheet.title == "Walk")
    back = {item.block.name: item.block for item in walk.sections[-2].items if isinstance(item, Step)}
    assert walk.sections[-2].title == "Downhill: from the loss back"
    book = Book(outline)
    # 2305.18290, eq. 7: β σ(−βh) over the number of pairs, down for the chosen log-prob, up for the rejected one
    pull = 0.1 / (1 + np.exp(book.values[book.blocks["margin.scaled"]])) / 4
    assert book.values[back["chosen.logp.grad"]] == pytest.approx(-pull, rel=1e-12)
    assert book.values[back["rejected.logp.grad"]] == pytest.approx(pull, rel=1e-12)
    book.save(tmp_path / "a.xlsx")
    proof = book.prove(tmp_path / "a.xlsx")
    assert (proof.failures, proof.total > 15_000) == ([], True)


def test_what_the_first_hour_proposes_does_what_it_says(book: Book) -> None:
    def row(name: str, *settings: str) -> np.ndarray:
        changed = made(*settings, numbers="dpo-batch") if settings else book
        return np.asarray(changed.values[changed.blocks[name]], dtype=float)

    assert row("rewards.margins", "dpo.beta=1") == pytest.approx(10 * row("rewards.margins"), rel=1e-12)
    assert row("preference_loss", "loss.form=hinge") == pytest.approx(np.mean(1 - row("margin.argument")), rel=1e-12)
    assert row("preference_loss", "loss.form=ipo") == pytest.approx(np.mean((row("margin") - 5) ** 2), rel=1e-12)
    means = row("margin", "logp.of=mean")
    assert np.all(np.abs(means) < np.abs(row("margin")) / 2)
    assert np.count_nonzero((means > 0) != (row("margin") > 0)) == 1
    pull, grid = (row(name, "loss.label_smoothing=0.1", "dpo.beta=5") for name in ("pull.smoothed", "curve.u"))
    assert np.array_equal(pull < 0, grid > np.log(9))
    free = row("chosen.ratio", "reference.used=off")
    assert free == pytest.approx(row("chosen.logp"), rel=1e-12)


@pytest.mark.parametrize("pair", [1, 2, 3, 4])
def test_walk_tells_the_tokens_of_the_pair_that_is_picked(book: Book, pair: int) -> None:
    picked = Book(book.blueprint.with_typed({"walk.pair": pair}))
    told = [live.value for live in picked.layout.lives if live.sheet == "Walk" and live.style == "walk list"]
    assert len(told) == 4
    for text, side, row in zip(told, (0, 0, 1, 1), ("policy", "reference") * 2, strict=True):
        words, logprobs, counts = (
            book.values[book.blocks[name]][2 * (pair - 1) + side]
            for name in ("word_written", f"{row}.logprobs", "response.tokens")
        )
        said = [part.rpartition(" ") for part in str(text).split(", ")]
        assert [word for word, *_ in said] == list(words[counts == 1])
        numbers = [float(number.replace("−", "-")) for *_, number in said]
        assert numbers == pytest.approx(logprobs[counts == 1], abs=5.1e-5)
