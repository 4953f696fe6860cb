"""Tabs stand in the order of a first reading, and have the colours by which One page tells models apart."""

from __future__ import annotations

import re
from itertools import chain

import pytest

from blueprint.page import grid, styles
from blueprint.page.one_page import look
from blueprint.page.outline import AGAIN, LOOKED_UP, Box, Flow, Section, Sheet, blocks_on
from blueprint.workbooks.common.guides import COLOURS
from blueprint.workbooks.registry import kinds
from tests.page.colours import WHITE, contrast
from tests.page.finished import Finished, finished
from tests.page.test_dress import ENOUGH
from tests.page.workshop import BUILT_IN

LAST = ("Notes", *grid.SHEETS)
STEPS = {
    "epochs": ("Policy", "Critic", "Loss", "Diagnostics", "Update"),
    "pipeline/ppo": ("Policy", "Critic", "Loss", "Diagnostics", "Update"),
    "reward-model": ("Reward model", "Scores", "Positions", "Pairs", "Update"),
    "pipeline/reward-model": ("Reward model", "Scores", "Positions", "Pairs", "Update"),
    "pipeline/sft": ("Policy", "Loss", "Diagnostics", "Update"),
    "pipeline/dpo": ("Policy", "Policy elsewhere", "Log-probs", "Pairs", "Update"),
    "sft": ("Policy", "Loss", "Diagnostics", "Update"),
}
"""By built-in numbers of several steps, the sheets that each step has."""
MODELS = {
    "Old policy": "old", "Reference": "reference", "Reward model": "reward", "Old critic": "critic", "Policy": "policy",
    "Critic": "critic",
}  # fmt: skip
"""Sheets that belong to a model, by what it is."""


def of_first_step(title: str) -> str:
    """Returns the title of a sheet in the first step."""
    return re.sub(r" \d+$", "", title)


def tab(file: Finished, title: str) -> str:
    """Returns the colour of a tab, "" where it has none."""
    colour = file.shown[title].sheet_properties.tabColor
    return f"#{colour.rgb[2:]}" if colour else ""


@pytest.mark.parametrize("name", BUILT_IN)
def test_tabs_stand_in_the_order_of_a_first_reading(name: str) -> None:
    """One page, Start, and then as it is computed; what a later step repeats, and last what is looked up."""
    file = finished(name)
    titles = [*file.sheets]
    assert titles[:2] == ["One page", "Start"]
    last = [title for title in LAST if title in titles]
    assert titles[-len(last) :] == last
    repeated = [title for title in titles if of_first_step(title) != title]
    assert titles[-len(last) - len(repeated) : -len(last)] == repeated
    outline = [sheet.title for sheet in file.book.blueprint.sheets]
    read = [title for title in outline if title in titles[2 : -len(last) - len(repeated)]]
    assert titles[2 : -len(last) - len(repeated)] == read


@pytest.mark.parametrize("name", STEPS)
def test_later_steps_stand_one_behind_the_other_behind_epochs_and_charts(name: str) -> None:
    titles = [*finished(name).sheets]
    again = [title for title in titles if of_first_step(title) != title]
    numbers = sorted({int(title.rpartition(" ")[2]) for title in again})
    assert numbers == [*range(2, numbers[-1] + 1)]
    assert again == [f"{title} {number}" for number in numbers for title in STEPS[name]]
    first = [titles.index(title) for title in STEPS[name]]
    assert first == sorted(first)
    assert max(first) < titles.index("Epochs") < titles.index("Charts") < titles.index(again[0])


@pytest.mark.parametrize("name", BUILT_IN)
def test_tabs_have_the_colours_of_one_page_and_say_the_same_in_words(name: str) -> None:
    file = finished(name)
    assert tab(file, "One page") == look.STRONG["none"]
    assert {tab(file, title) for title in LAST if title in file.sheets} == {styles.LOOKED_UP_TAB}
    for sheet in file.book.blueprint.sheets:
        if sheet.tab == LOOKED_UP:
            continue
        colour = "" if sheet.colour == "none" else look.STRONG[sheet.colour]
        assert tab(file, sheet.title) == colour
        title = file.shown[sheet.title]["B1"]
        assert not colour or (title.value, f"#{title.font.color.rgb[2:]}") == (sheet.title, look.TEXT[sheet.colour])
    for sheet in file.book.blueprint.sheets:
        model = MODELS.get(of_first_step(sheet.title))
        assert model is None or sheet.colour == COLOURS[model]


