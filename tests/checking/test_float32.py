"""Every workbook of the folder agrees in single precision, too, within what that can hold."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="check needs torch: install the extra [torch]")

from blueprint.checking import Checked
from blueprint.checking.checker import check
from tests.page.workshop import made

WORKBOOKS = sorted((Path(__file__).parents[2] / "workbooks").glob("*.xlsx"))
MANY_DRAWS = "frontier"
"""Has the best of 4,096 draws: F^n multiplies what rounding leaves of F by n, and 4,096 · 6e-8 is more than is allowed here. And at
β = 10 its KL is 0.002, the sum of terms that nearly cancel."""


@pytest.mark.parametrize("path", [path for path in WORKBOOKS if path.stem != MANY_DRAWS], ids=lambda path: path.stem)
def test_a_workbook_agrees_in_single_precision(path: Path) -> None:
    (verdict,) = check([Checked(path)], device="cpu", dtype="float32").verdicts
    assert verdict.agrees, [*map(str, verdict.firsts), *(line.name for line in verdict.page.differing)]
    assert 0 < verdict.largest < 1e-4


def test_the_frontier_agrees_with_fewer_draws_and_without_the_largest_beta(tmp_path: Path) -> None:
    made("sweep.draws=[1, 4, 16]", "sweep.betas=[2, 0.3, 0.05]", numbers=MANY_DRAWS).save(tmp_path / "fewer.xlsx")
    (verdict,) = check([Checked(tmp_path / "fewer.xlsx")], device="cpu", dtype="float32").verdicts
    assert verdict.agrees, [*map(str, verdict.firsts), *(line.name for line in verdict.page.differing)]
    # The best tie has 0.0007 of all draws: 1 − F_below/F has an error of 6e-8 / 0.0007, and so has its logarithm.
    assert 0 < verdict.largest < 2e-4


def test_what_single_precision_cannot_hold_is_there() -> None:
    """The sheet on which exp overflows has 1e307 in a cell; without it this would test nothing."""
    (verdict,) = check([Checked(WORKBOOKS[0].with_name("reward-model.xlsx"))], device="cpu", dtype="float32").verdicts
    assert verdict.file.arrays["overflow.exponential"].max() > 1e300
