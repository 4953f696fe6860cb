"""The command `blueprint import`: a few words of a training minibatch become a workbook. It parses, calls and prints; no maths."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.commands.check import need_torch
from blueprint.commands.console import say
from blueprint.commands.import_rollout import book_of_rollout
from blueprint.commands.refusals import Refused, Unreadable
from blueprint.commands.telling import tell_proof, tell_result, tell_saved
from blueprint.commands.verify import read, verified

if TYPE_CHECKING:
    from blueprint.book import Book
    from blueprint.dumps import Minibatch
    from blueprint.verifying import Verdict
    from blueprint.verifying.window import Window

EXAMPLES = """\b
Examples:
  blueprint import run.safetensors --preset verl -o step_120.xlsx
  blueprint import run.npz --worst 4 --by kl --tokens 32
  blueprint import run.npz --rows 0,3 -o two.xlsx
\b
Exit codes: 0 written; 1 written, but the library's numbers deviate, or not every formula was proved; 2 wrong use;
3 the file cannot be read, or not be replayed.
"""
WORST = 2
DIFFERENCE = 1


def _rows(context: click.Context, option: click.Parameter, value: str | None) -> list[int] | None:
    """Reads `0,3` as numbers of responses."""
    try:
        return None if value is None else [int(each) for each in value.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"{value} is no list of rows: write numbers from 0 on with commas, such as 0,3"
        ) from None


@click.command("import", epilog=EXAMPLES)
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
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
    help=f"Show the N responses with the worst words  [default: what deviates, else {WORST}]",
)
@click.option(
    "--by",
    type=click.Choice(["ratio", "advantage", "kl"]),
    help="What makes a word bad: |ratio − 1|, |advantage| or |KL to the reference|  [default: ratio, if there is one]",
)
@click.option(
    "--tokens",
    type=click.IntRange(16, 64),
    default=32,
    show_default=True,
    help="Columns of each response, around its worst word: 16 to 64.",
)
@click.option("--no-proof", is_flag=True, help="Do not have the file recalculated by an independent engine.")
@click.option("--force", is_flag=True, help="Replace the file if it is there already.")
def import_(
    path: Path,
    output: Path | None,
    preset: str | None,
    overrides: tuple[str, ...],
    rows: list[int] | None,
    worst: int | None,
    by: str | None,
    tokens: int,
    no_proof: bool,
    force: bool,
) -> None:
    """Make a workbook of a few words of a training minibatch; the rest of the batch stands in it as typed numbers.

    The whole minibatch is computed again first, and compared with what the library logged.
    """
    need_torch("import")
    from blueprint.dumps import Minibatch
    from blueprint.inputs.errors import name_of
    from blueprint.page.saving import SaveError, refuse_target

    target = output or path.with_suffix(".xlsx")
    try:
        refuse_target(target, force, path)
        batch = read(path)
        if isinstance(batch, Minibatch):
            found = _verified(batch, preset, overrides)
            measure = by or ("ratio" if "logprobs_new" in batch.tensors else "advantage")
            book = _book(found, _window(found, rows, worst, measure, tokens), name_of(path))
            agrees = found.agrees
        else:
            book, agrees = book_of_rollout(batch, preset, overrides, rows, tokens, name_of(path))
        formulas = book.save(target)
    except SaveError as error:
        raise Refused(str(error)) from error
    tell_saved(book, target, formulas)
    proved = no_proof or tell_proof(book, target)
    tell_result(book)
    sys.exit(0 if proved and agrees else DIFFERENCE)


def _verified(batch: Minibatch, preset: str | None, overrides: tuple[str, ...]) -> Verdict:
    """Verifies a minibatch, and prints what it comes to; a part of a larger batch is whitened as that was."""
    from blueprint.verifying import text_of
    from blueprint.verifying.larger import as_part

    chosen, verdict = verified(batch, preset, overrides)
    say(f"{chosen}\n\n{text_of(verdict)}\n")
    if not any(verdict.left_open.values()):
        return verdict
    fitted = "; ".join(f"{name} with {line}" for name, line in verdict.left_open.items() if line)
    say(f"The workbook whitens as the larger batch was, by what was fitted: {fitted}.")
    return verified(as_part(verdict), preset, overrides)[1]


def _window(verdict: Verdict, rows: list[int] | None, worst: int | None, by: str, tokens: int) -> Window:
    """Picks what is shown; unasked, the word that deviates first. Refuses a row that is not there, and other such wishes."""
    from blueprint.dumps import MinibatchError
    from blueprint.verifying.window import chosen_window, deviating_window, worst_window

    found, spot = verdict.replayed, verdict.first.compared.spot if verdict.first else None
    if rows is not None and worst is not None:
        raise Refused("--rows names the responses, --worst finds them: use one of the two")
    try:
        if rows is not None:
            return chosen_window(found, rows, by, tokens)
        if worst is None and spot is not None:
            return deviating_window(found, spot.episode, spot.first, by, tokens)
        return worst_window(found, min(WORST, len(found.batch.slots)) if worst is None else worst, by, tokens)
    except MinibatchError as error:
        raise Refused(str(error)) from error


def _book(verdict: Verdict, window: Window, name: str) -> Book:
    """Makes the workbook, and compares it with the replay. Refuses a dump of which no loss can be made."""
    from blueprint.book import Book
    from blueprint.dumps import MinibatchError
    from blueprint.language import NotationError
    from blueprint.verifying.agree import agreement
    from blueprint.verifying.export import numbers_of, stand_ins
    from blueprint.workbooks.registry import blueprint_of

    found = verdict.replayed
    try:
        book = Book(blueprint_of(numbers_of(found, window, name, verdict.preset, verdict)))
    except (MinibatchError, NotationError) as error:
        raise Unreadable(str(error)) from error
    made = agreement({block.name: array for block, array in book.values.arrays.items()}, found, window)
    say("\n".join([*stand_ins(found.batch), f"Shown: {window.told}."]))
    if made.apart:
        raise Unreadable(f"the workbook parts from the replay at {', '.join(made.apart[:5])}: please report this dump")
    say(f"the workbook's {len(made.distances)} rows and numbers are the replay's (largest difference {made.worst:.1e})")
    return book
