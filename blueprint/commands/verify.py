"""The commands `verify` and `import`: a minibatch computed again and held against what was logged, or made into a workbook."""

import sys
from pathlib import Path
from typing import Any

import click

from blueprint.commands import console, door
from blueprint.files import refuse_target
from blueprint.inputs import name_of
from blueprint.quoting import unquoted

EXAMPLES = """\b
Examples:
  blueprint verify run.safetensors
  blueprint verify run.npz --preset verl --set ppo.gamma=0.99
  blueprint verify step_120.jsonl --preset nemo_rl --json
  blueprint verify trl_000003_*.safetensors
  blueprint verify dumps/ --fail-fast --plot run.png
\b
Exit codes: 0 no difference beyond rounding, 1 a difference, 2 wrong use, 3 a file cannot be read or not be computed with,
4 nothing could be compared.
"""
IMPORT_EXAMPLES = """\b
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
SMALLEST_TOLERANCE = 1e-6
"""Of the factor: the tolerance of float64 is 1e-9, and its numbers are rounded to 1e-16."""


@click.command(epilog=EXAMPLES)
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE...")
@click.option("--preset", metavar="NAME", help="Whose conventions  [default: those of the library that the file names]")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for a convention; repeatable."
)
@click.option("--tolerance", default=1.0, show_default=True, metavar="FACTOR", help="Multiplies every tolerance.")
@click.option("--device", default="cpu", show_default=True, help="Where to compute, in float64: a name of torch's.")
@click.option("--above-zero", is_flag=True, help="Accept log-probs above 0, as made-up numbers of an exercise are.")
@click.option(
    "--json", "as_json", is_flag=True, help="For programs: on stdout, one object, or one for each step of a run."
)
@click.option("--each", is_flag=True, help="Of several files: a table for each of them, too.")
@click.option("--fail-fast", is_flag=True, help="Of a folder: stop at the first step that deviates.")
@click.option("--only", metavar="PATTERN", help="Of a folder: only files whose names fit, as in '*.safetensors'.")
@click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="Of a folder: steps at a time  [default: one per core]"
)
@click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Of a folder: where finished steps are noted, so that the same command goes on  [default: in the folder]",
)
@click.option(
    "--ray", metavar="ADDRESS", help="Of a folder: work on a Ray cluster, auto or an address; it sees the folder."
)
@click.option("--csv", type=click.Path(path_type=Path), metavar="FILE", help="Of a folder: a line for each step.")
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Of a folder: a plot, .png, .svg or .pdf."
)
def verify(
    files: tuple[Path, ...],
    preset: str | None,
    overrides: tuple[str, ...],
    tolerance: float,
    device: str,
    above_zero: bool,
    as_json: bool,
    each: bool,
    **run: Any,
) -> None:
    """Compute a real minibatch again, and say which logged number went wrong first, and why.

    Rewards, advantages, returns and losses are computed in float64 from the log-probs, values and scores of the file, for
    the whole minibatch, and compared with everything that was logged. Several files of one step (ranks, minibatches,
    microbatches) are joined, those of several steps go step by step, and a folder is a whole run. docs/verify.md tells how.
    """
    door.need_torch("verify")
    from blueprint.commands.verify_files import verify_files
    from blueprint.commands.verify_run import RunOptions, verify_run
    from blueprint.dumps import is_bundle
    from blueprint.verifying import VerifyOptions

    door.require(
        SMALLEST_TOLERANCE <= tolerance < float("inf"),
        f"--tolerance: found {tolerance:g}, expected {SMALLEST_TOLERANCE:g} or more: below, what float64 rounds counts "
        "as a difference",
    )
    options = VerifyOptions(preset, overrides, tolerance, device, above_zero=above_zero)
    if len(files) == 1 and files[0].is_dir() and not is_bundle(files[0]):
        door.require(not each, "--each is for the files of one step: name them instead of a folder, or use --json")
        verify_run(files[0], options, RunOptions(**run), as_json)
    for name in (name.replace("_", "-") for name, value in run.items() if value):
        raise door.Refused(f"--{name} is for a whole run: name the folder with its steps instead of files")
    verify_files(files, options, as_json, each)


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


@click.command("import", epilog=IMPORT_EXAMPLES)
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE...")
@click.option("--preset", metavar="NAME", help="What the library does  [default: as the file says]")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for a key; may be repeated."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The workbook  [default: FILE.xlsx]"
)
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
    """Make a workbook of a few words of a training minibatch; the rest of the batch enters it as typed numbers.

    The whole minibatch is computed again first, and compared with what the library logged. Of a step of GRPO name all files:
    whole groups are shown.
    """
    door.need_torch("import")
    from blueprint.commands.verify_files import book_of
    from blueprint.verifying import VerifyOptions, ViewOptions

    target = output or files[0].with_suffix(".xlsx")
    for path in files:
        refuse_target(target, force, path)
    book, agrees = book_of(files, VerifyOptions(preset, overrides), ViewOptions(**view), name_of(files[0]))
    sys.exit(0 if console.saved(book, target, not no_proof) and agrees else door.DIFFERENCE)
