"""A typed cell says what it is for and refuses what does not belong there; notes at the heads of rows say the rest."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from blueprint.language import Block
from blueprint.workbooks.common.conventions import PRESET_DEFAULT
from tests.page.finished import FILES, MAIN, Area, Finished, area, finished

BUILDS = (*FILES, "wide")
PROMPT_TITLE, PROMPT = 32, 255
"""As many letters as Excel allows; it refuses a file with more."""


def built(name: str) -> Finished:
    """Returns a built-in workbook, or one with weights on a sheet of their own."""
    return finished("default", "sizes.vocabulary=11") if name == "wide" else finished(name)


class Rule(NamedTuple):
    """A validation: where it holds and what it says."""

    cells: list[Area]
    given: dict[str, str]
    formulas: tuple[str, str]


@cache
def rules(file: Finished) -> list[Rule]:
    found = []
    for sheet, root in file.sheets.items():
        for element in root.iter(f"{MAIN}dataValidation"):
            cells = [area(part, sheet) for part in element.attrib["sqref"].split()]
            one, two = (element.findtext(f"{MAIN}formula{number}") or "" for number in (1, 2))
            found.append(Rule(cells, dict(element.attrib), (one, two)))
    return found


def rules_at(file: Finished, place: Area, row: int, column: int) -> list[Rule]:
    return [rule for rule in rules(file) if any(holds(cells, place.sheet, row, column) for cells in rule.cells)]


def holds(cells: Area, sheet: str, row: int, column: int) -> bool:
    """Tells whether a cell lies in a range."""
    return cells.sheet == sheet and cells.top <= row <= cells.bottom and cells.left <= column <= cells.right


def typed(file: Finished) -> Iterator[tuple[Block, Rule]]:
    """Yields every typed block with the one validation of all its cells."""
    for block in file.book.blueprint.blocks():
        if block.typed:
            place = file.places[block.name]
            found = {id(rule): rule for at in place.cells() for rule in rules_at(file, place, *at)}
            assert len(found) == 1, block.name
            assert all(len(rules_at(file, place, *at)) == 1 for at in place.cells()), block.name
            (rule,) = found.values()
            yield block, rule


@pytest.mark.parametrize("name", BUILDS)
def test_every_typed_cell_says_what_it_is_for(name: str) -> None:
    """The title is the name under which files and commands know it; no cell but typed ones has a validation."""
    file = built(name)
    told = list(typed(file))
    assert len(told) == len(rules(file)) >= 40
    for block, rule in told:
        title, prompt = rule.given["promptTitle"], rule.given["prompt"]
        assert title.split(" ")[0] == block.name.removesuffix(".yours")
        assert len(title) <= PROMPT_TITLE
        assert prompt.startswith(block.about.meaning)
        assert len(block.about.meaning) < len(prompt) <= PROMPT
        assert len(rule.given.get("error", "")) <= PROMPT
        assert rule.given["showInputMessage"] == "1", block.name


@pytest.mark.parametrize("name", BUILDS)
def test_what_does_not_belong_into_a_cell_is_refused(name: str) -> None:
    """A style other than stop, which is the one without a name, would let it through after a question."""
    for block, rule in typed(built(name)):
        assert rule.given.get("errorStyle", "stop") == "stop", block.name
        assert rule.given["showErrorMessage"] == "1", block.name
        kind = rule.given.get("type", "none")
        if block.text:
            assert kind in ("none", "list"), block.name
        else:
            assert kind in ("decimal", "whole", "list"), block.name
            assert rule.given.get("operator", "between") == "between", block.name


@pytest.mark.parametrize("name", BUILDS)
def test_what_stands_in_a_cell_at_first_is_allowed_there(name: str) -> None:
    file = built(name)
    for block, rule in typed(file):
        kind = rule.given.get("type", "none")
        values = [value for value in file.values_in(file.places[block.name]) if value is not None]
        if kind in ("decimal", "whole"):
            low, high = (float(formula) for formula in rule.formulas)
            assert all(isinstance(value, int | float) and low <= value <= high for value in values), block.name
            assert kind == "decimal" or all(value == int(value) for value in values if not isinstance(value, str))
        elif kind == "list":
            assert {str(value) for value in values} <= {str(word) for word in offered(file, rule)}, block.name
        if None in file.values_in(file.places[block.name]):
            assert rule.given["allowBlank"] == "1", block.name


def offered(file: Finished, rule: Rule) -> list[object]:
    source, _ = rule.formulas
    if source.startswith('"'):
        return list(source.strip('"').split(","))
    return list(file.values_in(area(source)))


@pytest.mark.parametrize("name", BUILDS)
def test_lists_offer_words_and_numbers_that_stand_somewhere(name: str) -> None:
    file = built(name)
    lists = {block.name: offered(file, rule) for block, rule in typed(file) if rule.given.get("type") == "list"}
    assert {each: None in words for each, words in lists.items() if None in words} == {}
    expected = {
        "walk.episode": [str(number + 1) for number in range(file.computed("mask").shape[0])],
        "walk.decision": [number + 1 for number in range(file.computed("mask").shape[1])],
        "kl_estimator.yours": ["k1", "k2", "k3"],
        "whiten_advantages.yours": ["on", "off"],
    }
    if name != "very-very-sleepy":
        expected["given"] = file.computed("vocabulary").tolist()
    assert {each: words for each, words in lists.items() if each in expected} == expected
    assert lists.keys() - expected.keys() <= {"walk.decimals"}


@pytest.mark.parametrize("name", BUILDS)
def test_settings_take_what_the_preset_allows_and_no_more(name: str) -> None:
    file = built(name)
    bounds = {block.name: rule for block, rule in typed(file) if block.name.endswith(".yours")}
    numbers = {f"{key}.yours": setting for key, setting in PRESET_DEFAULT.items() if not setting.words}
    assert bounds.keys() & numbers.keys() == {each for each in bounds if not file.book.blocks[each].text}
    assert bounds
    for each in bounds.keys() & numbers.keys():
        rule, setting = bounds[each], numbers[each]
        assert tuple(map(float, rule.formulas)) == (setting.low, setting.high), each
        assert rule.given["type"] == "decimal", each
        assert f"{setting.low:g} … {setting.high:g}" in rule.given["prompt"], each
        assert rule.given["prompt"] == rule.given["error"], each


def test_draws_and_lengths_take_what_the_sizes_allow() -> None:
    file = finished("default")
    given = {block.name: tuple(map(float, rule.formulas)) for block, rule in typed(file) if all(rule.formulas)}
    draws = file.computed("rollout.draw")
    low, high = given["rollout.draw"]
    assert 0 <= low < high < 1
    assert low <= np.nanmin(draws) <= np.nanmax(draws) <= high
    assert given["max_new_tokens"] == (1, 4)


# The notes at the heads of the rows: what it is, why it is there, and where it comes from.


NAME, BESIDE = "C", "D"
LONGEST_NOTE = 900
POINTS_PER_LINE, LETTERS_PER_POINT = 11, 0.25
"""Nine-point letters are about four points wide, their lines eleven high; both are guessed too small rather than too large."""


class Remark(NamedTuple):
    """A note: the sheet and the cell at which it hangs, and its text."""

    sheet: str
    cell: str
    text: str


@cache
def remarks(file: Finished) -> list[Remark]:
    found = []
    for sheet, part in file.sheet_parts.items():
        for comments in file.related(part, "comments"):
            for comment in file.xml(comments).iter(f"{MAIN}comment"):
                text = "".join(piece.text or "" for piece in comment.iter(f"{MAIN}t"))
                found.append(Remark(sheet, comment.attrib["ref"], text))
    return found


def about(file: Finished, block: Block) -> list[Remark]:
    """Returns the notes that speak of a block; their first line has its name in brackets."""
    return [remark for remark in remarks(file) if f"({block.name}):" in remark.text.split("\n")[0]]


@pytest.mark.parametrize("name", BUILDS)
def test_every_block_with_a_source_names_it_in_a_note(name: str) -> None:
    file = built(name)
    sourced = [block for block in file.book.blueprint.blocks() if block.about.source]
    assert len(sourced) >= 19
    lacking = [b.name for b in sourced if [b.about.source in remark.text for remark in about(file, b)] != [True]]
    assert lacking == []


@pytest.mark.parametrize("name", BUILDS)
def test_no_note_that_was_written_is_left_out(name: str) -> None:
    """What the weights are for is told to those who point at them; verdicts and tolerances need no note of their own."""
    file = built(name)
    given = file.book.blueprint.notes
    blocks = [block for block in file.book.blueprint.blocks() if given.get(block.name) and "check." not in block.name]
    assert len(blocks) >= 40
    assert [b.name for b in blocks if not any(given[b.name] in remark.text for remark in about(file, b))] == []


@pytest.mark.parametrize("name", BUILDS)
def test_a_note_hangs_at_the_name_of_its_row_and_begins_with_the_meaning(name: str) -> None:
    """At the row of the cells, or, where a block has several rows and a caption, at the caption above them."""
    file = built(name)
    told = [(block, remark) for block in file.book.blueprint.blocks() for remark in about(file, block)]
    assert len(told) == len(remarks(file))
    for block, (sheet, cell, text) in told:
        place = file.places[block.name]
        assert text.startswith(f"{block.symbol} ({block.name}): {block.about.meaning}."), text
        assert sheet == place.sheet, block.name
        column, row = cell.rstrip("0123456789"), int(cell.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        assert place.top - 2 <= row <= place.top, block.name
        if column == BESIDE:  # weights left of the rows that they multiply have headings, but no name of their own
            assert place.left == 4, block.name
        else:
            assert (column, file.shown[sheet][cell].value) == (NAME, block.about.meaning), block.name


@pytest.mark.parametrize("name", BUILDS)
def test_notes_are_short_and_end_as_sentences_do(name: str) -> None:
    for sheet, cell, text in remarks(built(name)):
        assert 20 <= len(text) <= LONGEST_NOTE, f"{sheet}!{cell} has {len(text)} letters"
        for line in text.split("\n"):
            assert re.search(r"[.?!][)”]?$", line), f"{sheet}!{cell}: {line}"
            assert not re.search(r"\.\.$|\bNone\b|\{|  ", line), f"{sheet}!{cell}: {line}"


@pytest.mark.parametrize("name", BUILDS)
def test_the_box_of_a_note_has_room_for_its_text(name: str) -> None:
    file = built(name)
    seen = 0
    for sheet, part in file.sheet_parts.items():
        texts = {cell: text for where, cell, text in remarks(file) if where == sheet}
        for drawing in file.related(part, "vmlDrawing"):
            for shape in ET.fromstring(file.parts[drawing]).iter("{urn:schemas-microsoft-com:vml}shape"):
                data = {child.tag.rpartition("}")[2]: child.text or "" for parts in shape for child in parts}
                width, height = (
                    float(re.findall(rf"(?<!-){side}:([\d.]+)pt", shape.attrib["style"])[0])
                    for side in ("width", "height")
                )
                lines = texts[f"{'ABCD'[int(data['Column'])]}{int(data['Row']) + 1}"].split("\n")
                needed = sum(1 + int(len(line) / (width * LETTERS_PER_POINT)) for line in lines)
                assert height >= needed * POINTS_PER_LINE, f"{sheet}, row {int(data['Row']) + 1}"
                seen += 1
    assert seen == len(remarks(file))
