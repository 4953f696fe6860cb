"""The command `build`: it parses, calls and prints. No maths."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from blueprint.book import Book
from blueprint.commands import console, door
from blueprint.inputs import load, read, read_as_off
from blueprint.language import NoNumber
from blueprint.saving import refuse_target
from blueprint.workbooks.common.sheets.checks import Witnessed
from blueprint.workbooks.registry import blueprint_of, witness_of

KEYS = {"epochs": "update.epochs", "minibatches": "update.minibatches"}
"""The keys of a numbers file that options set, where they are called otherwise."""
EXAMPLES = """\b
Examples:
  blueprint build
  blueprint build --set ppo.gamma=0.95 --set ppo.kl_estimator=k3 -o mine.xlsx
  blueprint build --numbers very-very-sleepy
  blueprint build --preset verl --set loss.aggregation=seq-mean-token-mean
  blueprint build --numbers ten-libraries --compare trl_1.12,openrlhf,verl
  blueprint build --gradients
  blueprint build --numbers epochs --epochs 2 --minibatches 2
  blueprint build --numbers mine.toml
"""


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Keeps the collector from walking, again and again, through what a build makes and needs to its end."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@click.command(epilog=EXAMPLES)
@click.option(
    "--numbers", default="default", metavar="NAME|FILE", help="Built-in numbers (see `blueprint list`) or a file.toml."
)
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for a key; may be repeated."
)
@click.option(
    "--preset", metavar="NAME", help="What a library does (see `blueprint presets`); conventions become live."
)
@click.option("--compare", metavar="A,B,…", help="The presets that stand side by side  [default: all]")
@click.option("--conventions", type=click.Choice(["plain", "live"]), help="Whether every convention is a switch.")
@click.option("--epochs", metavar="N", help="Passes over the rollout, where an optimiser takes the steps.")
@click.option("--minibatches", metavar="M", help="Steps of an epoch, each on as many whole responses.")
@click.option("--gradients", flag_value="on", help="Every gradient of the loss, on the sheet of what it is of.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The workbook  [default: rlhf_ppo.xlsx]"
)
@click.option("--witness", is_flag=True, help="Put torch's numbers beside the sheet's on the sheet Checks.")
@click.option("--no-proof", is_flag=True, help="Do not have the file recalculated by an independent engine.")
@click.option("--force", is_flag=True, help="Replace the file if it is there already.")
@_nothing_collected()
def build(
    numbers: str,
    overrides: tuple[str, ...],
    output: Path | None,
    witness: bool,
    no_proof: bool,
    force: bool,
    **chosen: str | None,
) -> None:
    """Write a workbook, and have every formula of it recalculated."""
    found = read(numbers)
    changes = [f"{KEYS.get(key, key)}={value}" for key, value in chosen.items() if value is not None]
    loaded = load(found, [*changes, *overrides])
    path = output or Path("rlhf_ppo.xlsx" if loaded.name == "default" else f"{loaded.name}.xlsx")
    refuse_target(path, force)
    with door.ending_in(door.Ended, NoNumber, before="nothing was written: "):
        book = Book(blueprint_of(loaded))
        if witness:
            book = Book(blueprint_of(loaded, _witnessed(book)))
        proved = console.saved(book, path, not no_proof, [*read_as_off(found), *loaded.departures])
    console.say(f"Open the sheet {book.blueprint.sheets[0].title} first; every piece has a link to its row there.")
    if not proved:
        raise SystemExit(1)


def _witnessed(book: Book) -> Witnessed:
    """Returns what torch computes from the same inputs."""
    door.need_torch("build --witness")
    from blueprint.witness import WitnessError

    with door.ending_in(door.Refused, WitnessError, before="--witness: "):
        found = witness_of([{block.name: array for block, array in book.values.arrays.items()}])
    numbers = {name: float(array) for name, array in found[0].items() if array.ndim == 0 and array.dtype != object}
    return Witnessed(numbers, f"torch {found.record.torch}, {found.record.dtype} on {found.record.device}")
