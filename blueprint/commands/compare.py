"""The command `blueprint compare`: two frameworks' dumps of one step side by side. No maths."""

import json
import sys
from pathlib import Path

import click

from blueprint.commands import console, errors
from blueprint.dumps import MinibatchError

EXAMPLES = """\b
Examples:
  blueprint compare slime/7.pt verl_000007_0.safetensors
  blueprint compare a.safetensors b.safetensors --preset trl_1.12 --preset verl
  blueprint compare miles/ trl_000002/ --json
\b
Exit codes: 0 no difference beyond rounding and that of two forward passes, 1 a difference, 2 wrong use, 3 a file cannot be
read, or the two are of different batches or kinds, 4 the two have nothing in common that could be compared.
"""


@click.command("compare", epilog=EXAMPLES)
@click.argument("a", type=errors.FILE)
@click.argument("b", type=errors.FILE)
@click.option(
    "--preset",
    "presets",
    multiple=True,
    metavar="NAME",
    help="Whose conventions; twice: first A's, then B's  [default: those of the libraries that the files name]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
def compare(a: Path, b: Path, presets: tuple[str, ...], as_json: bool) -> None:
    """Say where two dumps of one step first differ, and which convention explains it.

    A and B are files, replay bundles of Relax, or folders with all files of one step. Responses are aligned by their tokens. B is
    then recomputed with A's settings, to separate different conventions from different inputs. docs/verify.md says how.
    """
    errors.need_torch("compare")
    from blueprint.dump_comparison import compare_sides, data_of, read_side

    errors.require(len(presets) <= 2, "--preset: found more than two, expected one for both, or A's and then B's")
    one, other = (presets * 2)[:2] if presets else (None, None)
    with errors.ending_in(errors.Unreadable, MinibatchError):
        found = compare_sides(read_side(a), read_side(b), (one, other))
    console.say(json.dumps(data_of(found), ensure_ascii=False, indent=1) if as_json else str(found))
    if not found.lines:
        sys.exit(errors.NOT_COMPARED)
    sys.exit(errors.DIFFERENCE if found.first else 0)
