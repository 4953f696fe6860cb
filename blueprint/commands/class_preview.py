"""The command `class preview`: it parses, calls and prints."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from blueprint.classes.assignment import Assignment
from blueprint.classes.degenerate import RULES
from blueprint.classes.preview import Answers, Preview, preview
from blueprint.commands import console, door, options
from blueprint.inputs import load, read, toml_of
from blueprint.quoting import table

EXAMPLES = """\b
Examples:
  blueprint class preview
  blueprint class preview --numbers by-hand --blanks 8
  blueprint class preview --numbers grpo --level 2 --students 100 --json
\b
Exit codes: 0 shown, 2 wrong use, or no good variant for some student.
"""
HEADS = ("blank", "", "where", "asks", "least", "median", "most", "different answers")


@click.command(epilog=EXAMPLES)
@options.of_class
@click.option(
    "--students",
    type=click.IntRange(1, 1000),
    default=30,
    show_default=True,
    help="For how many invented students variants are drawn.",
)
@click.option("--json", "as_json", is_flag=True, help="For programs: one object on stdout.")
def preview_class(
    numbers: str, overrides: tuple[str, ...], blanks: int | None, blanks_file: Path | None, topic: str, level: int,
    vary: str, seed: int, students: int, as_json: bool,
) -> None:  # fmt: skip
    """Show which blanks a class would have, in which order, and how the answers are spread. Nothing is written."""
    asked = options.asked(blanks, blanks_file, topic)
    varied = tuple(filter(None, vary.split(",")))
    whole = toml_of(load(read(numbers), overrides))
    given = Assignment("preview", whole, asked, level, varied, seed, secret="00" * 16, topic=topic)
    with door.bar("drawing", students) as done:
        found = preview(given, students, done)
    console.say(json.dumps(_as_data(found), ensure_ascii=False) if as_json else _told(found))


def _as_data(found: Preview) -> dict[str, object]:
    return {
        "students": found.students,
        "varies": found.varies,
        "blanks": [
            {
                "id": each.blank.id,
                "title": each.blank.title,
                "sheet": each.blank.sheet,
                "addresses": each.blank.addresses,
            }
            | {name: value for name, value in asdict(each).items() if name != "blank"}
            for each in found.blanks
        ],
        "drawn_again": found.again,
        "warnings": found.warnings,
    }


def _told(found: Preview) -> str:
    rows = [HEADS, *(_row(each) for each in found.blanks)]
    why = (f"{RULES[rule]} ({times})" for (rule, _), times in found.refused.most_common(3))
    again = f"; {found.again:,} draws were no good exercise: {'; '.join(why)}" if found.again else ""
    return "\n".join(
        [
            f"{len(found.blanks)} blanks, in the order of computation; answers of {found.students:,} invented students{again}",
            *(f"  {line}" for line in table(rows)),
            f"varies: {', '.join(found.varies)}",
            *(f"Note: {warning}" for warning in found.warnings),
        ]
    )


def _row(each: Answers) -> tuple[str, ...]:
    blank = each.blank
    where = f"{blank.sheet}!{blank.addresses[0]}{' …' if len(blank.addresses) > 1 else ''}"
    ends = (f"{number:.{blank.decimals}f}" for number in (each.least, each.middle, each.most))
    return (blank.id, blank.title, where, blank.asks, *ends, f"{each.different:,}")
