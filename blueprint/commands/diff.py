"""The command `diff`: it has two saved workbooks read and compared, and prints. No maths."""

import json
import sys
from pathlib import Path

import click

from blueprint import differing
from blueprint.commands import console, errors
from blueprint.page.saved_file import check_file
from blueprint.reopening import book_of

EXAMPLES = """\b
Examples:
  blueprint diff rlhf_ppo.xlsx mine.xlsx
  blueprint diff rlhf_ppo.xlsx mine.xlsx --tolerance 1e-6 --json
\b
Exit codes: 0 alike, 1 a difference, 2 wrong use, 3 a file cannot be read.
"""


def _tolerance(context: click.Context, option: click.Parameter, value: float) -> float:
    """Returns a tolerance; refuses one that is negative or no number."""
    if not 0 <= value < float("inf"):
        raise click.BadParameter(f"{value} is no distance: write 0 or more, such as 1e-9")
    return value


@click.command(epilog=EXAMPLES)
@click.argument("paths", nargs=-1, type=errors.FILE, metavar="A.xlsx B.xlsx")
@click.option("--json", "as_json", is_flag=True, help="For programs: on stdout, one object.")
@click.option(
    "--tolerance", default=1e-12, show_default=True, callback=_tolerance, metavar="X",
    help="Computed numbers a and b are alike if |a − b| ≤ X · max(1, |a|, |b|). Inputs must be the same.",
)  # fmt: skip
def diff(paths: tuple[Path, ...], as_json: bool, tolerance: float) -> None:
    """Say where two workbooks differ: which inputs, and which results follow from them, in the order of derivation.

    All numbers are computed from each file's typed inputs; if a file shows a different number, diff reports that, too.
    """
    errors.require(
        len(paths) == 2,
        f"diff compares two workbooks, and {len(paths)} {'is' if len(paths) == 1 else 'are'} named: write two, such as "
        "blueprint diff rlhf_ppo.xlsx mine.xlsx",
    )
    for path in paths:
        check_file(path)  # before minutes may go into the first one
    one, other = map(book_of, paths)
    found = differing.differences(one, other, tolerance)
    console.say(json.dumps(differing.data(found), ensure_ascii=False, indent=1) if as_json else differing.text(found))
    sys.exit(0 if found.alike else errors.DIFFERENCE)
