"""A workbook of a blueprint of one's own, which no kind knows: explained by its formulas, compared by what it shows."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import openpyxl
import pytest

import blueprint as bp
from blueprint import Book
from blueprint.notation import Axis, NotationError, Sum, block, book, typed
from blueprint.page.read import ReadError
from blueprint.reopening import OwnBook, back_from, book_of
from tests.commands import run_command


def savings(rate: float = 0.5) -> Book:
    """A blueprint with a recursion, a sum, words along an axis that is counted from 0, and a shared number."""
    t, v = Axis("t", "year", start=1), Axis("v", "kind of account")
    paid, r, kinds = typed("paid", (t, v)), typed("rate", (), "r"), typed("kinds", (v,), text=True)
    deposit, held, total = block("deposit", (t,), "d"), block("held", (t,), "H", "what there is"), block("total", ())
    deposit[t] = Sum(v, paid[t, v])
    held[t.first - 1] = 1
    held[t] = held[t - 1] * (1 + r) + deposit[t]
    total[()] = Sum(t, held[t])
    numbers = {paid: [[1, 2], [3, 4], [5, 6]], r: rate, kinds: ["current", "fixed"]}
    return book("Savings", [kinds, paid, r, total, held, deposit], t, numbers)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves it."""
    path = tmp_path_factory.mktemp("own") / "own.xlsx"
    savings().save(path)
    return path


def test_it_opens_with_the_numbers_that_it_shows(own: Path) -> None:
    ours, opened = savings(), bp.open(own)
    assert isinstance(opened, OwnBook)
    for name in ours.blocks:
        assert opened[name].equals(ours[name]), name


@pytest.mark.parametrize("what", [("total", {}), ("held", {"t": 2}), ("held", {"t": 0}), ("paid", {"t": 3, "v": 1})])
def test_a_cell_is_explained_by_the_cells_that_its_formula_reads(own: Path, what: tuple[str, dict[str, int]]) -> None:
    ours, theirs = (each.explain(what[0], depth="all", **what[1]).to_dict() for each in (savings(), book_of(own)))
    assert theirs["top"] == ours["top"]
    assert theirs["cells"].keys() == ours["cells"].keys()
    for cell, told in ours["cells"].items():
        same = ("name", "label", "meaning", "at", "value", "typed", "complete")
        assert {key: theirs["cells"][cell][key] for key in same} == {key: told[key] for key in same}
        assert set(theirs["cells"][cell]["reads"]) == set(told["reads"])


def test_the_text_has_the_equation_of_contents_and_the_formula_of_the_file(own: Path) -> None:
    told = str(book_of(own).explain("total", depth=1))
    formula = savings().show("total").formula
    assert "total = Σ_t H[t]" in told
    assert f"{formula} = {savings().show('total').value:g}" in told


def test_libreoffice_s_copy_is_explained_alike(own: Path, tmp_path: Path) -> None:
    command = ["soffice", "--headless", "--convert-to", "xlsx", "--outdir", str(tmp_path), str(own)]
    subprocess.run(command, check=True, capture_output=True)
    ours, theirs = (book_of(path).explain("total", depth="all") for path in (own, tmp_path / "own.xlsx"))
    assert [each.label for each, _ in theirs.nearest()] == [each.label for each, _ in ours.nearest()]


def test_the_command_explains_a_block_and_an_address(own: Path) -> None:
    by_name = run_command("explain", own, "held", "--at", "t=2")
    assert by_name.exit_code == 0
    assert run_command("explain", own, savings().explain("held", t=2).cell).output == by_name.output
    missing = run_command("explain", own, "held")
    assert (missing.exit_code, "held has a number for each year: add --at t=0 … 3" in missing.stderr) == (2, True)


def test_diff_names_inputs_and_what_parts_each_after_what_it_reads(own: Path, tmp_path: Path) -> None:
    savings(0.25).save(tmp_path / "other.xlsx")
    result = run_command("diff", own, tmp_path / "other.xlsx", "--json")
    told = json.loads(result.output)
    assert (result.exit_code, told["sizes"], told["taken"]) == (1, [], [str(own), str(tmp_path / "other.xlsx")])
    assert [(each["label"], each["a"], each["b"]) for each in told["inputs"]] == [("r", 0.5, 0.25)]
    assert [each["block"] for each in told["partings"]] == ["held", "total"]
    assert (
        "of no kind that is known here, so that what it computes is taken as it shows it"
        in run_command("diff", own, own).output
    )
    assert run_command("diff", own, own).exit_code == 0


def test_a_copy_of_values_alone_shows_the_same_and_reads_nothing(own: Path, tmp_path: Path) -> None:
    copy = openpyxl.load_workbook(own, data_only=True)
    copy.save(tmp_path / "values.xlsx")
    told = json.loads(run_command("diff", tmp_path / "values.xlsx", own, "--json").output)
    assert told["alike"]
    assert book_of(tmp_path / "values.xlsx").explain("total").reads == ()


def test_what_needs_definitions_is_refused_in_a_sentence(own: Path, tmp_path: Path) -> None:
    said = f"{own} is of no kind of workbook that is known here"
    with pytest.raises(ReadError, match=said):
        back_from(own)
    with pytest.raises(NotationError, match=said):
        bp.open(own).save(tmp_path / "again.xlsx")
    rebuilt = run_command("rebuild", own, "-o", tmp_path / "again.xlsx")
    assert (rebuilt.exit_code, rebuilt.stderr.startswith(f"Error: {said}")) == (2, True)
    assert not (tmp_path / "again.xlsx").exists()
    numbers = run_command("numbers", own)
    assert (numbers.exit_code, numbers.stderr.startswith(f"Error: {said}")) == (3, True)


@pytest.mark.parametrize(
    ("symbol", "said"),
    [(7, None), ("a + b", "total would be read as a calculation"), (None, None)],
)
def test_what_contents_says_of_a_block_may_be_anything(
    own: Path, tmp_path: Path, symbol: object, said: str | None
) -> None:
    copy = openpyxl.load_workbook(own)
    (line,) = (row for row in copy["Contents"].iter_rows() if row[0].value == "total")
    line[1].value = symbol
    copy.save(tmp_path / "copy.xlsx")
    if said is None:
        with pytest.raises(ReadError, match="saved without recalculation"):
            book_of(tmp_path / "copy.xlsx")
    else:
        with pytest.raises(ReadError, match=f"copy.xlsx: the symbol 'a \\+ b' of {said}"):
            book_of(tmp_path / "copy.xlsx")
