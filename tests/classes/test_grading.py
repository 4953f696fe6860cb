"""The round from what was handed in to scores, feedback and flags, and once more: nothing is lost, nothing comes twice."""

import json
import zipfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from openpyxl import load_workbook

from blueprint.classes.grading import Handed, flags_of
from blueprint.classes.key import Key
from blueprint.classes.results import Results
from blueprint.classes.submissions_folder import Stored
from blueprint.classes.worker import Worked
from tests.classes.handing_in import Answer, Asked, hand_in, key_of, right
from tests.commands import run_command

ASKED: list[Asked] = [
    ("td_errors", [(0, 0)], "number"),
    ("advantages", [(0, 0), (0, 1), (0, 2)], "formula"),
    ("surrogate", [(1,)], "number"),
]
ADA, ZOE, EVE, NOBODY = "4711", '=O\'Neil, "Zoë" 🙂', "../eve", "0815"
FOLDER = "Ada Lovelace_1001_assignsubmission_file_"


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key, and a zip: Ada twice, Zoë with wrong numbers, Eve with an edited input, a copy of Ada's, and what is no workbook."""
    room = tmp_path_factory.mktemp("class")
    key = key_of("very-very-sleepy", ASKED, {ADA: {}, ZOE: {}, EVE: {}, NOBODY: {}})
    (room / "key.json").write_text(key.model_dump_json(), encoding="utf-8")
    formulas: dict[str, list[Answer]] = {"b02": [f"=0+{x}→{x}" for x in right(key, key.students[0])["b02"]]}
    handed: dict[str, tuple[int, dict[str, list[Answer]]]] = {
        f"{FOLDER}/first.xlsx": (0, {"b01": [None]}),
        f"{FOLDER}/second.xlsx": (0, formulas),
        "zoe/a.xlsx": (1, {"b01": [7.7123], "b03": ["about 2"]}),
        "deep/in/eve.xlsx": (2, {}),
    }
    with zipfile.ZipFile(room / "in.zip", "w") as target:
        for number, (name, (student, answers)) in enumerate(handed.items()):
            who = key.students[student]
            path = hand_in(room / "x.xlsx", key, who, right(key, who) | answers)
            info = zipfile.ZipInfo(name, (2026, 3, 1 + number, 12, 0, 0))
            target.writestr(info, _edited(path.read_bytes(), room) if student == 2 else path.read_bytes())
            if number == 1:
                target.writestr("Bob_1002_assignsubmission_file_/mine.xlsx", path.read_bytes())
        target.writestr("Carl/essay.xlsx", b"no workbook")
        target.writestr("Dora/own.xlsx", _without_token(path.read_bytes(), room))
    return room


def _edited(content: bytes, room: Path) -> bytes:
    """Returns a file in which a typed number is another one."""
    (room / "y.xlsx").write_bytes(content)
    book = load_workbook(room / "y.xlsx")
    sheet, _, cell = book.defined_names["gamma_yours"].attr_text.rpartition("!")
    book[sheet.strip("'")][cell.replace("$", "")] = 0.5
    book.save(room / "y.xlsx")
    return (room / "y.xlsx").read_bytes()


def _without_token(content: bytes, room: Path) -> bytes:
    (room / "z.xlsx").write_bytes(content)
    book = load_workbook(room / "z.xlsx")
    del book.defined_names["blueprint_token"]
    del book.custom_doc_props["blueprint token"]
    book.save(room / "z.xlsx")
    return (room / "z.xlsx").read_bytes()


run = partial(run_command, "class")


@pytest.fixture(scope="module")
def graded(room: Path) -> Path:
    ended = run("grade", room / "in.zip", "--key", room / "key.json", "-o", room / "graded")
    assert ended.exit_code == 3, ended.output  # two files could not be marked
    return room / "graded"


def statuses(folder: Path, student: str) -> list[str]:
    found = Results.load(folder).of(student)
    assert found is not None
    return [mark.status for mark in found.marks.values()]


def test_every_student_of_the_key_has_a_result(graded: Path) -> None:
    found = Results.load(graded)
    assert [each.student for each in found.results] == [ADA, ZOE, EVE, NOBODY]
    assert statuses(graded, ADA) == ["right", "right", "right"]  # the last attempt counts
    assert statuses(graded, ZOE) == ["wrong", "right", "unreadable"]
    assert [each.total for each in found.results] == [3, 1, 3, None]
    ada = found.results[0]
    assert (ada.attempt, ada.attempts, ada.participant) == (2, 2, "1001")


