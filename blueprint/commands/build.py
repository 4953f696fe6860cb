"""The commands `build` and `list`: they parse, call and print. No maths."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.commands.console import say
from blueprint.commands.refusals import Ended, Refused
from blueprint.commands.telling import tell_proof, tell_result, tell_saved

if TYPE_CHECKING:
    from blueprint.book import Book
    from blueprint.inputs import Numbers, Source
    from blueprint.workbooks.common.sheets.witness_section import Witnessed

EXAMPLES = """\b
Examples:
  blueprint build
  blueprint build --set ppo.gamma=0.95 --set ppo.kl_estimator=k3 -o mine.xlsx
  blueprint build --numbers very-very-sleepy
  blueprint build --preset verl --set loss.aggregation=seq-mean-token-mean
  blueprint build --numbers ten-libraries --compare trl_1.12,openrlhf,verl
  blueprint build --numbers mine.toml
"""


@click.command("list")
def list_numbers() -> None:
    """Name the numbers that workbooks can be built from."""
    from blueprint.inputs import names

    listed = names()
    width = max(len(name) for name, _ in listed)
    for name, about in listed:
        say(f"{name:<{width}}  {about}")


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
    **asked: str | None,
) -> None:
    """Write a workbook, and have every formula of it recalculated."""
    from blueprint.book import Book
    from blueprint.inputs import NumbersError, load, read
    from blueprint.language import NoNumber, NotationError
    from blueprint.saving import SaveError, refuse_target
    from blueprint.workbooks.registry import blueprint_of

    try:
        said = [f"{key}={value}" for key, value in asked.items() if value is not None]
        found = read(numbers)
        loaded = load(found, [*said, *overrides])
        path = output or Path("rlhf_ppo.xlsx" if loaded.name == "default" else f"{loaded.name}.xlsx")
        refuse_target(path, force)
        book = Book(blueprint_of(loaded))
        if witness:
            book = Book(blueprint_of(loaded, _witnessed(book)))
        formulas = book.save(path)
    except NoNumber as error:
        raise Ended(f"nothing was written: {error}") from error
    except (NumbersError, NotationError, SaveError) as error:
        raise Refused(str(error)) from error
    tell_saved(book, path, formulas)
    _tell_numbers(loaded, found)
    proved = no_proof or tell_proof(book, path)
    tell_result(book)
    say(f"Open the sheet {book.blueprint.sheets[0].title} first; every piece has a link to its row there.")
    if not proved:
        raise SystemExit(1)


def _tell_numbers(loaded: Numbers, found: Source) -> None:
    """Says what of the numbers is not as the file has it."""
    from blueprint.inputs import read_as_off

    for line in read_as_off(found):
        say(line)
    if loaded.drawn_anew:
        say(f"drawn anew from the seed, because they no longer fit: {', '.join(loaded.drawn_anew)}")


def _witnessed(book: Book) -> Witnessed:
    """Returns what torch computes from the same inputs."""
    from blueprint.commands.check import need_torch
    from blueprint.workbooks.common.sheets.witness_section import Witnessed

    need_torch("build --witness")
    from blueprint.witness import WitnessError
    from blueprint.workbooks.registry import witness_of

    try:
        found = witness_of([{block.name: array for block, array in book.values.arrays.items()}])
    except WitnessError as error:
        raise Refused(f"--witness: {error}") from error
    record = found.record
    numbers = {name: float(array) for name, array in found[0].items() if array.ndim == 0 and array.dtype != object}
    return Witnessed(numbers, f"torch {record.torch}, {record.dtype} on {record.device}")
