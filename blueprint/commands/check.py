"""The command `check`: it parses, has files held against the witness, and prints. No maths."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.checking import Checked, data, findings, line_of, quantities
from blueprint.commands.console import say
from blueprint.commands.door import DIFFERENCE, UNREADABLE, need_torch
from blueprint.page.read import ReadError
from blueprint.quoting import sentence

if TYPE_CHECKING:
    from blueprint.checking.checker import Outcome

EXAMPLES = """\b
Examples:
  blueprint check rlhf_ppo.xlsx
  blueprint check *.xlsx --device cuda --dtype float32 --json
\b
Exit codes: 0 all agree, 1 a difference, 2 wrong use, 3 a file cannot be read.
"""


@click.command(epilog=EXAMPLES)
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
    if outcome:
        say(_json(outcome) if as_json else _text(outcome))
    for message in refused:
        say(f"Error: {sentence(message)}", err=True)
    if refused:
        sys.exit(UNREADABLE)
    sys.exit(0 if outcome and outcome.agrees else DIFFERENCE)


def _read(paths: tuple[Path, ...]) -> tuple[list[Checked], list[str]]:
    """Reads the files, with a progress bar on stderr where there are several; also returns a sentence for each that fails."""
    files, refused = [], []
    with click.progressbar(paths, label="reading", file=sys.stderr) if len(paths) > 1 else nullcontext(paths) as bar:
        for path in bar:
            try:
                files.append(Checked(path))
            except ReadError as error:
                refused.append(str(error))
    return files, refused


def _text(outcome: "Outcome") -> str:
    """Prints a table for one file, a line per file for many; then what deviates, and how it was computed."""
    verdicts, record = outcome
    parts = [quantities(verdicts[0]), ""] if len(verdicts) == 1 else []
    parts += [*map(line_of, verdicts), *filter(None, map(findings, verdicts))]
    return "\n".join([*parts, f"torch {record.torch}, {record.dtype} on {record.device}"])


def _json(outcome: "Outcome") -> str:
    record = {"device": outcome.record.device, "dtype": outcome.record.dtype, "torch": outcome.record.torch}
    return json.dumps(record | {"files": [*map(data, outcome.verdicts)]}, ensure_ascii=False, indent=1, allow_nan=False)
