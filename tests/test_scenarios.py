"""Scenarios: their pages are those of today's workbooks, an engine has their numbers in the cells that they name, and each of the
twenty-eight confusions leads somewhere.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blueprint.inputs import NumbersError, load
from blueprint.page.engine import with_ironcalc
from blueprint.scenarios import GROUPS, PREFIX, scenarios
from tests.audit import spoil
from tests.commands import run_command
from tests.scenarios import DOCS, columns, filled, listed, page, row_of
from tests.test_links import LINK

PAGES = {name: DOCS / "scenarios" / f"{name}.md" for name in scenarios()}
CELL = re.compile(r"^\| (?:.+) \| `'?([^`'!]+)'?!([A-Z]+\d+)` [^|]+ \| ([^|]+) \|", flags=re.MULTILINE)
CONFUSIONS = (DOCS / "confusions.md").read_text(encoding="utf-8")
LINE = re.compile(r"^\| (\d+) \| (.+) \| (.+) \|$", flags=re.MULTILINE)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_that_of_the_workbooks(name: str) -> None:
    assert PAGES[name].read_text(encoding="utf-8") == page(scenarios()[name]), (
        "write it anew: python -m tests.scenarios"
    )


def test_there_is_a_page_for_each_and_the_list_names_them() -> None:
    assert {path.stem for path in (DOCS / "scenarios").glob("*.md")} == set(PAGES)
    assert (DOCS / "scenarios.md").read_text(encoding="utf-8") == listed()
    assert [len([each for each in scenarios().values() if each.group == group]) for group in GROUPS] == [6, 2, 12]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_first_and_folds_its_answers(name: str) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    before, *answers = text.split("<details>")
    assert text.splitlines()[0].endswith("?")
    assert len(answers) == 3
    assert len(CELL.findall(before)) == len(scenarios()[name].show) >= 4
    assert not re.search(r"[{}]", re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL))


@pytest.mark.parametrize(
    "name", ["reward-hacking", "critic-diverges", "cut-answer", "chatbot", "lucky-answer", "masked-inside"]
)
def test_an_engine_computes_each_number_in_the_cell_that_is_named(name: str, tmp_path: Path) -> None:
    of = scenarios()[name]
    columns(name)[of.column].save(tmp_path / "book.xlsx")
    spoil(tmp_path / "book.xlsx", tmp_path / "spoiled.xlsx")
    found = with_ironcalc(tmp_path / "spoiled.xlsx")
    for sheet, cell, number in CELL.findall(PAGES[name].read_text(encoding="utf-8")):
        assert found[sheet, cell] == pytest.approx(float(number.replace("−", "-")), abs=0.00005), (sheet, cell)


def test_a_scenario_is_numbers_like_any_other() -> None:
    of = scenarios()["critic-diverges"]
    numbers = load(PREFIX + of.name)
    assert (numbers.title, numbers.level, numbers.built_in) == (of.asks, "logits", "")
    assert load(PREFIX + of.name, ["ppo.gamma=0.5"]).ppo["gamma"] == 0.5
    with pytest.raises(NumbersError) as refused:
        load("scenario/critic-diverge")
    sentence = "scenario/critic-diverge: there is no scenario of that name, did you mean scenario/critic-diverges?"
    assert str(refused.value) == sentence
    with pytest.raises(NumbersError) as refused:
        load("scenario/chatbot")
    sentence = "scenario/chatbot: no change of built-in numbers; docs/scenarios/chatbot.md has the lines that make its workbook."
    assert str(refused.value) == sentence


def test_the_command_lists_them() -> None:
    result = run_command("list", "--scenarios")
    for of in scenarios().values():
        line = next(line for line in result.stdout.splitlines() if line.split()[:1] in ([of.name], [PREFIX + of.name]))
        assert line.endswith(of.asks)
        assert (PREFIX in line) == bool(of.numbers)


def test_a_field_is_a_cell_or_two_of_them() -> None:
    of = scenarios()["critic-diverges"]
    assert filled(of, "{value_loss} {usual: value_loss} {value_loss / usual: value_loss}") == "70.6 0.706 100"
    assert row_of("advantages@n=1,t=3") == ("advantages", {"n": 1, "t": 3})


def test_all_twenty_eight_confusions_have_a_place() -> None:
    lines = LINE.findall(CONFUSIONS)
    assert [int(number) for number, *_ in lines] == [*range(1, 29)]
    assert all(LINK.search(where) for *_, where in lines)


def test_a_scenario_stands_in_the_lines_that_it_answers() -> None:
    where = {int(number): text for number, _, text in LINE.findall(CONFUSIONS)}
    said = {(number, each.name) for each in scenarios().values() for number in each.confusions}
    linked = {(number, name) for number, text in where.items() for name in re.findall(r"scenarios/([\w-]+)\.md", text)}
    assert said == linked
