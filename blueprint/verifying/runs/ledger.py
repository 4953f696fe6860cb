"""The ledger of a run: a file of JSON lines, one for each step that is finished; what stands there is not computed again.

Only the process that holds its lock writes into it, one whole line at a time. A line that an interruption has torn is
dropped when the ledger is opened the next time.
"""

import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows knows no such locks
    fcntl = None  # type: ignore[assignment]

NAME = "blueprint-verify.jsonl"
"""Its name in the folder of a run, where none is named."""
HEAD = {"ledger": "blueprint verify", "schema": 1}
_HEAD_LINE = json.dumps(HEAD).encode() + b"\n"
NOT_VERIFIED = "not verified"

Record = Mapping[str, Any]


class LedgerError(ValueError):
    """Says in one sentence why a ledger cannot be kept."""


def is_ledger(path: Path) -> bool:
    """Tells whether a file is a ledger, by its first line; a pipe is none, and is not opened: that would wait for ever."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                return file.read(len(_HEAD_LINE)) == _HEAD_LINE
    return False


class Ledger(AbstractContextManager["Ledger"]):
    """The records of a run by their keys, in a file; in memory stands only where each begins.

    failed: why nothing can be written any more, "" as long as it can; from then on records are kept in memory.
    """

    def __init__(self, path: Path) -> None:
        """Opens or begins a ledger. Raises LedgerError: it cannot be written, is no ledger, or another process holds it."""
        self.path, self.failed = path, ""
        self._places: dict[str, int] = {}
        self._kept: dict[str, Record] = {}
        if path.exists() and not path.is_file() and not path.is_dir():
            raise LedgerError(f"the ledger {path} is a pipe or a device: name a file with --ledger FILE")
        with ExitStack() as files:
            try:
                self._file = files.enter_context(path.open("ab", buffering=0))
                self._lock()
                self._index()
                self._lines = files.enter_context(path.open("rb"))
            except OSError as error:
                raise LedgerError(
                    f"the ledger {path} cannot be written ({(error.strerror or str(error)).lower()}): "
                    "name one elsewhere with --ledger FILE"
                ) from error
            self._files = files.pop_all()

    def __contains__(self, key: str) -> bool:
        """Tells whether a step is finished."""
        return key in self._places or key in self._kept

    def __getitem__(self, key: str) -> Record:
        """Returns the record of a step."""
        if key in self._kept:
            return self._kept[key]
        self._lines.seek(self._places[key])
        return dict(json.loads(self._lines.readline()))

    def add(self, record: Record) -> None:
        """Writes what a step came to, under its key; on a full disk it is only kept in memory, and `failed` says why."""
        key = str(record["key"])
        if not self.failed:
            try:
                line = json.dumps(record, ensure_ascii=False, allow_nan=False)
                # a file's name may be no UTF-8: what stands for its bytes is spelled as JSON spells it
                self._places[key] = self._append(line.encode(errors="backslashreplace") + b"\n")
                return
            except OSError as error:
                self.failed = (error.strerror or str(error)).lower()
        self._kept[key] = record

    def _append(self, line: bytes) -> int:
        """Writes a line at the end, or nothing. Returns where it begins."""
        begin = self._file.seek(0, os.SEEK_END)
        try:
            written = self._file.write(line) or 0
            while written < len(line):  # a full disk says so with the next piece
                written += self._file.write(line[written:]) or 0
        except OSError:
            with suppress(OSError):
                self._file.truncate(begin)
            raise
        return begin

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LedgerError(
                f"{self.path}: another process verifies with this ledger; wait for it, or name another one with --ledger FILE"
            ) from error
        except OSError:  # a file system without locks
            return

    def _index(self) -> None:
        """Notes where every record begins that need not be made again, and cuts off a line that is torn.

        A step that was not verified is tried again.
        """
        with self.path.open("rb") as lines:
            place, head = len(_HEAD_LINE), lines.read(len(_HEAD_LINE))
            if not _HEAD_LINE.startswith(head):
                raise LedgerError(
                    f"{self.path} is no ledger of `blueprint verify`: name a file that is not there yet with --ledger FILE"
                )
            if head != _HEAD_LINE:
                self._file.truncate(0)
                self._append(_HEAD_LINE)
            for line in lines:
                if not line.endswith(b"\n"):
                    self._file.truncate(place)
                    return
                with suppress(ValueError):
                    found = json.loads(line)
                    if isinstance(found, dict) and found.get("outcome") != NOT_VERIFIED and "key" in found:
                        self._places[str(found["key"])] = place
                place += len(line)

    def close(self) -> None:
        """Lets go of the file and of its lock."""
        self._files.close()

    def __exit__(self, *error: object) -> None:
        """Closes it."""
        self.close()
