"""LibreOffice's silent failures are heard."""

import sys
import time
from pathlib import Path

import pytest

from tests.page import soffice

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in programs are shell scripts")


def program(folder: Path, *lines: str) -> str:
    """Writes a shell script that stands in for LibreOffice."""
    path = folder / "stand-in"
    path.write_text("\n".join(["#!/bin/sh", *lines]))
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """Makes the empty folder that a conversion works in."""
    (tmp_path / "room").mkdir()
    return tmp_path / "room"


def test_a_result_that_was_not_written_is_an_error_whatever_the_exit_status(tmp_path: Path, room: Path) -> None:
    (tmp_path / "book.xlsx").write_bytes(b"anything")
    silent = program(tmp_path, "echo 'no export filter'", "echo 'aborted'", "exit 0")
    with pytest.raises(RuntimeError, match=r"no result for .*book.xlsx; it said: no export filter aborted$"):
        soffice.convert(silent, [tmp_path / "book.xlsx"], room)


def test_a_program_that_hangs_is_ended_with_its_children(
    tmp_path: Path, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soffice, "SECONDS", 0.3)
    hanging = program(tmp_path, f"(sleep 1; touch '{tmp_path}/alive') &", "sleep 60")
    with pytest.raises(RuntimeError, match=r"did not finish within 0.3 seconds"):
        soffice.convert(hanging, [], room)
    time.sleep(1.2)
    assert not (tmp_path / "alive").exists()


def test_each_call_has_a_profile_of_its_own_that_orders_recalculation(tmp_path: Path, room: Path) -> None:
    (tmp_path / "book.xlsx").write_bytes(b"anything")
    copying = program(tmp_path, 'mkdir "$7"', 'cp "$8" "$7"')
    [result] = soffice.convert(copying, [tmp_path / "book.xlsx"], room)
    assert result.read_bytes() == b"anything"
    profile = (room / "profile" / "user" / "registrymodifications.xcu").read_text()
    assert '<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value>' in profile
