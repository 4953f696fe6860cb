"""check on worksheets: answers are compared, what is empty or waits neither agrees nor deviates, and no answer is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.checking import Checked
from blueprint.checking.checker import check
from blueprint.checking.verdicts import Verdict
from blueprint.worksheets import Worksheet
from tests.checking.running import run
from tests.page.soffice import convert, libreoffice
from tests.worksheets.filling import fill, rounded, saved

BLANKS = ["td_errors@t=3,n=1", "advantages@t=3,n=1", "ratio@t=2,n=1", "total_loss"]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Worksheet]:
    """Saves a worksheet of classic PPO."""
    path = tmp_path_factory.mktemp("worksheet") / "sheet.xlsx"
    return path, saved(path, "classic", BLANKS)


def judged(path: Path, reveal: bool = False) -> Verdict:
    """Checks one file."""
    return check([Checked(path)], reveal=reveal).verdicts[0]


def test_an_empty_worksheet_agrees_so_far(empty: tuple[Path, Worksheet]) -> None:
    path, _ = empty
    found = judged(path)
    assert found.agrees
    assert found.missed == {}
    assert [answer.says for answer in found.answers] == ["not filled in"] * 4
    assert found.file.compared.open == 0
    assert found.file.compared.compared > 1500
    waits = {line.name: line.open for line in found.lines if line.open}
    assert waits["td_errors"] == 1
    assert waits["total_loss"] == 1
    assert "returns" in waits
    exit_code, out, _ = run(path)
    assert exit_code == 0
    assert "agrees so far" in out
    assert "0 of 4 blanks filled in" in out


def test_answers_are_right_to_the_digits_that_are_shown_and_what_follows_goes_on_with_them(
    empty: tuple[Path, Worksheet], tmp_path: Path
) -> None:
    path, made = empty
    found = judged(fill(path, tmp_path / "all.xlsx", dict(enumerate(rounded(made), 1))))
    assert found.agrees
    assert [answer.says for answer in found.answers] == ["agrees"] * 4
    assert not found.file.blanks.open
    assert found.file.blanks.behind
    barely = {1: rounded(made)[0] + 0.0001}
    assert not judged(fill(path, tmp_path / "off.xlsx", barely)).agrees


def test_a_wrong_answer_is_named_as_a_blank_and_the_right_one_is_not_told(
    empty: tuple[Path, Worksheet], tmp_path: Path
) -> None:
    path, made = empty
    right = rounded(made)
    file = fill(path, tmp_path / "wrong.xlsx", {1: 0.25, 3: right[2]})
    exit_code, out, _ = run(file)
    assert exit_code == 1
    assert "wrong answer: this blank is filled in" in out
    assert "2 of 4 blanks filled in: 1 right, 1 wrong" in out
    exit_code, told, _ = run(file, "--json")
    (first,) = json.loads(told)["files"][0]["first"]
    assert (first["quantity"], first["cause"], first["torch"]) == ("td_errors", "wrong answer", None)
    answers = {f"{answer:.4f}" for numbers in made.answers.values() for answer in numbers} - {f"{right[2]:.4f}"}
    assert not [answer for answer in answers if answer in out or answer in told]
    assert judged(file, reveal=True).firsts[0].witness == pytest.approx(made.answers[made.blanks[0].title][0])
    assert f"torch {made.answers[made.blanks[0].title][0]:.10g}" in run(file, "--reveal")[1]


def test_a_mistake_that_is_carried_on_is_told_from_one_of_its_own(
    empty: tuple[Path, Worksheet], tmp_path: Path
) -> None:
    """The advantage that follows from a wrong TD error is right for what stands before it."""
    path, made = empty
    delta, advantage, *_ = (made.answers[blank.title][0] for blank in made.blanks)
    found = judged(fill(path, tmp_path / "carried.xlsx", {1: round(delta + 0.5, 4), 2: round(advantage + 0.5, 4)}))
    assert [answer.says for answer in found.answers] == ["differs", "carried", "not filled in", "not filled in"]
    assert [first.why.endswith("the mistake lies before it") for first in found.firsts] == [False, True]


def test_text_in_a_blank_is_no_number_to_the_sheet(empty: tuple[Path, Worksheet], tmp_path: Path) -> None:
    path, made = empty
    text = f"{rounded(made)[2]}".replace(".", ",")
    exit_code, out, _ = run(fill(path, tmp_path / "text.xlsx", {3: text}))
    assert exit_code == 1
    assert f"this blank is filled in with {text}, which is no number to the sheet" in out


def test_a_formula_in_a_blank_is_an_answer_and_one_that_was_overwritten_is_still_found(
    empty: tuple[Path, Worksheet], tmp_path: Path
) -> None:
    path, _ = empty
    file = Checked(path)
    place = file.places["returns"]
    cell = place.cell((0,) * len(place.shape))
    edited = fill(path, tmp_path / "both.xlsx", {4: "=0.5-0.25"}, {place.sheet: {cell: (None, 9.5)}})
    found = judged(edited)
    assert found.file.recalculated
    assert [first.name for first in found.firsts] == ["total_loss", "returns"]
    assert "the formula =0.5-0.25" in found.firsts[0].why
    assert [other.stands for other in found.file.compared.others] == ["9.5"]


@pytest.mark.parametrize(("numbers", "level", "overrides"), [
    ("kl-controller", 2, ()), ("very-very-sleepy", 1, ()), ("default", 3, ()),
])  # fmt: skip
def test_worksheets_of_other_kinds_agree(numbers: str, level: int, overrides: tuple[str, ...], tmp_path: Path) -> None:
    made = saved(tmp_path / "sheet.xlsx", numbers, 3, *overrides, level=level)
    found = judged(tmp_path / "sheet.xlsx")
    assert (found.agrees, found.missed, found.file.compared.why, found.file.compared.open) == (True, {}, "", 0)
    assert len(found.answers) == len(made.blanks)


@pytest.mark.usefixtures("needs_libreoffice")
def test_what_libreoffice_computes_with_blanks_that_are_empty_deviates_from_nothing(
    empty: tuple[Path, Worksheet], tmp_path: Path
) -> None:
    """It takes an empty cell for a 0, and saves what comes of that."""
    path, made = empty
    filled = fill(path, tmp_path / "some.xlsx", {1: rounded(made)[0], 3: 0.5})
    program = libreoffice()
    assert program
    (tmp_path / "room").mkdir()
    (again,) = convert(program, [filled], tmp_path / "room")
    found = judged(again)
    assert [answer.says for answer in found.answers] == ["agrees", "not filled in", "differs", "not filled in"]
    assert [first.name for first in found.firsts] == ["ratio"]
    assert found.file.compared.others == ()
