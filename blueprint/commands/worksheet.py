"""The command `worksheet`: it parses, calls and prints. No maths."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import click

from blueprint.commands import console, errors, options
from blueprint.files import SaveError, refuse_existing, refuse_target, saved_whole
from blueprint.language import NoNumber
from blueprint.quoting import printable, table
from blueprint.workbooks.registry import blueprint_of
from blueprint.worksheets import LEVELS, Worksheet, asked_from, schema, worksheet

EXAMPLES = """\b
Examples:
  blueprint worksheet -o sheet.xlsx --answers answers.xlsx
  blueprint worksheet --blanks 8 --level 2 --seed 2026
  blueprint worksheet --blanks-file blanks.toml --print handout.pdf
  blueprint worksheet --numbers classic --check
  blueprint worksheet --schema > blueprint-blanks.schema.json
\b
A file of blanks has a table for each, of a row, a cell or a section:
  [[blanks]]
  what = "advantages@episode=1,token=5"
  weight = 2
\b
Exit codes: 0 written; 1 written, but not every formula was proved; 2 wrong use.
"""


@click.command("worksheet", epilog=EXAMPLES)
@options.SOURCE
@options.of_numbers
@click.option("--blanks", type=click.IntRange(1), metavar="N", help="How many blanks are chosen  [default: 12]")
@options.TOPIC
@click.option(
    "--blanks-file", type=errors.FILE, metavar="FILE", help="Which blanks, and what each counts: a file.toml."
)
@click.option(
    "--level", type=click.Choice([*map(str, LEVELS)]), default="1", show_default=True,
    help="1: single cells; 2: whole rows; 3: whole sections.",
)  # fmt: skip
@click.option("--seed", default="", metavar="TEXT", help="Another seed chooses other blanks.")
@click.option("--check", is_flag=True, help="Two digits beside each blank, by which a student checks a number.")
@click.option("--no-equations", is_flag=True, help="Do not print the equations of blanks beside them.")
@click.option("-o", "--output", type=errors.FILE, metavar="FILE", help="The worksheet  [default: worksheet.xlsx]")
@click.option(
    "--answers", type=errors.FILE, metavar="FILE", help="The whole workbook with the answers in its blanks, too."
)
@click.option(
    "--print", "paper", type=errors.FILE, metavar="FILE", help="A handout.pdf; with --answers they stand at its end."
)
@click.option("--schema", "as_schema", is_flag=True, help="Print the JSON Schema of files of blanks, for editors.")
@click.option("--no-proof", is_flag=True, help="Do not have the file recalculated by an independent engine.")
@click.option(
    "--json", "as_json", is_flag=True, help="For programs: what was written, as one object; no answers in it."
)
@click.option("--force", is_flag=True, help="Replace files that are there already.")
def worksheet_(
    source: str | None,
    numbers: str,
    overrides: tuple[str, ...],
    output: Path | None,
    answers: Path | None,
    paper: Path | None,
    as_schema: bool,
    no_proof: bool,
    as_json: bool,
    force: bool,
    **more: Any,
) -> None:
    """Write a worksheet: a workbook with blanks for a student to fill in, from which no answer can be read.

    Blanks are chosen along one derivation, or listed in a file. What would give an answer away is left out; the sheet
    Blanks names it.
    """
    if as_schema:
        wrong = [name for name, given in {"-o": output, "--answers": answers, "--print": paper}.items() if given]
        errors.require(not wrong, f"--schema prints, and writes no worksheet: leave out {' and '.join(wrong)}")
        click.echo(json.dumps(schema(), ensure_ascii=False, indent=1))
        return
    files = Files(output or Path("worksheet.xlsx"), answers, paper)
    _refuse(files, force)
    with errors.ending_in(errors.Ended, NoNumber, before="nothing was written: "):
        made = _made(options.meant(source, numbers), overrides, more)
    formulas = made.book.save(files.sheet)
    if answers:
        made.filled_in.save(answers)
    if paper:
        _print(made, paper, answers is not None)
    if as_json:
        click.echo(json.dumps(_data(made, files, formulas), ensure_ascii=False, indent=1))
    else:
        _tell(made, files, formulas)
    if not (no_proof or as_json or console.proved(made.book, files.sheet)):
        raise SystemExit(1)


class Files(NamedTuple):
    """What is written: the worksheet, and, if they are asked for, the answers and the handout."""

    sheet: Path
    answers: Path | None
    paper: Path | None


def _made(numbers: str, overrides: tuple[str, ...], more: dict[str, Any]) -> Worksheet:
    blanks, path = more.pop("blanks"), more.pop("blanks_file")
    level, check, seed, bare, topic = (more.pop(name) for name in ("level", "check", "seed", "no_equations", "topic"))
    errors.require(path is None or not topic, "--topic and --blanks-file both say which blanks: leave one out")
    errors.require(blanks is None or path is None, "--blanks and --blanks-file both say which blanks: leave one out")
    errors.require(path is None or not seed, "--seed chooses blanks, and --blanks-file names them: leave one out")
    loaded = options.chosen(numbers, overrides, more)
    asked = asked_from(path) if path else blanks
    return worksheet(blueprint_of(loaded), asked, int(level), check, seed, equations=not bare, topic=topic)


def _refuse(files: Files, force: bool) -> None:
    """Refuses, before anything is computed, files that cannot or must not be written, and one name for two of them."""
    refuse_target(files.sheet, force)
    if files.answers:
        refuse_target(files.answers, force)
    if files.paper:
        from blueprint.worksheets.handout import check_paper

        check_paper(files.paper)
        refuse_existing(files.paper, force)
    given = [each.resolve() for each in files if each]
    if len(set(given)) < len(given):
        raise SaveError(f"{files.sheet} would be written twice: name another file for the answers")


def _print(made: Worksheet, paper: Path, answers: bool) -> None:
    from blueprint.worksheets.handout import handout, print_handout

    with saved_whole(paper) as unfinished:
        print_handout(handout(made), unfinished, answers)


def _tell(made: Worksheet, files: Files, formulas: int) -> None:
    """Prints what was written: the blanks, and what was left out because of them."""
    many = "1 blank" if len(made.blanks) == 1 else f"{len(made.blanks)} blanks"
    console.say(
        f"{printable(str(files.sheet))}: {many} of level {made.level} ({LEVELS[made.level]}), "
        f"{len(made.book.layout.body)} sheets, {formulas:,} formulas"
    )
    rows = [[str(i), each.title, *_stands(made.cells_of(each))] for i, each in enumerate(made.blanks, 1)]
    for line in table(rows):
        console.say(f"  {line}")
    if made.blueprint.left_out:
        console.say("left out, since it would give an answer away:")
    for name, why in made.blueprint.left_out.items():
        console.say(f"  {name}: {why}")
    if files.answers:
        console.say(
            f"{printable(str(files.answers))}: the whole workbook, with the answers in its blanks; it is the teacher's"
        )
    if files.paper:
        console.say(f"{printable(str(files.paper))}: the handout{', its answers at the end' if files.answers else ''}")


def _stands(areas: list[str]) -> list[str]:
    first, *more = areas
    return [first + (f" and {len(more)} more" if more else "")]


def _data(made: Worksheet, files: Files, formulas: int) -> dict[str, Any]:
    return {
        "file": str(files.sheet),
        "answers": files.answers and str(files.answers),
        "handout": files.paper and str(files.paper),
        "level": made.level,
        "formulas": formulas,
        "blanks": [
            {
                "number": number,
                "title": blank.title,
                "block": blank.block.name,
                "cells": made.cells_of(blank),
                "weight": blank.weight,
                "asks": blank.asks,
                "check": blank.check,
            }
            for number, blank in enumerate(made.blanks, 1)
        ],
        "left_out": dict(made.blueprint.left_out),
    }
