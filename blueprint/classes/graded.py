"""A folder of results: what grading writes there. `results.json` comes last, so that it stands for a whole."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import copyfile
from typing import NamedTuple
from urllib.parse import quote

from blueprint.classes import feedback, results, scores
from blueprint.classes.csv_cells import save_csv
from blueprint.classes.flags import rows_of
from blueprint.classes.key import Key
from blueprint.classes.results import Result, Results
from blueprint.saving import saved_whole

FEEDBACK, POLICY = "feedback", "policy.toml"
Answers = Mapping[str, Mapping[str, Sequence[float]]]


class Feedback(NamedTuple):
    """What a student gets to read: file names, each with its content."""

    student: str
    files: Mapping[str, bytes]


def put_aside(folder: Path) -> list[Path]:
    """Keeps the results and the grading policy that are there beside the new ones: results-1.json, results-2.json, …"""
    number = 1
    while (folder / f"results-{number}.json").exists():
        number += 1
    kept = []
    for name in (results.FILE, POLICY):
        path = folder / name
        if path.exists():
            kept.append(path.with_stem(f"{path.stem}-{number}"))
            copyfile(path, kept[-1])
    return kept


def write(
    folder: Path, found: Results, key: Key, reveal: bool, policy: Path | None, done: Callable[[int], object]
) -> None:
    """Writes scores, flags, the grading policy, feedback and, last, the results. done: called after each student."""
    save_csv(folder / scores.FILE, scores.rows_of(found))
    save_csv(folder / scores.FLAGS, rows_of(found.flags))
    if policy is not None and policy.resolve() != (folder / POLICY).resolve():
        with saved_whole(folder / POLICY) as unfinished:
            unfinished.write_bytes(policy.read_bytes())
    (folder / FEEDBACK).mkdir(exist_ok=True)
    for each in feedback_of(found, key, reveal):
        for name, content in each.files.items():
            _write(folder / FEEDBACK / name, content)
        done(1)
    found.save(folder)


def feedback_of(found: Results, key: Key, reveal: bool) -> Iterator[Feedback]:
    """Yields the feedback of each student who has handed something in, or has marks."""
    answers = {student.id: student.answers for student in key.students} if reveal else {}
    for result in found.results:
        if result.file or result.marks:
            stem, own = stem_of(result), answers.get(result.student)
            page, book = feedback.html(result, found, own), feedback.workbook(result, found, own)
            yield Feedback(result.student, {f"{stem}.html": page.encode("utf-8"), f"{stem}.xlsx": book})


def stem_of(result: Result) -> str:
    """Returns a file name for a student: an id may hold anything."""
    return f"feedback_{quote(result.student, safe=' ')[:100]}".replace(".", "%2E")


def _write(path: Path, content: bytes) -> None:
    """Writes a file of feedback in one go; these are made anew from the results, so that they need not be safe from a crash."""
    unfinished = path.with_name(f".{path.name}.part")
    unfinished.write_bytes(content)
    os.replace(unfinished, path)
