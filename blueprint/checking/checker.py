"""The checker: files in, verdicts out; all files go through the witness in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from blueprint.checking.files import Checked
from blueprint.checking.verdicts import Verdict, judge
from blueprint.quoting import unquoted
from blueprint.witness import Record, Witnessed, WitnessError
from blueprint.workbooks.registry import witness_of

if TYPE_CHECKING:
    from pandas import DataFrame


class Outcome(NamedTuple):
    """A verdict for every file, and how the witness computed."""

    verdicts: tuple[Verdict, ...]
    record: Record

    @property
    def agrees(self) -> bool:
        """Whether every file agrees."""
        return all(verdict.agrees for verdict in self.verdicts)

    @property
    def frame(self) -> DataFrame:
        """A table with a row for each quantity of each file: cells compared, cells that differ, the largest difference."""
        import pandas as pd

        rows = [
            (str(verdict.file.path), line.name, line.cells, len(line.differing), line.largest, line.agrees)
            for verdict in self.verdicts
            for line in verdict.lines
        ]
        return pd.DataFrame(rows, columns=["file", "quantity", "cells", "differing", "largest", "agrees"])


def check(files: Sequence[Checked], device: str = "auto", dtype: str = "float64") -> Outcome:
    """Holds files against the witness. Raises WitnessError for a device, a format or a file that it cannot take."""
    found = _witnessed(files, device, dtype)
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


def _witnessed(files: Sequence[Checked], device: str, dtype: str) -> Witnessed:
    """Has everything computed again; what torch or numpy say of blocks that do not fit together becomes a sentence."""
    try:
        return witness_of([file.arrays for file in files], device, dtype)
    except WitnessError:
        raise
    except (ArithmeticError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        names = ", ".join(str(file.path) for file in files)
        raise WitnessError(
            f"{names}: blocks do not fit together as the Contents sheet says that they lie and what they hold "
            f"({type(error).__name__}: {unquoted(error)})"
        ) from error
