"""Extreme numbers: definitions, witness and engines agree on every number, or on where it ends."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import ironcalc
import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.page.contents import kind_of
from blueprint.page.engine import Cells
from blueprint.page.grid import column_letters
from blueprint.page.outline import Blueprint
from blueprint.page.read import Found
from blueprint.witness.raw import Raw
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.rlhf_ppo.paper import PAGE
from tests.page.finished import Engine
from tests.page.soffice import with_libreoffice
from tests.page.workshop import located, same
from tests.reopening.typing_in import all_cells_typed_into
from tests.rows import differing
from tests.workbooks.extreme import EXTREMES, Array, Computed, Extreme, computed, finite
from tests.workbooks.switched import NEAR

TOLERANCE = 1e-12
IN_LIBREOFFICE = {"a log-ratio of 800.0"}
IDS = [extreme.name for extreme in EXTREMES]


@cache
def blueprint() -> Blueprint:
    """Returns the libraries' batch with all libraries side by side."""
    return blueprint_of(load("ten-libraries", ["conventions=live"]))


@cache
def ours(extreme: int) -> Computed:
    """Returns what the definitions make of it."""
    return computed(blueprint(), EXTREMES[extreme])


@pytest.mark.parametrize("extreme", range(len(EXTREMES)), ids=IDS)
def test_the_page_agrees_or_ends_where_the_definitions_end(extreme: int) -> None:
    """Results of which some cell has no number are not compared; one token, and none, are 0/0 on the page."""
    found_here, ended = ours(extreme)
    known = finite(found_here, blueprint())
    found = {name: each.numpy() for name, each in PAGE.results(Raw(found_here)).items()}
    shared = {name: array for name, array in found.items() if name in known and name not in PAGE.masks}
    if found_here["mask"].sum() > 1:
        assert len(shared) > 0.4 * len(found)
    else:
        shared = {name: array for name, array in shared.items() if not np.isnan(array).any()}
        assert len(shared) > 20
    assert differing(shared, found_here, TOLERANCE) == []
    if ended is not None:
        assert not all(np.isfinite(each).all() for each in found.values())


@pytest.mark.parametrize("extreme", range(len(EXTREMES)), ids=IDS)
def test_clean_numbers_are_not_accused_by_the_checks_of_the_sheet(extreme: int) -> None:
    """But for the score of an empty response, which lands nowhere: that is said."""
    found, ended = ours(extreme)
    verdicts = {name: array.item() for name, array in found.items() if name.endswith(".verdict")}
    empty = bool((found["mask"].sum(axis=1) == 0).any())
    accused = {name for name, said in verdicts.items() if said == "LOOK"}
    assert accused == ({"check.score.verdict"} if empty else set())
    assert ended is not None or set(verdicts.values()) <= {"OK", "LOOK"}


def test_a_log_ratio_of_800_ends_and_one_of_700_does_not() -> None:
    ends = {extreme.name for each, extreme in enumerate(EXTREMES) if ours(each).ended is not None}
    assert "a log-ratio of 800.0" in ends
    assert ends.isdisjoint({"a log-ratio of 300.0", "a log-ratio of 700.0", "probabilities of 1e-300", "one token"})


class Sheets:
    """The saved workbook of the batch in an engine: types extreme numbers, and reads all blocks, errors as NaN."""

    def __init__(self, blueprint: Blueprint, room: Path):
        self.book = Book(blueprint)
        self.path = room / "extreme.xlsx"
        self.book.save(self.path)
        self.places: dict[str, Found] = located(self.path)
        self.engine = Engine(self.path)

    def with_typed(self, extreme: Extreme) -> dict[str, Array]:
        """Types the numbers of a batch into the workbook, has everything recalculated, and types what was saved again."""
        self._type(extreme.typed)
        self.engine.evaluate()
        found = {name: _read(self.engine.model, place) for name, place in self.places.items()}
        self._type({name: self.book.values.arrays[self.book.blocks[name]] for name in extreme.typed})
        return found

    def _type(self, typed: Mapping[str, object]) -> None:
        for name, array in typed.items():
            place = self.places[name]
            for at, row, column in place.cells():
                number = float(np.asarray(array)[at])
                self.engine.type(place.sheet, row, column, None if np.isnan(number) else number)

    def shown(self, name: str, cells: Cells) -> Array:
        """Returns a block with the values of its formulas; what is no formula there, such as a 0 at an edge, is as saved."""
        place, saved = self.places[name], self.book.values.arrays[self.book.blocks[name]]
        at = {
            (row, column): (cells.get((place.sheet, f"{column_letters(column - 1)}{row}"), saved[i]))
            for i, row, column in place.cells()
        }
        return _array(place, at)


def _read(model: ironcalc.Model, place: Found) -> Array:
    number = [sheet["name"] for sheet in model.get_worksheets_properties()].index(place.sheet)
    return _array(place, {(row, column): model.get_cell_value(number, row, column) for _, row, column in place.cells()})


def _array(place: Found, values: Mapping[tuple[int, int], object]) -> Array:
    """Returns the cells of a block; an error, and a cell that shows nothing, is NaN among numbers, and off is infinity."""
    array = np.empty(tuple(along.cells for along in place.shape), dtype=object)
    for at, row, column in place.cells():
        value = values[row, column]
        array[at] = "" if value is None else value
    if place.words:
        return array
    numbers = [each if isinstance(each, float | int) else np.inf if each == "off" else np.nan for each in array.ravel()]
    return np.array(numbers, dtype=float).reshape(array.shape)


@pytest.fixture(scope="module")
def sheets(tmp_path_factory: pytest.TempPathFactory) -> Sheets:
    """Saves one workbook for all extremes."""
    return Sheets(
        blueprint_of(load("ten-libraries", ["conventions=live", "compare=verl"])), tmp_path_factory.mktemp("x")
    )


@pytest.mark.parametrize("extreme", EXTREMES, ids=IDS)
def test_the_engine_agrees_or_shows_errors_where_the_definitions_end(sheets: Sheets, extreme: Extreme) -> None:
    assert_agrees(sheets, extreme, sheets.with_typed(extreme))


@pytest.mark.usefixtures("needs_libreoffice")
def test_libreoffice_agrees_or_shows_errors_where_the_definitions_end(sheets: Sheets, tmp_path: Path) -> None:
    chosen = [extreme for extreme in EXTREMES if extreme.name in IN_LIBREOFFICE]
    assert len(chosen) == len(IN_LIBREOFFICE)
    paths = [all_cells_typed_into(sheets.path, tmp_path / f"{i}.xlsx", each.typed) for i, each in enumerate(chosen)]
    for extreme, cells in zip(chosen, with_libreoffice(paths), strict=True):
        assert_agrees(sheets, extreme, {name: sheets.shown(name, cells) for name in sheets.places})


def assert_agrees(sheets: Sheets, extreme: Extreme, shown: Mapping[str, Array]) -> None:
    """Asserts that every block with numbers shows these, and that errors stand where the definitions end."""
    found_here, ended = computed(sheets.book.blueprint, extreme)
    computed_here = {block.name for block in sheets.book.blueprint.blocks() if kind_of(block) == "formula"}
    known = finite(found_here, sheets.book.blueprint) & computed_here
    assert [name for name in known if not same(found_here[name], shown[name], NEAR)] == []
    if ended is None:
        assert known == computed_here
    else:
        lost = ~np.isfinite(found_here[ended.block.name])
        assert lost.any()
        assert np.array_equal(np.isnan(shown[ended.block.name]), lost)
