"""The notes at the heads of the rows: what it is, why it is there, and where it comes from."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from functools import cache
from typing import NamedTuple

import pytest

from blueprint.language import Block
from tests.page.finished import FILES, MAIN, Finished, finished

BUILDS = (*FILES, "wide")
NAME, BESIDE = "C", "D"
LONGEST_NOTE = 900
POINTS_PER_LINE, LETTERS_PER_POINT = 11, 0.25
"""Nine-point letters are about four points wide, their lines eleven high; both are guessed too small rather than too large."""


def built(name: str) -> Finished:
    """Returns a built-in workbook, or one with weights on a sheet of their own."""
    return finished("default", "sizes.vocabulary=11") if name == "wide" else finished(name)


class Remark(NamedTuple):
    """A note: the sheet and the cell at which it hangs, and its text."""

    sheet: str
    cell: str
    text: str


@cache
def remarks(file: Finished) -> list[Remark]:
    """Returns all notes of a workbook."""
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
