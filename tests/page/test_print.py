"""On paper: sheets fit in letters that can be read, and what a class needs is on few pages of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from openpyxl.utils import column_index_from_string

from blueprint.page.grid import FIRST_PRINTED
from tests.page.finished import FILES, MAIN, NUMBER_ROW, Finished, area, finished
from tests.page.paper import breaks, fitted, height, hung, only, print_areas, print_titles, scale, starts, width
from tests.page.workshop import opened

BUILDS: dict[str, tuple[str, ...]] = {
    "default": (),
    "very-very-sleepy": (),
    "eight episodes": ("sizes.episodes=8",),
    "long": ("sizes.vocabulary=20", "sizes.hidden=8", "sizes.max_new_tokens=40"),
}
A4 = "9"
SMALLEST = 0.53
"""There the ten points of the cells are more than five on paper: below that one needs a lens."""
GROUPS = 16
"""The column (P) at which the first episode begins."""
LAPTOP_WIDTH, LAPTOP_HEIGHT = 1366, 480
"""A small laptop's screen, and what is left of its 768 pixels below the ribbon and above the taskbar."""
OWN = ("Delivered", "Formulas", "Contents")
"""Sheets that list blocks and have no decisions."""
POLICIES = {"Old policy": "old", "Reference": "reference", "Policy": "policy"}


def built(name: str) -> Finished:
    return finished(name if name in FILES else "default", *BUILDS[name])


def with_episodes(file: Finished) -> list[str]:
    """Returns the sheets on which episodes stand side by side."""
    heads = {sheet: [cell.value for cell in file.shown[sheet][NUMBER_ROW - 1]] for sheet in file.sheets}
    return [sheet for sheet, head in heads.items() if "Episode 1" in head]


@pytest.mark.parametrize("name", BUILDS)
def test_every_sheet_prints_on_a4_on_one_page_or_with_ends_of_its_own(name: str) -> None:
    """A program that fits a sheet to its paper heeds no ends of pages; where there are some, a scale is set."""
    for sheet, root in built(name).sheets.items():
        setup = only(root, "pageSetup")
        assert setup["orientation"] in ("landscape", "portrait"), sheet
        assert setup["paperSize"] == A4, sheet
        if "scale" in setup:
            assert SMALLEST <= int(setup["scale"]) / 100 <= 1, sheet
            assert not list(root.iter(f"{MAIN}pageSetUpPr")) or "fitToPage" not in only(root, "pageSetUpPr"), sheet
        else:
            assert only(root, "pageSetUpPr").get("fitToPage") == "1" or not breaks(root, "row") + breaks(root, "col"), (
                sheet
            )
            assert "fitToWidth" not in setup, sheet  # one page wide
            assert "fitToHeight" not in setup, sheet


@pytest.mark.parametrize("name", BUILDS)
def test_letters_on_paper_are_large_enough_to_read(name: str) -> None:
    file = built(name)
    scales = {sheet: scale(file, sheet) for sheet in file.sheets}
    assert {sheet: round(by, 3) for sheet, by in scales.items() if by < SMALLEST} == {}


@pytest.mark.parametrize("name", BUILDS)
def test_pages_end_between_episodes_at_the_same_columns_on_every_sheet(name: str) -> None:
    """Where the episodes do not all fit on one page, each begins a new one, or the first alone is printed and the sheet says so."""
    file = built(name)
    second = [column for column in starts(file) if column > GROUPS]
    found = {sheet: breaks(file.sheets[sheet], "col") for sheet in file.sheets}
    assert {tuple(ends) for ends in found.values() if ends} <= {tuple(column - 1 for column in second)}
    assert all(sheet in with_episodes(file) for sheet, ends in found.items() if ends)
    cut = [sheet for sheet in file.sheets if file.shown[sheet]["D3"].value == FIRST_PRINTED]
    assert bool(any(found.values()) or cut) == bool(second)


@pytest.mark.parametrize("name", BUILDS)
def test_no_page_ends_within_the_rows_of_a_block(name: str) -> None:
    """Nor between a block and its caption."""
    file = built(name)
    cut = []
    for sheet, root in file.sheets.items():
        for block, place in file.places.items():
            meaning = file.book.blocks[block].about.meaning
            captions = [
                row
                for row in (place.top - 2, place.top - 1)
                if row > 0 and file.shown[sheet].cell(row, 3).value == meaning
            ]
            first = min([place.top, *captions])
            cut += [(block, end) for end in breaks(root, "row") if place.sheet == sheet and first <= end < place.bottom]
    assert cut == []


@pytest.mark.parametrize("name", BUILDS)
def test_no_page_ends_in_a_chart_and_all_charts_are_printed(name: str) -> None:
    file = built(name)
    root = file.sheets["Charts"]
    printed = print_areas(file)["Charts"]
    for top, bottom, right in hung(file):
        assert bottom <= printed.bottom
        assert right <= printed.right
        assert not any(top < end < bottom for end in breaks(root, "row"))
    assert breaks(root, "col") == []