def test_what_may_be_looked_at_is_flagged(graded: Path) -> None:
    found = {(flag.kind, *flag.students): flag for flag in Results.load(graded).flags}
    assert set(found) == {
        ("same token twice", ADA), ("pasted constant", ADA), ("pasted constant", ZOE), ("pasted constant", EVE),
        ("locked cells edited", EVE), ("no number", ZOE), ("not read",), ("no token",),
    }  # fmt: skip
    assert found["same token twice", ADA].says == "handed in by 2 participants of the platform: 1001, 1002"
    assert "gamma.yours" in found["locked cells edited", EVE].says
    assert found["no number", ZOE].says == (
        "what stands there is no number in b03 (found 'about 2', expected a number)"
    )
    assert found["not read",].files == ["Carl/essay.xlsx"]


@pytest.mark.parametrize(
    ("names", "kind", "students", "says"),
    [
        (["ada.xlsx", "0815.xlsx"], "another's file", [ADA, NOBODY], "its token is that of 4711, and its path names 0815"),
        (["all/student 0815.xlsx"], "another's file", [ADA, NOBODY], "its token is that of 4711, and its path names 0815"),
        (["a.xlsx", "b/copy of a.xlsx"], "same file twice", [ADA], "the same bytes came under 2 names"),
    ],
)  # fmt: skip
def test_a_copy_under_another_name_is_flagged(
    names: list[str], kind: str, students: list[str], says: str, room: Path
) -> None:
    key = Key.load(room / "key.json")
    of_ada = Worked(tokens={"name": key.students[0].token}, owners=(ADA,), marks={})
    copied = Handed(Stored(names=names, sha256="0" * 64, stored="a"), of_ada)
    (flag,) = flags_of(key, [copied], [])
    assert (flag.kind, flag.students, flag.says) == (kind, students, says)
    assert {*flag.files} <= {*names}


@pytest.mark.parametrize(
    "names",
    [
        ["4711.xlsx"],
        ["4711.xlsx", "Student 4711_12_34_4711-1.xlsx"],  # uploaded twice
        ["first/hw1.xlsx", "again/hw1.xlsx"],  # downloaded twice
        ["4711/2.xlsx"],
        ["7.xlsx"],  # another's id, and more likely the number of an attempt or of a group
        [f"{FOLDER}/student 0815.xlsx"],  # in a platform's folder the file may be called as it likes
        ["group 2/of 0815 and 4711/4711.xlsx"],
    ],
)
def test_nobody_is_flagged_for_names_of_files_of_their_own(names: list[str], room: Path) -> None:
    key = Key.load(room / "key.json")
    key = key.model_copy(update={"students": [*key.students, key.students[2].model_copy(update={"id": "7"})]})
    own = Handed(
        Stored(names=names, sha256="0" * 64, stored="a"), Worked(tokens={"name": "x"}, owners=(ADA,), marks={})
    )
    assert flags_of(key, [own], []) == []


def test_files_lie_by_student_and_no_id_leads_elsewhere(graded: Path) -> None:
    kept = {path.parent.name: path for path in (graded / "submissions").rglob("*.xlsx")}
    assert set(kept) == {"4711", "%3DO%27Neil%2C %22Zo%C3%AB%22 %F0%9F%99%82", "%2E%2E%2Feve", "_unknown"}
    assert {path.suffix for path in (graded / "feedback").iterdir()} == {".html", ".xlsx"}
    assert len(list((graded / "feedback").iterdir())) == 6
    assert not list(graded.parent.glob("eve*"))


def test_tables_are_harmless_and_say_why(graded: Path) -> None:
    text = (graded / "scores.csv").read_text("utf-8-sig")
    assert "b01 td_errors@1,b01 status,b01 why" in text
    assert "found 'about 2', expected a number" in text
    assert "\n=" not in text
    assert "'=O'Neil" in text


def change(graded: Path, room: Path, *more: object) -> Sequence[dict[str, object]]:
    ended = run("regrade", graded, "--key", room / "key.json", "--json", *more)
    assert ended.exit_code in (0, 1, 3), ended.output
    found: list[dict[str, object]] = json.loads(ended.output)["changed"]
    return found


