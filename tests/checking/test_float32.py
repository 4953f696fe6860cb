"""Every workbook of the folder agrees in single precision, too, within what that can hold."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="check needs torch: install the extra [torch]")

from blueprint.checking import Checked
from blueprint.checking.checker import check

WORKBOOKS = sorted((Path(__file__).parents[2] / "workbooks").glob("*.xlsx"))


@pytest.mark.parametrize("path", WORKBOOKS, ids=lambda path: path.stem)
def test_a_workbook_agrees_in_single_precision(path: Path) -> None:
    (verdict,) = check([Checked(path)], device="cpu", dtype="float32").verdicts
    assert verdict.agrees, [*map(str, verdict.firsts), *(line.name for line in verdict.page.differing)]
    assert 0 < verdict.largest < 1e-4


def test_what_single_precision_cannot_hold_is_there() -> None:
    """The sheet on which exp overflows has 1e307 in a cell; without it this would test nothing."""
    (verdict,) = check([Checked(WORKBOOKS[0].with_name("reward-model.xlsx"))], device="cpu", dtype="float32").verdicts
    assert verdict.file.arrays["overflow.exponential"].max() > 1e300
