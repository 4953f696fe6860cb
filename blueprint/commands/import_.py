"""The command `import`: a few tokens of a logged minibatch made into a workbook. No maths."""

import sys
from pathlib import Path
from typing import Any

import click

from blueprint.commands import console, errors
from blueprint.files import refuse_target
from blueprint.inputs import name_of
from blueprint.quoting import unquoted

EXAMPLES = """\b
Examples:
  blueprint import run.safetensors --preset verl -o step_120.xlsx
  blueprint import run.npz --worst 4 --by kl --tokens 32
  blueprint import run.npz --rows 0,3 -o two.xlsx
  blueprint import grpo_000003_*.safetensors -o step_3.xlsx
\b
Exit codes: 0 written; 1 written, but the library's numbers deviate, or not every formula was proved; 2 wrong use;
3 the file cannot be read, or not be replayed.
"""
MOST_DIGITS = 9
"""Of the number of a row."""


def _rows(context: click.Context, option: click.Parameter, value: str | None) -> list[int] | None:
    """Reads `0,3` as numbers of responses."""
    if value is None:
        return None
    rows = [each.strip() for each in value.split(",")]
    if not all(each.isascii() and each.isdecimal() and len(each) <= MOST_DIGITS for each in rows):
        raise click.BadParameter(
            f"{unquoted(value)} is no list of rows: write numbers from 0 on with commas, such as 0,3"
        )
    return [int(each) for each in rows]


@click.command("import", epilog=EXAMPLES)
@click.argument("files", type=errors.FILE, nargs=-1, required=True, metavar="FILE...")
@click.option("--preset", metavar="NAME", help="What the library does  [default: as the file says]")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for a key; may be repeated."
)
@click.option("-o", "--output", type=errors.FILE, metavar="FILE", help="The workbook  [default: FILE.xlsx]")
@click.option("--rows", callback=_rows, metavar="0,3", help="The responses to show, counted from 0.")
@click.option(
    "--worst",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Show the N responses with the worst tokens  [default: what deviates, else 2]",
)
@click.option(
    "--by",
    type=click.Choice(["ratio", "advantage", "kl"]),
    help="What makes a token bad: |ratio − 1|, |advantage| or |KL to the reference|  [default: ratio, if there is one]",
)
@click.option(
    "--tokens",
    type=click.IntRange(16, 64),
    default=32,
    show_default=True,
    help="Columns of each response, around its worst token: 16 to 64.",
)
@click.option("--gradients", is_flag=True, help="Every gradient of the loss, to log-probs, entropy and values.")
@click.option("--no-proof", is_flag=True, help="Do not have the file recalculated by an independent engine.")
@click.option("--force", is_flag=True, help="Replace the file if it is there already.")
def import_(
    files: tuple[Path, ...],
    output: Path | None,
    preset: str | None,
    overrides: tuple[str, ...],
    no_proof: bool,
    force: bool,
    **view: Any,
) -> None:
    """Make a workbook of a few tokens of a training minibatch; the rest of the batch enters it as typed numbers.

    The whole minibatch is computed again first, and compared with what the library logged. Of a step of GRPO name all files:
    whole groups are shown.
    """
    errors.need_torch("import")
    from blueprint.commands.verify_files import book_of
    from blueprint.verifying import VerifyOptions, ViewOptions

    target = output or files[0].with_suffix(".xlsx")
    for path in files:
        refuse_target(target, force, path)
    book, agrees = book_of(files, VerifyOptions(preset, overrides), ViewOptions(**view), name_of(files[0]))
    sys.exit(0 if console.saved(book, target, not no_proof) and agrees else errors.DIFFERENCE)
