"""Charts of every kind with sheets that are folded draw rows that are in view."""

from __future__ import annotations

import pytest

from blueprint.page.outline import Chart, Row, Sheet
from tests.page.workshop import made

DRAWN = {"grpo-batch": (16, 101), "dpo-batch": (16, 101), "sft-batch": (1, 0), "reward-batch": (1, 0)}
"""By built-in numbers how many rows are drawn, and how many are hidden, at least."""


def folded(sheet: Sheet) -> set[str]:
    """Returns the rows of a sheet that are hidden when the file is opened."""
    return {item.block.name for item in sheet.items() if isinstance(item, Row) and item.fold and sheet.closed}


@pytest.mark.parametrize("numbers", DRAWN)
def test_no_chart_draws_a_folded_row(numbers: str) -> None:
    sheets = made(numbers=numbers).blueprint.sheets
    charts = [item for sheet in sheets for item in sheet.items() if isinstance(item, Chart)]
    drawn = {each.name for chart in charts for series in chart.series for each in (series.values, series.over)}
    hidden = set[str]().union(*map(folded, sheets))
    assert len(drawn) >= DRAWN[numbers][0]
    assert len(hidden) >= DRAWN[numbers][1]
    assert drawn & hidden == set()
    assert numbers != "sft-batch" or len(charts) == 2
