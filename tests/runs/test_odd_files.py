"""Whatever lies in the folder of a run, and whatever it is called: it hangs nothing, and the steps are verified."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from click.testing import Result

from blueprint.verifying.runs.steps import find
from tests.commands import run_command
from tests.runs.made import a_run, a_step

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has neither pipes in folders, nor such names")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which one step deviates, in a file whose name is no UTF-8; beside it pipes, a socket, a folder, a dead link."""
    folder = a_run(tmp_path_factory.mktemp("odd") / "run", 1)
    a_step(folder, 1, wrong=True).rename(os.fsdecode(os.fsencode(folder) + b"/caf\xe9_1.safetensors"))
    for name in ("pipe_2.npz", "pipe.txt", "pipe"):
        os.mkfifo(folder / name)
    (folder / "folder_3.npz").mkdir()
    (folder / "gone_4.npz").symlink_to(folder / "nowhere")
    return folder


def verify(folder: Path, *more: str) -> Result:
    return run_command("verify", folder, "--workers", "1", *more)


def test_a_run_with_odd_files_is_verified(folder: Path, tmp_path: Path) -> None:
    found = verify(folder, "--csv", str(tmp_path / "run.csv"), "--plot", str(tmp_path / "run.svg"))
    assert found.exit_code == 1, found.output
    assert "The first that deviates is step 1, file caf\\udce9_1.safetensors:" in found.output
    assert "pipe_2.npz: this is a pipe or a device; save it as a file first." in found.output
    assert "gone_4.npz: there is no such file." in found.output
    assert "Of 4 steps 1 agrees, 1 deviates, 2 could not be verified." in found.output
    assert len((tmp_path / "run.csv").read_text("utf-8").splitlines()) == 5
    assert (tmp_path / "run.svg").exists()
    again = verify(folder, "--json")
    assert again.exit_code == 1
    assert "2 of 4 steps were in the ledger" in json.loads(again.output.splitlines()[-1])["summary"]["notes"][-1]


def test_a_socket_is_no_dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path may have a hundred letters
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("step_6.npz")
        assert [step.number for step in find(tmp_path).steps] == [6]


def test_a_ledger_that_is_a_pipe_is_refused(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ledger")
    found = verify(folder, "--ledger", str(tmp_path / "ledger"))
    sentence = f"the ledger {tmp_path / 'ledger'} is a pipe or a device: name a file with --ledger FILE"
    assert (found.exit_code, found.output) == (2, f"Error: {sentence}\n")
