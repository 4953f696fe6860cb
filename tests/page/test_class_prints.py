"""What a class prints: no sheet takes many pages, no heading stands over nothing, and bars can be seen and read."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from openpyxl import load_workbook
from openpyxl.utils import column_index_from_string

from tests.page.finished import finished
from tests.page.paper import breaks, fitted, scale

NAMES = ("default", "dpo", "grpo", "reward-model", "sft")
LARGEST = {"default": 36, "dpo": 60, "grpo": 40, "reward-model": 70, "sft": 60}
"""Pages that a workbook may take at most; grpo took 241."""


def pages_of(numbers: str) -> dict[str, int]:
    """Returns how many pages each sheet takes."""
    roots = finished(numbers).sheets.items()
    return {name: (len(breaks(root, "row")) + 1) * (len(breaks(root, "col")) + 1) for name, root in roots}


@pytest.mark.parametrize("numbers", NAMES)
def test_no_sheet_takes_many_pages(numbers: str) -> None:
    pages = pages_of(numbers)
    assert max(pages.values()) <= 4, pages
    assert sum(pages.values()) <= LARGEST[numbers]
    assert {pages[name] for name in ("First hour", "Loss") if name in pages} == {1}


def test_a_sheet_of_which_the_first_group_is_printed_says_so() -> None:
    file = finished("grpo")
    said = [
        name for name in file.sheets if file.shown[name]["D3"].value and "first group" in file.shown[name]["D3"].value
    ]
    assert {"Loss", "Ratio", "Policy", "Rules"} <= set(said)
    book: Any = load_workbook(file.path)
    for name in said:
        last = re.findall(r"\$([A-Z]+)\$", str(book[name].print_area))[-1]
        assert column_index_from_string(last) < column_index_from_string("AC"), name
    assert file.shown["Start"]["D3"].value is None


@pytest.mark.parametrize("numbers", NAMES)
def test_no_heading_stands_over_nothing(numbers: str) -> None:
    """On a sheet whose steps are folded away a section with nothing else is folded with its heading."""
    book: Any = load_workbook(finished(numbers).path)
    for sheet in finished(numbers).book.blueprint.sheets:
        page = book[sheet.title]
        hidden = {row for row, found in page.row_dimensions.items() if found.hidden}
        headings = [*filter(None, (_row_of(page, heading) for heading in sheet.headings())), page.max_row + 1]
        for first, end in pairwise(headings):
            if first not in hidden and sheet.closed:
                shown = [row for row in range(first + 1, end) if row not in hidden]
                assert any(page.cell(row, column).value is not None for row in shown for column in (2, 3)), (
                    sheet.title,
                    page.cell(first, 2).value,
                )


def _row_of(page: Any, heading: str) -> int | None:
    return next((row for row in range(1, page.max_row + 1) if page.cell(row, 2).value == heading), None)


def test_the_rankings_of_a_reward_model_show_the_pairs_and_fold_what_is_1_or_0() -> None:
    page: Any = load_workbook(finished("reward-model").path)["Rankings"]
    shown = [row for row in range(1, page.max_row + 1) if not page.row_dimensions[row].hidden]
    assert len(shown) < 60 < page.max_row - 100


@pytest.mark.parametrize("numbers", NAMES)
def test_hatched_bars_have_their_colour_below_white_stripes_and_numbers_where_no_word_is(numbers: str) -> None:
    file = finished(numbers)
    charts = [file.parts[name].decode() for name in file.parts if name.startswith("xl/charts/chart")]
    for chart in charts:
        for fore, back in re.findall(
            r"<a:fgClr><a:srgbClr val=\"(\w+)\"/></a:fgClr><a:bgClr><a:srgbClr val=\"(\w+)\"/>", chart
        ):
            assert fore == "FFFFFF" != back
        if chart.count("<c:ser>") > 1 and "<c:barChart>" in chart and "<c:dLblPos" in chart:
            assert 'val="outEnd"' not in chart
    formats = {found for chart in charts for found in re.findall(r"formatCode=\"(\[[^\"]*)\"", chart)}
    assert all("-0.005" in found.replace("&lt;", "<") or "-0.0005" in found for found in formats)


@pytest.mark.parametrize(("numbers", "sheets"), [
    ("default", ("One page", "Start", "Walk")), ("dpo", ("One page", "Start", "Walk", "Pairs")),
    ("grpo", ("One page", "Start", "Walk", "Groups")), ("sft", ("One page", "Start", "Walk")),
    ("reward-model", ("One page", "Start")), ("epochs", ("One page", "Start", "Walk")),
    ("very-very-sleepy", ("One page", "Start", "Walk")),
])  # fmt: skip
def test_the_sheets_that_a_class_needs_print_on_one_page_each(numbers: str, sheets: tuple[str, ...]) -> None:
    """Start and Walk at 53 % or more: ten points are then at least 5.3 on paper."""
    pages = pages_of(numbers)
    assert {name: pages[name] for name in sheets} == dict.fromkeys(sheets, 1)
    file = finished(numbers)
    assert all("fitToPage" in fitted(file, name) for name in sheets)
    assert {name for name in sheets if name in ("Start", "Walk") and scale(file, name) <= 0.525} == set()


@pytest.mark.parametrize("numbers", ["default", "grpo", "dpo"])
def test_on_walk_only_options_that_are_not_in_use_are_folded(numbers: str) -> None:
    file = finished(numbers)
    layout = file.book.layout
    rows = {row for sheet, first, last in layout.folds if sheet == "Walk" for row in range(first, last + 1)}
    page: Any = load_workbook(file.path)["Walk"]
    assert {row for row, found in page.row_dimensions.items() if found.hidden} == {row + 1 for row in rows}
    symbols = {page.cell(row + 1, 2).value for row in rows}
    assert not symbols & {"A_n", "log π_old", "log π_θ", "d_free", "L_clip", "1/N", "L_dpo", "σ_u", "S_w"}
    assert (
        symbols
        >= {"default": {"k2", "k3"}, "grpo": {"A_white", "L_reinf", "1/B", "pay"}, "dpo": {"L_ipo", "L_ort"}}[numbers]
    )
    lines = {line.row for line in layout.walk}
    assert str(page.cell(3, 4).value).startswith(
        f"{len(rows & lines)} of {len(lines | {row for row, _ in layout.told})} lines are"
    )


def test_a_part_of_walk_that_nothing_in_use_reads_is_folded_with_its_heading() -> None:
    """Its default preset pays no KL, and what the KL of a token comes from is a section."""
    page: Any = load_workbook(finished("grpo-batch").path)["Walk"]
    heading = next(
        row for row in range(1, page.max_row) if str(page.cell(row, 2).value).endswith("The KL to the reference")
    )
    following = next(row for row in range(heading, page.max_row) if str(page.cell(row, 2).value).startswith("8  "))
    assert [page.row_dimensions[row].hidden for row in range(heading - 1, following)] == [True] * (
        following - heading
    ) + [False]
