"""The door of every command: whatever happens behind it ends in one sentence, and nothing unfinished stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from blueprint import interrupted
from blueprint.cli import main
from blueprint.commands.errors import TRACEBACK, Door
from tests.commands import run_command

NO_WINDOWS = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has other signals and no devices among its files"
)


class Panic(BaseException):
    """As a panic in Rust arrives: no Exception."""


def ended(fault: BaseException | None, **environment: str) -> Result:
    """Runs a command that meets a fault."""

    @click.group(cls=Door)
    def group() -> None:
        pass

    @group.command()
    def work() -> None:
        if fault is not None:
            raise fault

    return CliRunner().invoke(group, ["work"], env={TRACEBACK: "", **environment})


PLEASE = (
    "please report it, with what you typed and the file; BLUEPRINT_TRACEBACK=1 in the environment shows where it was"
)
TOLD: list[tuple[BaseException, str]] = [
    (KeyError("x"), f"work came upon something that it has no answer to (KeyError: 'x'): {PLEASE}"),
    (AssertionError(), f"work came upon something that it has no answer to (AssertionError): {PLEASE}"),
    (
        ValueError("a\nb\x1b[31m\u202e" + "c" * 40_000),
        f"work came upon something that it has no answer to (ValueError: a\\nb\\x1b[31m\\u202e{'c' * 101}…): {PLEASE}",
    ),
    (Panic("rust"), f"work came upon something that it has no answer to (Panic: rust): {PLEASE}"),
    (RecursionError("deep"), f"work came upon something that it has no answer to (RecursionError: deep): {PLEASE}"),
    (MemoryError(), "work needs more memory than there is: give it a smaller file, or more room"),
    (OSError(28, "No space left on device"), "work was stopped by the system: no space left on device"),
    (
        FileNotFoundError(2, "No such file or directory", "a\nb"),
        "work was stopped by the system: no such file or directory (a\\nb)",
    ),
]


@pytest.mark.parametrize(("fault", "sentence"), TOLD, ids=lambda each: type(each).__name__)
def test_what_nobody_foresaw_is_one_sentence(fault: BaseException, sentence: str) -> None:
    found = ended(fault)
    assert (found.exit_code, found.output) == (3, f"Error: {sentence}\n")


def test_what_was_foreseen_stays_as_it_is() -> None:
    assert ended(None).exit_code == 0
    assert ended(SystemExit(1)).exit_code == 1
    assert ended(click.UsageError("so")).exit_code == 2
    assert (ended(KeyboardInterrupt()).exit_code, ended(KeyboardInterrupt()).output) == (130, "")


def test_a_developer_sees_where_it_was() -> None:
    found = ended(KeyError("x"), **{TRACEBACK: "1"})
    assert isinstance(found.exception, KeyError)


def test_every_command_goes_through_the_door() -> None:
    assert isinstance(main, Door)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("command", [["presets"], ["--version"]])
def test_a_full_disk_behind_a_redirection_is_told(command: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        said = subprocess.run(
            [sys.executable, "-m", "blueprint", *command], stdout=full, stderr=subprocess.PIPE, check=False
        )
    name = "blueprint" if command[0].startswith("-") else command[0]
    sentence = f"Error: {name} was stopped by the system: no space left on device\n"
    assert (said.returncode, said.stderr.decode()) == (3, sentence)


@NO_WINDOWS
@pytest.mark.parametrize("command", [["build"], ["check", "x.xlsx"]])
def test_a_folder_that_was_deleted_is_told(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "gone").mkdir()
    code = f"import os\nos.rmdir({str(tmp_path / 'gone')!r})\nfrom blueprint.cli import main\nmain()"
    said = subprocess.run(
        [sys.executable, "-c", code, *command], cwd=tmp_path / "gone", capture_output=True, check=False, text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    sentence = "Error: the folder that you are in is no longer there: change to another one, with cd\n"
    assert (said.returncode, said.stderr) == (2, sentence)


ENDED_BY = {"SIGTERM": 143, "SIGHUP": 129, "SIGINT": 130}
WRITTEN = "while it is written"
MOMENTS = {
    "before it is written": "xlsxwriter.Workbook.__enter__",
    WRITTEN: "xlsxwriter.worksheet.Worksheet._assemble_xml_file",
    "when it is to be put in place": "os.replace",
}


@NO_WINDOWS
@pytest.mark.parametrize(
    ("name", "moment"), [*(("SIGTERM", each) for each in MOMENTS), ("SIGHUP", WRITTEN), ("SIGINT", WRITTEN)]
)
def test_a_signal_leaves_no_unfinished_file(tmp_path: Path, name: str, moment: str) -> None:
    """The default handler is restored before, for the one who runs the tests may ignore a signal (nohup)."""
    owner, _, function = MOMENTS[moment].rpartition(".")
    code = f"""
