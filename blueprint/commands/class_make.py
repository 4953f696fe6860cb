"""The commands `class preview` and `class make`: they parse, call and print."""

import json
import secrets
from dataclasses import asdict
from pathlib import Path

import click

from blueprint.classes.assignment import Assignment
from blueprint.classes.draws import RULES, Answers, Preview, preview
from blueprint.classes.making import (
    KEY,
    MANIFEST,
    STRESS,
    TEACHER,
    Made,
    assignment_named,
    former_secret,
    left_behind,
    make,
    refuse_made,
)
from blueprint.classes.roster import Student, read_roster
from blueprint.commands import console, errors, options
from blueprint.inputs import counted, load, read, toml_of
from blueprint.quoting import table

PREVIEW_EXAMPLES = """\b
Examples:
  blueprint class preview
  blueprint class preview --numbers by-hand --blanks 8
  blueprint class preview --numbers grpo --level 2 --students 100 --json
\b
Exit codes: 0 shown, 2 wrong use, or no good variant for some student.
"""
HEADS = ("blank", "", "where", "asks", "least", "median", "most", "different answers")


@click.command(epilog=PREVIEW_EXAMPLES)
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
    with console.bar("drawing", students) as done:
        found = preview(given, students, done)
    console.say(json.dumps(_preview_as_data(found), ensure_ascii=False) if as_json else _preview_told(found))


def _preview_as_data(found: Preview) -> dict[str, object]:
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


def _preview_told(found: Preview) -> str:
    rows = [HEADS, *(_preview_row(each) for each in found.blanks)]
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


def _preview_row(each: Answers) -> tuple[str, ...]:
    blank = each.blank
    where = f"{blank.sheet}!{blank.addresses[0]}{' …' if len(blank.addresses) > 1 else ''}"
    ends = (f"{number:.{blank.decimals}f}" for number in (each.least, each.middle, each.most))
    return (blank.id, blank.title, where, blank.asks, *ends, f"{each.different:,}")


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
@click.argument("roster", type=errors.FILE)
@click.option("-o", "--output", type=errors.FILE, required=True, metavar="FOLDER", help="Where the class is made.")
@options.of_class
@click.option("--assignment", metavar="NAME", help="The assignment's name in tokens  [default: the folder's name]")
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
    with console.bar("making", 2 * len(students)) as done:
        made = make(given, students, output, teacher, done)
    console.say(
        json.dumps(_class_as_data(made, output), ensure_ascii=False)
        if as_json
        else _class_told(made, output, students, teacher)
    )


def _class_as_data(made: Made, output: Path) -> dict[str, object]:
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


def _class_told(made: Made, output: Path, students: list[Student], teacher: bool) -> str:
    key = made.key
    rows = [
        [each.id, each.title, f"{each.sheet}!{each.addresses[0]}" + " …" * (len(each.cells) > 1)] for each in key.blanks
    ]
    again = f"; {made.again:,} draws were no good exercise and were drawn again" if made.again else ""
    files = f"{KEY} (keep it to yourself), {MANIFEST}, {STRESS}{f', {TEACHER}' if teacher else ''}"
    return "\n".join(
        [
            f"{output}: {counted(len(students), 'student')}, {counted(len(key.blanks), 'blank')} each{again}",
            *(f"  {line}" for line in table(rows)),
            f"varies: {', '.join(key.vary)}",
            *(f"Note: {warning}" for warning in made.warnings),
            f"Hand out what lies in {output / 'students'}; beside it lie {files}. Look at {STRESS} first.",
        ]
    )
