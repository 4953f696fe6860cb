"""The command `class make`: it parses, calls and prints."""

import json
import secrets
from pathlib import Path

import click

from blueprint.classes.assignment import Assignment
from blueprint.classes.degenerate import RULES
from blueprint.classes.files import (
    KEY,
    MANIFEST,
    STRESS,
    TEACHER,
    assignment_named,
    former_secret,
    left_behind,
    refuse_made,
)
from blueprint.classes.making import Made, make
from blueprint.classes.roster import Student, read_roster
from blueprint.commands import console, door, options
from blueprint.inputs import load, read, toml_of
from blueprint.quoting import table

EXAMPLES = """\b
Examples:
  blueprint class make roster.csv -o hw1/
  blueprint class make roster.csv -o hw1/ --numbers default --blanks 12 --level 1 --seed 2026
  blueprint class make gradebook.csv --match "SIS User ID" -o hw1/ --blanks-file blanks.toml --level 2
  blueprint class make roster.csv -o hw1/ --vary settings,old.E --teacher
\b
Exit codes: 0 made, 2 wrong use, or no good variant for some student.
"""


@click.command(epilog=EXAMPLES)
@click.argument("roster", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FOLDER", help="Where the class is made."
)
@options.of_class
@click.option("--assignment", metavar="NAME", help="As tokens bear it  [default: the folder's name]")
@click.option(
    "--match", metavar="COLUMN", help="The column of the roster that identifies a student  [default: by its name]"
)
@click.option(
    "--check", is_flag=True, help="Two digits beside each blank, by which a student sees whether it is right."
)
@click.option("--no-equations", is_flag=True, help="Do not print the equations of blanks beside them.")
@click.option("--teacher", is_flag=True, help=f"Write {TEACHER}, too: the workbook with every answer.")
@click.option("--json", "as_json", is_flag=True, help="For programs: one object on stdout.")
@click.option(
    "--force", is_flag=True, help="Make a class anew where there is one; its key stays, and with it all tokens."
)
def make_class(
    roster: Path, output: Path, numbers: str, overrides: tuple[str, ...], blanks: int | None, blanks_file: Path | None,
    topic: str, level: int, vary: str, seed: int, assignment: str | None, match: str | None, check: bool,
    no_equations: bool, teacher: bool, as_json: bool, force: bool,
) -> None:  # fmt: skip
    """Make a worksheet with inputs of their own for each student of a roster, and the key by which they are marked."""
    asked = options.asked(blanks, blanks_file, topic)
    refuse_made(output, force)
    students = read_roster(roster, match)
    name = assignment_named(assignment, output)
    secret = former_secret(output, name) or secrets.token_hex(32)
    given = Assignment(
        name,
        toml_of(load(read(numbers), overrides)),
        asked,
        level,
        tuple(filter(None, vary.split(","))),
        seed,
        check,
        secret,
        equations=not no_equations,
        topic=topic,
    )
    if before := left_behind(output):
        console.say(before, err=True)
    with door.bar("making", 2 * len(students)) as done:
        made = make(given, students, output, teacher, done)
    console.say(
        json.dumps(_summary(made, output), ensure_ascii=False) if as_json else _told(made, output, students, teacher)
    )


def _summary(made: Made, output: Path) -> dict[str, object]:
    key = made.key
    return {
        "folder": str(output),
        "assignment": key.assignment,
        "students": len(key.students),
        "varies": key.vary,
        "blanks": [{"id": each.id, "title": each.title, "cells": len(each.cells)} for each in key.blanks],
        "drawn_again": [
            {"draws": times, "blank": None if blank is None else key.blanks[blank].id, "why": RULES[rule]}
            for (rule, blank), times in made.refused.most_common()
        ],
        "warnings": made.warnings,
    }


def _told(made: Made, output: Path, students: list[Student], teacher: bool) -> str:
    key = made.key
    rows = [
        [each.id, each.title, f"{each.sheet}!{each.addresses[0]}" + " …" * (len(each.cells) > 1)] for each in key.blanks
    ]
    again = f"; {made.again:,} draws were no good exercise and were drawn again" if made.again else ""
    files = f"{KEY} (keep it to yourself), {MANIFEST}, {STRESS}{f', {TEACHER}' if teacher else ''}"
    return "\n".join(
        [
            f"{output}: {len(students):,} students, {len(key.blanks)} blanks each{again}",
            *(f"  {line}" for line in table(rows)),
            f"varies: {', '.join(key.vary)}",
            *(f"Note: {warning}" for warning in made.warnings),
            f"Hand out what lies in {output / 'students'}; beside it lie {files}. Look at {STRESS} first.",
        ]
    )
