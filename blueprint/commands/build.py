"""The command `build`: it parses, calls and prints. No maths."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import click

from blueprint.book import Book
from blueprint.commands import console, errors, options
from blueprint.files import refuse_target
from blueprint.inputs import Numbers
from blueprint.language import NoNumber
from blueprint.page import grid
from blueprint.workbooks.common.checks import Witnessed
from blueprint.workbooks.registry import blueprint_of, kind_of

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
@options.SOURCE
@options.of_numbers
@click.option(
    "-o",
    "--output",
    type=errors.FILE,
    metavar="FILE",
    help="The workbook  [default: rlhf_ppo.xlsx; with NUMBERS: NUMBERS.xlsx]",
)
@click.option("--witness", is_flag=True, help="Put torch's numbers beside the sheet's on the sheet Checks.")
@click.option("--no-proof", is_flag=True, help="Do not have the file recalculated by an independent engine.")
@click.option("--force", is_flag=True, help="Replace the file if it is there already.")
@_nothing_collected()
def build(
    source: str | None,
    numbers: str,
    overrides: tuple[str, ...],
    output: Path | None,
    witness: bool,
    no_proof: bool,
    force: bool,
    **chosen: str | None,
) -> None:
    """Write a workbook, and have every formula of it recalculated.

    NUMBERS are a name of `blueprint list` or a file.toml, the same as with --numbers.
    """
    loaded = options.chosen(options.meant(source, numbers), overrides, chosen)
    path = output or Path("rlhf_ppo.xlsx" if loaded.name == "default" else f"{loaded.name.replace('/', '-')}.xlsx")
    refuse_target(path, force)
    with errors.ending_in(errors.Ended, NoNumber, before="nothing was written: "):
        book = Book(blueprint_of(loaded))
        if witness:
            book = Book(blueprint_of(loaded, _witnessed(book, loaded)))
        proved = console.saved(book, path, not no_proof, loaded.departures)
    console.say(opening(book))
    if not proved:
        raise SystemExit(1)


def _witnessed(book: Book, numbers: Numbers) -> Witnessed:
    """Returns the single numbers that the paper's page makes of the same inputs, in torch."""
    errors.need_torch("build --witness")
    from blueprint.checking.recomputed import results_of
    from blueprint.witness.device import chosen_device, chosen_dtype
    from blueprint.witness.settings import WitnessError

    page, dtype = kind_of(numbers).part("paper"), "float64"
    device = str(chosen_device("auto", chosen_dtype(dtype)))
    typed = {block.name: array for block, array in book.values.arrays.items() if block.typed}
    computed = {block.name: array for block, array in book.values.arrays.items() if not block.typed}
    with errors.ending_in(errors.Refused, WitnessError, before="--witness: "):
        found = results_of(page, typed, computed, dtype, device)
    single = {name: float(number) for name, number in found.items() if number.ndim == 0}
    return Witnessed(single, f"torch {version('torch')}, {dtype} on {device}")


def opening(book: Book) -> str:
    """Says what one sees first in a workbook, and from where one gets on."""
    start = book.blueprint.sheets[0].title
    links = f"on {start} every piece has a link to its row."
    if book.layout.one_page is None:
        return f"The file opens at {start}: {links}"
    return f"The file opens at {grid.ONE_PAGE}, the whole computation on one sheet; {links}"
