"""What a teacher meets in a lesson: the space bar after a click, numbers that stay hidden, what a click opens, legends, phones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.web.conftest import page_text

LAPTOP, PHONE = (1280, 800), (375, 812)
Shown = Callable[..., Any]


@pytest.fixture(scope="module")
def shown(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """Opens the page of built-in numbers, on one screen for all tests; what was done before is undone."""
    folder: Path = tmp_path_factory.mktemp("pages")
    pages: dict[tuple[int, int], Any] = {}

    def open_page(numbers: str, screen: tuple[int, int] = LAPTOP, where: str = "") -> Any:
        path = folder / f"{numbers}.html"
        if not path.exists():
            path.write_text(page_text(numbers), encoding="utf-8")
        if screen not in pages:
            pages[screen] = chromium.new_page(viewport={"width": screen[0], "height": screen[1]})
        page = pages[screen]
        page.goto("about:blank")
        page.goto(path.as_uri() + where)
        return page

    yield open_page
    for page in pages.values():
        page.close()


def test_the_space_bar_goes_on_after_a_click(shown: Shown) -> None:
    page = shown("default")
    at = "[state.mode, state.step, state.phase, state.hidden, document.body.classList.contains('lecture')]"
    page.click("#walk-button")
    page.keyboard.press("Space")
    assert page.evaluate(at) == ["walk", 0, 1, False, False]
    page.click("#hide-button")
    page.keyboard.press("Space")
    assert page.evaluate(at) == ["walk", 0, 2, True, False]
    page.click("#hide-button")
    page.click("#help-button")
    closed = "document.querySelector('#help button').click(), document.activeElement.id"
    assert page.evaluate(closed) == "main"  # at once, before the event that tells of it
    page.keyboard.press("Space")
    assert page.evaluate(at) == ["walk", 1, 0, False, False]
    page.locator("#settings input[type=range]").first.click()
    page.keyboard.press("Space")
    page.evaluate("document.documentElement.requestFullscreen = () => Promise.resolve()")
    page.click("#lecture-button")
    page.keyboard.press("Space")
    assert page.evaluate(at) == ["walk", 2, 0, False, True]
    page.evaluate("setLecture(false); document.getElementById('walk-button').focus()")
    page.keyboard.press("Enter")  # opened by keys alone
    page.keyboard.press("Space")
    assert page.evaluate("[state.step, state.phase]") == [2, 1]


NUMBERS = """[...document.querySelectorAll("#overview :is(.boxes td, .tile b)")]
  .map((cell) => cell.innerText).filter((text) => /\\d/.test(text))"""


@pytest.mark.parametrize("numbers", ["default", "classic", "grpo"])
def test_hidden_numbers_leave_settings_alone(shown: Shown, numbers: str) -> None:
    """γ·V next, the mean of the advantages and the yellow of the smaller one told what was hidden."""
    page = shown(numbers)
    assert len(page.evaluate(NUMBERS)) > 50
    own = "data.settings.map(({ own }) => blocks[own]).find((own) => !own.text && own.choices === undefined).number"
    page.evaluate(f"type({own}, 0, 0.7); setHidden(true)")
    told = page.evaluate(NUMBERS)
    assert [
        each
        for each in told
        if not any(word in each for word in ("×", "…", "± 0.2", "end: 0", "> 0", "> 1", "f = 0.5"))
    ] == []
    assert page.locator("#overview td.counts").count() == 0
    assert [each for each in page.locator("#overview td.told").all_inner_texts() if "(A" in each] in ([], ["(A−?) / ?"])
    assert page.evaluate(FLAT) >= 0  # until every curve is drawn anew
    labels = page.eval_on_selector_all(
        "#settings > .setting svg", "all => all.map((svg) => svg.getAttribute('aria-label'))"
    )
    assert not any(each.isdigit() for label in labels for each in label)
    assert not any(sign.isdigit() for sign in page.inner_text("#result").split("was")[-1].split("as it")[0])


def test_a_tile_opens_what_it_shows(shown: Shown) -> None:
    page = shown("grpo")
    for tile, value in ((1, "−0.0359"), (2, "0.0287"), (3, "0")):
        page.click(f"#overview .tile >> nth={tile}")
        assert page.inner_text(f"#overview .tile >> nth={tile} >> b") == value
        assert page.inner_text("#panel .value") == f"= {value}"
        assert f"prompt {tile}" in page.inner_text("#panel h2")
    page.click("#overview .tile >> nth=1")
    parts = page.evaluate("state.line.offsets.map((offset) => blocks[state.line.block].cells[offset])")
    assert sum(parts) == pytest.approx(-0.0359, abs=5e-5)
    assert page.locator("#panel .links button").count() == len(parts) == 9
    page = shown("default")
    assert page.locator("#overview .tile").count() == page.locator("#overview button.tile").count() == 4
    page.click("#overview .tile >> nth=3")
    assert page.inner_text("#panel .value") == "= 0.0192"


def test_every_number_of_one_page_opens_and_the_panel_leaves_it_in_sight(shown: Shown) -> None:
    page = shown("default")
    page.evaluate("document.querySelector('#settings details').open = true")
    found = page.evaluate("""() => {
      const cells = () => [...document.querySelectorAll("#overview .boxes td:not(.told, .sign)")]
        .filter((td) => /\\d/.test(td.innerText));
      return cells().map((_, i) => i).filter((i) => i % 4 === 0).map((i) => {
        scrollTo(0, 0);
        cells()[i].click();
        const chosen = document.querySelector("#overview .chosen"), panel = element("panel").getBoundingClientRect();
        const number = (text) => Number(text.replace("−", "-").replace(/[^-\\d.e]/g, ""));
        const same = Math.abs(number(cells()[i].innerText) - number(element("panel").querySelector(".value").innerText)) < 6e-4;
        return [cells()[i].innerText, same, chosen !== null && chosen.getBoundingClientRect().bottom <= panel.top];
      });
    }""")
    assert len(found) > 50
    assert [each for each in found if each[1:] != [True, True]] == []
    page.locator("#overview td", has_text="0.703").first.click()
    assert page.evaluate("document.querySelector('#panel .equation').textContent") == "γ·λ·At+1"


CHARTS = "setMode('explore'); state.sheet = sheets.findIndex((sheet) => sheet.title === 'Charts'); drawSheet()"
FIGURE = "[...document.querySelectorAll('figure')].find((each) => each.innerText.startsWith('{}'))"


def test_the_next_token_is_drawn_at_one_position(shown: Shown) -> None:
    page = shown("default")
    page.evaluate(CHARTS)
    figure = FIGURE.format("Next token")
    heights = (
        "(figure) => [...figure.querySelectorAll('g rect.bar.c0')].map((bar) => Number(bar.getAttribute('height')))"
    )
    words = "(figure) => [...figure.querySelectorAll('text')].map((text) => text.textContent)"
    for place, due in ((3, [0.055, 0.175, 0.132, 0.048, 0.164, 0.133, 0.073, 0.220]), (6, None)):
        page.evaluate(f"goToColumn([0, {place}])")
        found = page.evaluate_handle(figure).evaluate(heights)
        assert len(found) == 8
        if due:
            assert [each / sum(found) for each in found] == pytest.approx(due, abs=6e-4)
        assert {"<eos>", "the", "sleepy", "happy"} <= set(page.evaluate_handle(figure).evaluate(words))


def test_words_in_charts_do_not_overlap(shown: Shown) -> None:
    for numbers in ("grpo", "default"):
        page = shown(numbers)
        page.evaluate(CHARTS)
        overlaps = page.evaluate("""() => [...document.querySelectorAll("figure > div > svg")].flatMap((svg) => {
          const texts = [...svg.querySelectorAll("text:not([transform])")];
          const boxes = texts.map((text) => text.getBoundingClientRect());
          const across = (one, two) => one.left < two.right - 1 && two.left < one.right - 1;
          const meet = (one, two) => across(one, two) && one.top < two.bottom - 4 && two.top < one.bottom - 4;
          return texts.filter((_, i) => boxes.some((other, k) => k > i && meet(boxes[i], other))).map((text) => text.textContent);
        })""")
        assert overlaps == [], numbers


def test_a_curve_leaves_the_picture_where_its_numbers_do(shown: Shown) -> None:
    page = shown("dpo")
    page.evaluate(CHARTS)
    ends = page.evaluate(f"""() => [...{FIGURE.format("Loss of a pair")}.querySelectorAll("g[clip-path] path.line")]
      .map((path) => path.getAttribute("d").slice(1).split("L").map((at) => Number(at.split(" ")[1])))""")
    assert any(min(ups) < -30 for ups in ends)  # far above it, by its numbers
    assert page.locator("figure g[clip-path] circle").count() == 0  # a dot on the edge is whole
    assert page.locator("figure circle.dot").count() > 6


def test_the_embedding_of_the_token_read_is_on_the_walk(shown: Shown) -> None:
    page = shown("default", LAPTOP, "#walk/1")
    page.keyboard.press("Space")
    assert [row.split() for row in page.locator("#walk .bars tr").all_inner_texts()] == [
        ["x1", "−0.7"],
        ["x2", "0.1"],
        ["x3", "−0.4"],
    ]
    assert "E" in page_text("default").split("<p>embedding of the token read<p>")[1][:60]
    assert ": −0.7; 0.1; −0.4" in page_text("default")


def test_a_mistake_is_told_beside_what_is_right(shown: Shown) -> None:
    page = shown("default", LAPTOP, "#walk/34")
    page.evaluate("goTo(34, 2); state.vote = true; drawWalk()")
    lines = page.locator(".vote li > span").all_inner_texts()
    assert "γ is forgotten; right is δ = r + γ·Vt+1 − Vt." in lines
    assert page.locator(".vote li > span").filter(has_text="γ is forgotten").locator("sub").all_inner_texts() == [
        "t+1",
        "t",
    ]
    starts = page.eval_on_selector_all(".vote meter", "bars => bars.map((bar) => bar.getBoundingClientRect().left)")
    assert len(set(starts)) == 1
    assert page.evaluate("saidSet('The mean is added: it is subtracted.')") == "The mean is added: it is subtracted."
    page.evaluate("document.body.classList.add('lecture')")
    starts = page.eval_on_selector_all(".vote meter", "bars => bars.map((bar) => bar.getBoundingClientRect().left)")
    assert len(set(starts)) == 1


def test_on_a_phone_the_panel_is_one_column_and_rows_stay_aligned(shown: Shown) -> None:
    page = shown("default", PHONE)
    page.locator("#overview td", has_text="1.169").first.click()
    assert page.evaluate("element('panel').scrollWidth <= element('panel').clientWidth")
    right = "[...document.querySelectorAll('#panel .links button')].map((each) => each.getBoundingClientRect().right)"
    assert max(page.evaluate(right)) <= PHONE[0]
    page.evaluate("""() => {
      window.boxOf = (node) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return range.getBoundingClientRect();
      };
    }""")
    apart = page.evaluate("""[...document.querySelectorAll("#overview tr:has(.mark)")].map((row) => {
      const cells = [...row.querySelectorAll("td:not(.told, .sign)")].filter((td) => td.lastChild);
      const bottoms = cells.map((td) => boxOf(td.lastChild).bottom);
      return Math.max(...bottoms) - Math.min(...bottoms);
    })""")
    assert len(apart) >= 4
    assert max(apart) < 3
    gaps = page.evaluate("""[...document.querySelectorAll("#overview td.told")]
      .filter((td) => td.innerText && td.previousElementSibling.innerText)
      .map((td) => boxOf(td).left - td.previousElementSibling.getBoundingClientRect().right)""")
    assert min(gaps) >= 4
    page.evaluate("setMode('walk')")
    for step in (34, 0, 50):
        page.evaluate(f"goTo({step}, 0)")
        box = page.locator(".chapters [aria-current]").bounding_box()
        assert 0 <= box["x"] < box["x"] + min(box["width"], 375) <= 376


def test_signs_and_colours_are_explained_where_they_stand(shown: Shown) -> None:
    page = shown("default")
    said = page.inner_text("#overview .legend")
    for sign in ("what was written", "↖ read one to the left", "the one that counts", "✂ clipped: no gradient"):
        assert sign in said, sign
    page.click("#help-button")
    assert "clipped: no gradient" in page.inner_text("#signs")
    assert "typed, may be changed" in page.inner_text("#signs")
    page.click("#help button")
    page.evaluate("choose(byName.advantages.number, 4, true)")
    legend = page.locator("#explore .legend")
    assert "below 0" in legend.inner_text()
    colour = "(cell) => getComputedStyle(cell).backgroundColor.split('/')[0].replace(/, [^,]*$/, '')"
    low = page.locator("#explore td", has_text="−0.376").first.evaluate(colour)
    assert legend.locator("i.below").evaluate(colour) == low != legend.locator("i.above").evaluate(colour)
    page = shown("bandit")
    assert "clipped" not in page.inner_text("#overview .legend")  # no sign that is not there


FRONT = """[...document.querySelectorAll("#settings > .setting label small")].map((each) => each.textContent)"""
FLAT = """async () => {
  while (curves.some(({ svg }) => svg.isConnected && !svg.innerHTML)) await new Promise((done) => setTimeout(done, 50));
  return document.querySelectorAll("#settings > .setting svg.flat").length;
}"""


@pytest.mark.parametrize(
    ("numbers", "wanted"),
    {
        "default": {"gamma", "gae_lambda", "kl_coef", "clip_range", "vf_coef", "ent_coef", "update_step"},
        "grpo": {"preset", "loss.clip_low", "loss.clip_high", "update_step"},
        "dpo": {"preset", "beta", "loss.label_smoothing"},
    }.items(),
)
def test_the_settings_in_front_move_the_loss_in_use(shown: Shown, numbers: str, wanted: set[str]) -> None:
    page = shown(numbers)
    before = page.evaluate("blocks.map((block) => [...block.cells].map(String).join())")
    assert wanted <= set(page.evaluate(FRONT))
    assert len(page.evaluate(FRONT)) == 9
    assert page.evaluate(FLAT) == 0
    page.evaluate("front = null; inFront()")
    assert (
        page.evaluate("blocks.map((block) => [...block.cells].map(String).join())") == before
    )  # what was tried is undone


def test_the_settings_in_front_follow_the_preset(shown: Shown) -> None:
    page = shown("dpo")
    before = page.evaluate(FRONT)
    page.select_option("#settings select >> nth=0", "trl_1.16_ipo")
    after = page.evaluate(FRONT)
    assert after[0] == before[0] == "preset"
    assert set(before) - set(after) >= {"loss.label_smoothing", "loss.gamma"}  # which IPO does not read
    page.evaluate("type(byName['beta.yours'].number, 0, 0.3); drawSettings()")
    assert page.evaluate(FRONT) == after  # none moves under the hand of whoever draws a slider


def test_the_names_and_options_of_settings_can_be_read(shown: Shown) -> None:
    page = shown("default")
    page.evaluate("document.querySelector('#settings details').open = true")
    cut = page.evaluate("""[...document.querySelectorAll("#settings .setting")].flatMap((setting) => {
      const name = setting.querySelector("small"), symbol = setting.querySelector("math").getBoundingClientRect();
      return [name.clientHeight < 0.72 * 16 * 1.3, symbol.bottom > name.getBoundingClientRect().top + 4];
    })""")
    assert not any(cut)
    options = page.locator("#settings select option:checked").all_inner_texts()
    assert "k1 (as usual)" in options


def test_of_many_columns_the_rest_is_a_click_away(shown: Shown) -> None:
    page = shown("grpo")
    assert "1–4 of 12" in page.inner_text("#tokens")
    page.get_by_label("those behind").click()
    assert page.evaluate("state.at[0]") == 4
    assert page.locator("#tokens button[aria-pressed=true]").count() == 1
    page.get_by_label("those before").click()
    assert page.evaluate("state.at[0]") < 4
    page = shown("q-learning")
    assert "1–40 of 110" in page.inner_text("#tokens")
    page.get_by_label("those behind").click()
    assert page.evaluate("state.at.at(-1)") == 40
    page = shown("default")
    assert page.get_by_label("those behind").count() == 0


def test_settings_are_a_table_and_tokens_run_from_left_to_right(shown: Shown) -> None:
    page = shown("default")
    open_sheet = "(title) => { setMode('explore'); state.sheet = sheets.findIndex((each) => each.title === title); drawSheet(); }"
    page.evaluate(open_sheet, "Inputs")
    table = page.locator("table.lines").first
    assert [head.strip() for head in table.locator("th[scope=col]").all_inner_texts()][:5] == [
        *("used", "yours", "preset", "lowest", "highest")
    ]
    assert table.locator("tr").count() == 11
    assert table.locator("tr", has_text="discount of later rewards").locator("td").all_inner_texts() == [
        "0.900",
        "",
        "0.900",
        "0",
        "1",
        "0",
    ]
    page.evaluate(open_sheet, "Old policy")
    table = page.locator("table.small", has_text="embedding: a column for every token")
    assert table.locator("th[scope=col]").all_inner_texts() == [
        "<eos>",
        "the",
        "old",
        "dog",
        "is",
        "very",
        "sleepy",
        "happy",
    ]
    assert table.locator("tr").nth(1).locator("td").nth(4).inner_text() == page.evaluate(
        "brief(byName['old.E'].cells[4 * 3])"
    )
    table.locator("tr").nth(2).locator("td").nth(4).click()
    assert page.evaluate("[blocks[state.cell[0]].name, state.cell[1]]") == ["old.E", 13]


def test_classic_panels_stand_side_by_side(shown: Shown) -> None:
    page = shown("classic")
    assert len(set(page.eval_on_selector_all("#overview .box", "boxes => boxes.map((box) => box.offsetTop)"))) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= LAPTOP[0]


def test_a_symbol_that_names_a_value_is_no_equation(shown: Shown) -> None:
    page = shown("default", LAPTOP, "#td_errors/6")
    chips = page.locator("#panel .links button", has_text="λ=0.5")
    assert chips.count() == 1
    assert chips.locator("msub mtext").text_content() == "λ=0.5"
    assert chips.locator("mo").count() == 0
    assert page.evaluate("math('<msub><mi>V</mi><mtext>end</mtext></msub><mo>=</mo><mn>0</mn>').includes('<mo>=</mo>')")
