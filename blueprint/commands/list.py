"""The command `list`: what can be built. No maths."""

from collections.abc import Iterator

import click

from blueprint.commands import console
from blueprint.inputs import names
from blueprint.quoting import table
from blueprint.scenarios import GROUPS, PREFIX, scenarios


@click.command("list")
@click.option(
    "--scenarios", "asks", is_flag=True, help="List the scenarios instead: what each asks, and how it is built."
)
def list_numbers(asks: bool) -> None:
    """Name the numbers that workbooks can be built from."""
    for line in _of_scenarios() if asks else table(names()):
        console.say(line)


def _of_scenarios() -> Iterator[str]:
    """Yields the scenarios, group by group, and where their pages are."""
    for group, heading in GROUPS.items():
        yield f"{heading}:"
        rows = [each for each in scenarios().values() if each.group == group]
        yield from table([[f"  {PREFIX}{each.name}" if each.numbers else f"  {each.name}", each.asks] for each in rows])
        yield ""
    yield "Build one with blueprint build --numbers scenario/NAME; docs/scenarios has a page for each, and the lines that"
    yield "make the workbooks of those without scenario/."
