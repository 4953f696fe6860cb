"""The command `class show`: one student's inputs and answers side by side, or a lost file again. It parses, calls and prints."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from blueprint.classes.making import MANIFEST
from blueprint.classes.one_student import key_of, shown, written_again
from blueprint.commands import console, errors
from blueprint.quoting import table, unquoted

SHOW_EXAMPLES = """\b
Examples:
  blueprint class show hw1/ --student 4711
  blueprint class show hw1/ --student 4711 --again
\b
Exit codes: 0 shown or written, 1 written, but other bytes than the manifest says, 2 wrong use.
"""


@click.command(epilog=SHOW_EXAMPLES)
@click.argument("folder", type=errors.FILE)
@click.option("--student", required=True, metavar="ID", help="Whose file.")
@click.option("--again", is_flag=True, help="Write the file once more, byte for byte as it was handed out.")
@click.option("-o", "--output", type=errors.FILE, metavar="FILE", help="Where to  [default: where it was]")
@click.option("--json", "as_json", is_flag=True, help="For programs: one object on stdout.")
@click.option("--force", is_flag=True, help="Replace the file if it is there already.")
def show(folder: Path, student: str, again: bool, output: Path | None, as_json: bool, force: bool) -> None:
    """Show one student's inputs and answers side by side, or write a lost file again."""
    errors.require(
        again or (output is None and not force), "--output and --force say where --again writes: add --again"
    )
    key = key_of(folder)
    whose = key.student(student)
    if not again:
        console.say(json.dumps(shown(key, whose), ensure_ascii=False) if as_json else _side_by_side(shown(key, whose)))
        return
    path = output or (folder if folder.is_dir() else folder.parent) / whose.file
    same = written_again(key, whose, path, force)
    says = f"{path}: written again, byte for byte as it was handed out"
    if not same:
        says = f"{path}: written again, with the same inputs and token, but other bytes than {MANIFEST} says: by another version"
    console.say(json.dumps({"file": str(path), "same": same}) if as_json else says)
    if not same:
        sys.exit(errors.DIFFERENCE)


def _side_by_side(found: dict[str, Any]) -> str:
    inputs = [
        ["what", "all", "this student"],
        *([str(each[part]) for part in ("input", "all", "student")] for each in found["inputs"]),
    ]
    answers = [
        [
            str(each["blank"]),
            str(each["title"]),
            str(each["cell"]),
            f"{each['answer']:.{each['decimals']}f}".replace("-", "−"),
        ]
        for each in found["answers"]
    ]
    who = unquoted(" · ".join(filter(None, (str(found[part]) for part in ("student", "name", "email")))), 200)
    return "\n".join(
        [who, f"{found['file']}, token {found['token']}", "", "Inputs", *(f"  {line}" for line in table(inputs)), "", "Answers",
         *(f"  {line}" for line in table([["blank", "what", "cell", "answer"], *answers]))]
    )  # fmt: skip
