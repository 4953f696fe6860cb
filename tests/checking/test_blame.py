"""A formula that was typed over is blamed at its own cell, whichever way its row is computed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.checking import Checked
from blueprint.checking.causes import Cause
from blueprint.checking.checker import judge
from blueprint.checking.recomputed import OfPage, Recomputed, recomputed
from blueprint.checking.verdicts import Verdict
from tests.checking.cells import change
from tests.checking.running import SIGNAL, judged, run
from tests.page.workshop import blocks_in, in_ironcalc, save_made

BACKWARDS = ("advantages", "identity.lambda_1", "identity.to_go")
LOOP = ("old.memory", "old.logits", "old.log_p", "old.cumulative", "rollout.drawn", "rollout.written", "mask")
ROWS = {
    "very-very-sleepy": (*BACKWARDS, *(f"gae_at.{i}" for i in (1, 2, 3, 4))),
    "default": (*BACKWARDS, *LOOP),
}


@dataclass
class Bench:
    """A saved workbook, open in an engine: cells are typed over, one at a time, and everything is recomputed."""

    file: Checked
    model: Any
    torch: Recomputed

    def overwritten(self, name: str, at: tuple[int, ...]) -> Verdict:
        """Types 0.5 over a cell, checks what the workbook then shows, and takes it back."""
        found = self.file.places[name]
        sheet = [each["name"] for each in self.model.get_worksheets_properties()].index(found.sheet)
        place = found.address(at)
        formulas = dict(self.file.written[found.sheet])
        del formulas[place]
        formula = self.model.get_cell_formula(sheet, *place)
        self.model.set_user_input(sheet, *place, "0.5")
        self.model.evaluate()
        file = copy(self.file)
        file.arrays = blocks_in(self.model, self.file.places)
        file.written = {**self.file.written, found.sheet: formulas}
        verdict = judge(file, self.torch, OfPage(), "float64")
        self.model.set_user_input(sheet, *place, formula)
        return verdict


def bench(path: Path) -> Bench:
    """Opens a saved workbook for typing; what an engine computes of the file as it was saved, copies of it have as well."""
    file, model = Checked(path), in_ironcalc(path)
    assert file.computed
    return Bench(file, model, recomputed([file], "cpu", "float64")[0])


@pytest.fixture(scope="module")
def sleepy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves a small workbook."""
    return save_made(tmp_path_factory.mktemp("blame") / "sleepy.xlsx", numbers="very-very-sleepy")


def edits(each: Bench, names: tuple[str, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Lists the cells of formulas of some rows: all of a short row, three in the first episode of a long one."""
    for name in names:
        found = each.file.places[name]
        cells = [at for at, row, column in found.cells() if each.file.formula(found.sheet, row, column)]
        yield from (
            (name, at) for at in cells if not any(at[2:]) and (len(cells) < 9 or (at[0] == 0 and at[1] in (1, 4, 6)))
        )


@pytest.mark.parametrize("numbers", ROWS)
def test_a_number_typed_over_a_cell_of_a_recursion_is_blamed_there(tmp_path: Path, numbers: str) -> None:
    on = bench(save_made(tmp_path / "a.xlsx", numbers=numbers))
    planted = list(edits(on, ROWS[numbers]))
    assert len(planted) >= 20
    for name, at in planted:
        found = on.file.places[name]
        expected = f"{found.sheet}!{found.cell(at)}"
        firsts = on.overwritten(name, at).firsts
        assert [(first.cell, first.cause) for first in firsts] == [(expected, Cause.FORMULA)], (name, at)
        assert re.search("a number stands there|numbers stand there", firsts[0].why)


def test_the_whole_file_is_blamed_alike(sleepy: Path, tmp_path: Path) -> None:
    """R25 of the signal: the second advantage; the first follows from it and is not the cell to blame."""
    book = openpyxl.load_workbook(sleepy)
    book[SIGNAL]["R25"].value = 0.5
    book.save(tmp_path / "b.xlsx")
    (first,) = judged(tmp_path / "b.xlsx").firsts
    assert (first.cell, first.name, first.cause) == (f"{SIGNAL}!R25", "advantages", Cause.FORMULA)
    assert "advantages" not in first.follows


ERRORS = {
    "a name that there is not": ("S24+S6*gammma*gae_lambda*T25", "#NAME?"),
    "a shift onto itself": ("S24+S6*gamma_*gae_lambda*R25", "#CIRC!"),
    "a token among numbers": ('S24+S6*"many"', "#VALUE!"),
}


@pytest.mark.parametrize("said", ERRORS)
def test_a_formula_that_shows_an_error_is_named_at_its_cell(sleepy: Path, tmp_path: Path, said: str) -> None:
    formula, error = ERRORS[said]
    change(sleepy, tmp_path / "b.xlsx", SIGNAL, {"S25": (formula, error)})
    book = openpyxl.load_workbook(tmp_path / "b.xlsx")
    book.save(tmp_path / "c.xlsx")
    for name in ("b", "c"):
        first = judged(tmp_path / f"{name}.xlsx").firsts[0]
        assert (first.cell, first.sheet, first.cause) == (f"{SIGNAL}!S25", error, Cause.FORMULA), name
        assert f"its formula is ={formula}" in first.why
    told = json.loads(run(tmp_path / "b.xlsx", "--json")[1], parse_constant=pytest.fail)["files"][0]
    assert (told["first"][0]["sheet"], told["largest"]) == (error, None)


def test_an_array_formula_is_no_number(sleepy: Path, tmp_path: Path) -> None:
    book = openpyxl.load_workbook(sleepy)
    book[SIGNAL]["R25"] = openpyxl.worksheet.formula.ArrayFormula("R25", "=R24+R6*gamma_*0.5*S25")
    book.save(tmp_path / "b.xlsx")
    first = judged(tmp_path / "b.xlsx").firsts[0]
    assert first.cell == f"{SIGNAL}!R25"
    assert "its formula is =R24+R6*gamma_*0.5*S25" in first.why
