"""The page as a file: its size, no requests, keys, typing, narrow screens, no scripts, words that look like markup."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

import blueprint as bp
from blueprint.page.outline import Chart
from blueprint.web.page import PageError
from tests.commands import run_command
from tests.page.workshop import MAINS
from tests.same.cases import presets_of
from tests.web.conftest import Opened, page_text

KILOBYTE = 1000
SIZES = dict.fromkeys((*MAINS.values(), "epochs", "ten-libraries"), 650) | {"default": 300, "grpo": 500}
READY, SLIDER = 3000, 300
"""Milliseconds until every number is there, and of a slider, on two cores that also run other tests; idle: 200 to 500, and 20."""


@pytest.mark.parametrize(("numbers", "most"), SIZES.items())
def test_a_page_is_small(numbers: str, most: int) -> None:
    assert len(page_text(numbers).encode()) <= most * KILOBYTE


def test_with_gradients_it_is_small_too() -> None:
    assert len(page_text("default", None, True).encode()) <= 800 * KILOBYTE


def test_it_asks_for_nothing_and_says_nothing(opened: Opened) -> None:
    page = opened(page_text("default"))
    assert len(page.requests) == 1  # the file itself
    assert page.errors == []
    assert page.evaluate("window.ready") < READY
    assert "largest difference" in page.inner_text("#foot")
    assert page.inner_text("#result").endswith("0.1055")


def test_the_opening_view_is_one_page_with_the_numbers_of_the_sheet(opened: Opened) -> None:
    page = opened(page_text("default"))
    assert page.is_visible("#overview")
    shown = page.inner_text("#overview")
    for number in ("−0.0519", "0.1766", "0.0192", "0.581", "✂", "episode 1, one of 2; means go over all"):
        assert number in shown, number
    assert page.locator("#overview caption").count() == 5


def test_of_many_steps_it_shows_those_that_the_sheet_shows(opened: Opened) -> None:
    """Nine steps of Q-learning, up to the last goal: the first nine would be nine times the step's reward."""
    page = opened(page_text("q-learning"))
    steps = page.locator("#overview .box").nth(1).locator("tr")
    shown = {row.split("\t")[1]: row.split("\t")[2:11] for row in steps.all_inner_texts() if row.count("\t") > 9}
    assert shown["s′"] == ["2", "1", "5", "4", "5", "9", "10", "11", "15"]
    assert shown["target"][-3:] == ["0.039", "0.330", "1"]


def test_a_line_of_the_sheet_is_a_line_of_the_page(opened: Opened) -> None:
    """The probability that the chosen response is preferred is no row, but an expression: σ of the difference."""
    page = opened(page_text("reward-model"))
    (row,) = [row for row in page.locator("#overview tr").all_inner_texts() if "P(right)" in row]
    assert row.split("\t")[2:6] == ["0.582", "0.513", "0.590", "0.430"]


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (1366, 768), (1440, 900), (1920, 1080)])
def test_the_whole_loss_stands_on_one_screen(opened: Opened, width: int, height: int) -> None:
    page = opened(page_text("default"), viewport={"width": width, "height": height})
    panels = [box.bounding_box() for box in page.locator("#overview .box").all()]
    assert len({panel["y"] for panel in panels}) == 1  # side by side
    loss = page.locator("#overview .tile.all").bounding_box()
    assert loss["y"] + loss["height"] <= height


@pytest.mark.parametrize(
    ("numbers", "shown"),
    {
        # a group of four, and a tile for each prompt
        "grpo": ("1: prompt 1, response 1, one of 12; means go over all", "response 4", "−0.866", "mean", "prompt 3"),
        "dpo": ("−6.297", "−3.898", "0.524", "π_ref: rejected"),  # both sides of the pair, and its margin
        "sft": ("text 1, one of 2; means go over all",),
        "optimum": ("0.715", "0.5892"),
        "frontier": ("0.381", "0.7511"),
        "value-iteration": ("0.90", "what it is worth to choose"),
        "q-learning": ("γ·max Q′", "return of the last episode"),
        "bandit": ("0.675", "0.45"),
        "kto": ("0.5006", "−0.125"),
        "advantage": ("0.0147",),
    }.items(),
)  # fmt: skip
def test_one_page_of_groups_and_pairs(opened: Opened, numbers: str, shown: tuple[str, ...]) -> None:
    page = opened(page_text(numbers))
    text = page.inner_text("#overview")
    for word in shown:
        assert word in text, word
    assert page.errors == []


