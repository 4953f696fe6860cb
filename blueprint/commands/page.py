"""The commands `page` and `serve`: they parse, ask for the book, and write or serve its page. No maths."""

from contextlib import suppress
from pathlib import Path

import click

from blueprint.book import Book
from blueprint.commands import console, door, options
from blueprint.files import SaveError, refuse_existing
from blueprint.language import NoNumber
from blueprint.workbooks.registry import blueprint_of

EXAMPLES = """\b
Examples:
  blueprint page
  blueprint page grpo -o grpo.html
  blueprint page --preset verl --gradients
  blueprint page mine.xlsx
"""
SERVED = """\b
Examples:
  blueprint serve
  blueprint serve grpo --lan
  blueprint serve mine.xlsx --lan --port 8080
"""
PORT = 8765
ONLY_HERE = "Only this machine reaches it; with --lan phones on the same network do, too."
ON_THE_NET = (
    "Everybody on this network can open this page, follow it and vote, as long as this runs. They reach nothing else of this"
    " machine, and only the first address leads. It is not encrypted."
)


@click.command(epilog=EXAMPLES)
@click.argument("source", required=False, metavar="[NUMBERS|FILE.xlsx]")
@options.of_numbers
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The page  [default: NUMBERS.html]"
)
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

    It is a single file without any request: click a number and see its equation, the numbers in it, where they come from and
    where it goes; move a setting and watch what hangs on it; walk through the computation line by line, on a projector too.
    """
    book, name = _book(source, numbers, overrides, chosen)
    path = output or Path(f"{name}.html")
    if path.suffix.lower() not in (".html", ".htm"):
        raise SaveError(f"{path} does not end in .html, by which browsers know a page: name it so")
    refuse_existing(path, force)
    book.page(path)
    console.say(
        f"wrote {path}: {len(book.blocks)} quantities, {path.stat().st_size / 1000:,.0f} kB; open it in a browser"
    )


@click.command(epilog=SERVED)
@click.argument("source", required=False, metavar="[NUMBERS|FILE.xlsx]")
@options.of_numbers
@click.option("--lan", is_flag=True, help="Let others on the same network open it, not only this machine.")
@click.option("--port", type=int, default=PORT, show_default=True, help="Where it listens; 0: any that is free.")
def serve(
    source: str | None, numbers: str, overrides: tuple[str, ...], lan: bool, port: int, **chosen: str | None
) -> None:
    """Serve the page of a book for a lecture: you lead, phones follow, and vote on hidden numbers.

    Open the first address yourself: it leads. Give the second one to others: their pages show what yours shows, and compute it
    for themselves. No names are asked for and nothing is kept. Ctrl-C ends it.
    """
    from blueprint.web.page import page_of
    from blueprint.web.serve import Server, own_address

    book, _ = _book(source, numbers, overrides, chosen)
    server = Server("0.0.0.0" if lan else "127.0.0.1", port)
    own, here = (f"http://{host}:{server.port}/" for host in (own_address(), "127.0.0.1"))
    address = own if lan else here
    code = _qr(address)
    told = {"addresses": [address], "qr": code[0] if code else None}
    server.page = page_of(book.blueprint, book.values, told).text.encode()
    console.say(f"you lead:  {here}?lead={server.lecture.key}")
    console.say("others follow:\n")
    click.secho(f"    {address}\n", bold=True)
    if code and lan:
        console.say(code[1])
    console.say(ON_THE_NET if lan else ONLY_HERE)
    with suppress(KeyboardInterrupt):
        server.start().join()
    server.stop()
    console.say("ended: nothing was kept")


def _qr(address: str) -> tuple[str, str] | None:
    """Returns an address as a picture for the page and as one for the terminal; None without segno."""
    from io import StringIO

    try:
        import segno
    except ImportError:
        return None
    code, drawn = segno.make(address), StringIO()
    code.terminal(drawn, compact=True)
    return code.svg_inline(border=2, omitsize=True), drawn.getvalue()


def _book(
    source: str | None, numbers: str, overrides: tuple[str, ...], chosen: dict[str, str | None]
) -> tuple[Book, str]:
    """Returns the book that is asked for, and a name for a file of it."""
    if source is not None and source.lower().endswith(".xlsx"):
        return _of_file(source, overrides, chosen), str(Path(source).with_suffix(""))
    loaded = options.chosen(source or numbers, overrides, chosen)
    with door.ending_in(door.Ended, NoNumber, before="nothing was written: "):
        return Book(blueprint_of(loaded)), loaded.name.replace("/", "-")


def _of_file(source: str, overrides: tuple[str, ...], chosen: dict[str, str | None]) -> Book:
    """Opens a workbook; refuses options, since it has its own numbers."""
    from blueprint.reopening import book_of

    given = [f"--{name}" for name, value in chosen.items() if value is not None] + ["--set"] * bool(overrides)
    door.require(not given, f"{' and '.join(given)}: not for a file: {source} has its own numbers")
    return book_of(source)
