"""The command `class report`: a graded class as a page, and in short on the terminal."""

import json
from pathlib import Path
from typing import Any

import click

from blueprint.commands import console, door
from blueprint.quoting import printable, table, unquoted
from blueprint.saving import refuse_existing

EXAMPLES = """\b
Examples:
  blueprint class report graded/
  blueprint class report graded/ --json
\b
Exit codes: 0 written, or there already and the same; 2 wrong use, or another report is there; 3 a file cannot be read.
"""
TITLE, SAYS = 36, 66
"""Letters of a blank's title, and of what a misconception says, on the terminal."""


@click.command(epilog=EXAMPLES)
@click.argument("graded", type=click.Path(path_type=Path), metavar="FOLDER")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The page  [default: report.html in FOLDER]"
)
@click.option("--force", is_flag=True, help="Replace the page if it is there already.")
@click.option("--json", "as_json", is_flag=True, help="For programs: on stdout, one object; no page is written.")
def report(graded: Path, output: Path | None, force: bool, as_json: bool) -> None:
    """Write a page on how a class did: marks, how hard each blank was, the most frequent mistakes, what was carried, flags.

    FOLDER is what `class grade` has written. The page holds no names, and everything it shows: it can be sent as it is.
    """
    from blueprint.classes.report import data, report_of
    from blueprint.classes.report_page import FILE, report_page
    from blueprint.classes.results import Results

    found = report_of(Results.load(graded))
    if as_json:
        console.say(json.dumps(data(found), ensure_ascii=False, indent=1, allow_nan=False))
        return
    door.require(
        graded.is_dir() or output, f"{graded} is a file: name the folder that holds it, or a page with -o report.html"
    )
    path = output or graded / FILE
    _write(path, report_page(found), force)
    console.say("\n".join([*_told(found), f"{printable(str(path))}: the page"]))


def _write(path: Path, page: str, force: bool) -> None:
    """Writes the page, unless it is there as it would be written."""
    from blueprint.saving import saved_whole

    if path.is_file() and path.stat().st_size < 2**26 and path.read_bytes() == page.encode("utf-8"):
        return
    refuse_existing(path, force)
    with saved_whole(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")


def _told(found: Any) -> list[str]:
    """Sums a report up in lines."""
    mean = f", {sum(found.shares) / len(found.shares):.0%} of the points on average" if found.shares else ""
    lines = [f"{unquoted(found.assignment)}: {found.handed_in} of {found.students} students handed a file in{mean}"]
    statuses = ["right", "carried", "wrong", "empty"]
    rows = [
        [each.blank.id, unquoted(each.blank.title, TITLE), *(str(each.counts.get(s, 0)) for s in statuses)]
        for each in found.blanks
    ]
    lines += table([["", "blank", *statuses], *rows]) if found.shares else []
    for each in found.mistakes[:5]:
        lines.append(f"{each.students} x {each.blank.id}: {unquoted(each.says or each.name, SAYS)}")
    if found.flags:
        lines.append(
            "flags, to be looked at: " + ", ".join(f"{count} {unquoted(kind)}" for kind, count in found.flags.items())
        )
    return lines