def test_a_panel_of_one_page_has_the_colour_of_the_sheet_from_which_its_matrices_are() -> None:
    seen = set()
    for name in BUILT_IN:
        made = finished(name).book.blueprint
        assert made.one_page is not None
        colours = {block.name: colour for block, colour in made.colours.items()}
        for panel in made.one_page.panels:
            for matrix in panel.matrices:
                if colours.get(matrix.block, "none") != "none":
                    seen.add(panel.model)
                    assert colours[matrix.block] == panel.model, (name, matrix.block)
    assert seen == {"blue", "grey", "orange"}


def test_heads_and_boxes_have_the_colour_of_the_sheet() -> None:
    file = finished("epochs")
    made = file.book.blueprint
    for title, role in (("Old policy", "blue"), ("Critic 2", "green"), ("Reward model", "purple")):
        banner = next(cell for cell in file.shown[title][3] if cell.value == "Episode 1")
        assert f"#{banner.fill.fgColor.rgb[2:]}" == look.STRONG[role]
    plain = next(cell for cell in file.shown["Loss"][3] if cell.value == "Episode 1")
    assert f"#{plain.fill.fgColor.rgb[2:]}" == styles.NAVY
    start = file.shown["Start"]
    filled = (cell for row in start.iter_rows() for cell in row if cell.value and cell.fill.patternType == "solid")
    cells = {cell.value: f"#{cell.fill.fgColor.rgb[2:]}" for cell in filled}
    assert cells["log π_ref"] == look.PALE["grey"]
    assert cells["log π_θ"] == look.PALE["orange"]
    assert cells["score"] == look.PALE["purple"]
    flows = (item for section in made.sheets[0].sections for item in section.items if isinstance(item, Flow))
    boxes = [part for flow in flows for part in chain(*flow.rows) if isinstance(part, Box) and not part.small]
    led = {box.title: made.colours[box.block] for box in boxes if box.block is not None}
    coloured = {title: colour for title, colour in led.items() if colour != "none"}
    for title, colour in coloured.items():
        assert cells[title] == look.PALE[colour]
    assert set(coloured.values()) == {"blue", "grey", "purple", "green", "orange"}


@pytest.mark.parametrize("role", styles.TABS)
def test_heads_and_boxes_can_be_read(role: str) -> None:
    def bare(colour: str) -> str:
        return colour.removeprefix("#")

    banner, box, title = (styles.label_style(f"{style} {role}") for style in ("banner", "box", "title"))
    assert contrast(bare(banner["font_color"]), bare(banner["bg_color"])) >= ENOUGH
    assert contrast(bare(box["font_color"]), bare(box["bg_color"])) >= ENOUGH
    assert contrast(bare(title["font_color"]), WHITE) >= ENOUGH


def test_a_sheet_of_a_kind_without_colours_looks_as_it_did() -> None:
    made = finished("kl-controller")
    assert {sheet.colour for sheet in made.book.blueprint.sheets} == {"none"}
    assert {tab(made, title) for title in made.sheets} == {look.STRONG["none"], "", styles.LOOKED_UP_TAB}


def test_sheets_stay_in_the_order_in_which_they_are_computed_whatever_the_order_of_tabs() -> None:
    made = finished("epochs").book.blueprint
    titles = [sheet.title for sheet in made.sheets]
    assert titles.index("Update 4") < titles.index("Epochs")
    assert {sheet.title for sheet in made.tabs} == set(titles)
    assert {sheet.tab for sheet in made.sheets if of_first_step(sheet.title) != sheet.title} == {AGAIN}
    assert [sheet.title for sheet in made.sheets if sheet.tab == LOOKED_UP] == ["Notes"]


def test_every_sheet_of_which_a_kind_says_a_colour_is_in_one_of_its_workbooks() -> None:
    from blueprint.inputs.catalogue import data_in

    for kind in kinds():
        if kind.one_page is not None and kind.built_in():
            said = data_in(kind.one_page).get("sheets", {})
            there = {title for name in kind.built_in() for title in finished(name).sheets}
            assert set(said) <= there, kind.name


def test_a_colour_is_that_of_all_blocks_on_the_sheet() -> None:
    made = finished("default").book.blueprint
    sheet = next(sheet for sheet in made.sheets if sheet.title == "Reference")
    assert {made.colours[block] for block in blocks_on(sheet)} == {"grey"}
    assert Sheet("a", "", (Section("b", ()),)).colour == "none"
