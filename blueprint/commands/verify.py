"""The command `verify`: a minibatch computed again and held against what was logged."""

from pathlib import Path
from typing import Any

import click

from blueprint.commands import errors

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


@click.command(epilog=EXAMPLES)
@click.argument("files", type=errors.FILE, nargs=-1, required=True, metavar="FILE...")
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
    type=errors.FILE,
    metavar="FILE",
    help="Of a folder: where finished steps are noted, so that the same command goes on  [default: in the folder]",
)
@click.option(
    "--ray", metavar="ADDRESS", help="Of a folder: work on a Ray cluster, auto or an address; it sees the folder."
)
@click.option("--csv", type=errors.FILE, metavar="FILE", help="Of a folder: a line for each step.")
@click.option("--plot", type=errors.FILE, metavar="FILE", help="Of a folder: a plot, .png, .svg or .pdf.")
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
    microbatches) are joined, files of several steps are verified step by step, a folder as a whole run. docs/verify.md says how.
    """
    errors.need_torch("verify")
    from blueprint.commands.verify_files import verify_files
    from blueprint.commands.verify_run import RunOptions, verify_run
    from blueprint.dumps import is_bundle
    from blueprint.verifying import SMALLEST_TOLERANCE, VerifyOptions

    errors.require(
        SMALLEST_TOLERANCE <= tolerance < float("inf"),
        f"--tolerance: found {tolerance:g}, expected {SMALLEST_TOLERANCE:g} or more: below, what float64 rounds counts "
        "as a difference",
    )
    options = VerifyOptions(preset, overrides, tolerance, device, above_zero=above_zero)
    if len(files) == 1 and files[0].is_dir() and not is_bundle(files[0]):
        errors.require(not each, "--each is for the files of one step: name them instead of a folder, or use --json")
        verify_run(files[0], options, RunOptions(**run), as_json)
    for name in (name.replace("_", "-") for name, value in run.items() if value):
        errors.require(
            len(files) > 1 or files[0].exists(), f"{files[0]}: there is no such folder; write the path of one"
        )
        raise errors.Refused(f"--{name} is for a whole run: name the folder with its steps instead of files")
    verify_files(files, options, as_json, each)