def test_feedback_holds_no_answer_unless_it_is_revealed(room: Path, graded: Path) -> None:
    answer = f"{Key.load(room / 'key.json').students[1].answers['b01'][0]:.6g}"
    page = next((graded / "feedback").glob("*Zo*.html"))
    assert "✗ wrong" in page.read_text("utf-8")
    assert answer not in page.read_text("utf-8")
    assert change(graded, room, "--reveal") == []
    assert answer in page.read_text("utf-8")


def test_nothing_is_written_over_unless_asked_and_the_same_comes_again(room: Path, graded: Path) -> None:
    before = (graded / "results.json").read_bytes()
    ended = run("grade", room / "in.zip", "--key", room / "key.json", "-o", graded)
    assert (ended.exit_code, "results.json is there already" in ended.output) == (2, True)
    assert run("grade", room / "in.zip", "--key", room / "key.json", "-o", graded, "--force").exit_code == 3
    assert (graded / "results.json").read_bytes() == before
    assert (graded / "results-1.json").read_bytes() == before


def test_a_regrade_keeps_overrides_and_says_who_changes_and_why(room: Path, graded: Path, tmp_path: Path) -> None:
    override = graded / "override.csv"
    assert override.read_text("utf-8-sig").startswith("student,blank,mark,why,file")
    text = f'student,blank,mark,why,file\n{ADA},b01,0.5,"asked, in class",\n{NOBODY},,,,Dora/own.xlsx\n'
    override.write_text(text, encoding="utf-8")
    changed = {each["student"]: each for each in change(graded, room)}
    assert (changed[ADA]["before"], changed[ADA]["after"]) == (3, 2.5)
    assert changed[ADA]["reasons"] == ["b01 right 1 → right 0.5 (set by hand: asked, in class)"]
    assert changed[NOBODY]["before"] is None
    policy = tmp_path / "policy.toml"
    policy.write_text('points = 10\nattempts = "first"\n[weights]\n"td_errors@1" = 2\n', encoding="utf-8")
    again = {each["student"]: each for each in change(graded, room, "--policy", policy)}
    assert again[ADA]["after"] == 7.5  # half of 2, 1 and 1, of 4, times 10
    assert again[ADA]["reasons"] != []
    assert override.read_text("utf-8") == text
    override.unlink()
    (back,) = (each for each in change(graded, room) if each["student"] == ADA)
    assert back["after"] == 5  # the override is gone (2 of 4 for the first attempt), and the grading policy was kept


def test_what_crashed_is_gone_on_with(room: Path, graded: Path) -> None:
    """A crash leaves submissions and no results; the same command finishes, and does not count a file twice."""
    files = sorted((graded / "submissions").rglob("*.xlsx"), key=lambda path: path.name)
    (graded / "results.json").unlink()
    files[0].rename(graded / "submissions" / "_unknown" / files[0].name)  # moved, and its place not yet written down
    assert run("grade", room / "in.zip", "--key", room / "key.json", "-o", graded).exit_code == 3
    assert sorted(path.name for path in (graded / "submissions").rglob("*.xlsx")) == [path.name for path in files]
    assert statuses(graded, ADA)[1:] == ["right", "right"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--assign", "nowhere.xlsx=4711"], "file nowhere.xlsx, given to student 4711: there is none of that name"),
        (["--assign", "x"], "--assign takes FILE=STUDENT"),
        (["--assign", "Dora/own.xlsx=1"], "student 1: the key has none of that id"),
    ],
)
def test_a_wrong_word_is_refused_in_a_sentence(room: Path, graded: Path, arguments: list[str], says: str) -> None:
    ended = run("regrade", graded, "--key", room / "key.json", *arguments)
    assert (ended.exit_code, says in ended.output) == (2, True), ended.output


def test_what_grading_has_not_written_is_not_written_over(room: Path, tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("mine", encoding="utf-8")
    ended = run("grade", room / "in.zip", "--key", room / "key.json", "-o", tmp_path)
    assert (ended.exit_code, "scores.csv is there already" in ended.output) == (2, True)
    (tmp_path / "canvas.csv").write_text("Student,ID,Section", encoding="utf-8")
    read = ("--canvas", tmp_path / "canvas.csv", "--force")
    ended = run("grade", room / "in.zip", "--key", room / "key.json", "-o", tmp_path, *read)
    assert (ended.exit_code, "would be written over: move what is read" in ended.output) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["canvas.csv", "scores.csv"]
