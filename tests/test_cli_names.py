"""Names of files as no catalogue has them: a workbook is made of them that can be read again, and one line is printed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from blueprint.inputs import load, toml_of
from blueprint.page.read import Opened
from tests.commands import run_command

NAMES = {
    "a line break": ("a\nb", "a\\nb"),
    "no UTF-8": (os.fsdecode(b"caf\xe9"), "caf\\udce9"),
    "a letter that turns the line": ("a\u202eb", "a\\u202eb"),
    "an escape": ("\x1b[31mred", "\\x1b[31mred"),
    "a formula": ("=1+1", "=1+1"),
    "many letters": ("x" * 180, "x" * 100),
}

pytestmark = [
    pytest.mark.usefixtures("folder"), pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
]  # fmt: skip


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes a numbers file without a title, which then is the file's name."""
    path = tmp_path_factory.mktemp("numbers") / "numbers.toml"
    lines = toml_of(load("very-very-sleepy")).splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("title")), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", NAMES)
def test_a_numbers_file_of_any_name_makes_a_workbook_that_is_read_again(numbers: Path, kind: str) -> None:
    name, shown = NAMES[kind]
    shutil.copyfile(numbers, f"{name}.toml")
    said = run_command("build", "--no-proof", "--numbers", f"{name}.toml")
    assert said.exit_code == 0, said.output
    assert Opened(Path(f"{shown}.xlsx")).title == shown
    again = run_command("numbers", f"{shown}.xlsx")
    assert again.exit_code == 0, again.output


@pytest.mark.parametrize("kind", ["a line break", "no UTF-8", "an escape"])
def test_a_workbook_of_any_name_is_written_and_read_and_told_on_one_line(kind: str) -> None:
    name, shown = NAMES[kind]
    said = run_command("build", "--no-proof", "--numbers", "very-very-sleepy", "-o", f"{name}.xlsx")
    assert (said.exit_code, said.output.splitlines()[0].partition(":")[0]) == (0, f"{shown}.xlsx")
    assert run_command("numbers", f"{name}.xlsx").exit_code == 0
    refused = run_command("build", "--no-proof", "--numbers", "very-very-sleepy", "-o", f"{name}.xlsx")
    assert refused.output == f"Error: {shown}.xlsx is there already: name another file, or replace it with --force\n"


@pytest.mark.parametrize(
    "command", [["check"], ["diff", "no.xlsx"], ["inspect"], ["numbers"], ["rebuild", "-o", "x.xlsx"]]
)
def test_a_refusal_of_a_file_of_any_name_is_one_line(command: list[str]) -> None:
    said = run_command(*command, "a\n\x1b[31m\u202eb.xlsx")
    assert said.exit_code in (2, 3)
    assert said.output.endswith("\n")
    assert said.output[:-1].isprintable(), said.output
