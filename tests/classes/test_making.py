"""A class is made: a file for each student, all of them or none, and the same again from the key."""

import csv
import json
import re
import stat
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from blueprint.book import Book
from blueprint.classes import making
from blueprint.classes.key import TOKEN, Key, base_of, with_departures
from blueprint.classes.making import UNFINISHED, digest, file_names
from tests.commands import run_command

ROSTER = 'id,name,email\n4711,"Müller, Ünal",u@x.org\n../4712,"=cmd|1",\nnul,🎓,\n'
OPTIONS = ("--numbers", "kl-controller", "--blanks", "3", "--seed", "2026")


called = partial(run_command, "class")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("class")
    (made / "roster.csv").write_text(ROSTER, encoding="utf-8")
    result = called("make", made / "roster.csv", "-o", made / "hw1", "--teacher", *OPTIONS)
    assert result.exit_code == 0, result.output
    assert "hw1: 3 students, 3 blanks each" in result.output
    return made / "hw1"


@pytest.fixture(scope="module")
def key(folder: Path) -> Key:
    return Key.load(folder / "key.json")


def files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): digest(path) for path in folder.rglob("*") if path.is_file()}


def test_every_student_has_a_file_that_the_manifest_knows(folder: Path, key: Key) -> None:
    with (folder / "manifest.csv").open(encoding="utf-8-sig", newline="") as table:
        rows = list(csv.DictReader(table))
    assert [row["student"] for row in rows] == ["4711", "../4712", "nul"]
    for row, student in zip(rows, key.students, strict=True):
        assert row["sha256"] == student.sha256 == digest(folder / row["file"])
        assert row["token"] == student.token
        assert TOKEN.fullmatch(row["token"])
    assert set(files(folder)) == {
        *(s.file for s in key.students),
        "key.json",
        "manifest.csv",
        "stress.html",
        "teacher.xlsx",
    }
    assert not (folder.parent / "4712.xlsx").exists()


def test_what_holds_answers_is_the_teachers(folder: Path) -> None:
    assert stat.S_IMODE((folder / "key.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "teacher.xlsx").stat().st_mode) == 0o600


def test_the_key_holds_the_answers_of_the_students_own_inputs(key: Key) -> None:
    base, seen = base_of(key), set()
    for student in key.students:
        book = Book(with_departures(base, student.typed))
        for blank in key.blanks:
            right = [book.values.cell(book.blocks[blank.block], *at) for at in blank.cells]
            assert student.answers[blank.id] == right
        seen.add(json.dumps(student.answers))
    assert len(seen) == 3


def test_no_answer_and_no_name_is_in_a_students_file(folder: Path, key: Key) -> None:
    from zipfile import ZipFile

    for student in key.students:
        with ZipFile(folder / student.file) as parts:
            text = "".join(parts.read(name).decode("utf-8", "ignore") for name in parts.namelist())
        assert student.token in text
        for answer in (number for numbers in student.answers.values() for number in numbers):
            assert repr(answer)[:10] not in text
        assert key.secret not in text
        if student.name:
            assert student.name not in text


def test_a_lost_file_is_written_again_byte_for_byte(folder: Path, key: Key, tmp_path: Path) -> None:
    again = called("show", folder, "--student", "../4712", "--again", "-o", tmp_path / "lost.xlsx")
    assert again.exit_code == 0, again.output
    assert digest(tmp_path / "lost.xlsx") == key.student("../4712").sha256
    refused = called("show", folder, "--student", "4711", "--again")
    assert refused.exit_code == 2
    assert "is there already" in refused.output


def test_inputs_and_answers_stand_side_by_side(folder: Path, key: Key) -> None:
    text = called("show", folder, "--student", "4711").output
    assert "Müller, Ünal" in text
    assert re.search(r"responses\.kl.*cells", text)
    for blank in key.blanks:
        assert f"{blank.sheet}!{blank.addresses[0]}" in text
    data = json.loads(called("show", folder, "--student", "4711", "--json").output)
    assert [each["answer"] for each in data["answers"]] == [
        n for b in key.blanks for n in key.students[0].answers[b.id]
    ]
    assert called("show", folder, "--student", "1").exit_code == 2


def test_nothing_is_replaced_unless_asked_and_then_tokens_stay(folder: Path, key: Key) -> None:
    before, roster = files(folder), folder.parent / "roster.csv"
    refused = called("make", roster, "-o", folder, *OPTIONS)
    assert refused.exit_code == 2
    assert "is there already" in refused.output
    assert files(folder) == before
    (folder / UNFINISHED).mkdir()
    (folder / "override.csv").write_text("mine", encoding="utf-8")
    forced = called("make", roster, "-o", folder, *OPTIONS, "--teacher", "--force")
    assert forced.exit_code == 0, forced.output
    assert "a run that was ended left behind" in forced.output
    assert files(folder) == before | {"override.csv": digest(folder / "override.csv")}
    other = called("make", roster, "-o", folder, *OPTIONS, "--assignment", "hw2", "--force")
    assert "is the key of hw1, not of hw2" in other.output
    (folder / "override.csv").unlink()


def test_a_failure_in_the_middle_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")
    written: list[object] = []

    def fails(*given: object) -> str:
        written.append(given)
        if len(written) == 2:
            raise OSError(28, "No space left on device")
        return "0" * 64

    monkeypatch.setattr(making, "write_file", fails)
    result = called("make", tmp_path / "roster.csv", "-o", tmp_path / "hw1", *OPTIONS)
    assert result.exit_code == 2
    assert "no space left on device" in result.output
    assert not (tmp_path / "hw1").exists()


def test_an_impossible_blank_is_named_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text("id\n1\n", encoding="utf-8")
    result = called("make", tmp_path / "roster.csv", "-o", tmp_path / "hw1", *OPTIONS, "--vary", "nothing")
    assert result.exit_code == 2
    assert "--vary nothing: nothing of that name can vary" in result.output
    assert not (tmp_path / "hw1").exists()


@pytest.mark.parametrize("ids", [["a", "A b", "a_b", "../a", "..\\a", "", "con", "CON1", "-x", "ü", "x" * 300, "a/b"]])
def test_names_of_files_are_safe_and_no_two_are_alike(ids: Sequence[str]) -> None:
    names = file_names(ids)
    assert names["a"] == "students/a.xlsx"
    assert len({name.casefold() for name in names.values()}) == len(ids)
    assert all(re.fullmatch(r"students/[A-Za-z0-9][A-Za-z0-9_-]{0,70}\.xlsx", name) for name in names.values())
    assert names["con"] != "students/con.xlsx"
