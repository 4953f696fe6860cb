"""The commands `check`, `diff` and `rebuild`: they have saved workbooks read, and print. No maths."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint import differing
from blueprint.checking import Checked, data, findings, line_of, quantities
from blueprint.commands import console, door
from blueprint.files import refuse_target
from blueprint.page.read import ReadError
from blueprint.quoting import sentence
from blueprint.reopening import book_of, lost, rebuilt

if TYPE_CHECKING:
    from blueprint.checking.checker import Outcome

CHECK_EXAMPLES = """\b
Examples:
  blueprint check rlhf_ppo.xlsx
  blueprint check rlhf_ppo.xlsx --all
  blueprint check *.xlsx --device cuda --dtype float32 --json
\b
Exit codes: 0 all agree, 1 a difference, 2 wrong use, 3 a file cannot be read.
"""
REBUILD_EXAMPLES = """\b
Examples:
  blueprint rebuild mine.xlsx -o new.xlsx
  blueprint rebuild mine.xlsx -o new.xlsx --force --no-proof
\b
Exit codes: 0 written, 1 written but not every formula was proved, 2 wrong use, 3 the file cannot be read.
"""
DIFF_EXAMPLES = """\b
Examples:
  blueprint diff rlhf_ppo.xlsx mine.xlsx
  blueprint diff rlhf_ppo.xlsx mine.xlsx --tolerance 1e-6 --json
\b
Exit codes: 0 alike, 1 a difference, 2 wrong use, 3 a file cannot be read.
"""


@click.command(epilog=CHECK_EXAMPLES)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "--device", default="auto", show_default=True, help="auto (cuda, else mps, else cpu) or a name of torch's."
)
@click.option("--dtype", default="float64", show_default=True, help="float64, or float32 with IEEE products.")
@click.option("--reveal", is_flag=True, help="Of a worksheet: the right number, too, where a blank is filled in wrong.")
@click.option("--all", "everything", is_flag=True, help="A line for every quantity, too, not only for what deviates.")
@click.option("--json", "as_json", is_flag=True, help="For programs: on stdout, one object.")
def check(paths: tuple[Path, ...], device: str, dtype: str, reveal: bool, everything: bool, as_json: bool) -> None:
    """Hold workbooks against torch, cell by cell: a line for each file, and whatever deviates.

    The inputs are read from each file, edited or not; everything else is computed again from the papers' mathematics, in
    code that shares nothing with the workbook's, and compared with every number in the sheets. A blank of a worksheet that is
    not filled in, and what waits for it, neither agrees nor deviates.
    """
    door.need_torch("check")
    from blueprint.checking.checker import check as held_against_torch

    files, refused = _read(paths)
    outcome = held_against_torch(files, device, dtype, reveal) if files else None
    if outcome:
        console.say(_json(outcome) if as_json else _text(outcome, everything))
    for message in refused:
        console.say(f"Error: {sentence(message)}", err=True)
    if refused:
        sys.exit(door.UNREADABLE)
    sys.exit(0 if outcome and outcome.agrees else door.DIFFERENCE)


def _read(paths: tuple[Path, ...]) -> tuple[list[Checked], list[str]]:
    """Reads the files, with a progress bar on stderr where there are several; also returns a sentence for each that fails."""
    files, refused = [], []
    pool = ThreadPoolExecutor(os.cpu_count())  # the engine runs in processes of its own while the next file is read
    with click.progressbar(paths, label="reading", file=sys.stderr) if len(paths) > 1 else nullcontext(paths) as bar:
        for path in bar:
            try:
                files.append(Checked(path))
                files[-1].compute_in(pool)
            except ReadError as error:
                refused.append(str(error))
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


@click.command(epilog=REBUILD_EXAMPLES)
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE.xlsx")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The fresh workbook.")
@click.option("--force", is_flag=True, help="Replace the output if it is there already.")
@click.option("--no-proof", is_flag=True, help="Do not have the file recalculated by an independent engine.")
def rebuild(path: Path, output: Path | None, force: bool, no_proof: bool) -> None:
    """Write a fresh workbook from what is typed in an edited one.

    Every typed cell is kept; formulas, formats and notes are those of a new build. What stands beside the blocks, such as
    remarks or sheets of your own, stays in the file that was read.
    """
    if output is None:
        raise door.Refused(
            f"rebuild never writes over the file that it reads: name a new one, such as -o {path.stem}-new.xlsx"
        )
    refuse_target(output, force, path)
    book = rebuilt(book_of(path))
    remarks = [f"as its value: {line}" for line in book.remarks()]
    remarks += [f"not in the new workbook: {line}" for line in lost(book)]
    sys.exit(0 if console.saved(book, output, not no_proof, remarks) else door.DIFFERENCE)


def _tolerance(context: click.Context, option: click.Parameter, value: float) -> float:
    """Returns a tolerance; refuses one that is negative or no number."""
    if not 0 <= value < float("inf"):
        raise click.BadParameter(f"{value} is no distance: write 0 or more, such as 1e-9")
    return value


@click.command(epilog=DIFF_EXAMPLES)
@click.argument("paths", nargs=2, type=click.Path(path_type=Path), metavar="A.xlsx B.xlsx")
@click.option("--json", "as_json", is_flag=True, help="For programs: on stdout, one object.")
@click.option(
    "--tolerance", default=1e-12, show_default=True, callback=_tolerance, metavar="X",
    help="Computed numbers a and b are alike if |a − b| ≤ X · max(1, |a|, |b|). Inputs must be the same.",
)  # fmt: skip
def diff(paths: tuple[Path, Path], as_json: bool, tolerance: float) -> None:
    """Say where two workbooks part: which inputs differ, and what follows from them, in the order of derivation.

    Everything is computed from what is typed in each file; where a file shows something else than that, it is said too.
    """
    one, other = map(book_of, paths)
    found = differing.differences(one, other, tolerance)
    console.say(json.dumps(differing.data(found), ensure_ascii=False, indent=1) if as_json else differing.text(found))
    sys.exit(0 if found.alike else door.DIFFERENCE)
