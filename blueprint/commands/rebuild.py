"""The command `rebuild`: it has an edited workbook read and written afresh. No maths."""

import sys
from pathlib import Path

import click

from blueprint.commands import console, errors
from blueprint.files import refuse_target
from blueprint.reopening import book_of, lost, rebuilt

EXAMPLES = """\b
Examples:
  blueprint rebuild mine.xlsx -o new.xlsx
  blueprint rebuild mine.xlsx -o new.xlsx --force --no-proof
\b
Exit codes: 0 written, 1 written but not every formula was proved, 2 wrong use, 3 the file cannot be read.
"""


@click.command(epilog=EXAMPLES)
@click.argument("path", type=errors.FILE, metavar="FILE.xlsx")
@click.option("-o", "--output", type=errors.FILE, metavar="FILE", help="The fresh workbook.")
@click.option("--force", is_flag=True, help="Replace the output if it is there already.")
@click.option("--no-proof", is_flag=True, help="Do not have the file recalculated by an independent engine.")
def rebuild(path: Path, output: Path | None, force: bool, no_proof: bool) -> None:
    """Write a fresh workbook from what is typed in an edited one.

    Every typed cell is kept; formulas, formats and notes are those of a new build. What stands beside the blocks, such as
    remarks or sheets of your own, stays in the file that was read.
    """
    if output is None:
        raise errors.Refused(
            f"rebuild never writes over the file that it reads: name a new one, such as -o {path.stem}-new.xlsx"
        )
    refuse_target(output, force, path)
    book = rebuilt(book_of(path))
    remarks = [f"as its value: {line}" for line in book.remarks()]
    remarks += [f"not in the new workbook: {line}" for line in lost(book)]
    sys.exit(0 if console.saved(book, output, not no_proof, remarks) else errors.DIFFERENCE)
