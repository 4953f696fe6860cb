"""What is being written is gone afterwards, however the writing ended; and keeps the mode of what it replaces."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from blueprint import files
from blueprint.dumps import save
from blueprint.files import clear, replacing

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither these locks nor these modes")
HOLD = """
import sys, time
from pathlib import Path
from blueprint.files import replacing
with replacing(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(100)
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Makes a folder with an old file in it, and nothing else."""
    (tmp_path / "book.xlsx").write_bytes(b"old")
    return tmp_path / "book.xlsx"


def write(target: Path) -> None:
    """Replaces a file."""
    with replacing(target) as path:
        path.write_bytes(b"new")


@contextmanager
def holding(target: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Has another process write, and not come to an end."""
    command = [sys.executable, "-c", HOLD, str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            yield process
        finally:
            process.kill()


@POSIX
def test_what_a_killed_writer_left_is_removed_by_the_next_one(target: Path) -> None:
    with holding(target) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert len(list(target.parent.iterdir())) == 2
    write(target)
    assert [path.read_bytes() for path in target.parent.iterdir()] == [b"new"]


@POSIX
def test_what_another_writer_still_holds_is_left_to_it(target: Path) -> None:
    with holding(target):
        write(target)
        assert len(list(target.parent.iterdir())) == 2


def test_files_of_other_names_are_left_alone(target: Path) -> None:
    names = [
        ".blueprint-notes.xlsx",
        ".blueprint-12345678.toml",
        "blueprint-12345678.xlsx",
        "a.blueprint-12345678.xlsx",
    ]
    for name in names:
        (target.parent / name).write_bytes(b"mine")
    clear(target.parent)
    assert {path.name for path in target.parent.iterdir()} == {*names, target.name}


@POSIX
def test_a_link_of_that_name_is_not_followed(target: Path) -> None:
    (target.parent / ".blueprint-12345678.xlsx").symlink_to(target)
    clear(target.parent)
    assert target.read_bytes() == b"old"


def test_without_locks_only_an_old_one_is_removed(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    fresh, old = (target.parent / f".blueprint-{name * 8}.xlsx" for name in "fo")
    fresh.write_bytes(b"")
    old.write_bytes(b"")
    os.utime(old, (0, 0))
    write(target)
    assert sorted(target.parent.iterdir()) == sorted([fresh, target])
    assert target.read_bytes() == b"new"


@POSIX
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_the_mode_of_what_is_replaced_is_kept(target: Path, mode: int) -> None:
    target.chmod(mode)
    write(target)
    assert (stat.S_IMODE(target.stat().st_mode), target.read_bytes()) == (mode, b"new")


@POSIX
def test_a_new_file_has_the_mode_of_new_files(tmp_path: Path) -> None:
    write(tmp_path / "new.xlsx")
    (tmp_path / "plain").touch()
    assert (tmp_path / "new.xlsx").stat().st_mode == (tmp_path / "plain").stat().st_mode


@POSIX
def test_while_it_is_written_only_its_owner_may_read_it(target: Path) -> None:
    with replacing(target) as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def interrupt_at(moment: int) -> Any:
    """Returns a tracer that interrupts at the n-th line of the module, as Ctrl-C may."""
    passed = 0

    def trace(frame: FrameType, event: str, given: object) -> Any:
        nonlocal passed
        if frame.f_code.co_filename != files.__file__:
            return None
        if event == "line":
            passed += 1
            if passed == moment:
                raise KeyboardInterrupt
        return trace

    return trace


def test_an_interruption_at_any_line_leaves_nothing_unfinished(target: Path) -> None:
    """The end of the program is played by `_clear_ours`, which Python calls there."""
    before, moment, through = sys.gettrace(), 0, False
    while not through:
        moment += 1
        sys.settrace(interrupt_at(moment))
        try:
            write(target)
            through = True
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        files._clear_ours()
        assert [path.read_bytes() for path in target.parent.iterdir()] in ([b"old"], [b"new"]), moment
    assert moment > 20  # so many lines were interrupted


def test_a_dump_is_saved_by_the_same_hand(tmp_path: Path) -> None:
    target = tmp_path / "run.npz"
    target.write_bytes(b"old")
    target.chmod(0o600)
    save(target, {"logprobs_old": np.array([[-1.0]])})
    assert target.read_bytes() != b"old"
    assert list(tmp_path.iterdir()) == [target]
    if sys.platform != "win32":
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
