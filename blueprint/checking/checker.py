"""The checker: files in, verdicts out; all files go through the witness in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from blueprint.checking.files import Checked
from blueprint.checking.verdicts import Verdict, judge
from blueprint.witness import Record, witness


class Outcome(NamedTuple):
    """A verdict for every file, and how the witness computed."""

    verdicts: tuple[Verdict, ...]
    record: Record


def check(files: Sequence[Checked], device: str = "auto", dtype: str = "float64") -> Outcome:
    """Holds files against the witness. Raises WitnessError for a device, a format or a file that it cannot take."""
    found = witness([file.arrays for file in files], device, dtype)
    ties: dict[int, list[str]] = {}
    for tie in found.record.ties:
        where = (
            f"draw of episode {tie.episode}, decision {tie.decision} falls within 1e-9 of the edge between two words"
        )
        ties.setdefault(tie.file, []).append(where)
    judged = (
        judge(file, rows, dtype, tuple(ties.get(i, ())))
        for i, (file, rows) in enumerate(zip(files, found, strict=True))
    )
    return Outcome(tuple(judged), found.record)
