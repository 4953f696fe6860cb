"""What axe-core finds on the page: nothing, in every view, light and dark, in four kinds; and all of it works by keyboard alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.web.conftest import Opened, page_text

AXE = "axe_playwright_python"
VIEWS: dict[str, str] = {
    "One page": "setMode('overview')",
    "a chosen number": "choose(data.result, 0, true)",
    "charts": "state.sheet = sheets.length - 1; setMode('explore')",
    "Walk": "setMode('walk'); goTo(3, 1)",
    "a vote": "setMode('walk'); goTo(Math.max(0, votable()), 1); setVote(true)",
    "Lecture": "setLecture(true)",
}
VOTABLE = """window.votable = () => walkLines.findIndex((line) => {
  const { block, offset, axis } = cellOfLine(line);
  if (offset < 0 || axis !== null) return false;
  const [number, at] = engine.origin(block.number, offset);
  return canVote(blocks[number], at);
})"""


@pytest.fixture(scope="module")
def axe() -> str:
    """Returns the checker's script, which comes with a package of Python's."""
    found = pytest.importorskip(AXE, reason="axe-core comes with axe-playwright-python: install the extra [test]")
    return (Path(found.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("numbers", ["default", "grpo", "dpo", "classic"])
def test_axe_finds_nothing(opened: Opened, axe: str, numbers: str, scheme: str) -> None:
    page = opened(page_text(numbers), color_scheme=scheme, bypass_csp=True)
    page.evaluate(axe)
    page.evaluate(VOTABLE)
    found: dict[str, Any] = {}
    for view, script in VIEWS.items():
        page.evaluate(f"() => {{ {script}; }}")
        violations = page.evaluate("axe.run().then((said) => said.violations)")
        found |= {
            f"{view}: {each['id']}": (each["help"], [node["html"][:120] for node in each["nodes"]][:3])
            for each in violations
        }
    assert found == {}


def test_axe_finds_what_is_wrong(opened: Opened, axe: str) -> None:
    """What finds nothing on the page finds a picture without words there."""
    page = opened(page_text("default"), bypass_csp=True)
    page.evaluate(axe)
    page.evaluate("document.getElementById('main').append(document.createElement('img'))")
    assert [each["id"] for each in page.evaluate("axe.run().then((said) => said.violations)")] == ["image-alt"]


def test_a_number_is_voted_on_by_keyboard_alone(opened: Opened) -> None:
    page = opened(page_text("default"), "#walk/34")
    page.keyboard.press("ArrowRight")  # its numbers
    page.keyboard.press("v")
    assert page.locator(".vote .answer").count() >= 3
    right = page.evaluate("answersAt(...wanted()).findIndex((each) => !each.says)".replace("wanted()", VOTED))
    for key in ("1", "1", str(right + 1), "2"):
        page.keyboard.press(key)
    assert sum(int(each) for each in page.locator(".vote output").all_inner_texts()) == 4
    page.keyboard.press("ArrowRight")  # its value
    lines = page.locator(".vote li").all_inner_texts()
    assert [i for i, line in enumerate(lines) if "✓ right" in line] == [right]
    assert all(len(line) > 20 for i, line in enumerate(lines) if i != right)  # each other one says its mistake
    page.keyboard.press("1")
    assert sum(int(each) for each in page.locator(".vote output").all_inner_texts()) == 4  # it is closed


VOTED = """((line) => {
  const { block, offset } = cellOfLine(line), [number, at] = engine.origin(block.number, offset);
  return [blocks[number], at];
})(walkLines[state.step])"""


def test_a_number_is_chosen_explained_and_changed_by_keyboard_alone(opened: Opened) -> None:
    page = opened(page_text("default"), "#advantages/4")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('.links') !== null"):
            break
    page.keyboard.press("Enter")
    assert page.evaluate("blocks[state.cell[0]].name") != "advantages"
    page.evaluate("document.querySelector('#settings input[type=range]').focus()")
    before = page.inner_text("#result")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#result") != before
    assert page.evaluate("state.mode") == "explore"  # arrows in a field belong to the field


def test_a_vote_offers_what_known_mistakes_give(opened: Opened) -> None:
    """The page evaluates the same wrong equations as the package, for the numbers at hand."""
    import blueprint as bp
    from blueprint.inputs import load
    from blueprint.misconceptions.wrong_numbers import Rows
    from blueprint.workbooks.registry import kind_of

    page = opened(page_text("default"), "#walk/34")
    book = bp.build("default")
    name, offset, inside, answers = page.evaluate(
        f"""(() => {{
          const [block, at] = {VOTED};
          const inside = engine.places(block, at).map((place, i) => place - block.before[i]);
          return [block.name, at, inside, answersAt(block, at)];
        }})()"""
    )
    block = book.blocks[name]
    known = Rows.of(book.blueprint).rewritten(kind_of(load("default")), block)
    due = {row.says: row.in_the_step([tuple(inside)], book.values)[0] for row in known}
    wrong = [each for each in answers if each["says"]]
    assert len(wrong) >= 2
    for each in wrong:
        assert each["value"] == pytest.approx(due[each["says"]], abs=1e-12), each
    assert [each["value"] for each in answers if not each["says"]] == pytest.approx([book.values.cell(block, *inside)])
    assert offset >= 0
