"""The command: it parses, calls and prints. No maths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from blueprint.book import Book
    from blueprint.page.recalculate import Proof


class Refused(click.ClickException):
    """Something the user can mend: one sentence, exit code 2."""

    exit_code = 2


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rlhf-blueprint", prog_name="blueprint")
def main() -> None:
    """RLHF PPO by hand: a workbook whose every number is a live formula."""


@main.command("list")
def list_numbers() -> None:
    """Name the numbers that workbooks can be built from."""
    from blueprint.numbers import names

    listed = names()
    width = max(len(name) for name, _ in listed)
    for name, about in listed:
        click.echo(f"{name:<{width}}  {about}")


@main.command()
@click.option(
    "--numbers", default="default", metavar="NAME|FILE", help="Built-in numbers (see `blueprint list`) or a TOML file."
)
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Another value for one key, such as ppo.gamma=0.95."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The workbook to write.")
@click.option("--no-proof", is_flag=True, help="Do not have the file recalculated by an independent engine.")
def build(numbers: str, overrides: tuple[str, ...], output: Path | None, no_proof: bool) -> None:
    """Write a workbook, and prove it."""
    from blueprint.book import Book
    from blueprint.language import NotationError
    from blueprint.numbers import NumbersError, load
    from blueprint.page.saving import SaveError
    from blueprint.ppo import rlhf_ppo

    try:
        loaded = load(numbers, overrides)
        book = Book(rlhf_ppo(loaded))
        path = output or Path("rlhf_ppo.xlsx" if loaded.name == "default" else f"{loaded.name}.xlsx")
        formulas = book.save(path)
    except (NumbersError, NotationError, SaveError) as error:
        raise Refused(str(error)) from error
    click.echo(f"{path}: {len(book.layout.body)} sheets, {formulas:,} formulas")
    proved = no_proof or _prove(book, path)
    _report(book)
    click.echo(f"Open {book.blueprint.sheets[0].title} first; every piece has a link to its row there.")
    if not proved:
        raise SystemExit(1)


def _prove(book: Book, path: Path) -> bool:
    """Says how many formulas an independent engine recalculated to our number; False if not all."""
    from blueprint.page.recalculate import EngineMissing

    try:
        proof = book.prove(path)
    except EngineMissing as error:
        click.echo(f"not proved: {error}")
        return True
    click.echo(
        f"proof: ironcalc recalculated {proof.agreeing:,} of {proof.total:,} formulas to the same value", nl=False
    )
    click.echo(f" (largest difference {proof.worst:.1e})")
    return _complain(proof)


def _complain(proof: Proof) -> bool:
    for failure in proof.failures[:5]:
        click.echo(f"  {failure}", err=True)
    return not proof.failures


def _report(book: Book) -> None:
    """Prints the number that everything leads to: its equation and the same with the numbers put in."""
    result = book.blueprint.result
    if result is not None:
        shown = book.show(result)
        click.echo(f"{result.about.meaning.split(',')[0]}: {shown.equation}")
        click.echo(f"  {shown.value:.6f} = {shown.numbers.rpartition(' = ')[0]}")
