"""The commands `rebuild` and `diff`, as a person calls them."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import openpyxl
import pytest

from blueprint import Book
from blueprint.commands.diff import EXAMPLES
from blueprint.differing import differences
from blueprint.reopening import back_from, book_of, typed_of
from tests.checking.cells import change
from tests.commands import run_command
from tests.page.workshop import made, other_parts, save_made
from tests.reopening.kinds import KINDS, book_of_kind, save_kind
from tests.reopening.typing_in import all_typed_into, typed_into

WORKBOOKS = Path(__file__).parents[1] / "workbooks"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves the default workbook."""
    return save_made(tmp_path_factory.mktemp("rebuild") / "plain.xlsx")


rebuilt = partial(run_command, "rebuild")


compared = partial(run_command, "diff")


def same_typed(one: Book, other: Book) -> bool:
    """Says whether everything typed in two workbooks is the same, to the last bit."""
    ours, theirs = (typed_of(book.blueprint) for book in (one, other))
    same = [np.array_equal(ours[name], theirs[name], equal_nan=ours[name].dtype != object) for name in ours]
    return ours.keys() == theirs.keys() and all(same)


@pytest.mark.parametrize("name", ["rlhf_ppo", "very-very-sleepy", "classic", "kl-controller", "ten-libraries"])
def test_an_unedited_workbook_is_rebuilt_byte_for_byte(name: str, tmp_path: Path) -> None:
    """But for a zero with a sign, which openpyxl reads without it, and for the last digit on another processor."""
    result = rebuilt(WORKBOOKS / f"{name}.xlsx", "-o", tmp_path / "new.xlsx", "--no-proof")
    assert result.exit_code == 0, result.output
    assert other_parts(WORKBOOKS / f"{name}.xlsx", tmp_path / "new.xlsx") == []


EDITS: dict[str, dict[str, object]] = {
    "default": {
        "gamma.yours": 0.5,
        "check.returns.tolerance": 0.01,
        "walk.decision": 6,
        "vocabulary": "END",
        "old.E": "0,25",
    },
    "live": {"preset": "trl_1.12", "presets.gamma": 0.75, "library.names": "verl", "reward.kl_in.yours": "loss"},
    "logits": {"preset": "openrlhf", "mask": 0, "old.logits": 9},
    "fixed": {"rollout.response": "happy", "rollout.draw": 0.25},
    "classic": {"preset": "cleanrl", "clip_range.high": 3, "rewards": -4},
    "controller": {"kl_stat.yours": "token_mean", "responses.kl": 99},
}


@pytest.mark.parametrize("kind", EDITS)
def test_every_typed_cell_of_an_edited_workbook_is_kept(kind: str, tmp_path: Path) -> None:
    before = made() if kind == "default" else book_of_kind(kind)
    file = save_made(tmp_path / "before.xlsx") if kind == "default" else save_kind(kind, tmp_path / "before.xlsx")
    edited = all_typed_into(file, tmp_path / "edited.xlsx", EDITS[kind])
    result = rebuilt(edited, "-o", tmp_path / "new.xlsx", "--no-proof")
    assert result.exit_code == 0, result.output
    old, new = book_of(edited), book_of(tmp_path / "new.xlsx")
    assert same_typed(old, new)
    assert not same_typed(before, new)
    assert differences(old, new, 1e-12).alike  # what `diff` says of them


def test_a_number_typed_over_a_formula_is_named(plain: Path, tmp_path: Path) -> None:
    change(plain, tmp_path / "over.xlsx", "Loss", {"T17": (None, 0.5)})
    result = rebuilt(tmp_path / "over.xlsx", "-o", tmp_path / "new.xlsx", "--no-proof")
    said = "Loss!T17 (surrogate.unclipped): 0.5 stands where its formula was"
    assert f"not in the new workbook: {said}" in result.output
    assert back_from(tmp_path / "over.xlsx").unheld == [said]


def test_the_file_that_is_read_is_never_written_over(plain: Path, tmp_path: Path) -> None:
    before = plain.read_bytes()
    (tmp_path / "link.xlsx").symlink_to(plain)
    for output in (plain, tmp_path / "link.xlsx"):
        result = rebuilt(plain, "-o", output, "--force")
        assert (result.exit_code, result.stderr) == (
            2, f"Error: {output} is the file that is read, which is never written over: name another file\n"
        )  # fmt: skip
    assert plain.read_bytes() == before


def test_the_fresh_workbook_is_told_and_proved(plain: Path, tmp_path: Path) -> None:
    edited = all_typed_into(plain, tmp_path / "edited.xlsx", {"gamma.yours": "0,5", "old.E": 2})
    result = rebuilt(edited, "-o", tmp_path / "new.xlsx")
    cell = book_of(plain).file.address("gamma.yours", ())
    first, understood, proof, *rest = result.output.splitlines()
    assert result.exit_code == 0
    formulas = f"{made().save(tmp_path / 'built.xlsx'):,}"
    assert first == f"{tmp_path / 'new.xlsx'}: {len(made().sheets)} sheets, {formulas} formulas"
    assert understood == (
        f"as its value: {edited}, {cell} (gamma.yours): "
        "typed as text '0,5', counted as 0.5; to the sheet itself it is no number"
    )
    assert proof.startswith(f"proof: ironcalc recalculated {formulas} of {formulas} formulas to the same value")
    assert rest[0].startswith("total loss ")
    fresh = openpyxl.load_workbook(tmp_path / "new.xlsx")["Inputs"]
    assert fresh[cell.partition("!")[2]].value == 0.5


