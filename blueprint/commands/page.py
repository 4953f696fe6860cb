"""The command `page`: it parses, asks for the book, and has its page written. No maths."""

from pathlib import Path

import click

from blueprint.book import Book
from blueprint.commands import console, errors, options
from blueprint.files import refuse_existing, require_page_ending
from blueprint.language import NoNumber
from blueprint.workbooks.registry import blueprint_of

EXAMPLES = """\b
Examples:
  blueprint page
  blueprint page grpo -o grpo.html
  blueprint page --preset verl --gradients
  blueprint page mine.xlsx
"""


@click.command(epilog=EXAMPLES)
@click.argument("source", required=False, metavar="[NUMBERS|FILE.xlsx]")
@options.of_numbers
@click.option("-o", "--output", type=errors.FILE, metavar="FILE", help="The page  [default: NUMBERS.html]")
@click.option("--force", is_flag=True, help="Replace the file if it is there already.")
def page(
    source: str | None,
    numbers: str,
    overrides: tuple[str, ...],
    output: Path | None,
    force: bool,
    **chosen: str | None,
) -> None:
    """Write a book as one page for the browser, which computes every number by itself.

    It is a single file that makes no network request: click a number and see its equation, the numbers in it, where they come
    from and which cells read it; move a setting and watch what depends on it; walk through the computation line by line, on a
    projector too.
    """
    book, name = book_asked_for(source, numbers, overrides, chosen)
    path = output or Path(f"{name}.html")
    require_page_ending(path)
    refuse_existing(path, force)
    book.page(path)
    console.say(
        f"wrote {path}: {len(book.blocks)} quantities, {path.stat().st_size / 1000:,.0f} kB; open it in a browser"
    )


def book_asked_for(
    source: str | None, numbers: str, overrides: tuple[str, ...], chosen: dict[str, str | None]
) -> tuple[Book, str]:
    """Returns the book that is asked for, and a name for a file of it."""
    numbers = options.meant(source, numbers)
    if source is not None and source.lower().endswith(".xlsx"):
        return _of_file(source, overrides, chosen), str(Path(source).with_suffix(""))
    loaded = options.chosen(numbers, overrides, chosen)
    with errors.ending_in(errors.Ended, NoNumber, before="nothing was written: "):
        return Book(blueprint_of(loaded)), loaded.name.replace("/", "-")


def _of_file(source: str, overrides: tuple[str, ...], chosen: dict[str, str | None]) -> Book:
    """Opens a workbook; refuses options, since it has its own numbers."""
    from blueprint.reopening import book_of

    given = [f"--{name}" for name, value in chosen.items() if value is not None] + ["--set"] * bool(overrides)
    errors.require(not given, f"{' and '.join(given)}: not for a file: {source} has its own numbers")
    return book_of(source)
