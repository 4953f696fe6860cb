"""Saved workbooks of classic PPO and of the KL controller against torch, and mistakes planted in their cells."""

from __future__ import annotations

import json
from pathlib import Path

import openpyxl
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.checking.causes import Cause
from tests.checking.cells import change
from tests.checking.running import judged, run
from tests.checking.test_check_live import cell_of, firsts
from tests.page.workshop import located, save_made

CASES = {"classic": (), "torchrl": ("preset=torchrl",), "kl-controller": ()}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Saves a workbook of each kind."""
    folder = tmp_path_factory.mktemp("classic")
    for name, overrides in CASES.items():
        save_made(folder / f"{name}.xlsx", *overrides, numbers="classic" if overrides else name)
    return {name: folder / f"{name}.xlsx" for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_every_quantity_has_a_line_and_agrees(saved: dict[str, Path], name: str) -> None:
    verdict = judged(saved[name])
    computed = {each for each, found in located(saved[name]).items() if found.kind != "typed"}
    assert {line.name for line in verdict.lines} == computed
    assert verdict.agrees
    code, out, err = run(saved[name])
    assert (code, err) == (0, "")
    assert f"{saved[name]}  agrees" in out


@pytest.mark.parametrize(
    ("name", "block", "at", "what"),
    [
        ("classic", "td_errors", (1, 4), "td_errors of environment 2, step 5"),
        ("classic", "identity.to_go", (0, 8), "identity.to_go of environment 1, the end of steps"),
        ("classic", "old.p", (0, 2, 0), "old.p of environment 1, step 3, action 0"),
        ("torchrl", "value.clipped.size", (1, 1), "value.clipped.size of environment 2, step 2"),
        ("kl-controller", "responses.kl_per_word", (5, 3), "responses.kl_per_word of update 6, response 4"),
        ("kl-controller", "kl_coef.after", (0,), "kl_coef.after of the start of updates"),
    ],
)
def test_a_number_typed_over_a_formula_is_named(
    saved: dict[str, Path], tmp_path: Path, name: str, block: str, at: tuple[int, ...], what: str
) -> None:
    found = located(saved[name])[block]
    cell = cell_of(saved[name], found, at)
    change(saved[name], tmp_path / "a.xlsx", found.sheet, {cell: (None, 0.3751)})
    first = judged(tmp_path / "a.xlsx").firsts[0]
    assert (first.name, first.cell, first.what, first.sheet) == (block, f"{found.sheet}!{cell}", what, 0.3751)
    assert first.cause is Cause.FORMULA


@pytest.mark.parametrize(
    ("name", "typed", "at", "value", "first", "follows"),
    [
        ("classic", "gamma.yours", (), 0.5, "gamma", {"td_errors", "advantages", "total_loss"}),
        ("classic", "done", (1, 5), 0, "advantage.done", {"stop", "td_errors", "returns"}),
        ("classic", "preset", (), "torchrl", "preset.number", {"whiten_form", "total_loss"}),
        ("kl-controller", "responses.kl", (0, 0), 90, "kl.seq_sum", {"error.raw", "kl.fed"}),
    ],
)
def test_an_input_changed_without_recalculation_is_stale(
    saved: dict[str, Path],
    tmp_path: Path,
    name: str,
    typed: str,
    at: tuple[int, ...],
    value: object,
    first: str,
    follows: set[str],
) -> None:
    found = located(saved[name])[typed]
    row, column = next((r, c) for index, r, c in found.cells() if index == at)
    cell = f"{openpyxl.utils.get_column_letter(column)}{row}"
    change(saved[name], tmp_path / "a.xlsx", found.sheet, {cell: (None, value)})  # type: ignore[dict-item]
    verdict = judged(tmp_path / "a.xlsx")
    assert firsts(verdict)[0] == first
    assert verdict.firsts[0].cause is Cause.STALE
    assert follows <= set(verdict.firsts[0].follows)


def test_a_row_of_another_formula_is_named_though_the_file_does_not_contradict_itself(
    saved: dict[str, Path], tmp_path: Path
) -> None:
    found = located(saved["classic"])["td_errors"]
    written = openpyxl.load_workbook(saved["classic"])
    for _, row, column in found.cells():
        cell = written[found.sheet].cell(row, column)
        cell.value = str(cell.value).replace("gamma_*", "1*")
    written.save(tmp_path / "a.xlsx")
    verdict = judged(tmp_path / "a.xlsx")
    assert verdict.file.recalculated
    assert firsts(verdict) == ["td_errors"]
    assert "; a fresh workbook has =" in verdict.firsts[0].why


def test_an_edited_workbook_that_was_saved_without_numbers_agrees(saved: dict[str, Path], tmp_path: Path) -> None:
    places, written = located(saved["classic"]), openpyxl.load_workbook(saved["classic"])
    edits = {"preset": "sb3", "gamma.yours": 0.9, "value_clip_range.yours": 0.1, "whiten_form.yours": "std_max"}
    for name, value in edits.items():
        ((_, row, column),) = places[name].cells()
        written[places[name].sheet].cell(row, column).value = value
    written.save(tmp_path / "edited.xlsx")
    verdict = judged(tmp_path / "edited.xlsx")
    assert verdict.file.recalculated
    assert verdict.agrees, verdict.firsts
    assert float(verdict.file.arrays["gamma"]) == 0.9
    assert verdict.file.arrays["value_combine"] == "clipped_only"


def test_an_action_that_there_is_not_is_refused_with_its_cell(saved: dict[str, Path], tmp_path: Path) -> None:
    found = located(saved["classic"])["actions"]
    _, row, column = next(cell for cell in found.cells() if cell[0] == (0, 1))
    cell = f"{openpyxl.utils.get_column_letter(column)}{row}"
    change(saved["classic"], tmp_path / "a.xlsx", found.sheet, {cell: (None, 1.5)})
    code, _, err = run(tmp_path / "a.xlsx", saved["torchrl"])
    assert code == 3
    assert (
        f"a.xlsx, Rollout!{cell} (actions): found 1.5, expected a whole number from 0 to 3, as there are 4 actions"
        in err
    )


def test_all_kinds_in_one_call_on_the_command_line(saved: dict[str, Path]) -> None:
    code, out, _ = run(*saved.values(), "--json")
    assert code == 0
    found = json.loads(out)["files"]
    assert [each["agrees"] for each in found] == [True] * len(CASES)
    assert min(each["quantities_compared"] for each in found) > 50
