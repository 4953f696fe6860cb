"""`blueprint class regrade`: it has kept submissions marked again, and prints who changes and why. No maths."""

import json
import sys
from pathlib import Path

import click

from blueprint.classes.graded import POLICY
from blueprint.classes.key import Key
from blueprint.classes.regrading import changes
from blueprint.classes.results import Results
from blueprint.classes.store import Store
from blueprint.commands import console, door
from blueprint.commands.class_grade import graded_anew, unmarked

EXAMPLES = """\b
Examples:
  blueprint class regrade graded/ --key hw1/key_v2.json
  blueprint class regrade graded/ --key hw1/key.json --policy kinder.toml --json
\b
Exit codes: 0 nobody's score changed, 1 somebody's did, 2 wrong use, 3 a submission could not be marked.
"""
_PATH = click.Path(path_type=Path)


@click.command(epilog=EXAMPLES)
@click.argument("folder", type=_PATH)
@click.option("--key", "key_path", required=True, type=_PATH, help="The key by which is marked now.")
@click.option("--policy", type=_PATH, help="Another grading policy; without it the one that was used before.")
@click.option("--assign", multiple=True, metavar="FILE=STUDENT", help="Whose a file without a token is.")
@click.option("--reveal", is_flag=True, help="Put the right numbers into the feedback.")
@click.option("--json", "as_json", is_flag=True, help="For programs: on stdout, one object.")
def regrade(
    folder: Path, key_path: Path, policy: Path | None, assign: tuple[str, ...], reveal: bool, as_json: bool
) -> None:
    """Mark the kept submissions again, by another key or grading policy, and say who changes and why.

    What override.csv says is kept. The former results stay beside the new ones, as results-1.json.
    """
    before, key = Results.load(folder), Key.load(key_path)
    known = {each.student: each.submitted for each in before.results if each.submitted}
    found = graded_anew(Store(folder), folder, key, policy or _former(folder), assign, known, reveal)
    changed = list(changes(before, found))
    if as_json:
        data = {"changed": [each.data() for each in changed], "students": len(found.results)}
        console.say(json.dumps(data, ensure_ascii=False))
    else:
        lines = [str(each) for each in changed] or ["Nobody's score changes."]
        console.say("\n".join([*lines, f"{folder}: {len(changed)} of {len(found.results)} scores changed"]))
    sys.exit(door.UNREADABLE if unmarked(found) else door.DIFFERENCE if changed else 0)


def _former(folder: Path) -> Path | None:
    """Returns the grading policy that was used before."""
    return folder / POLICY if (folder / POLICY).exists() else None
