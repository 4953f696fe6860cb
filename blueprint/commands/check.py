"""The command `check`: it parses, has files held against the witness, and prints. No maths."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.commands.console import say
from blueprint.commands.refusals import Command, Refused
from blueprint.quoting import sentence as as_sentence

if TYPE_CHECKING:
    from blueprint.checking.checker import Outcome
    from blueprint.checking.files import Checked

EXAMPLES = """\b
Examples:
  blueprint check rlhf_ppo.xlsx
  blueprint check *.xlsx --device cuda --dtype float32 --json
\b
Exit codes: 0 all agree, 1 a difference, 2 wrong use, 3 a file cannot be read.
"""
DIFFERENCE, UNREADABLE = 1, 3


@click.command(cls=Command, epilog=EXAMPLES)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "--device", default="auto", show_default=True, help="auto (cuda, else mps, else cpu) or a name of torch's."
)
@click.option("--dtype", default="float64", show_default=True, help="float64, or float32 with IEEE products.")
@click.option("--json", "as_json", is_flag=True, help="For programs: on stdout, one object.")
def check(paths: tuple[Path, ...], device: str, dtype: str, as_json: bool) -> None:
    """Hold workbooks against torch, cell by cell.

    The inputs are read from each file, edited or not; everything else is computed again from the papers' mathematics, in
    code that shares nothing with the workbook's, and compared with every number in the sheets.
    """
    need_torch("check")
    from blueprint.checking.checker import check as held_against_torch

    files, refused = _read(paths)
    outcome = held_against_torch(files, device, dtype) if files else None
    if outcome is not None:
        say(_json(outcome) if as_json else _text(outcome))
    for sentence in refused:
        say(f"Error: {as_sentence(sentence)}", err=True)
    differ = outcome is not None and not all(verdict.agrees for verdict in outcome.verdicts)
    sys.exit(UNREADABLE if refused else DIFFERENCE if differ else 0)


def need_torch(command: str) -> None:
    """Refuses in a sentence where torch is not installed."""
    if find_spec("torch") is None:
        raise Refused(f'{command} needs torch, which is not installed: python -m pip install ".[torch]"')


def _read(paths: tuple[Path, ...]) -> tuple[list[Checked], list[str]]:
    """Reads the files, with a progress bar where there are many; returns them, and a sentence for each that fails."""
    from blueprint.checking.files import Checked
    from blueprint.page.read import ReadError

    files, refused = [], []
    for path in _watched(paths):
        try:
            files.append(Checked(path))
        except ReadError as error:
            refused.append(str(error))
    return files, refused


def _watched(paths: tuple[Path, ...]) -> Iterable[Path]:
    """Yields the paths, with a progress bar on stderr where there are several."""
    if len(paths) == 1:
        yield from paths
        return
    with click.progressbar(paths, label="reading", file=sys.stderr) as bar:
        yield from bar


def _text(outcome: Outcome) -> str:
    """Prints a table for one file, a line per file for many; then what deviates, and how it was computed."""
    from blueprint.checking.report import line_of, table, told

    verdicts, record = outcome
    parts = [table(verdicts[0]), ""] if len(verdicts) == 1 else []
    parts += [line_of(verdict) for verdict in verdicts]
    parts += filter(None, map(told, verdicts))
    return "\n".join([*parts, f"torch {record.torch}, {record.dtype} on {record.device}"])


def _json(outcome: Outcome) -> str:
    from blueprint.checking.report import data

    record = {"device": outcome.record.device, "dtype": outcome.record.dtype, "torch": outcome.record.torch}
    return json.dumps(
        record | {"files": [data(verdict) for verdict in outcome.verdicts]},
        ensure_ascii=False,
        indent=1,
        allow_nan=False,
    )