def test_a_number_tells_where_it_comes_from_and_where_it_goes(opened: Opened) -> None:
    page = opened(page_text("default"), "#advantages/4")
    panel = page.inner_text("#panel")
    assert "advantage (GAE)" in panel
    assert "0.3269" in panel
    assert "comes from" in panel
    assert "goes into" in panel
    page.click("#panel .links button >> nth=0")
    assert "TD error" in page.inner_text("#panel")


def test_a_number_of_one_page_leads_to_its_sheet(opened: Opened) -> None:
    page = opened(page_text("default"))
    page.evaluate("choose(byName['advantages'].number, 4, true)")
    assert page.inner_text("#sheets [aria-current]") == "Reward & advantage"
    assert page.is_visible("#explore td.chosen")


ROOM_OF_SELECTS = """() => [...document.querySelectorAll('#settings select')].map((box) => {
  const pen = document.createElement('canvas').getContext('2d'), style = getComputedStyle(box), arrow = 16;
  pen.font = style.font;
  const room = box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - arrow;
  return [...box.options].map((each) => each.text).filter((text) => pen.measureText(text).width > room);
})"""


@pytest.mark.parametrize("width", [1366, 390])
def test_a_choice_is_wide_enough_for_its_longest_option(opened: Opened, width: int) -> None:
    page = opened(page_text("ten-libraries"), viewport={"width": width, "height": 768})
    page.eval_on_selector("#settings details", "more => { more.open = true; }")
    cut = page.evaluate(ROOM_OF_SELECTS)
    assert len(cut) > 20
    assert not [text for box in cut for text in box]


def test_a_preset_is_a_choice_and_every_setting_follows(opened: Opened) -> None:
    page = opened(page_text("dpo"))
    before = page.inner_text("#result")
    for preset in (*presets_of("dpo")[:4], "default"):
        page.select_option("#settings select >> nth=0", preset)
        due = bp.build("dpo", preset=None if preset == "default" else preset).loss
        assert page.evaluate("blocks[data.result].cells[0]") == pytest.approx(due, abs=1e-12), preset
    assert page.inner_text("#result").startswith(before)
    assert page.evaluate("data.settings.length") > 10


def test_above_a_choice_stands_the_number_for_each_word(opened: Opened) -> None:
    page = opened(page_text("ten-libraries"))
    page.evaluate("drawCurves()")
    page.wait_for_selector("#settings .setting >> nth=0 >> circle.word >> nth=0", state="attached")
    words = page.evaluate("blocks[byName.preset.choices].cells.length")
    assert page.locator("#settings .setting >> nth=0").locator("circle.word").count() == words
    said = page.get_attribute("#settings .setting >> nth=0 >> svg", "aria-label") or ""
    assert f"verl {page_number(bp.build('ten-libraries', preset='verl').loss)}" in said


def page_number(number: float) -> str:
    """Returns a number as the page prints it."""
    return f"{number:.4f}".rstrip("0").rstrip(".").replace("-", "−")


@pytest.mark.parametrize("numbers", ["default", "grpo", "dpo", "optimum", "epochs"])
def test_charts_are_drawn_from_the_rows_of_the_workbook(opened: Opened, numbers: str) -> None:
    page = opened(page_text(numbers))
    sheets = [
        (sheet.title, [item for section in sheet.sections for item in section.items if isinstance(item, Chart)])
        for sheet in bp.build(numbers).blueprint.tabs
    ]
    drawn = 0
    for title, charts in sheets:
        if not charts:
            continue
        page.evaluate(
            """(title) => {
              setMode("explore");
              state.sheet = sheets.findIndex((sheet) => sheet.title === title);
              drawSheet();
            }""",
            title,
        )
        assert page.locator("figure").count() == len(charts)
        assert [page.inner_text(f"figure >> nth={i} >> b") for i in range(len(charts))] == [
            each.title for each in charts
        ]
        for i, chart in enumerate(charts):
            marks = (
                page.locator(f"figure >> nth={i}").locator("svg[role=img] :is(path.line, circle.dot, rect.bar)").count()
            )
            assert marks >= len(chart.series), chart.title
            drawn += marks
    assert drawn > 5
    assert page.errors == []


