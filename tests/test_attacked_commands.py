"""What a command line may name that is no file of ours: pipes, devices, links that lead nowhere, numbers without an end."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from click.testing import Result

from blueprint.commands.errors import TRACEBACK
from blueprint.files import content_of
from blueprint.inputs import NumbersError, load
from tests.commands import run_command

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes among its files")
NO_FILE = "it is a pipe or a device, and no file"


def run(*words: str | Path) -> Result:
    """Runs a command; what nobody foresaw is raised."""
    return run_command(*words, env={TRACEBACK: "1"})


NAMED = {
    "numbers": (["build", "--numbers", "x.toml"], f"the file cannot be read ({NO_FILE})"),
    "a numbers file": (["numbers", "x.toml"], f"the file cannot be read ({NO_FILE})"),
    "rows": (["numbers", "x.jsonl", "--kind", "dpo"], f"the file cannot be read ({NO_FILE})"),
    "blanks": (["worksheet", "--blanks-file", "x.toml"], f"cannot be read: {NO_FILE}"),
    "a roster": (["class", "make", "x.csv", "-o", "hw1"], f"cannot be read as a roster ({NO_FILE})"),
    "a key": (["class", "show", "x.json", "--student", "1"], f"cannot be read as a key ({NO_FILE})"),
    "results": (["class", "report", "x.json"], f"cannot be read as results ({NO_FILE}): name a folder that"),
    "a workbook": (["check", "x.xlsx"], "is a device or a pipe, not a workbook"),
    "a dump": (["inspect", "x.npz"], "this is a pipe or a device; save it as a file first."),
}


@pytest.mark.parametrize("made", ["pipe", "socket", "device"])
@pytest.mark.parametrize("what", NAMED)
def test_what_is_no_file_is_refused_before_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, made: str
) -> None:
    """A pipe into which nobody writes would wait for ever; a device of zeros would fill the memory."""
    monkeypatch.chdir(tmp_path)
    words, says = NAMED[what]
    name = next(word for word in words if word.startswith("x."))
    if made == "pipe":
        os.mkfifo(name)
    elif made == "device":
        os.symlink("/dev/zero", name)
    else:
        with socket.socket(socket.AF_UNIX) as at:
            at.bind(name)
    found = run(*words)
    assert found.exit_code in (2, 3)
    assert says in found.output


def test_no_more_is_read_than_the_bound(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    assert content_of(tmp_path / "a", 3) == b"0123"
    assert content_of(tmp_path / "a", 10) == b"0123456789"
    with pytest.raises(IsADirectoryError):
        content_of(tmp_path)


@pytest.mark.parametrize("name", [b"caf\xe9.toml", b"a\nb.toml", b"\x1b[31m.toml"])
def test_a_name_of_any_bytes_is_read(tmp_path: Path, name: bytes) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/" + name)
    Path(path).write_text('level = "wights"', encoding="utf-8")
    assert run("numbers", path).output.startswith('Error: level: found "wights", expected "weights" or ')
    Path(path).write_bytes(run("numbers", "very-very-sleepy").output.encode())
    assert run("build", "--numbers", path, "--no-proof", "-o", tmp_path / "a.xlsx").exit_code == 0


@pytest.mark.parametrize("digits", [16, 400, 5000])
@pytest.mark.parametrize(
    ("name", "key"), [("kl-controller", "responses.lengths=[[{}, 1]]"), ("reward-model", "pairs.rankings=[[{}, 1]]")]
)
def test_a_whole_number_has_as_many_digits_as_a_cell(name: str, key: str, digits: int) -> None:
    with pytest.raises(NumbersError) as refused:
        load(name, [key.format("9" * digits)])
    assert str(refused.value).startswith(key.partition("=")[0])
    assert digits > 400 or "expected a whole number of at most 15 digits, all that a cell holds." in str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("blanks = " + "[" * 5000, "is no TOML: "),
        (f"blanks = [{{what = 'advantages', weight = {'9' * 5000}}}]", "is no TOML: "),
        (
            "[[blanks]]\nwhat = 'advantages'\nweight = 1e308",
            "blanks.1.weight: input should be less than or equal to 1000000000",
        ),
    ],
)
def test_a_file_of_blanks_that_means_nothing_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "blanks.toml").write_text(text, encoding="utf-8")
    found = run("worksheet", "--blanks-file", tmp_path / "blanks.toml", "-o", tmp_path / "a.xlsx")
    assert found.exit_code == 2
    assert says in found.output


@pytest.mark.parametrize("depth", ["0", "-1", "9" * 5000, "x", "٣" * 20])
def test_a_depth_is_a_number_of_steps(depth: str) -> None:
    found = run("explain", "very-very-sleepy", "advantages", "--depth", depth)
    assert found.exit_code == 2
    assert "is neither a number of steps, 1 or more, nor the word all" in found.output
