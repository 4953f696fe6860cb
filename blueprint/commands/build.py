"""The command `build`: it parses, calls and prints. No maths."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from blueprint.book import Book
from blueprint.commands import console, door, options
from blueprint.inputs import read_as_off
from blueprint.language import NoNumber
from blueprint.page import names
from blueprint.saving import refuse_target
from blueprint.workbooks.common.sheets.checks import Witnessed
from blueprint.workbooks.registry import blueprint_of, witness_of

EXAMPLES = """\b
Examples:
  blueprint build
  blueprint build --set ppo.gamma=0.95 --set ppo.kl_estimator=k3 -o mine.xlsx
  blueprint build --numbers very-very-sleepy
  blueprint build --preset verl --set loss.aggregation=seq-mean-token-mean
  blueprint build --numbers ten-libraries --compare trl_1.12,openrlhf,verl
  blueprint build --numbers grpo-batch --compare all
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
@options.of_numbers
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
    found, loaded = options.chosen(numbers, overrides, chosen)
    path = output or Path("rlhf_ppo.xlsx" if loaded.name == "default" else f"{loaded.name.replace('/', '-')}.xlsx")
    refuse_target(path, force)
    with door.ending_in(door.Ended, NoNumber, before="nothing was written: "):
        book = Book(blueprint_of(loaded))
        if witness:
            book = Book(blueprint_of(loaded, _witnessed(book)))
        proved = console.saved(book, path, not no_proof, [*read_as_off(found), *loaded.departures])
    console.say(opening(book))
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


def opening(book: Book) -> str:
    """Says what one sees first in a workbook, and from where one gets on."""
    start = book.blueprint.sheets[0].title
    links = f"on {start} every piece has a link to its row."
    if book.layout.one_page is None:
        return f"The file opens at {start}: {links}"
    return f"The file opens at {names.ONE_PAGE}, the whole computation on one sheet; {links}"
