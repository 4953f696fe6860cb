"""The commands `class grade`, `class regrade` and `class report`: submissions are marked, also again, and told of. No maths."""

import json
import sys
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click

from blueprint.classes import results, submissions_folder
from blueprint.classes.grading import grade as graded
from blueprint.classes.grading_policy import (
    OVERRIDES,
    Overrides,
    read_overrides,
    read_policy,
    schema,
    start_overrides,
    times_in,
    times_of_moodle,
)
from blueprint.classes.key import Key
from blueprint.classes.platforms import Gradebook, GradingWorksheet, feedback_zip
from blueprint.classes.report import FILE, report_of, report_page, save_report
from blueprint.classes.results import Results
from blueprint.classes.results_folder import POLICY, changes, feedback_of, put_aside, write_results
from blueprint.classes.submissions_folder import Store, collect
from blueprint.cluster import cores
from blueprint.commands import console, errors
from blueprint.files import refuse_existing, saved_whole
from blueprint.quoting import encodable, printable, table, unquoted

EXAMPLES = """\b
Examples:
  blueprint class grade submissions.zip --key hw1/key.json -o graded/
  blueprint class grade submissions.zip --key hw1/key.json -o graded/ --policy policy.toml --canvas gradebook.csv
  blueprint class grade --schema > policy.schema.json
  blueprint class grade folder/ --key hw1/key.json --assign "Ada_Lovelace/answer.xlsx=4711" --force
\b
Exit codes: 0 all files marked, 2 wrong use, 3 a file could not be marked (flags.csv says which and why).
"""
SHOWN = 20
WRITTEN = ("scores.csv", "flags.csv", "report.html", "canvas.csv", "moodle.csv", "moodle_feedback.zip")
"""What stands in the folder of the results beside results.json, as it follows from that."""