def test_a_chart_lies_where_its_numbers_say(opened: Opened) -> None:
    """The bars of the advantages are as high as the advantages."""
    page = opened(page_text("default"))
    heights = page.evaluate("""() => {
      setMode("explore");
      const titled = sheets.flatMap((sheet) => sheet.sections).flatMap((section) => section.items).map((item) => item.chart);
      const chart = titled.find((each) => each && each.title === "Advantage of every token");
      const figure = drawnChart(chart), bars = [...figure.querySelectorAll("rect.bar.c0")].slice(0, -1);
      const values = runsOf(chart, chart.series[0]).flat().map(([, value]) => value);
      return [bars.map((bar) => Number(bar.getAttribute("height"))), values];
    }""")
    high, values = heights[0], [abs(value) for value in heights[1] if value is not None and value == value]
    known = [value for value in values if value]
    assert len(known) > 4
    scale = max(high) / max(known)
    assert sorted(h for h in high if h > 0)[-len(known) :] == pytest.approx(
        sorted(scale * value for value in known), rel=1e-9
    )


def test_each_group_stands_below_the_other_where_asked(opened: Opened) -> None:
    page = opened(page_text("grpo"))
    page.evaluate(
        "() => { setMode('explore'); state.sheet = sheets.findIndex((s) => s.title === 'Loss'); drawSheet(); }"
    )
    before = page.locator("#explore tbody tr").count()
    page.click("#sheets button.fold >> text=each")
    assert page.locator("#explore tbody tr").count() > 5 * before
    assert page.errors == []


def test_typing_changes_what_hangs_on_it_and_comes_back(opened: Opened) -> None:
    page = opened(page_text("default"))
    before = page.inner_text("#result")
    page.evaluate("type(byName['gamma.yours'].number, 0, '0.5')")
    due = bp.build("default", set={"ppo.gamma": 0.5}).loss
    assert abs(page.evaluate("blocks[data.result].cells[0]") - due) < 1e-12
    assert "was 0.1055" in page.inner_text("#result")
    page.keyboard.press("r")
    assert page.inner_text("#result") == before


def test_where_a_cell_was_emptied_the_result_leads_to_it(opened: Opened) -> None:
    page = opened(page_text("default"))
    before = page.inner_text("#result")
    page.evaluate("type(byName['old.E'].number, 5, NaN)")
    first = page.locator("#result button").first
    assert "is empty" in first.inner_text()
    page.wait_for_timeout(600)  # until the curves above the sliders are drawn, which have no points now
    first.click()
    assert page.evaluate("[state.mode, blocks[state.cell[0]].name, state.cell[1]]") == ["explore", "old.E", 5]
    page.locator("#result").get_by_role("button", name="as it was").click()
    assert page.inner_text("#result") == before
    assert page.errors == []


@pytest.mark.parametrize(
    ("typed", "came_to", "says"),
    [
        ("0.25", 0.25, ""),
        ("0,25", 0.25, ""),
        ("−1e-3", -0.001, ""),
        ("abc", 0.7, "type a number, such as 0.5"),
        ("=1+1", 0.7, "type a number, such as 0.5"),
        ("1e999", 0.7, "type a number, such as 0.5"),
        ("off", 0.7, "type a number, such as 0.5"),
    ],
)
def test_a_number_is_typed_as_people_write_it_and_nothing_else_is_taken(
    opened: Opened, typed: str, came_to: float, says: str
) -> None:
    page = opened(page_text("default"))
    page.evaluate("choose(byName['old.E'].number, 0)")
    page.fill("#panel .typing input", typed)
    page.press("#panel .typing input", "Enter")
    assert page.evaluate("byName['old.E'].cells[0]") == pytest.approx(came_to)
    found = page.evaluate("document.querySelector('#panel .typing input').validationMessage")
    assert (found, page.errors) == (says, [])


def test_a_number_out_of_its_range_is_not_taken(opened: Opened) -> None:
    page = opened(page_text("default"))
    page.evaluate("choose(byName['gamma.yours'].number, 0)")
    page.fill("#panel .typing input", "1.5")
    page.press("#panel .typing input", "Enter")
    assert page.evaluate("document.querySelector('#panel .typing input').validationMessage") == (
        "type a number from 0 to 1"
    )
    assert page.evaluate("byName['gamma'].cells[0]") == pytest.approx(0.9)


