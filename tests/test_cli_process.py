"""The command in a process of its own: what it says to any console, what it loads, and how it dies."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests import golden

SMALL = ["build", "--numbers", "very-very-sleepy"]
"""The quickest build."""


pytestmark = pytest.mark.usefixtures("folder")


def start(*arguments: str, code: str = "", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Runs the command, or some Python before it, in a process of its own."""
    program = (
        ["-c", f"{code}\nfrom blueprint.cli import main\nmain(prog_name='blueprint')"] if code else ["-m", "blueprint"]
    )
    return subprocess.run(
        [sys.executable, *program, *arguments], capture_output=True, env={**os.environ, **environment}, check=False
    )


def parts(path: Path) -> dict[str, str]:
    """Returns the XML of a workbook's sheets and of its list of sheets."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist() if name.startswith("xl/work")}


def test_a_bare_build_says_what_it_wrote_and_proved() -> None:
    said = start("build", PYTHONIOENCODING="utf-8")
    assert (said.returncode, said.stderr) == (0, b"")
    first, proof, meaning, equation, *parts_of_it, last = said.stdout.decode().splitlines()
    written = parts(Path("rlhf_ppo.xlsx"))
    formulas = sum(xml.count("<f>") for xml in written.values())
    sheets = written["xl/workbook.xml"].count("<sheet ")
    assert first == f"rlhf_ppo.xlsx: {sheets} sheets, {formulas:,} formulas"
    assert proof.startswith(f"proof: ironcalc recalculated {formulas:,} of {formulas:,} formulas to the same value")
    assert meaning.startswith("total loss 0.105459: L = L_policy + c1·L_value − c2·H_mean")
    loss, _ = golden.DEFAULT_SCALARS["total_loss"]
    assert float(meaning.split()[2].rstrip(":")) == loss
    assert equation.split()[-2:] == ["=", f"{loss:.4f}"]
    # The four parts as printed, with six decimals, add up to the loss.
    assert sum(float(line.split()[0]) for line in parts_of_it) == pytest.approx(loss, abs=4e-6)
    assert last.startswith("The file opens at One page, the whole computation on one sheet; on Start every piece")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "utf-8"])
def test_a_console_without_greek_letters_is_no_obstacle(encoding: str) -> None:
    small = [
        f"--set=sizes.{each}" for each in ("vocabulary=3", "hidden=1", "embedding=1", "episodes=1", "max_new_tokens=2")
    ]
    said = start("build", "--no-proof", *small, "-o", "γ.xlsx", PYTHONIOENCODING=encoding)
    assert (said.returncode, said.stderr) == (0, b"")
    assert said.stdout.count(b"\n") == 9  # one says what was drawn anew
    assert b": L = L_policy + c1" in said.stdout
    assert Path("γ.xlsx").exists()


@pytest.mark.skipif(os.name == "nt", reason="PowerShell closes no streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_obstacle(folder: Path, closed: str) -> None:
    """Python has no stream there at all, and a sentence about it was a traceback."""
    words = f"{sys.executable} -m blueprint {' '.join(SMALL)} --no-proof -o closed.xlsx {closed}"
    done = subprocess.run(["sh", "-c", words], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert zipfile.is_zipfile(folder / "closed.xlsx")


def test_without_the_engine_it_builds_and_says_so(folder: Path) -> None:
    stub = folder / "stub"
    stub.mkdir()
    (stub / "ironcalc.py").write_text("raise ImportError('not here')", encoding="utf-8")
    said = start(*SMALL, PYTHONPATH=str(stub))
    assert (said.returncode, said.stderr) == (0, b"")
    proof = [line for line in said.stdout.decode().splitlines() if line.startswith("not proved: ")]
    assert proof == ["not proved: The engine ironcalc is not installed; get it with `pip install ironcalc`."]
    assert zipfile.is_zipfile("very-very-sleepy.xlsx")


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["--help"], {"torch", "pandas", "openpyxl", "ironcalc", "xlsxwriter", "pydantic"}),
        (["list"], {"torch", "pandas", "openpyxl", "ironcalc", "xlsxwriter"}),
        ([*SMALL, "--no-proof"], {"torch", "pandas", "openpyxl", "ironcalc"}),
        (SMALL, {"torch", "pandas", "openpyxl"}),
    ],
)
def test_only_what_a_command_needs_is_loaded(arguments: list[str], unneeded: set[str]) -> None:
    code = "import atexit, sys\natexit.register(lambda: print(*sys.modules))"
    said = start(*arguments, code=code)
    assert (said.returncode, said.stderr) == (0, b"")
    loaded = set(said.stdout.decode().splitlines()[-1].split())
    assert "click" in loaded
    assert loaded & unneeded == set()


def test_numbers_that_explode_are_refused_in_one_sentence() -> None:
    said = start("build", "--no-proof", "--set", "old_critic.b=1e300", PYTHONIOENCODING="utf-8")
    assert (said.returncode, said.stdout) == (1, b"")
    assert said.stderr.decode().startswith("Error: ")
    assert said.stderr.count(b"\n") == 1


def test_a_build_that_dies_leaves_the_old_file_whole(folder: Path) -> None:
    (folder / "old.xlsx").write_bytes(b"an older file")
    said = start(*SMALL, "--force", "-o", "old.xlsx", code="import os\nos.replace = lambda *paths: os._exit(9)")
    assert said.returncode == 9
    assert (folder / "old.xlsx").read_bytes() == b"an older file"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sets no limit on the size of a file")
@pytest.mark.parametrize("limit", [500, 10_000])
def test_a_full_disk_is_said_and_nothing_is_lost(folder: Path, limit: int) -> None:
    (folder / "old.xlsx").write_bytes(b"an older file")
    full = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
    said = start(*SMALL, "--force", "-o", "old.xlsx", code=full)
    assert (said.returncode, said.stdout) == (2, b"")
    assert said.stderr.startswith(b"Error: old.xlsx cannot be written: ")
    assert said.stderr.count(b"\n") == 1
    assert (folder / "old.xlsx").read_bytes() == b"an older file"
    assert [path.name for path in folder.iterdir()] == ["old.xlsx"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes among its files")
def test_a_target_that_is_no_ordinary_file_is_not_replaced(folder: Path) -> None:
    """A device such as the null device must not turn into a workbook; a pipe is a harmless one to try it on."""
    os.mkfifo("pipe")
    said = start(*SMALL, "-o", "pipe")
    assert Path("pipe").is_fifo()
    assert (said.returncode, said.stdout) == (2, b"")
    assert said.stderr.startswith(b"Error: pipe ")