def _print_schema(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(json.dumps(schema(), ensure_ascii=False, indent=1))
        context.exit()


@click.command(epilog=EXAMPLES)
@click.argument("submissions", type=errors.FILE)
@click.option("--key", "key_path", required=True, type=errors.FILE, help="The key.json that class make wrote.")
@click.option(
    "-o", "--output", "folder", default="graded", show_default=True, type=errors.FILE, help="Folder for the results."
)
@click.option("--policy", type=errors.FILE, help="Grading policy: weights, carried marks, lateness, attempts (TOML).")
@click.option("--times", type=errors.FILE, help="When files were handed in: a CSV with student,submitted.")
@click.option("--assign", multiple=True, metavar="FILE=STUDENT", help="Whose a file without a token is.")
@click.option("--canvas", "gradebook", type=errors.FILE, help="Canvas's exported gradebook, to be filled in.")
@click.option("--canvas-column", help="Id or title of the assignment in it, where it is not clear.")
@click.option(
    "--moodle", "worksheet", type=errors.FILE, help="Moodle's grading worksheet, to be filled in; its times count."
)
@click.option("--reveal", is_flag=True, help="Put the right numbers into the feedback.")
@click.option("--json", "as_json", is_flag=True, help="For programs: on stdout, one object.")
@click.option(
    "--schema", is_flag=True, is_eager=True, expose_value=False, callback=_print_schema,
    help="Print the JSON Schema of grading policies, for editors.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Grade again where there are results; those are kept beside.")
def grade(
    submissions: Path, key_path: Path, folder: Path, policy: Path | None, times: Path | None, assign: tuple[str, ...],
    gradebook: Path | None, canvas_column: str | None, worksheet: Path | None, reveal: bool, as_json: bool, force: bool,
) -> None:  # fmt: skip
    """Mark what students handed in: a folder, or a zip as the platform delivers it.

    A file is known by its token alone, never by its name. A blank is right if it agrees with the answer as displayed, or
    within the policy's tolerance; else carried, if the student's own earlier numbers give it and leave something to compute; else
    feedback names the mistake that gives it, if one does. Submissions are kept in the folder of the results.
    """
    _refuse_targets(folder, force, [each for each in (gradebook, worksheet, policy, times) if each])
    key = Key.load(key_path)
    moodle = GradingWorksheet(worksheet) if worksheet else None
    known = (times_of_moodle(moodle, key) if moodle else {}) | (times_in(times, key) if times else {})
    errors.require(submissions.exists(), f"{submissions} is not there: name a folder or a zip of submissions")
    # What is wrong with the platforms' files is said before anything is marked and written.
    canvas = Gradebook(gradebook, key.assignment, canvas_column) if gradebook else None
    arriving = collect(submissions)
    first = [*islice(arriving, 1)]
    errors.require(
        first, f"{submissions} holds no file: name the folder or the zip that the platform lets you download"
    )
    folder.mkdir(parents=True, exist_ok=True)
    kept = Store(folder)
    kept.add(chain(first, arriving))
    found = graded_anew(kept, folder, key, policy, assign, known, reveal)
    said = list[str]()
    for name, platform in {"canvas.csv": canvas, "moodle.csv": moodle}.items():
        if platform:
            filled = platform.filled(found)
            filled.save(folder / name)
            said += filled.said
    if moodle:
        people = moodle.participants(found)
        files = ((people[student], of) for student, of in feedback_of(found, key, reveal) if student in people)
        feedback_zip(folder / "moodle_feedback.zip", files)
    console.say(
        json.dumps(_results_as_data(found, said), ensure_ascii=False) if as_json else _results_told(found, folder, said)
    )
    sys.exit(errors.UNREADABLE if unmarked(found) else 0)


def _refuse_targets(folder: Path, force: bool, sources: list[Path]) -> None:
    """Refuses to write over results, over files of that name which grading has not written, and over what is read."""
    begun = (folder / submissions_folder.FOLDER / submissions_folder.INDEX).exists()
    for name in (results.FILE, *(() if begun else WRITTEN)):
        refuse_existing(folder / name, force)
    for source in sources:
        own = source.name in WRITTEN and source.exists() and source.resolve().parent == folder.resolve()
        errors.require(not own, f"{source} would be written over: move what is read out of the folder of the results")


def graded_anew(
    kept: Store,
    folder: Path,
    key: Key,
    policy: Path | None,
    assign: tuple[str, ...],
    known: dict[str, datetime],
    reveal: bool,
) -> Results:
    """Marks what is kept, and writes it all down."""
    chosen, overrides = read_policy(policy, key), read_overrides(folder / OVERRIDES, key)
    said = dict(encodable(each).rpartition("=")[::2] for each in assign)
    errors.require(
        "" not in said, "--assign takes FILE=STUDENT, the file as flags.csv calls it: --assign a/b.xlsx=4711"
    )
    overrides = Overrides(overrides.marks, {**overrides.assigned, **said})
    with console.bar("marking", sum(bool(each.stored) for each in kept.files)) as done:
        found = graded(kept, key, chosen, overrides, known, cores(), done)
    put_aside(folder)
    start_overrides(folder)
    with console.bar("writing feedback", sum(bool(each.file or each.marks) for each in found.results)) as done:
        write_results(folder, found, key, reveal, policy, done)
    save_report(found, folder)
    return found


def unmarked(found: Results) -> list[str]:
    """Names the files that are not marked."""
    kinds = ("not read", "no token", "foreign token")
    return [name for flag in found.flags if flag.kind in kinds for name in flag.files]


def _results_as_data(found: Results, said: list[str]) -> dict[str, Any]:
    scores = {each.student: each.total for each in found.results}
    flags = [each.model_dump() for each in found.flags]
    return {"assignment": found.assignment, "points": found.points, "scores": scores, "flags": flags, "says": said}


def _results_told(found: Results, folder: Path, said: list[str]) -> str:
    totals = [each.total for each in found.results if each.total is not None]
    mean = f", {sum(totals) / len(totals):.4g} of {found.points:g} points on average" if totals else ""
    lines = [f"{folder}: {len(totals)} of {len(found.results)} students are marked{mean}", *said]
    lines += [
        f"  {flag.kind}: {' '.join([*flag.students, *flag.files][:3])}: {flag.says}" for flag in found.flags[:SHOWN]
    ]
    more = len(found.flags) - SHOWN
    return "\n".join(lines + ([f"  and {more} more in flags.csv"] if more > 0 else []))


REGRADE_EXAMPLES = """\b
Examples:
  blueprint class regrade graded/ --key hw1/key_v2.json
  blueprint class regrade graded/ --key hw1/key.json --policy kinder.toml --json
\b
Exit codes: 0 nobody's score changed, 1 somebody's did, 2 wrong use, 3 a submission could not be marked.
"""


@click.command(epilog=REGRADE_EXAMPLES)
@click.argument("folder", type=errors.FILE)
@click.option("--key", "key_path", required=True, type=errors.FILE, help="The key by which it is marked now.")
@click.option("--policy", type=errors.FILE, help="Another grading policy; without it the one that was used before.")
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
    former = folder / POLICY if (folder / POLICY).exists() else None
    found = graded_anew(Store(folder), folder, key, policy or former, assign, known, reveal)
    changed = list(changes(before, found))
    if as_json:
        data = {"changed": [each._asdict() for each in changed], "students": len(found.results)}
        console.say(json.dumps(data, ensure_ascii=False))
    else:
        lines = [str(each) for each in changed] or ["Nobody's score changes."]
        console.say("\n".join([*lines, f"{folder}: {len(changed)} of {len(found.results)} scores changed"]))
    sys.exit(errors.UNREADABLE if unmarked(found) else errors.DIFFERENCE if changed else 0)


REPORT_EXAMPLES = """\b
Examples:
  blueprint class report graded/
  blueprint class report graded/ --json
\b
Exit codes: 0 written, or there already and the same; 2 wrong use, or another report is there; 3 a file cannot be read.
"""
TITLE, SAYS = 36, 66
"""Letters of a blank's title, and of what a misconception says, on the terminal."""


@click.command(epilog=REPORT_EXAMPLES)
@click.argument("graded", type=errors.FILE, metavar="FOLDER")
@click.option("-o", "--output", type=errors.FILE, metavar="FILE", help="The page  [default: report.html in FOLDER]")
@click.option("--force", is_flag=True, help="Replace the page if it is there already.")
@click.option("--json", "as_json", is_flag=True, help="For programs: on stdout, one object; no page is written.")
def report(graded: Path, output: Path | None, force: bool, as_json: bool) -> None:
    """Write a page on how a class did: marks, how hard each blank was, the most frequent mistakes, what was carried, flags.

    FOLDER is what `class grade` has written. The page holds no names, and everything it shows: it can be sent as it is.
    """
    found = Results.load(graded)
    if as_json:
        console.say(json.dumps(report_of(found), ensure_ascii=False, indent=1, allow_nan=False))
        return
    errors.require(
        graded.is_dir() or output, f"{graded} is a file: name the folder that holds it, or a page with -o report.html"
    )
    path = output or graded / FILE
    _write_page(path, report_page(found), force)
    console.say("\n".join([*_report_told(report_of(found)), f"{printable(str(path))}: the page"]))


def _write_page(path: Path, page: str, force: bool) -> None:
    """Writes the page, unless it is there as it would be written."""
    if path.is_file() and path.stat().st_size < 2**26 and path.read_bytes() == page.encode("utf-8"):
        return
    refuse_existing(path, force)
    with saved_whole(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")


RARE = {"unreadable": "no number", "excused": "excused"}
"""Statuses that have a column where somebody has them."""


def _report_told(report: dict[str, Any]) -> list[str]:
    shares = report["shares"]
    mean = f", {sum(shares) / len(shares):.0%} of the points on average" if shares else ""
    lines = [
        f"{unquoted(report['assignment'])}: {report['handed_in']} of {report['students']} students handed a file in{mean}"
    ]
    counts = [each["counts"] for each in report["blanks"]]
    statuses = ["right", "carried", "wrong", "empty", *(s for s in RARE if any(each.get(s) for each in counts))]
    rows = [
        [each["blank"], unquoted(each["title"], TITLE), *(str(each["counts"].get(s, 0)) for s in statuses)]
        for each in report["blanks"]
    ]
    lines += table([["", "blank", *(RARE.get(s, s) for s in statuses)], *rows]) if shares else []
    for each in report["misconceptions"][:5]:
        lines.append(f"{each['students']} x {each['blank']}: {unquoted(each['says'] or each['name'], SAYS)}")
    if report["flags"]:
        counted = (f"{count} {unquoted(kind)}" for kind, count in report["flags"].items())
        lines.append("flags, to be looked at: " + ", ".join(counted))
    return lines
