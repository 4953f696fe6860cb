"""The command: it parses, calls and prints. No maths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.cli_check import check
from blueprint.cli_explain import explain
from blueprint.cli_presets import presets
from blueprint.cli_which import which
from blueprint.console import speak_plainly
from blueprint.refusals import Refused

if TYPE_CHECKING:
    from blueprint.book import Book
    from blueprint.page.recalculate import Proof
    from blueprint.ppo.sheets.beside import Witnessed

EXAMPLES = """\b
Examples:
  blueprint build
  blueprint build --set ppo.gamma=0.95 --set ppo.kl_estimator=k3 -o mine.xlsx
  blueprint build --numbers very-very-sleepy
  blueprint build --preset verl --set loss.aggregation=seq-mean-token-mean
  blueprint build --numbers ten-libraries --compare trl_1.12,openrlhf,verl
  blueprint build --numbers mine.toml
"""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rlhf-blueprint", prog_name="blueprint")
def main() -> None:
    """RLHF PPO by hand: a workbook whose every number is a live formula."""
    speak_plainly()


main.add_command(explain)
main.add_command(presets)
main.add_command(which)
main.add_command(check)


@main.command("list")
def list_numbers() -> None:
    """Name the numbers that workbooks can be built from."""
    from blueprint.numbers import names

    listed = names()
    width = max(len(name) for name, _ in listed)
    for name, about in listed:
        click.echo(f"{name:<{width}}  {about}")


@main.command(epilog=EXAMPLES)
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
    from blueprint.language import NotationError
    from blueprint.numbers import NumbersError, load
    from blueprint.page.saving import SaveError, refuse_existing
    from blueprint.ppo import rlhf_ppo

    try:
        said = [f"{key}={value}" for key, value in asked.items() if value is not None]
        loaded = load(numbers, [*said, *overrides])
        path = output or Path("rlhf_ppo.xlsx" if loaded.name == "default" else f"{loaded.name}.xlsx")
        refuse_existing(path, force)
        book = Book(rlhf_ppo(loaded))
        if witness:
            book = Book(rlhf_ppo(loaded, _witnessed(book)))
        formulas = book.save(path)
    except (NumbersError, NotationError, SaveError) as error:
        raise Refused(str(error)) from error
    click.echo(f"{path}: {len(book.layout.body)} sheets, {formulas:,} formulas")
    if loaded.drawn_anew:
        click.echo(f"drawn anew from the seed, because they no longer fit: {', '.join(loaded.drawn_anew)}")
    proved = no_proof or _prove(book, path)
    _report(book)
    click.echo(f"Open the sheet {book.blueprint.sheets[0].title} first; every piece has a link to its row there.")
    if not proved:
        raise SystemExit(1)


def _witnessed(book: Book) -> Witnessed:
    """Returns what torch computes from the same inputs."""
    from blueprint.cli_check import need_torch
    from blueprint.ppo.sheets.beside import Witnessed

    need_torch("build --witness")
    from blueprint.witness import WitnessError, witness

    try:
        found = witness([{block.name: array for block, array in book.values.arrays.items()}])
    except WitnessError as error:
        raise Refused(f"--witness: {error}") from error
    record = found.record
    numbers = {name: float(array) for name, array in found[0].items() if array.ndim == 0 and array.dtype != object}
    return Witnessed(numbers, f"torch {record.torch}, {record.dtype} on {record.device}")


def _prove(book: Book, path: Path) -> bool:
    """Says how many formulas an independent engine recalculated to our number; False if not all."""
    from blueprint.page.recalculate import EngineMissing

    try:
        proof = book.prove(path)
    except EngineMissing as error:
        click.echo(f"not proved: {error}")
        return True
    except RuntimeError as error:
        click.echo(f"not proved: {error}", err=True)
        return False
    agree = f"{proof.agreeing:,} of {proof.total:,} formulas to the same value"
    click.echo(f"proof: ironcalc recalculated {agree} (largest difference {proof.worst:.1e})")
    return _complain(proof)


def _complain(proof: Proof) -> bool:
    """Names the first cells that an engine did not agree with; True if there are none."""
    for failure in proof.failures[:5]:
        click.echo(f"  {failure}", err=True)
    return not proof.failures


def _report(book: Book) -> None:
    """Prints what everything leads to: the equation, its numbers, and its parts by name; or the rows of a quantity."""
    result = book.blueprint.result
    if result is None:
        return
    title = result.name.replace("_", " ")
    if result.axes:
        for number, row in enumerate(book.values[result], result.axes[0].start):
            click.echo(f"{title}, {result.axes[0].meaning} {number}: {' '.join(f'{value:.4f}' for value in row)}")
        return
    shown = book.show(result)
    click.echo(f"{title} {shown.value:.6g}: {shown.equation}")
    click.echo(f"  {shown.numbers}")
    for part in book.blueprint.parts:
        click.echo(f"  {float(book.values.cell(part)) + 0.0:>10.6f}  {part.about.meaning}")
