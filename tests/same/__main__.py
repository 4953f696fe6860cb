"""Proves that a change of the code changed nothing that people see, or says what it changed.

    python -m tests.same record before          # at the old commit
    python -m tests.same record after           # at the new one
    python -m tests.same compare before after   # exit code 1 and a line for each difference

`--only PATTERN` (as in `*grpo*` or `verify*`) takes a part of the cases. A recording that was stopped goes on where it was.
"""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path

import click

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.group(help=__doc__)
def same() -> None:
    """Holds the two commands."""


@same.command("record", help="Record every case into FOLDER.")
@click.argument("folder", type=FOLDER)
@click.option("--only", default="*", metavar="PATTERN", help="Cases whose names fit.")
@click.option("--workers", default=os.cpu_count() or 1, show_default=True)
def recorded(folder: Path, only: str, workers: int) -> None:
    """Records what is built and said now."""
    from tests.same.cases import BookCase, SaidCase, books, said
    from tests.same.record import record

    cases: list[BookCase | SaidCase] = [*books(), *said()]
    record([case for case in cases if fnmatch.fnmatchcase(case.name, only)], folder.absolute(), workers)


@same.command("compare", help="Compare two folders that were recorded.")
@click.argument("before", type=FOLDER)
@click.argument("after", type=FOLDER)
def compared(before: Path, after: Path) -> None:
    """Prints what differs."""
    from tests.same.compare import compare

    lines, count = compare(before, after)
    for line in lines:
        click.echo(line)
    click.echo(f"{count} cases compared, {len(lines)} differences")
    raise SystemExit(1 if lines else 0)


if __name__ == "__main__":
    same()
