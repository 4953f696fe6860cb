"""`blueprint verify` of a folder: a whole run, how it ends, and what it leaves."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.commands import console
from blueprint.verifying.runs.ledger import NAME
from tests.commands import run_command
from tests.runs.made import a_run, a_step

REPOSITORY = Path(__file__).parents[1]


def run(*arguments: str | Path) -> Result:
    """Runs the command with one worker, which begins faster than two."""
    return run_command("verify", *arguments, "--workers", "1")


def records(found: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in found.stdout.splitlines()]


def test_a_run_is_told_as_one_and_goes_on_from_its_ledger(tmp_path: Path) -> None:
    """One folder, four times: all of it, again, after a step was written anew, and up to the first deviation."""
    folder = a_run(tmp_path / "run", 6, wrong={2, 3, 5})
    (folder / "dump_1.safetensors").write_bytes(b"cut off")
    (folder / "dump_1.txt").touch()
    found = run(folder, "--csv", tmp_path / "run.csv")
    assert found.exit_code == 1, found.output
    for line in (
        "steps  count  verdict       deviates first  at most                       matches with",
        "0      1      agrees",
        "2 … 3  2      differs       returns         3.33e+07 tolerances (step 2)",
        "The first that deviates is step 2, file dump_2.safetensors:",
        "  First deviation: returns, row 0, columns 0 … 5: logged 1.05, recomputed 0.8.",
        "Of 6 steps 2 agree, 3 deviate, 1 could not be verified.",
        "Note: 1 file has no step in the metadata: taken from the name (dump_1.safetensors).",
        "Note: 1 file has no ending of a dump: left aside (dump_1.txt).",
    ):
        assert line in found.stdout.splitlines(), line
    assert f"  step 1: {folder}/dump_1.safetensors: found neither safetensors" in found.stdout
    table = list(csv.DictReader((tmp_path / "run.csv").open(encoding="utf-8")))
    assert [row["outcome"] for row in table] == ["agrees", "not verified", "differs", "differs", "agrees", "differs"]
    assert [float(row["returns.tolerances"] or 0) > 1 for row in table] == [False, False, True, True, False, True]
    assert table[0]["approx_kl.logged"][:8] == table[0]["approx_kl.recomputed"][:8] == "0.043211"

    before = (folder / NAME).read_text(encoding="utf-8").splitlines()
    a_step(folder, 1)
    a_step(folder, 3)
    found = run(folder, "--json")
    added = (folder / NAME).read_text(encoding="utf-8").splitlines()[len(before) :]
    assert [json.loads(line)["step"] for line in added] == [1, 3]
    *steps, last = records(found)
    assert [step["outcome"] for step in steps] == ["agrees", "agrees", "differs", "agrees", "agrees", "differs"]
    assert last["summary"]["outcomes"] == {"agrees": 4, "differs": 2}
    assert last["summary"]["notes"][1].startswith("4 of 6 steps were in the ledger ")
    assert steps[0]["watched"]["ratio"]["recomputed"] == pytest.approx(1.28798254)

    found = run(folder, "--fail-fast")
    assert found.exit_code == 1
    assert "Of 3 steps 2 agree, 1 deviates." in found.stdout
    assert "Note: --fail-fast: 3 steps behind step 2 do not count here." in found.stdout
    assert len((folder / NAME).read_text(encoding="utf-8").splitlines()) == len(before) + 2


def test_a_run_in_which_all_agrees_ends_with_0_and_one_that_cannot_be_verified_with_3(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", 1, ending="npz")
    found = run(folder, "--ledger", tmp_path / "other.jsonl")
    assert found.exit_code == 0, found.output
    assert "Of 1 step 1 agrees." in found.stdout
    assert [path.name for path in folder.iterdir()] == ["dump_0.npz"]
    (folder / "dump_1.npz").touch()
    found = run(folder, "--ledger", tmp_path / "other.jsonl")
    assert found.exit_code == 3, found.output
    assert f"step 1: {folder}/dump_1.npz: the file is empty." in found.stdout


def test_before_any_work_it_is_refused_what_could_not_be_done(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    path = a_step(folder, 0)
    refusals: list[tuple[tuple[str | Path, ...], int, str]] = [
        ((folder, "--preset", "verll"), 2, "verll"),
        ((folder, "--preset", "sb3", "--set", "ppo.gamma=2"), 2, "sb3"),
        ((folder, "--set", "gama=1"), 2, "--set gama: unknown"),
        ((folder, "--device", "abacus"), 2, "--device abacus: torch cannot compute"),
        (
            (folder, "--ledger", tmp_path),
            2,
            f"the ledger {tmp_path} cannot be written (is a directory): name one elsewhere",
        ),
        ((folder, "--ledger", path), 2, "is no ledger of `blueprint verify`"),
        ((folder, "--plot", tmp_path / "run.gif"), 2, "found the ending .gif, expected one of .png, .svg, .pdf"),
        ((folder, "--csv", tmp_path / "no" / "run.csv"), 2, "cannot be written: there is no folder"),
        ((folder, "--only", "*.pt"), 3, "holds no dump of a training step that is called *.pt: "),
        ((folder, "--each"), 2, "--each is for the files of one step: name them instead of a folder, or use --json"),
        ((path, "--fail-fast"), 2, "--fail-fast is for a whole run: name the folder with its steps instead of files"),
        ((tmp_path / "gone", "--fail-fast"), 2, "gone: there is no such folder; write the path of one"),
    ]
    for arguments, code, says in refusals:
        found = run_command("verify", *arguments)
        assert (found.exit_code, says in found.output) == (code, True), found.output
    assert [each.name for each in folder.iterdir()] == [path.name]


def test_without_what_it_draws_with_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_step(tmp_path / "run", 0)
    monkeypatch.setattr("blueprint.files.find_spec", lambda name: None)
    found = run(tmp_path / "run", "--plot", tmp_path / "run.png")
    assert found.exit_code == 2
    assert '--plot needs matplotlib, which is not installed: python -m pip install ".[plot]"' in found.output


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_what_interrupts_it_leaves_the_ledger_whole_and_no_process(
    tmp_path: Path, ending: signal.Signals, code: int
) -> None:
    folder = a_run(tmp_path / "run", 60)
    # A shell in the background hands SIGINT on as ignored; on a terminal it is not.
    begun = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from blueprint.cli import main"
    )
    arguments = ["verify", str(folder), "--workers", "1"]
    command = [sys.executable, "-c", f"{begun}\nif __name__ == '__main__':\n    main({arguments!r})"]
    process = subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    ledger = folder / NAME
    while not ledger.exists() or len(ledger.read_bytes().splitlines()) < 4:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.killpg(process.pid, ending) if ending == signal.SIGINT else process.kill()
    said = process.communicate(timeout=60)[1].decode()
    assert process.returncode == code
    if ending == signal.SIGINT:
        assert "of 60 steps are done; the same command goes on from there." in said
        assert "Traceback" not in said
    _wait_until_empty(process.pid)
    # SIGKILL may tear the line that is just being written: it has no end, and the next run takes it away.
    lines = ledger.read_text(encoding="utf-8").splitlines(keepends=True)[1:]
    done = [json.loads(line)["step"] for line in lines if line.endswith("\n")]
    assert len(lines) - len(done) <= (ending == signal.SIGKILL)
    assert lines[: len(done)] == [line for line in lines if line.endswith("\n")]
    assert done == list(range(len(done)))
    assert 3 <= len(done) < 60


def _wait_until_empty(group: int) -> None:
    """Waits until no process of a group is left; fails if one stays."""
    for _ in range(1000):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    pytest.fail("a process is left behind")


@pytest.mark.parametrize("somebody", [True, False])
def test_a_bar_is_drawn_where_somebody_looks(somebody: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = StringIO()
    monkeypatch.setattr(drawn, "isatty", lambda: somebody)
    monkeypatch.setattr(sys, "stderr", drawn)
    with console.bar("verifying", 4, 1) as move_on:
        move_on(3)
    assert ("verifying" in drawn.getvalue(), "4/4" in drawn.getvalue()) == (somebody, somebody)
