"""Sheets fit: on paper in letters that can be read, on a small laptop with room below and beside what stays in view."""

from __future__ import annotations

import re

import pytest

from tests.page.finished import FILES, MAIN, NUMBER_ROW, Finished, area, finished
from tests.page.paper import height, only, print_titles, scale, width

BUILDS: dict[str, tuple[str, ...]] = {
    "default": (),
    "very-very-sleepy": (),
    "eight episodes": ("sizes.episodes=8",),
    "long": ("sizes.vocabulary=20", "sizes.hidden=8", "sizes.max_new_tokens=40"),
}
A4 = "9"
SMALLEST = 0.5
"""At half their size the ten points of the cells are five on paper: below that one needs a lens."""
LAPTOP_WIDTH, LAPTOP_HEIGHT = 1366, 480
"""A small laptop's screen, and what is left of its 768 pixels below the ribbon and above the taskbar."""
OWN = ("Delivered", "Contents")
"""Sheets that list blocks and have no decisions."""
POLICIES = {"Old policy": "old", "Reference": "reference", "Policy": "policy"}


def built(name: str) -> Finished:
    """Builds a workbook of those above."""
    return finished(name if name in FILES else "default", *BUILDS[name])


def with_episodes(file: Finished) -> list[str]:
    """Returns the sheets on which episodes stand side by side."""
    heads = {sheet: [cell.value for cell in file.shown[sheet][NUMBER_ROW - 1]] for sheet in file.sheets}
    return [sheet for sheet, head in heads.items() if "Episode 1" in head]


@pytest.mark.parametrize("name", BUILDS)
def test_every_sheet_prints_on_a4_across_as_many_pages_as_it_needs(name: str) -> None:
    for sheet, root in built(name).sheets.items():
        setup = only(root, "pageSetup")
        assert setup["orientation"] == "landscape", sheet
        assert setup["paperSize"] == A4, sheet
        assert setup["fitToHeight"] == "0", sheet  # as many pages below each other as there are
        assert int(setup.get("fitToWidth", "1")) >= 1, sheet
        assert "scale" not in setup, sheet
        assert only(root, "pageSetUpPr") == {"fitToPage": "1"}, sheet


@pytest.mark.parametrize("own", [False, True], ids=["sheets of the outline", "Delivered and Contents"])
@pytest.mark.parametrize("name", BUILDS)
def test_letters_on_paper_are_large_enough_to_read(name: str, own: bool) -> None:
    file = built(name)
    scales = {sheet: scale(file, sheet) for sheet in file.sheets if (sheet in OWN) is own}
    assert scales
    assert {sheet: round(by, 2) for sheet, by in scales.items() if by < SMALLEST} == {}


def test_more_episodes_take_more_pages_side_by_side() -> None:
    few, many = (
        {s: int(only(root, "pageSetup").get("fitToWidth", "1")) for s, root in built(name).sheets.items()}
        for name in ("default", "eight episodes")
    )
    wide = with_episodes(built("default"))
    assert len(wide) >= 12
    assert all(many[sheet] > few[sheet] for sheet in wide), (few, many)


@pytest.mark.parametrize("name", BUILDS)
def test_every_page_repeats_the_title_and_the_head(name: str) -> None:
    """The rows that stay in view on the screen are those that every page repeats, from the title on."""
    file = built(name)
    for sheet, root in file.sheets.items():
        rows = print_titles(file)[sheet]["rows"]
        assert (rows.top, rows.bottom) == (1, int(only(root, "pane")["ySplit"])), sheet
        assert file.shown[sheet].cell(1, 1).value or file.shown[sheet].cell(1, 2).value, sheet


@pytest.mark.parametrize("name", BUILDS)
def test_sheets_of_decisions_repeat_the_names_of_their_rows(name: str) -> None:
    file = built(name)
    for sheet in with_episodes(file):
        columns = print_titles(file)[sheet]["columns"]
        assert (columns.left, columns.right) == (1, 3), sheet
        assert only(file.sheets[sheet], "pane")["xSplit"] == "3", sheet
        assert file.shown[sheet].cell(NUMBER_ROW, 17).value == 1, sheet
    assert len(with_episodes(file)) >= (3 if name == "very-very-sleepy" else 12)


@pytest.mark.parametrize("name", BUILDS)
def test_every_page_says_which_it_is(name: str) -> None:
    """&A is the name of the sheet, &P the page, &N their number."""
    for sheet, root in built(name).sheets.items():
        footer = root.findtext(f"{MAIN}headerFooter/{MAIN}oddFooter") or ""
        assert {"&A", "&P", "&N"} <= set(re.findall("&[A-Z]", footer)), sheet


