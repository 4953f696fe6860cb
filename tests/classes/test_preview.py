"""What a class would be asked is shown before it is made: the same blanks, and answers that are spread as those of a class."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from blueprint.classes.key import Key
from tests.commands import run_command

ASKED = ("--numbers", "very-very-sleepy", "--blanks", "4", "--seed", "5")


call = partial(run_command, "class")


def test_the_blanks_are_those_of_the_class_that_is_made(tmp_path: Path) -> None:
    shown = json.loads(call("preview", *ASKED, "--students", "8", "--json").output)
    (tmp_path / "roster.csv").write_text("id,name\na,Ada\nb,Bo\n", encoding="utf-8")
    assert call("make", str(tmp_path / "roster.csv"), "-o", str(tmp_path / "hw"), *ASKED).exit_code == 0
    key = Key.model_validate_json((tmp_path / "hw" / "key.json").read_text(encoding="utf-8"))
    assert [(each["id"], each["title"], each["addresses"]) for each in shown["blanks"]] == [
        (blank.id, blank.title, blank.addresses) for blank in key.blanks
    ]
    assert shown["varies"] == key.vary
    answers = [number for student in key.students for number in student.answers["b01"]]
    first = shown["blanks"][0]
    width = first["most"] - first["least"]
    assert width > 0
    assert first["least"] - 2 * width <= min(answers) <= max(answers) <= first["most"] + 2 * width


def test_what_is_printed_is_a_line_a_blank_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = call("preview", *ASKED, "--students", "3")
    lines = found.output.splitlines()
    assert found.exit_code == 0
    assert lines[0].startswith("4 blanks, in the order of computation; answers of 3 invented students")
    assert lines[1].split()[:3] == ["blank", "where", "asks"]
    assert [line.split()[0] for line in lines[2:6]] == ["b01", "b02", "b03", "b04"]
    assert all(0 < int(line.split()[-1]) <= 3 for line in lines[2:6])
    assert list(tmp_path.iterdir()) == []


def test_blanks_are_those_of_which_students_have_different_answers_and_else_a_note_says_so() -> None:
    """A ratio that is clipped is 1.2 for everybody, the mean of a group 0.25 of which one of four answers is right."""
    asked = ("--students", "4", "--json")
    of_ppo = json.loads(call("preview", "--topic", "clip", "--blanks", "6", *asked).output)
    assert "ratio.clipped" in {each["title"].partition("@")[0] for each in of_ppo["blanks"]}
    assert min(each["different"] for each in of_ppo["blanks"]) > 1
    assert of_ppo["warnings"] == []
    of_grpo = json.loads(call("preview", "--numbers", "grpo", "--topic", "group", "--blanks", "3", *asked).output)
    alike = [f"{each['id']} ({each['title']})" for each in of_grpo["blanks"] if each["different"] == 1]
    assert alike
    assert {f"{blank}: every student has the same answer" for blank in alike} <= {*of_grpo["warnings"]}


def test_an_answer_lies_between_the_least_and_the_most() -> None:
    for each in json.loads(call("preview", *ASKED, "--students", "5", "--json").output)["blanks"]:
        assert each["least"] <= each["middle"] <= each["most"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--students", "0"), "0 is not in the range 1<=x<=1000"),
        (("--blanks", "2", "--blanks-file", "x.toml"), "--blanks and --blanks-file: give one of them"),
        (("--vary", "nonsense"), "nonsense"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], sentence: str) -> None:
    found = call("preview", *arguments)
    assert found.exit_code == 2
    assert sentence in found.output
