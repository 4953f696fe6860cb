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
    page.click("#help button")
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
        each for each in told if not any(word in each for word in ("×", "…", "± 0.2", "end: 0", "> 0", "> 1"))
    ] == []
    assert page.locator("#overview td.counts").count() == 0
    assert [each for each in page.locator("#overview td.told").all_inner_texts() if "(A" in each] in ([], ["(A−?) / ?"])
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
