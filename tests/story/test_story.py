"""The page From reinforcement learning to RLHF: its numbers stand in the cells that it names, its links lead somewhere, its
pictures are those that are drawn."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from blueprint.page.engine import with_ironcalc
from tests.audit import spoil
from tests.scenarios import shown
from tests.story.cells import Cell, cell_of, cells_in, filled, listed
from tests.story.drawing import DARK, LIGHT, Drawing, Point
from tests.story.page import DOCS, PAGE, PICTURED, TEXT, page, wrapped
from tests.story.pictures import LANES, PICTURES, events, overlaps, placed
from tests.test_links import LINK

ROOT = DOCS.parent
READ = PAGE.read_text(encoding="utf-8")
WRITTEN = TEXT.read_text(encoding="utf-8")
LINE = re.compile(r"`blueprint build(?: --numbers ([\w/-]+))?`: (.*?)(?:<br>|</sub>)$", flags=re.MULTILINE)
NAMED = re.compile(r"`'?([^`'!]+)'?!([A-Z]+\d+)` \([^`]*?\) = (−?\d+\.?\d*)(?=;|<|$)")
TYPED = {
    "3.50": "dollars for a comparison, in the book that is named",
    "4.5": "the mean of 4 and 5",
    "2.5": "per cent: Ivison et al.",
    "1.2": "per cent: Ivison et al.",
    "1.3": "billion weights: Ouyang et al.",
    "1.5": "the ratio of question 4",
    "2.4": "that ratio, clipped, times −2",
}
"""Decimal numbers that the text itself has, and what they are; all others come from cells."""


def test_the_page_and_the_pictures_are_those_that_are_made() -> None:
    assert page() == READ, "write it anew: python -m tests.story"
    assert {
        name for name, draw in PICTURES.items() if (PICTURED / name).read_text(encoding="utf-8") != draw().svg()
    } == set()


def test_every_number_with_a_decimal_point_comes_from_a_cell() -> None:
    prose = re.sub(r"\{[^{}]*\}|\]\([^)]*\)|`[^`]*`", "", WRITTEN)
    assert {*re.findall(r"(?<![\w.])\d+\.\d+", prose)} - {*re.findall(r"\b(?:3\.[25]|5\.1)\b", prose)} == set(TYPED)
    assert len(cells_in(WRITTEN)) > 60


def workbooks() -> dict[str, list[tuple[str, str, float]]]:
    """Returns the cells that the page names, by the numbers of their workbook: sheet, cell, and what the page says stands there."""
    found: dict[str, list[tuple[str, str, float]]] = {}
    for numbers, places in LINE.findall(READ):
        cells = [(sheet, cell, float(number.replace("−", "-"))) for sheet, cell, number in NAMED.findall(places)]
        found.setdefault(numbers or "default", []).extend(cells)
    return found


@pytest.mark.parametrize("numbers", sorted(workbooks()))
def test_an_engine_computes_each_number_in_the_cell_that_is_named(numbers: str, tmp_path: Path) -> None:
    cell_of(f"{numbers}: ").book.save(tmp_path / "book.xlsx")
    spoil(tmp_path / "book.xlsx", tmp_path / "spoiled.xlsx")
    computed = with_ironcalc(tmp_path / "spoiled.xlsx")
    named = [each for each in workbooks()[numbers] if each[:2] in computed]
    # Half a unit of the fourth decimal, which is the last one that is shown.
    assert [each for each in named if abs(float(str(computed[each[:2]])) - each[2]) > 0.5001e-4] == []


def test_the_engine_had_most_of_them_to_compute() -> None:
    books = workbooks()
    assert len(books) >= 9
    assert sum(map(len, books.values())) > 60


def test_every_picture_is_there() -> None:
    links = LINK.findall(READ)
    assert {link.removeprefix("pictures/") for link in links if link.startswith("pictures/")} == set(PICTURES)
    assert len({link for link in links if link.startswith("http")}) > 30


def test_every_question_is_folded_and_the_length_is_that_of_one_sitting() -> None:
    assert len(re.findall(r"^\*\*\d\. .+\*\*$", READ, flags=re.MULTILINE)) == 8
    assert READ.count("<summary>Answer</summary>") == 8
    prose = re.sub(r"<sub>(?:.|\n)*?</sub>|^\|.*$|^- .*$|\]\([^)]*\)", "", READ, flags=re.MULTILINE)
    assert 2000 < len(prose.split()) < 2900


def test_what_the_words_say_whatever_the_numbers_are() -> None:
    def number(text: str) -> float:
        return float(cell_of(text).number.replace("−", "-"))

    assert number("pipeline/sft: watch.logp@n=1") < number("pipeline/sft: epoch3.watch.logp@n=1")
    assert number("pipeline/sft: watch.logp@n=2") < number("pipeline/sft: epoch3.watch.logp@n=2")
    assert number("pipeline/ppo: score.response@n=1") > number("pipeline/ppo: score.response@n=2")
    assert (
        number("reinforce: least.variance") < number("reinforce: variance.with") < number("reinforce: variance.without")
    )
    assert number("frontier: sweep.proxy@b=9") > number("frontier: sweep.proxy@b=6")
    assert (
        number("frontier: sweep.gold@b=9") < 0 < number("frontier: sweep.gold@b=6") < number("frontier: best.gold@k=6")
    )
    said = {str(number(f"very-very-sleepy: surrogate@c={case}")) for case in (1, 2, 3, 4)}
    assert said == {"2.2", "2.4", "-1.8", "-1.6"}


def test_the_timeline_is_in_order_and_no_name_lies_on_another() -> None:
    years = [each.year for each in events()]
    assert years == sorted(years)
    assert (years[0], years[-1]) == (1957, 2025)
    assert {each.lane for each in events()} == set(LANES)
    assert {"TD-Gammon", "DQN", "preferences", "PPO", "InstructGPT", "DPO", "GRPO", "R1"} <= {
        each.name for each in events()
    }
    for lane in LANES:
        assert overlaps(placed([each for each in events() if each.lane == lane])) == []
    assert overlaps([(events()[0], 0, 40.0), (events()[1], 0, 45.0)]) == [("perceptron", "backpropagation")]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_well_formed_and_has_words_for_who_does_not_see_it(name: str) -> None:
    drawn = PICTURES[name]()
    root = ElementTree.fromstring(drawn.svg())
    assert root[0].text == drawn.about
    assert "@media (prefers-color-scheme: dark)" in drawn.svg()
    assert set(re.findall(r"var\(--(\w+)\)", drawn.svg())) <= set(LIGHT)
    assert set(LIGHT) == set(DARK)


def contrast(one: str, other: str) -> float:
    """Returns the contrast of two colours by WCAG 2.2, from 1 to 21."""

    def luminance(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_words_can_be_read_on_light_and_on_dark_paper(scheme: dict[str, str]) -> None:
    for name in ("ink", "soft", "old", "reference", "policy", "reward", "critic"):
        assert contrast(scheme[name], scheme["paper"]) >= 4.5, name
        assert contrast(scheme[name], scheme["fill"]) >= 4.5, name


def test_words_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="“far too long a line for it” does not fit into a box of 60 pixels"):
        Drawing(400, 100, "").box(Point(10, 10), 60, 40, ["far too long a line for it"])
    with pytest.raises(ValueError, match="“outside” does not fit on the drawing: it needs x from -27"):
        Drawing(400, 100, "").text(Point(0, 50), "outside")


def test_a_field_is_a_number_and_the_list_names_its_cell_and_its_command() -> None:
    text = "J is {reinforce: expected_reward | 2} and {reinforce: draws.word@n=1}.\n\n{cells}"
    told, cells = filled(text).split("\n\n")
    assert told == "J is 2.80 and fish."
    assert cells.startswith("<sub>Cells. `blueprint build --numbers reinforce`: `Policy!")
    assert "(J) = 2.8043; `Draws!Q5` (word) = fish</sub>" in cells
    changed = cell_of("optimum optimum.way=1: objective")
    assert changed.command == "blueprint build --numbers optimum --set optimum.way=1"
    assert changed.number != cell_of("optimum: objective").number
    assert listed([changed]).startswith("<sub>Cells. `blueprint build --numbers optimum --set optimum.way=1`: ")
    assert filled("{count default: vocabulary}") == "8"
    assert isinstance(cell_of("default: total_loss"), Cell)


def test_paragraphs_are_wrapped_and_tables_stay() -> None:
    assert wrapped("one\ntwo") == "one two"
    assert wrapped("| one |\n| two |") == "| one |\n| two |"
    assert shown(0.25) == "0.25"
