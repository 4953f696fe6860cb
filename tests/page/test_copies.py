"""Copies of a workbook with other numbers: the same file as when each spells its own formulas, but in half of the time."""

from __future__ import annotations

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
from blueprint.page.copies import take_formulas
from blueprint.page.layout import Layout
from blueprint.page.outline import Blank, Blueprint
from blueprint.workbooks.registry import blueprint_of
from tests.page.workshop import made

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
def first(asked: Blueprint) -> Layout:
    return Book(asked).layout


def other(asked: Blueprint, name: str, typed: Mapping[str, object]) -> Blueprint:
    """Makes the copy of a student, with other digits to check by."""
    first, *more = asked.blanks
    copy = replace(asked.with_typed(typed), blanks=(replace(first, check=len(name)), *more))
    return replace(copy, facts={**asked.facts, "token": COPY.format(name)})


def typed_in(asked: Blueprint, name: str) -> npt.NDArray[Any]:
    return np.array(next(value for block, value in asked.typed.items() if block.name == name), dtype=object)


@pytest.mark.parametrize("name", ["gamma", "reward", "words", "large"])
def test_a_copy_is_the_file_that_would_spell_its_own_formulas(
    name: str, asked: Blueprint, first: Layout, tmp_path: Path
) -> None:
    weights, words = typed_in(asked, "reward_model.head.w"), typed_in(asked, "vocabulary")
    typed = {
        "gamma": ("gamma.yours", 0.875),
        "reward": ("reward_model.head.w", -weights),
        "words": ("vocabulary", [words[0][::-1], *words[1:]]),
        "large": ("reward_model.head.b", 1_234.5),
    }
    copy = other(asked, name, dict([typed[name]]))
    quick = Book(copy)
    assert take_formulas(quick.layout, first)
    quick.save(tmp_path / "quick.xlsx")
    Book(copy).save(tmp_path / "full.xlsx")
    assert (tmp_path / "quick.xlsx").read_bytes() == (tmp_path / "full.xlsx").read_bytes()
    found = parts(tmp_path / "quick.xlsx")
    assert COPY.format(name).encode() in found["xl/sharedStrings.xml"]
    assert not any(COPY.format("first").encode() in part for part in found.values())


def test_one_with_other_blanks_spells_its_own_formulas(asked: Blueprint, first: Layout) -> None:
    copy = other(asked, "other", {})
    assert not take_formulas(Book(replace(copy, blanks=copy.blanks[:1])).layout, first)
    held = {copy.blanks[0].block: {copy.blanks[0].cells[0]: 1.0}}
    assert not take_formulas(Book(copy, held=held).layout, first)


def test_one_in_which_a_limit_is_no_longer_off_spells_its_own_formulas() -> None:
    """What watches a limit treats one that is off as a word."""
    book = made(numbers="by-hand-dpo")
    limited = Book(book.blueprint.with_typed({"logp.alpha.yours": 0.5}))
    assert not take_formulas(limited.layout, book.layout)
    assert limited.layout.runs is None


def test_no_chart_keeps_a_number_that_is_left_to_the_reader(asked: Blueprint, tmp_path: Path) -> None:
    book, blank = Book(asked), asked.blanks[1]
    answer = (
        f"<c:v>{book.values.cell(blank.block, *blank.cells[0])}</c:v>".encode()
    )  # the other one is 1, as others are
    Book(replace(asked, blanks=())).save(tmp_path / "whole.xlsx")
    book.save(tmp_path / "asked.xlsx")
    whole, delivered = (
        [content for part, content in parts(tmp_path / f"{name}.xlsx").items() if "charts/" in part]
        for name in ("whole", "asked")
    )
    assert any(answer in content for content in whole)
    assert not any(answer in content for content in delivered)