def test_what_a_fresh_workbook_has_no_place_for_is_told(plain: Path, tmp_path: Path) -> None:
    book = openpyxl.load_workbook(plain)
    book.create_sheet("My notes")["A1"] = "remember"
    book.save(tmp_path / "mine.xlsx")
    result = rebuilt(tmp_path / "mine.xlsx", "-o", tmp_path / "new.xlsx", "--no-proof")
    assert "not in the new workbook: the sheet My notes: a build writes none of this name\n" in result.output
    result = rebuilt(plain, "-o", tmp_path / "same.xlsx", "--no-proof")
    assert "not in the new workbook" not in result.output


def test_the_numbers_of_a_witness_are_not_taken_along(tmp_path: Path) -> None:
    from blueprint.book import Book
    from blueprint.inputs import load
    from blueprint.workbooks import blueprint_of
    from blueprint.workbooks.common.checks import Witnessed

    witnessed = Witnessed({"total_loss": 0.2, "policy_loss": 0.0}, "hand")
    Book(blueprint_of(load(), witnessed)).save(tmp_path / "beside.xlsx")
    result = rebuilt(tmp_path / "beside.xlsx", "-o", tmp_path / "new.xlsx", "--no-proof")
    (line,) = (line for line in result.output.splitlines() if line.startswith("not in the new workbook: "))
    assert line.endswith(" and 3 more: only this file has them; `build --witness` types such numbers of torch")


def test_nothing_is_written_over_unasked(plain: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.xlsx"
    shutil.copy(plain, mine)
    typed_into(mine, mine, "gamma.yours", (), 0.5)
    before = mine.read_bytes()
    result = rebuilt(mine)
    assert (result.exit_code, result.stderr) == (
        2, "Error: rebuild never writes over the file that it reads: name a new one, such as -o mine-new.xlsx\n"
    )  # fmt: skip
    other = tmp_path / "other.xlsx"
    other.write_bytes(b"somebody's")
    result = rebuilt(mine, "-o", other)
    assert (result.exit_code, result.stderr) == (
        2, f"Error: {other} is there already: name another file, or replace it with --force\n"
    )  # fmt: skip
    assert (mine.read_bytes(), other.read_bytes()) == (before, b"somebody's")
    assert rebuilt(mine, "-o", other, "--force", "--no-proof").exit_code == 0
    assert book_of(other).explain("gamma").value == 0.5


def test_a_file_that_cannot_be_read_writes_nothing(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.xlsx").write_bytes(plain.read_bytes()[:30_000])
    result = rebuilt(tmp_path / "cut.xlsx", "-o", tmp_path / "new.xlsx")
    assert result.exit_code == 3
    assert result.stderr.endswith("its end is missing; copy or download it again\n")
    assert not (tmp_path / "new.xlsx").exists()
    result = rebuilt(typed_into(plain, tmp_path / "odd.xlsx", "gamma.yours", (), "1,234"), "-o", tmp_path / "new.xlsx")
    assert result.exit_code == 3
    assert "found '1,234', which may mean 1.234 or 1234: write one of these" in result.stderr
    assert [*tmp_path.glob("*new*")] == []


def test_an_output_that_cannot_be_written_is_wrong_use(plain: Path, tmp_path: Path) -> None:
    result = rebuilt(plain, "-o", tmp_path)
    assert (result.exit_code, "is a directory: give the name of a file" in result.stderr) == (2, True)
    result = rebuilt(plain, "-o", tmp_path / "none" / "new.xlsx")
    assert (result.exit_code, "there is no folder" in result.stderr) == (2, True)


def test_diff_has_exit_codes_for_alike_different_wrong_and_unreadable(plain: Path, tmp_path: Path) -> None:
    other = typed_into(plain, tmp_path / "other.xlsx", "gamma.yours", (), 0.5)
    assert compared(plain, plain).exit_code == 0
    assert compared(plain, other).exit_code == 1
    assert compared(plain).exit_code == 2
    refused = compared(plain, other, "--tolerance", "-1")
    assert (refused.exit_code, "is no distance: write 0 or more, such as 1e-9" in refused.stderr) == (2, True)
    assert compared(plain, other, "--tolerance", "nan").exit_code == 2
    missing = compared(plain, tmp_path / "no.xlsx")
    assert (missing.exit_code, missing.stdout, missing.stderr) == (
        3,
        "",
        f"Error: {tmp_path / 'no.xlsx'} does not exist\n",
    )


def test_diff_prints_a_report_or_one_object(plain: Path, tmp_path: Path) -> None:
    other = typed_into(plain, tmp_path / "other.xlsx", "gamma.yours", (), 0.5)
    lines = compared(plain, other).output.splitlines()
    assert lines[:2] == [f"a: {plain}", f"b: {other}"]
    assert lines[2] == "inputs that differ: 1"
    assert "the derivation first parts at γ, discount of later rewards (RLHF: often 1): 0.9 and 0.5" in lines
    told = json.loads(compared(plain, other, "--json", "--tolerance", "1e-6").output)
    assert (told["alike"], told["tolerance"], told["partings"][0]["block"]) == (False, 1e-6, "gamma")


def test_the_help_shows_examples_and_exit_codes() -> None:
    assert "Exit codes: 0 alike, 1 a difference, 2 wrong use, 3 a file cannot be read." in compared("--help").output
    assert EXAMPLES.count("blueprint diff") == 2
    assert "Exit codes: 0 written" in rebuilt("--help").output


def test_the_kinds_that_are_edited_here_are_all_there_are() -> None:
    assert EDITS.keys() | {"smooth"} == {"default", *KINDS}