import os, signal, sys, tempfile, xlsxwriter
signal.signal(signal.{name}, signal.default_int_handler if {name!r} == "SIGINT" else signal.SIG_DFL)
from blueprint.cli import main
def die(*given): os.kill(os.getpid(), signal.{name})
{owner}.{function} = die
main(["build", "--numbers", "very-very-sleepy", "--no-proof", "-o", "a.xlsx"])
"""
    (tmp_path / "rest").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "rest")}
    said = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert (said.returncode, said.stdout) == (ENDED_BY[name], b""), said.stderr
    assert b"Traceback" not in said.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["rest"]


LONG = "x" * 5000


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([LONG], f"No such command '{'x' * 119}…'."),
        (["numbers", f"--{LONG}"], f"--{'x' * 117}…"),
        (["numbers", f"--{LONG}=1"], f"--{'x' * 117}…"),
        (["build", "--conventions", LONG], f"'{'x' * 119}…' is not one of 'plain', 'live'."),
        (["list", LONG], f"Got unexpected extra argument ({'x' * 119}…)"),
        (["worksheet", "--blanks", "9" * 5000], f"'{'9' * 119}…' is not a valid integer range."),
        (["explain", "total_loss", "--depth", LONG], f"Invalid value for '--depth': {'x' * 119}…"),
        (["class", LONG], f"No such command '{'x' * 119}…'."),
        (["list", "\x1b[31m\u202e\n"], "Got unexpected extra argument (\\x1b[31m\\u202e\\n)"),
    ],
    ids=lambda each: each[0][:12] if isinstance(each, list) else None,
)
def test_what_click_quotes_of_a_command_line_is_short(words: list[str], says: str) -> None:
    found = run_command(*words)
    assert found.exit_code == 2
    assert says in found.output
    assert len(found.output) < 600
    assert "\x1b" not in found.output


PLANTED = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPTED_AT"]:
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), signal.SIGINT)
                for _ in range(1000): pass
            except KeyboardInterrupt:
                if os.environ.get("AS_ANOTHER"):
                    raise ImportError("the module could not be loaded") from None
                raise
sys.meta_path.insert(0, Interrupting())
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
"""Interrupts a process where it comes to load a module; some modules make another error of that."""


def interrupted_at(folder: Path, module: str, *words: str, **more: str) -> tuple[int, str, str]:
    (folder / "sitecustomize.py").write_text(PLANTED, encoding="utf-8")
    paths = os.pathsep.join([str(folder), str(Path(__file__).parents[1])])
    said = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, check=False, text=True,
        env=os.environ | {"PYTHONPATH": paths, "INTERRUPTED_AT": module} | more,
    )  # fmt: skip
    return said.returncode, said.stdout, said.stderr


@NO_WINDOWS
@pytest.mark.parametrize("as_another", ["", "yes"])
@pytest.mark.parametrize("module", ["blueprint.api", "click", "blueprint.cli", "blueprint.commands.presets"])
def test_ctrl_c_ends_the_loading_without_a_word(tmp_path: Path, module: str, as_another: str) -> None:
    found = interrupted_at(tmp_path, module, "-m", "blueprint", "presets", AS_ANOTHER=as_another)
    assert found == (130, "", "")


@NO_WINDOWS
def test_a_program_that_imports_the_package_keeps_its_own_ways(tmp_path: Path) -> None:
    code = "try:\n    import blueprint\nexcept KeyboardInterrupt:\n    print('mine')"
    assert interrupted_at(tmp_path, "blueprint.api", "-c", code) == (0, "mine\n", "")


@pytest.mark.parametrize(
    ("words", "ours"),
    [
        (["python", "-m", "blueprint", "list"], True), (["python", "/usr/bin/blueprint", "list"], True),
        (["python", "-I", "blueprint.exe"], True), (["python", "-m", "pytest", "blueprint"], False),
        (["python", "-c", "import blueprint"], False), (["python"], False), (["python", "-m", "blueprint.page.engine"], False),
    ],
)  # fmt: skip
def test_our_own_command_is_told_by_its_words(words: list[str], ours: bool) -> None:
    assert interrupted._is_command(words) is ours


def test_nohup_keeps_its_meaning() -> None:
    from blueprint.commands.errors import ended_by_signals

    if not hasattr(signal, "SIGHUP"):
        pytest.skip("this system has no terminals that hang up")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_by_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("words", "command"), [([], "worksheet"), (["class"], "regrade"), (["lab"], "cart-pole")])
def test_without_a_command_the_help_is_shown_line_by_line(words: list[str], command: str) -> None:
    """As an error it would be one line, with its line breaks spelled out."""
    found = CliRunner().invoke(main, words)
    assert found.output.startswith("Usage: ")
    assert "Error" not in found.output
    assert any(line.split()[:1] == [command] for line in found.output.splitlines())
