"""The command `explain` in a process of its own: what it loads, and what it says on consoles of other alphabets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.page.workshop import save_made


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves the default book."""
    path = tmp_path_factory.mktemp("explain") / "mine.xlsx"
    save_made(path)
    return path


@pytest.fixture(autouse=True)
def folder(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs every test beside the workbook."""
    monkeypatch.chdir(saved.parent)


def start(*arguments: str, code: str = "", encoding: str = "utf-8") -> str:
    """Runs the command, or some Python before it, in a process of its own, and returns what it prints."""
    program = (
        f"import sys\n{code}\nfrom blueprint.cli import main\nmain(['explain', *sys.argv[1:]], prog_name='blueprint')"
    )
    command = [sys.executable, "-c", program, *arguments]
    said = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding}, check=False)
    assert (said.returncode, said.stderr) == (0, b"")
    return said.stdout.decode(encoding)


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["gamma"], {"torch", "pandas", "openpyxl", "ironcalc"}),  # One page is laid out: XlsxWriter measures its words
        (["mine.xlsx", "gamma"], {"torch", "pandas", "ironcalc", "xlsxwriter"}),
    ],
)
def test_only_what_it_needs_is_loaded(arguments: list[str], unneeded: set[str]) -> None:
    said = start(*arguments, code="import atexit\natexit.register(lambda: print(*sys.modules))")
    assert said.startswith("γ = 0.9  (gamma, Inputs!")
    assert set(said.splitlines()[-1].split()) & unneeded == set()


@pytest.mark.parametrize("encoding", ["cp437", "cp1252"])
def test_a_console_without_greek_letters_spells_them_out(encoding: str) -> None:
    said = start("advantages", "--episode", "1", "--token", "5", "--depth", "3", encoding=encoding)
    assert "?" not in said
    if encoding == "cp1252":
        assert "delta[n, t] = m[n, t]·(r[n, t] + gamma·V_old[n, t + 1] - V_old[n, t])" in said
