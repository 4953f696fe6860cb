"""Copies of a workbook with other numbers: the same file as when each is written in full, but in a fraction of the time."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from blueprint import Book
from blueprint.inputs import load
from blueprint.page.outline import Blank, Blueprint
from blueprint.page.series import Series, Strings
from blueprint.workbooks.registry import blueprint_of

COPY = "v1.hw1.{}.00000001.deadbeef"


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def asked() -> Blueprint:
    """A workbook with charts, words and a sheet that follows a choice, of which three cells are left to the reader."""
    whole = blueprint_of(load("default")).with_typed({"gamma.yours": 0.9375})
    named = {block.name: block for block in whole.blocks()}
    blanks = (
        Blank("δ", named["td_errors"], ((0, 3),), check=1),
        Blank("ratio", named["ratio"], ((0, 4), (1, 2)), asks="formula"),
    )
    return replace(whole, blanks=blanks, facts={**whole.facts, "token": COPY.format("first")})


@pytest.fixture(scope="module")
def series(asked: Blueprint) -> Series:
    return Series(Book(asked))


def other(asked: Blueprint, name: str, typed: Mapping[str, object]) -> Blueprint:
    """Makes the copy of a student, with other digits to check by."""
    first, *more = asked.blanks
    made = replace(asked.with_typed(typed), blanks=(replace(first, check=len(name)), *more))
    return replace(made, facts={**asked.facts, "token": COPY.format(name)})


def typed_in(asked: Blueprint, name: str) -> npt.NDArray[Any]:
    return np.array(next(value for block, value in asked.typed.items() if block.name == name), dtype=object)


SIZES = r' ht="[\d.]+"|<cols>.*?</cols>|<pageSetUpPr[^>]*/>|<pageSetup [^>]*/>|<rowBreaks.*?</rowBreaks>'
"""Sizes, and how a page of paper follows from them: a copy keeps those of the first file, which leave room."""


def spelled_out(file: dict[str, bytes]) -> dict[str, str]:
    """Returns the parts of a file with every text in its cells, instead of its number in the table of texts, and without sizes."""
    texts = re.findall("<si><t[^>]*>([^<]*)</t></si>", file["xl/sharedStrings.xml"].decode())
    known = {part: content.decode() for part, content in file.items() if part != "xl/sharedStrings.xml"}
    known = {part: re.sub(SIZES, "", text) for part, text in known.items()}
    return {
        part: re.sub(r't="s"><v>(\d+)</v>', lambda found: f"<t>{texts[int(found[1])]}</t>", text)
        for part, text in known.items()
    }


@pytest.mark.parametrize("name", ["gamma", "reward", "words"])
def test_a_copy_is_the_file_that_would_be_written_in_full(
    name: str, asked: Blueprint, series: Series, tmp_path: Path
) -> None:
    weights, words = typed_in(asked, "reward_model.head.w"), typed_in(asked, "vocabulary")
    typed = {
        "gamma": ("gamma.yours", 0.875),
        "reward": ("reward_model.head.w", -weights),
        "words": ("vocabulary", [words[0][::-1], *words[1:]]),
    }
    made = other(asked, name, dict([typed[name]]))
    assert series.save(tmp_path / "quick.xlsx", Book(made))
    Book(made).save(tmp_path / "full.xlsx")
    quick, full = parts(tmp_path / "quick.xlsx"), parts(tmp_path / "full.xlsx")
    one, another = spelled_out(quick), spelled_out(full)
    assert one.keys() == another.keys()
    assert [part for part in one if one[part] != another[part]] == []
    assert COPY.format(name).encode() in quick["xl/sharedStrings.xml"]
    assert not any(COPY.format("first").encode() in part for part in quick.values())


def test_one_of_another_structure_is_written_in_full(asked: Blueprint, series: Series, tmp_path: Path) -> None:
    made = replace(other(asked, "other", {}), notes={"gamma": "says something else"})
    assert not series.save(tmp_path / "other.xlsx", Book(made))
    Book(made).save(tmp_path / "full.xlsx")
    assert (tmp_path / "other.xlsx").read_bytes() == (tmp_path / "full.xlsx").read_bytes()


def test_numbers_that_need_more_room_are_given_it(asked: Blueprint, series: Series, tmp_path: Path) -> None:
    made = other(asked, "large", {"reward_model.head.b": 123_456_789.0})
    assert not series.save(tmp_path / "large.xlsx", Book(made))


def test_a_text_nobody_shows_any_longer_is_not_left_in_the_table() -> None:
    table = Strings('<sst count="2" uniqueCount="2"><si><t>secret</t></si><si><t>kept</t></si></sst>')
    table.used = [1, 2]
    table.leave(0)
    table.leave(1)
    assert table.take("kept") == 1
    assert table.take(" a < b") == 0
    assert table.take("new") == 2
    assert table.written() == (
        '<sst count="2" uniqueCount="3"><si><t xml:space="preserve"> a &lt; b</t></si><si><t>kept</t></si><si><t>new</t></si></sst>'
    )


def test_no_chart_keeps_a_number_that_is_left_to_the_reader(asked: Blueprint, series: Series, tmp_path: Path) -> None:
    book, blank = Book(asked), asked.blanks[1]
    answer = (
        f"<c:v>{book.values.cell(blank.block, *blank.cells[0])}</c:v>".encode()
    )  # the other one is 1, as are others
    Book(replace(asked, blanks=())).save(tmp_path / "whole.xlsx")
    whole = [content for part, content in parts(tmp_path / "whole.xlsx").items() if "charts/" in part]
    delivered = [content for entry, content in series.entries.items() if "charts/" in entry.filename]
    assert any(answer in content for content in whole)
    assert not any(answer in content for content in delivered)
