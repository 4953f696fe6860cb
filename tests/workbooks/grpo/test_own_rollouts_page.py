"""The page Your own rollouts: its commands, run on its example, print what stands below them."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from blueprint.cli import main
from blueprint.workbooks.grpo.own_data import TABLE
from tests.test_docs import DOCS

pytest.importorskip("torch", reason="the page checks a workbook against torch")

PAGE = (DOCS / "own-rollouts.md").read_text(encoding="utf-8")


def commands() -> list[tuple[list[str], list[str]]]:
    """Returns the words of each command, and the lines that stand below it."""
    found: list[tuple[list[str], list[str]]] = []
    for line in PAGE.splitlines():
        if line.startswith("    $ blueprint "):
            found.append((shlex.split(line)[2:], []))
        elif line.startswith("    ") and found:
            found[-1][1].append(line.strip())
    return found


def test_the_commands_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(DOCS / "data" / "own_rollouts.jsonl", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert len(commands()) == 5
    for words, below in commands():
        told = CliRunner().invoke(main, words)
        assert told.exit_code == 0, told.output
        assert below
        assert [line for line in below if line not in told.output] == []


def test_the_example_stands_on_the_page() -> None:
    rows = (DOCS / "data" / "own_rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    assert all(row in PAGE for row in rows[:2])


def test_the_names_of_columns_on_the_page_are_known() -> None:
    """Of each line of the table: what is looked for, and names of which the file of names has every one."""
    lines = [line.split("|")[1:3] for line in PAGE.splitlines() if line.startswith("| ") and "|---" not in line][1:]
    for what, names in lines:
        known = {name for each in what.strip().split(", ") for name in TABLE.columns[each]}
        assert {name.strip() for name in names.split(",")} - {"…"} <= known
    assert {each for what, _ in lines for each in what.strip().split(", ")} == set(TABLE.columns)