def test_a_wide_panel_on_a_phone_has_words_of_one_line(opened: Opened) -> None:
    """Words that wrap behind the right edge made rows three lines high."""
    page = opened(page_text("by-hand-bandit"), viewport={"width": 390, "height": 844})
    heights = page.eval_on_selector_all(".box.wide tr td.told", "cells => cells.map(cell => cell.offsetHeight)")
    assert heights
    assert max(heights) < 30


def test_a_slider_answers_at_once(opened: Opened) -> None:
    page = opened(page_text("default"))
    took = page.evaluate("""() => {
      const slider = document.querySelector("#settings input[type=range]"), began = performance.now();
      slider.value = "0.5";
      slider.dispatchEvent(new Event("input"));
      return performance.now() - began;
    }""")
    assert took < SLIDER
    assert page.evaluate("byName['gamma'].cells[0]") == pytest.approx(0.5)


def test_keys_alone_lead_everywhere(opened: Opened) -> None:
    page = opened(page_text("default"), "#advantages/4")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("state.cell[1]") == 5
    page.keyboard.press("ArrowDown")
    assert page.evaluate("blocks[state.cell[0]].name") == "returns"
    page.keyboard.press("h")
    assert "?" in page.inner_text("#panel .value")
    page.keyboard.press("h")
    page.keyboard.press("w")
    assert page.is_visible("#walk .card")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("state.step") == 1  # its numbers, its value, the next line
    page.keyboard.press(".")
    assert page.evaluate("state.at.join()") == "0,6"
    page.keyboard.press("p")
    assert page.evaluate("document.body.classList.contains('lecture')")
    page.keyboard.press("Escape")
    assert not page.evaluate("document.body.classList.contains('lecture')")


@pytest.mark.parametrize("numbers", MAINS.values())
def test_every_line_of_the_walk_can_be_shown(opened: Opened, numbers: str) -> None:
    page = opened(page_text(numbers))
    lines = page.evaluate("""() => {
      setMode("walk");
      walkLines.forEach((_, i) => goTo(i, 2));
      return walkLines.length;
    }""")
    assert lines > 3
    assert page.errors == []


@pytest.mark.parametrize("numbers", ["default", "grpo", "dpo", "classic"])
def test_every_sheet_and_column_can_be_shown(opened: Opened, numbers: str) -> None:
    page = opened(page_text(numbers))
    page.evaluate("""() => {
      setMode("explore");
      sheets.forEach((_, i) => { state.sheet = i; drawSheet(); });
      for (let i = 0; i < 40; i++) stepColumn(1);
    }""")
    assert page.errors == []


def test_an_address_opens_a_line_of_the_walk(opened: Opened) -> None:
    page = opened(page_text("default"), "#walk/34")
    assert page.is_visible("#walk .card")
    assert page.evaluate("state.step") == 34


def test_without_scripts_it_is_the_walk(opened: Opened) -> None:
    page = opened(page_text("default"), java_script_enabled=False)
    assert page.locator("#plain div").count() >= 50
    assert page.is_visible("#plain div >> nth=0")
    assert not page.is_visible("#settings")


def test_where_the_scripts_fail_it_is_the_walk_too(opened: Opened) -> None:
    page = opened(page_text("default").replace("window.ready=performance.now();", "nothing.at.all();"))
    assert page.errors != []
    assert page.is_visible("#plain div >> nth=0")


def test_it_prints_on_a_few_pages(opened: Opened) -> None:
    printed = opened(page_text("default")).pdf(format="A4")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 8


