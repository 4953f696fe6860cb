"""The command `check`: it has saved workbooks read and held against torch, and prints. No maths."""

import gc
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.checking import Checked, compute_together, data, findings, line_of, quantities
from blueprint.commands import console, errors
from blueprint.page.read import ReadError
from blueprint.quoting import sentence

if TYPE_CHECKING:
    from blueprint.checking.checker import Outcome

EXAMPLES = """\b
Examples:
  blueprint check rlhf_ppo.xlsx
  blueprint check rlhf_ppo.xlsx --all
  blueprint check *.xlsx --device cuda --dtype float32 --json
\b
Exit codes: 0 all agree, 1 a difference, 2 wrong use, 3 a file cannot be read.
"""


@click.command(epilog=EXAMPLES)
@click.argument("paths", nargs=-1, required=True, type=errors.FILE, metavar="FILE...")
@click.option(
    "--device", default="auto", show_default=True, help="auto (cuda, else mps, else cpu) or a name of torch's."
)
@click.option("--dtype", default="float64", show_default=True, help="float64, or float32 with IEEE products.")
@click.option("--reveal", is_flag=True, help="Of a worksheet: the right number, too, where a blank is filled in wrong.")
@click.option("--all", "everything", is_flag=True, help="A line for every quantity, too, not only for what deviates.")
@click.option("--json", "as_json", is_flag=True, help="For programs: on stdout, one object.")
def check(paths: tuple[Path, ...], device: str, dtype: str, reveal: bool, everything: bool, as_json: bool) -> None:
    """Compare workbooks with torch, cell by cell; print a line for each file, and whatever deviates.

    The inputs are read from each file, edited or not; everything else is computed again from the papers' mathematics, in
    code that shares nothing with the workbook's, and compared with every number in the sheets. Empty blanks of a
    worksheet, and cells that depend on them, count neither as agreeing nor as deviating.
    """
    errors.require(
        not (everything and as_json), "--all and --json: a line for every quantity is of the text alone, leave one out"
    )
    errors.need_torch("check")
    from blueprint.checking.checker import check as held_against_torch

    files, refused = _read(paths)
    outcome = held_against_torch(files, device, dtype, reveal) if files else None
    if outcome:
        console.say(_json(outcome) if as_json else _text(outcome, everything))
    for message in refused:
        console.say(f"Error: {sentence(message)}", err=True)
    if refused:
        sys.exit(errors.UNREADABLE)
    sys.exit(0 if outcome and outcome.agrees else errors.DIFFERENCE)


def _read(paths: tuple[Path, ...]) -> tuple[list[Checked], list[str]]:
    """Reads the files, with a progress bar on stderr where there are several; also returns a sentence for each that fails."""
    files, refused = [], []
    with click.progressbar(paths, label="reading", file=sys.stderr) if len(paths) > 1 else nullcontext(paths) as bar:
        for path in bar:
            try:
                files.append(Checked(path))
                gc.freeze()  # what is read stays: to walk through it again for each file took a third of the time
            except ReadError as error:
                refused.append(str(error))
    # The engine runs in processes of its own while torch computes.
    compute_together(files, ThreadPoolExecutor(os.cpu_count()))
    return files, refused


def _text(outcome: "Outcome", everything: bool) -> str:
    """Prints a line for each file, then what deviates; with everything also the quantities of each, and how it was done."""
    verdicts, record = outcome
    tables = [part for each in verdicts for part in (quantities(each), "")] if everything else []
    parts = [*tables, *map(line_of, verdicts), *filter(None, map(findings, verdicts))]
    return "\n".join([*parts, f"torch {record.torch}, {record.dtype} on {record.device}"] if everything else parts)


def _json(outcome: "Outcome") -> str:
    record = {key: getattr(outcome.record, key) for key in ("device", "dtype", "torch")}
    return json.dumps(record | {"files": [*map(data, outcome.verdicts)]}, ensure_ascii=False, indent=1, allow_nan=False)
