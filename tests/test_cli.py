"""The command, as a stranger types it: what it writes, what it says, and how it refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from blueprint.cli import CLASS_COMMANDS, COMMANDS, LAB_COMMANDS, Command, main
from blueprint.inputs import names
from blueprint.page.read import read
from tests.commands import run_command

SMALL = ["--numbers", "very-very-sleepy", "--no-proof"]
"""The quickest build."""


pytestmark = pytest.mark.usefixtures("folder")


def test_the_installed_command_is_the_same() -> None:
    (command,) = entry_points(group="console_scripts", name="blueprint")
    assert command.load() is main


@pytest.mark.parametrize("name", ["mine.xlsx", "with space.xlsx", "γ-λ 雪.xlsx", "-dash.xlsx", "sub/mine.xlsx"])
def test_the_file_has_the_name_it_was_given(folder: Path, name: str) -> None:
    (folder / "sub").mkdir()
    result = run_command("build", *SMALL, "-o", name)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{Path(name)}: ")
    assert [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()] == [Path(name)]


def test_other_numbers_give_a_file_of_their_name(folder: Path) -> None:
    assert run_command("build", *SMALL).exit_code == 0
    (folder / "mine.toml").write_text(
        'level = "per-token"\n[per_token]\nwords = [["a"]]\nlogprobs_old = [[-1]]\nlogprobs_ref = [[-1]]\n'
        "values = [[1]]\nscores = [[2]]\n",
        encoding="utf-8",
    )
    assert run_command("build", "--numbers", "mine.toml", "--no-proof").exit_code == 0
    assert sorted(path.name for path in folder.glob("*.xlsx")) == ["mine.xlsx", "very-very-sleepy.xlsx"]


def test_numbers_are_named_first_or_by_their_option(folder: Path) -> None:
    """As in `page`, `serve` and `explain`."""
    assert run_command("build", "very-very-sleepy", "--no-proof", "-o", "first.xlsx").exit_code == 0
    assert run_command("build", *SMALL, "--no-proof", "-o", "option.xlsx").exit_code == 0
    assert run_command("diff", "first.xlsx", "option.xlsx").exit_code == 0
    assert (
        run_command("worksheet", "very-very-sleepy", "--blanks", "1", "--no-proof", "-o", "sheet.xlsx").exit_code == 0
    )


def test_several_values_are_set_and_the_last_one_wins() -> None:
    settings = ["ppo.gamma=0.5", "ppo.gae_lambda=0.25", "ppo.gamma=0.75"]
    assert run_command("build", *SMALL, *(word for each in settings for word in ("--set", each))).exit_code == 0
    found = read(Path("very-very-sleepy.xlsx"))
    assert [found["gamma"].item(), found["gae_lambda"].item()] == [0.75, 0.25]


@pytest.mark.parametrize("commands", [COMMANDS, CLASS_COMMANDS, LAB_COMMANDS])
def test_what_commands_do_is_told_whole_on_80_columns(commands: Mapping[str, Command]) -> None:
    """Click ends what is longer in three dots: it leaves two columns free, and six beside the names."""
    room = 80 - 2 - 6 - max(map(len, commands))
    assert [name for name, each in commands.items() if len(each.says) > room] == []


def test_list_names_what_can_be_built() -> None:
    result = run_command("list")
    assert result.exit_code == 0
    assert [line.split("  ")[0] for line in result.stdout.splitlines()] == [name for name, _ in names()]


TOO_LONG = "x" * 300 + ".xlsx"


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("here", r"here is a directory: give the name of a file, such as here.workbook\.xlsx"),
        ("missing/a.xlsx", r"missing.a\.xlsx cannot be written: there is no folder missing"),
        ("file/a.xlsx", r"file.a\.xlsx cannot be written: .+"),
        (TOO_LONG, rf"{TOO_LONG} cannot be written: .+"),
    ],
)
def test_where_nothing_can_be_written_is_said(folder: Path, target: str, sentence: str) -> None:
    (folder / "here").mkdir()
    (folder / "file").write_bytes(b"an older file")
    result = run_command("build", *SMALL, "-o", target)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(f"Error: {sentence}\n", result.stderr)
    assert sorted(path.name for path in folder.rglob("*")) == ["file", "here"]


def test_a_file_that_is_there_is_replaced_when_that_is_asked_for(folder: Path) -> None:
    (folder / "old.xlsx").write_bytes(b"my own numbers")
    (folder / "link.xlsx").symlink_to("old.xlsx")
    assert run_command("build", *SMALL, "--force", "-o", "link.xlsx").exit_code == 0
    assert (folder / "link.xlsx").is_symlink()
    assert (folder / "old.xlsx").read_bytes() != b"my own numbers"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["buld"], "No such command 'buld'. (Did you mean one of: 'build', 'rebuild'?)"),
        (["build", "--nubers", "default"], "No such option '--nubers'. Did you mean '--numbers'?"),
        (["build", "default", "grpo"], "Got unexpected extra argument (grpo)"),
    ],
)
def test_a_slip_of_the_keys_is_named(arguments: list[str], sentence: str) -> None:
    result = run_command(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


@pytest.mark.parametrize("moment", ["yesterday", "9" * 30])
def test_a_moment_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", moment)
    result = run_command("build", *SMALL)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: SOURCE_DATE_EPOCH")


OVERFLOW = """
level = "per-token"
[ppo]
kl_estimator = "k3"
[per_token]
words        = [["very", "very", "sleepy"]]
logprobs_old = [[-0.9, -720.5, -0.5]]
logprobs_ref = [[-1.5, -1.0, -0.5]]
values       = [[3.0, 3.5, 4.0]]
scores       = [[0.0, 0.0, 5.0]]
"""


def test_build_says_what_ended_that_the_result_does_not_read(tmp_path: Path) -> None:
    numbers, out = tmp_path / "x.toml", tmp_path / "x.xlsx"
    numbers.write_text(OVERFLOW.replace('"k3"', '"k1"'), encoding="utf-8")
    told = run_command("build", "--numbers", str(numbers), "-o", str(out))
    said = (
        "no number: kl.k3 (Reward & advantage!R13): exp(719.5) is beyond 1.8e308, the largest number that a cell can hold; "
        "the result does not read it"
    )
    assert (told.exit_code, said in told.output.splitlines(), "a check fails" in told.output) == (0, True, False)


def test_build_writes_nothing_where_a_number_ends_and_says_where(tmp_path: Path) -> None:
    numbers, out = tmp_path / "x.toml", tmp_path / "x.xlsx"
    numbers.write_text(OVERFLOW, encoding="utf-8")
    told = run_command("build", "--numbers", str(numbers), "-o", str(out))
    assert told.exit_code == 1
    assert re.fullmatch(
        r"Error: nothing was written: kl\.k3 \(n = 1, t = 2, 'Reward & advantage'![A-Z]+[0-9]+\) has no number: exp\(719\.5\) "
        r"is beyond 1\.8e308, the largest number that a cell can hold; k3 = exp\(−k1\[n, t\]\) − 1 \+ k1\[n, t\] = .*\n",
        told.output,
    )
    assert not out.exists()


def test_check_prints_a_line_for_every_quantity_or_an_object() -> None:
    said = run_command("check", "any.xlsx", "--all", "--json")
    assert (said.exit_code, said.stdout) == (2, "")
    assert "--all and --json: a line for every quantity is of the text alone, leave one out" in said.stderr