@pytest.mark.parametrize("name", BUILDS)
def test_of_lists_that_nobody_prints_the_head_is_printed_and_says_so(name: str) -> None:
    file = built(name)
    for sheet in OWN:
        head = int(only(file.sheets[sheet], "pane")["ySplit"])
        assert print_areas(file)[sheet].bottom == head
        said = [cell.value for row in file.shown[sheet].iter_rows(max_row=head) for cell in row if cell.value]
        assert any("Printed: the head" in str(text) for text in said), sheet
    assert file.shown["Contents"].max_row > 100


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
    """Of Charts the pictures are printed, which have no rows."""
    file = built(name)
    for sheet in with_episodes(file):
        columns = print_titles(file)[sheet].get("columns")
        assert sheet == "Charts" or (columns and (columns.left, columns.right) == (1, 3)), sheet
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
    assert selected == ["One page"] == list(file.sheets)[:1]


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


# What a class prints: no sheet takes many pages, no heading stands over nothing, and bars can be seen and read.


NAMES = ("default", "dpo", "grpo", "reward-model", "sft")
LARGEST = {"default": 36, "dpo": 60, "grpo": 40, "reward-model": 70, "sft": 60}
"""Pages that a workbook may take at most; grpo took 241."""


def pages_of(numbers: str) -> dict[str, int]:
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
    book: Any = opened(file.path, formulas=True)
    for name in said:
        last = re.findall(r"\$([A-Z]+)\$", str(book[name].print_area))[-1]
        assert column_index_from_string(last) < column_index_from_string("AC"), name
    assert file.shown["Start"]["D3"].value is None


@pytest.mark.parametrize("numbers", NAMES)
def test_no_heading_stands_over_nothing(numbers: str) -> None:
    """On a sheet whose steps are folded away a section with nothing else is folded with its heading."""
    book: Any = opened(finished(numbers).path, formulas=True)
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
    page: Any = opened(finished("reward-model").path, formulas=True)["Rankings"]
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
    page: Any = opened(file.path, formulas=True)["Walk"]
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
    page: Any = opened(finished("grpo-batch").path, formulas=True)["Walk"]
    heading = next(
        row for row in range(1, page.max_row) if str(page.cell(row, 2).value).endswith("The KL to the reference")
    )
    following = next(row for row in range(heading, page.max_row) if str(page.cell(row, 2).value).startswith("8  "))
    assert [page.row_dimensions[row].hidden for row in range(heading - 1, following)] == [True] * (
        following - heading
    ) + [False]


# On paper, as LibreOffice prints it: what a class needs is on a page of its own, and nobody prints the lists.


FOOT = re.compile(r"^ *default \.xlsx +(.+?) +page (\d+) of (\d+)$", re.MULTILINE)
"""The foot of a page: the file, the sheet, the page and their number."""
MOST = 35
"""The workbook took 89 pages when its columns were wide and its lists were printed."""


@pytest.fixture(scope="module")
def pages(needs_libreoffice: None, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The text of every page of the default workbook."""
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed (poppler-utils)")
    room = tmp_path_factory.mktemp("paper")
    profile = f"-env:UserInstallation={(room / 'profile').as_uri()}"
    source = finished("default").path
    subprocess.run(
        ["soffice", profile, "--headless", "--convert-to", "pdf", "--outdir", str(room), str(source)], check=True
    )
    pdf = room / f"{source.stem}.pdf"
    text = subprocess.run(["pdftotext", "-layout", str(pdf), "-"], check=True, capture_output=True, text=True).stdout
    return text.split("\f")[:-1]


def test_the_default_workbook_takes_few_pages(pages: list[str]) -> None:
    found = [FOOT.search(page) for page in pages]
    sheets = Counter(foot[1] for foot in found if foot)
    assert sum(sheets.values()) == len(pages) <= MOST
    for sheet in ("Walk", "Reward & advantage", "Loss", "Inputs", "First hour", "Delivered", "Contents"):
        assert sheets[sheet] == 1, sheet
    assert all(sheets[sheet] in (2, 4) for sheet in ("Old policy", "Reference", "Policy"))


@pytest.mark.parametrize("sheet", ["Reward & advantage", "Loss"])
def test_one_page_holds_names_equations_and_both_episodes(pages: list[str], sheet: str) -> None:
    (page,) = (page for page in pages if (foot := FOOT.search(page)) and foot[1] == sheet)
    for text in ("Episode 1", "Episode 2", "happy", "sleepy"):
        assert text in page, text
    last = {"Loss": "share", "Reward & advantage": "Â_used"}[sheet]
    assert re.search(rf"^ *\d+ +{last} .*= .*(-?\d\.\d{{4}} +){{15}}-?\d\.\d{{4}}", page, re.MULTILINE)


def test_the_page_of_the_walk_has_names_values_equations_and_numbers(pages: list[str]) -> None:
    """From the choice of a decision to the total loss; how the page is made stays off the paper."""
    (walk,) = (page for page in pages if (foot := FOOT.search(page)) and foot[1] == "Walk")
    assert re.search(r"ρ +importance ratio.* 1\.1737 +=.*= exp\(", walk)
    assert "episode to walk through" in walk
    assert re.search(r"L +total loss.* 0\.1055 +=.*= \(?−0\.0519", walk)
    assert "How this page is made" not in walk