@pytest.mark.parametrize("width", [320, 390])
@pytest.mark.parametrize("where", ["", "#advantages/4", "#walk/34"])
def test_a_phone_need_not_be_scrolled_sideways(opened: Opened, width: int, where: str) -> None:
    page = opened(page_text("default"), where, viewport={"width": width, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_phone_no_panel_of_one_page_is_wider_than_the_screen(opened: Opened) -> None:
    page = opened(page_text("default"), viewport={"width": 360, "height": 740})
    widths = "[...document.querySelectorAll('.box')].map((box) => [box.scrollWidth, box.clientWidth])"
    assert len(page.evaluate(widths)) >= 3
    assert [each for each in page.evaluate(widths) if each[0] > each[1]] == []


@pytest.mark.parametrize(
    ("numbers", "words"), [("optimum", "good good|good not"), ("kto", "how so?|is it late?"), ("bandit", "A|B")]
)
def test_members_are_called_by_their_words(opened: Opened, numbers: str, words: str) -> None:
    page = opened(page_text(numbers))
    heads = page.locator("#overview tr.words th").all_inner_texts()
    assert "|".join(heads[:2]) == "|".join(page.locator("#tokens button").all_inner_texts()[:2]) == words


def test_less_a_negative_number_is_plus(opened: Opened) -> None:
    page = opened(page_text("default"))
    assert "(A−0.1799)" in page.inner_text("#overview")
    page.evaluate("type(byName['reward_model.head.w'].number, 0, -9)")
    assert page.evaluate("byName['advantage.mean'].cells[0]") < 0
    assert "(A+" in page.inner_text("#overview")
    assert "−−" not in page.inner_text("#overview")


def test_one_page_says_how_advantages_are_whitened_only_while_they_are(opened: Opened) -> None:
    page = opened(page_text("default"))
    line = "[...document.querySelectorAll('.boxes tr')].filter((row) => row.innerText.includes('Â'))[0].innerText"
    assert "(A−0.1799)" in page.evaluate(line)
    page.evaluate(
        "type(blocks.findIndex((block) => block.name === 'whiten_advantages.yours'), 0, 'off'); drawOverview()"
    )
    assert "(A−" not in page.evaluate(line)
    assert page.evaluate(line).split()[0] == "…"


def test_what_is_left_of_a_rounding_is_shown_as_0(opened: Opened) -> None:
    page = opened(page_text("by-hand-bandit"))
    assert page.evaluate("brief(1.6 - (0.8 + 0.8 * 1.0000000000000002))") == "0"
    assert [page.evaluate(f"brief({each})") for each in ("-1e-8", "0.25", "-3")] == ["−1.0e-8", "0.250", "−3"]
    assert "e-16" not in page.inner_text("#overview")


def test_a_word_that_looks_like_markup_stays_a_word(opened: Opened, tmp_path: Path) -> None:
    word = "</script><img src=x onerror=alert(1)>"
    book = bp.build("default")
    vocabulary = ["<eos>", "the", "old", "dog", "is", word, "sleepy", "happy"]
    found = bp.Book(book.blueprint.with_typed({"vocabulary": vocabulary}))
    page = opened(found.page().text, "#old.p/40")
    assert page.errors == []
    assert page.locator("img").count() == 0
    assert word in page.inner_text("#tokens")
    assert len(page.requests) == 1


def test_a_worksheet_has_no_page(tmp_path: Path) -> None:
    sheet = bp.worksheet(bp.build("default"), 4, topic="gae", seed="7")
    bp.Book(sheet.blueprint).save(tmp_path / "sheet.xlsx")
    with pytest.raises(PageError, match="is a worksheet: a page computes every number"):
        bp.open(tmp_path / "sheet.xlsx").page()


def test_the_command_writes_it_and_refuses_in_sentences(tmp_path: Path) -> None:
    target = tmp_path / "x.html"
    said = run_command("page", "classic", "-o", target)
    assert said.exit_code == 0, said.output
    assert target.read_text(encoding="utf-8") == page_text("classic")
    book = bp.build("classic")
    book.save(tmp_path / "classic.xlsx")
    again = run_command("page", tmp_path / "classic.xlsx")
    assert again.exit_code == 0, again.output
    assert (tmp_path / "classic.html").exists()
    for arguments, message in {
        ("page", "classic", "-o", str(target)): "is there already",
        ("page", "classic", "-o", str(tmp_path / "x.txt")): "does not end in .html",
        ("page", str(tmp_path / "classic.xlsx"), "--preset", "sb3"): "has its own numbers",
        ("page", "nothing"): "nothing",
    }.items():
        refused = run_command(*arguments)
        assert refused.exit_code == 2, refused.output
        assert message in refused.stderr


def test_making_a_page_takes_less_than_a_build(tmp_path: Path) -> None:
    book = bp.build("default")
    began = time.process_time()
    book.page(tmp_path / "x.html")
    assert time.process_time() - began < 1
