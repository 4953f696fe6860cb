"""Microbatches of fine-tuning: no more of them than texts, neither in a file nor in a cell."""

from __future__ import annotations

from pathlib import Path

import pytest

import blueprint as bp
from blueprint.inputs import NumbersError
from blueprint.page.grid import address
from tests.checking.cells import change
from tests.page.workshop import in_ironcalc, made, opened


def test_more_microbatches_than_texts_are_refused() -> None:
    with pytest.raises(
        NumbersError, match=r"^sft.microbatches: found 5, expected at most 4: each of them has a text\.$"
    ):
        made("sft.microbatches=5", "loss.normaliser=microbatches", "loss.mean_eps=1e-8", numbers="sft-batch")


def test_as_many_microbatches_as_texts_give_the_mean_of_the_texts_means() -> None:
    book = made("sft.microbatches=4", "loss.normaliser=microbatches", numbers="sft-batch")
    counts, costs = (book[name].to_numpy() for name in ("label.counts", "policy.logprobs"))
    means = [-(costs[n] * counts[n]).sum() / counts[n].sum() for n in range(4)]
    assert book.loss == pytest.approx(sum(means) / 4, rel=1e-12)


def test_more_that_are_typed_into_the_workbook_are_seen_by_its_checks_and_by_check(tmp_path: Path) -> None:
    """A text that is in no microbatch had the share 1/0, or 1/1e-8: a loss of 2e9 beside a check that said OK."""
    path, book = tmp_path / "sft.xlsx", made(numbers="sft-batch")
    book.save(tmp_path / "before.xlsx")
    typed: dict[str, float | str] = {"microbatches": 6.0, "loss.normaliser": "microbatches", "loss.mean_eps": 1e-8}
    spots = {name: book.spots[f"{name}.yours"] for name in typed}
    cells = {address(spot.top - 1, spot.left - 1): (None, typed[name]) for name, spot in spots.items()}
    change(tmp_path / "before.xlsx", path, spots["microbatches"].sheet, cells)
    engine = in_ironcalc(path)
    engine.evaluate()
    assert engine.get_formatted_cell_value(opened(path).sheetnames.index("Start"), 6, 4) == "LOOK"
    assert not bp.check(path).frame.empty
