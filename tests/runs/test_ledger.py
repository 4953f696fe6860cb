"""The ledger: what is in it is not done again, and nothing in it is ever half."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from blueprint.verifying.runs.ledger import HEAD, Ledger, LedgerError, is_ledger

resource = pytest.importorskip("resource", reason="only Unix bounds the size of a file")


def a_record(key: str, outcome: str = "agrees", **more: object) -> dict[str, object]:
    return {"key": key, "outcome": outcome, **more}


def test_what_was_added_is_there_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.add(a_record("a", text="γ" * 100_000))
        ledger.add(a_record("b"))
        assert "c" not in ledger
    with Ledger(path) as ledger:
        assert ledger["b"] == a_record("b")
        assert ledger["a"] == a_record("a", text="γ" * 100_000)
        ledger.add(a_record("c"))
        assert ledger["b"] == a_record("b")
    assert is_ledger(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line).get("key") for line in lines] == [None, "a", "b", "c"]


def test_a_line_that_was_torn_is_dropped_and_written_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.add(a_record("a"))
        ledger.add(a_record("b"))
    for cut in range(1, 20):
        path.write_bytes(path.read_bytes()[:-cut])
        with Ledger(path) as ledger:
            assert "a" in ledger
            assert "b" not in ledger
            ledger.add(a_record("b"))
        assert len(path.read_bytes().splitlines()) == 3


def test_a_step_that_was_not_verified_is_tried_again(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.jsonl") as ledger:
        ledger.add(a_record("a", "not verified"))
        assert "a" in ledger
    with Ledger(tmp_path / "ledger.jsonl") as ledger:
        assert "a" not in ledger


def test_a_ledger_that_broke_off_in_its_first_line_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_text(json.dumps(HEAD)[:9], encoding="utf-8")
    with Ledger(path) as ledger:
        ledger.add(a_record("a"))
    assert is_ledger(path)


def test_a_file_that_is_none_is_not_written_into(tmp_path: Path) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_text('{"metadata": {}}', encoding="utf-8")
    with pytest.raises(LedgerError, match="is no ledger of `blueprint verify`"):
        Ledger(path)
    assert path.read_text(encoding="utf-8") == '{"metadata": {}}'


def test_where_nothing_can_be_written_another_one_is_asked_for(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "ledger.jsonl"):
        with pytest.raises(LedgerError, match=r"cannot be written .* name one elsewhere with --ledger FILE"):
            Ledger(path)


def test_two_processes_do_not_share_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        with pytest.raises(LedgerError, match="another process verifies with this ledger"):
            Ledger(path)
        ledger.add(a_record("a"))
    with Ledger(path) as ledger:
        assert "a" in ledger


FULL = """
import resource, signal, sys
from pathlib import Path
from blueprint.verifying.runs.ledger import Ledger
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with Ledger(Path(sys.argv[1])) as ledger:
    for number in range(20):
        ledger.add({"key": str(number), "outcome": "agrees", "fill": "x" * 100})
    print(ledger.failed, [number for number in range(20) if ledger[str(number)]["key"] != str(number)])
"""


def test_on_a_full_disk_what_is_whole_stays_and_the_rest_is_remembered(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    command = [sys.executable, "-c", FULL, str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2], env={**os.environ}
    )
    assert done.stdout == "file too large []\n"
    lines = path.read_bytes().splitlines(keepends=True)
    assert 3 < len(lines) < 20
    assert all(json.loads(line) and line.endswith(b"\n") for line in lines)
