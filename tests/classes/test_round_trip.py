"""The page on classes is done as it stands there: a class is made, filled in, handed in, graded, reported and graded again."""

from __future__ import annotations

import json
import re
import shlex
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import Result

from blueprint.classes import grading
from blueprint.classes.csv_cells import read_csv, records
from blueprint.classes.key import Key
from blueprint.classes.results import Results
from tests.classes.importers import Canvas, Moodle
from tests.classes.simulated import Verdict, hand_in
from tests.classes.students import Does, Filled
from tests.commands import run_command
from tests.openxml import findings
from tests.test_docs import DOCS

PAGE = (DOCS / "class.md").read_text(encoding="utf-8")
COMMANDS = [line.strip() for line in PAGE.splitlines() if line.startswith("    blueprint ")]
SMALLER = {"make": ["--numbers", "classic"], "worksheet": ["--numbers", "kl-controller", "--blanks", "3"]}
"""Numbers of which a workbook is made sooner than of the page's."""
OF_FIVE: tuple[Does, ...] = ("right", "misconception", "carried", "nonsense", "misconception")


def block(language: str) -> str:
    """Returns the page's example in a language."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


class Done(NamedTuple):
    """What came of the page: its folder, what each command printed, and what the students had done."""

    folder: Path
    ended: dict[str, Result]
    filled: list[Filled]
    first: Results
    key: Key


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    folder, ended = tmp_path_factory.mktemp("class"), {}
    (folder / "roster.csv").write_text(block("csv"), encoding="utf-8")
    (folder / "policy.toml").write_text(block("toml"), encoding="utf-8")
    with pytest.MonkeyPatch.context() as there:
        there.chdir(folder)
        for command in COMMANDS:
            _, *arguments = shlex.split(command)
            if "--again" in arguments:
                (folder / "hw1/students/4711.xlsx").unlink()
            if "grade" in arguments:
                key = Key.load(folder / "hw1/key.json")
                filled = hand_in(key, folder / "hw1", folder, of=OF_FIVE)
            if "regrade" in arguments:
                first = Results.load(folder / "graded")
            more = next((SMALLER[name] for name in arguments if name in SMALLER), [])
            ended[command] = run_command(*arguments, *more)
        yield Done(folder, ended, filled, first, key)


def test_its_commands_run(done: Done) -> None:
    assert len(COMMANDS) == 8
    codes = {command: result.exit_code for command, result in done.ended.items()}
    assert codes == {command: int("regrade" in command) for command in COMMANDS}, [
        result.output for command, result in done.ended.items() if result.exit_code
    ]


def test_every_workbook_that_a_command_of_a_class_writes_is_sound(done: Done) -> None:
    """One of each place where they are: worksheets, their answers, and feedback, also in the archive for Moodle."""
    graded = done.folder / "graded"
    with zipfile.ZipFile(graded / "moodle_feedback.zip") as packed:
        packed.extractall(graded / "moodle")
    handed_in = done.folder / "filled", graded / "submissions"  # as students' programs have written them
    found = [path for path in sorted(done.folder.rglob("*.xlsx")) if not any(map(path.is_relative_to, handed_in))]
    places = {path.parent: path for path in found}
    assert {path.name for path in places} >= {"students", "feedback"}
    assert [each for path in places.values() for each in findings(path)] == []


def test_what_cannot_be_graded_is_refused_before_anything_is_written(done: Done, tmp_path: Path) -> None:
    """A gradebook that is none, and a folder that holds nothing: else results are there, and the next try is refused."""
    grade = ["class", "grade", "--key", str(done.folder / "hw1/key.json"), "-o", str(tmp_path / "graded")]
    (tmp_path / "empty").mkdir()
    (tmp_path / "none.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    refusals = {
        (
            str(tmp_path / "empty"),
        ): "empty holds no file: name the folder or the zip that the platform lets you download",
        (str(done.folder / "hw1/students"), "--canvas", str(tmp_path / "none.csv")): "is not that of a gradebook",
    }
    for words, sentence in refusals.items():
        said = run_command(*grade, *words)
        assert (said.exit_code, sentence in said.stderr) == (2, True), said.output
        assert not (tmp_path / "graded").exists()


def test_its_files_are_there(done: Done) -> None:
    tables = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    named = {name for cell in tables for name in re.findall(r"`([^`]+)`", cell)}
    assert {"key.json", "stress.html", "scores.csv", "moodle_feedback.zip"} <= named
    assert [name for name in named if not any((done.folder / part / name).exists() for part in ("hw1", "graded"))] == []
    assert (done.folder / "hw1/key.json").stat().st_mode & 0o777 == 0o600


def test_everyone_is_marked_as_is_fair(done: Done) -> None:
    """Every right blank has full marks, planted misconceptions are named, nothing right is called one."""
    verdict = Verdict(done.key, done.filled, done.first)
    assert verdict.faults == []
    assert verdict.counts["right"] >= 15
    assert verdict.counts["carried as expected"] == verdict.counts["carried"] >= 1
    assert verdict.named == 1
    assert verdict.counts["planted"] == 2


def test_canvas_and_moodle_read_what_they_are_given(done: Done) -> None:
    numbers = range(len(done.key.students))
    names = {500 + n: (done.key.students[n].name, done.key.students[n].id, f"login{n}") for n in numbers}
    canvas, moodle = Canvas({71: done.key.assignment}, names), Moodle(100, {70_000 + n: "" for n in numbers})
    canvas.upload((done.folder / "graded/canvas.csv").read_bytes())
    moodle.upload((done.folder / "graded/moodle.csv").read_bytes())
    moodle.upload_zip(done.folder / "graded/moodle_feedback.zip")
    assert (canvas.new_assignments, canvas.new_students) == ([], [])
    for n, result in zip(numbers, done.first.results, strict=True):
        meant = 100 * (result.total or 0) / done.first.points
        assert float(canvas.grades[500 + n, 71]) == pytest.approx(meant, abs=0.005)
        assert moodle.graded[70_000 + n][0] == pytest.approx(meant, abs=0.005)
        assert len(moodle.files[70_000 + n]) == 2
        page = next(content for name, content in moodle.files[70_000 + n].items() if name.endswith(".html"))
        assert result.name in page.decode("utf-8")


def test_the_policy_of_the_page_is_used(done: Done) -> None:
    again = Results.load(done.folder / "graded")
    assert again.points == 10
    assert {each.weight for each in again.blanks if each.id == "b01"} == {2}
    carried = [mark.points for each in again.results for mark in each.marks.values() if mark.status == "carried"]
    assert {*carried} == {0.8}


def test_the_flags_of_the_page_are_those_that_there_are(done: Done) -> None:
    section = PAGE.partition("## What flags mean")[2].partition("\n## ")[0]
    listed = {flag.strip() for row in re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE) for flag in row.split(",")}
    known = re.findall(r'kind="([^"]+)"', Path(grading.__file__).read_text(encoding="utf-8"))
    assert {*known} == listed - {"flag", "---"}
    assert len({*known}) >= 8
    flagged = [*records(read_csv(done.folder / "graded/flags.csv"))]
    assert [each["flag"] for each in flagged] == ["no number"]  # of the one who writes nonsense


def test_feedback_holds_no_answers(done: Done) -> None:
    """A number that a student has not written stands in nobody's page."""
    for student, filled in zip(done.key.students, done.filled, strict=True):
        page = (
            (done.folder / f"graded/feedback/feedback_{student.id}.html").read_text(encoding="utf-8").replace("−", "-")
        )
        for blank in done.key.blanks:
            if filled.expects.get(blank.id) != "right":
                shown = f"{student.answers[blank.id][0]:.{blank.decimals}f}"
                assert shown not in page, (student.id, blank.title, shown)


def test_programs_get_json(done: Done) -> None:
    for command in (["report", "graded"], ["show", "hw1", "--student", "4711"]):
        folder = str(done.folder / command[1])
        run = run_command("class", command[0], folder, *command[2:], "--json")
        assert run.exit_code == 0, run.output
        assert json.loads(run.stdout)
