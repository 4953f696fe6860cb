"""The command `serve`: it parses, asks for the book, and has its page served for a lecture. No maths."""

from contextlib import suppress

import click

from blueprint.commands import console, options
from blueprint.commands.page import book_asked_for

EXAMPLES = """\b
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

    book, _ = book_asked_for(source, numbers, overrides, chosen)
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