@pytest.mark.parametrize("own", [False, True], ids=["sheets of the outline", "Delivered and Contents"])
@pytest.mark.parametrize("name", BUILDS)
def test_what_stays_in_view_leaves_room_on_a_laptop(name: str, own: bool) -> None:
    """At most 40 % of the width and 45 % of the height."""
    large = {}
    for sheet, root in built(name).sheets.items():
        pane = only(root, "pane")
        across = width(root, 1, int(pane.get("xSplit", "0"))) / LAPTOP_WIDTH
        down = height(root, int(pane.get("ySplit", "0"))) / LAPTOP_HEIGHT
        if (sheet in OWN) is own and (across > 0.4 or down > 0.45):
            large[sheet] = round(across, 3), round(down, 3)
        assert pane["state"] == "frozen", sheet
        assert down > 0, sheet
    assert large == {}


@pytest.mark.parametrize("name", BUILDS)
def test_the_file_opens_on_its_first_sheet_and_each_sheet_at_its_beginning(name: str) -> None:
    """Nothing is scrolled away; the active cell is none but the first, or the first one below and beside the head."""
    file = built(name)
    view = only(file.xml("xl/workbook.xml"), "workbookView")
    assert (view.get("activeTab", "0"), view.get("firstSheet", "0")) == ("0", "0")
    selected = []
    for sheet, root in file.sheets.items():
        looks, pane = only(root, "sheetView"), only(root, "pane")
        selected += [sheet] * (looks.get("tabSelected", "0") == "1")
        first = area(pane["topLeftCell"])
        assert (first.left, first.top) == (int(pane.get("xSplit", "0")) + 1, int(pane["ySplit"]) + 1), sheet
        assert looks.get("topLeftCell", "A1") == "A1", sheet
        active = [s for s in root.iter(f"{MAIN}selection") if s.attrib.get("pane") == pane["activePane"]]
        assert len(active) == 1, sheet
        assert active[0].attrib.get("activeCell", "A1") in ("A1", pane["topLeftCell"]), sheet
    assert selected == ["Start"] == list(file.sheets)[:1]


@pytest.mark.parametrize("name", BUILDS)
def test_titles_of_sheets_are_short_and_plain(name: str) -> None:
    """Programs allow 31 letters and none of []:*?/\\; quotes and the like only make formulas hard to read."""
    for sheet in built(name).sheets:
        assert len(sheet) <= 31
        assert re.fullmatch(r"[A-Z][A-Za-z]*( (&|[A-Za-z]+))*", sheet), sheet
        assert sheet != "History"  # Excel keeps it for itself


@pytest.mark.parametrize("name", ["default", "eight episodes", "long"])
def test_steps_of_the_soft_max_fold_away_at_a_sign_above_them(name: str) -> None:
    """The exponentials are folded away, results never."""
    file = built(name)
    for sheet, prefix in POLICIES.items():
        root = file.sheets[sheet]
        levels = {int(row.attrib["r"]): int(row.attrib.get("outlineLevel", "0")) for row in root.iter(f"{MAIN}row")}
        folded = {row for row, level in levels.items() if level}
        steps = file.places[f"{prefix}.exponentials"]
        assert set(range(steps.top, steps.bottom + 1)) <= folded, sheet
        for result in ("logprobs", "memory", "p", "logits"):
            place = file.places[f"{prefix}.{result}"]
            assert not folded & set(range(place.top, place.bottom + 1)), f"{prefix}.{result}"
        assert set(levels.values()) == {0, 1}
        assert only(root, "outlinePr")["summaryBelow"] == "0", sheet
        assert only(root, "sheetFormatPr").get("outlineLevelRow") == "1", sheet
        assert not any(row.attrib.get("hidden") for row in root.iter(f"{MAIN}row")), sheet  # all is in view at first


@pytest.mark.parametrize("name", ["default", "eight episodes", "long"])
def test_a_fold_never_cuts_a_block_and_leaves_a_row_in_view_above_it(name: str) -> None:
    """The sign by which one folds and unfolds hangs at the row above, which must not scroll with the head."""
    file = built(name)
    for sheet, root in file.sheets.items():
        folded = {int(row.attrib["r"]) for row in root.iter(f"{MAIN}row") if row.attrib.get("outlineLevel")}
        for block, place in file.places.items():
            meaning = file.book.blocks[block].about.meaning
            above = (row for row in (place.top - 2, place.top - 1) if row > 0)
            captions = {row for row in above if file.shown[sheet].cell(row, 3).value == meaning}
            rows = captions | set(range(place.top, place.bottom + 1))
            if place.sheet == sheet:
                assert not folded & rows or rows <= folded, block
        pane = int(only(root, "pane")["ySplit"])
        starts = [row for row in folded if row - 1 not in folded]
        assert all(row > pane + 1 for row in starts), sheet
