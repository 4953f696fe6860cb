"""A folder of results: scores, flags and feedback, as grading writes them; and who changes where it is graded again.

`results.json` comes last, so that it stands for a whole. Without `reveal` no answer stands in the feedback: not the right number,
and nothing from which it could be told.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from shutil import copyfile
from typing import Any, NamedTuple

from xlsxwriter import Workbook

from blueprint.classes import results
from blueprint.classes.csv_cells import save_csv
from blueprint.classes.grading import flag_rows
from blueprint.classes.html_page import html_page
from blueprint.classes.key import Key
from blueprint.classes.marking import TOO_FEW
from blueprint.classes.results import Mark, Marked, Result, Results, Status
from blueprint.classes.submissions_folder import folder_of
from blueprint.files import saved_whole
from blueprint.page import styles
from blueprint.quoting import unquoted

SCORES, FLAGS = "scores.csv", "flags.csv"
AFTER_MARKS = ("raw", "late_days", "penalty", "score", "of", "attempt", "file", "refused")


def score_rows(results: Results) -> Iterator[list[object]]:
    """Yields the rows of `scores.csv`; marks are in points, empty where nothing is marked or a blank is excused."""
    heads = [f"{each.id} {part}" for each in results.blanks for part in (each.title, "status", "why")]
    yield ["student", "name", "email", *heads, *AFTER_MARKS]
    for result in results.results:
        cells: list[object] = []
        for blank in results.blanks:
            mark = result.marks.get(blank.id)
            points = round(mark.points * blank.weight, 9) if mark and mark.status != "excused" else ""
            cells += [points, mark.status if mark else "", mark.why if mark else ""]
        unmarked = result.total is None
        sums = ["" if unmarked else each for each in (result.raw, result.late, result.penalty, result.total)]
        came = [result.attempt or "", result.file or "", result.refused]
        yield [result.student, result.name, result.email, *cells, *sums, results.points, *came]


Answers = Mapping[str, Sequence[float]]
LOOKS: dict[Status, tuple[str, styles.Properties]] = {
    "right": ("✓ right", styles.GOOD),
    "carried": ("↷ carried", styles.OTHER),
    "wrong": ("✗ wrong", styles.BAD),
    "empty": ("– empty", {"font_color": styles.FADED, "bg_color": styles.PALE_GREY}),
    "unreadable": ("? no number", styles.BAD),
    "excused": ("excused", {"font_color": styles.FADED, "bg_color": styles.PALE_GREY}),
}
"""For each status a sign, a word and a colour: colour is never alone."""
CARRIED = "carried: right with your own earlier number, which is wrong itself"
NOT_KNOWN = "No known mistake gives this number."
HEADS = ("blank", "what was asked", "where it stands", "you wrote", "mark", "points", "of", "why")
REVEALED = "right is"
WIDTHS = (6, 30, 26, 16, 12, 7, 5, 66, 16)


class Line(NamedTuple):
    """A blank as its student sees it: its status, a cell for each of HEADS, and one with the answer if it is revealed."""

    status: Status
    cells: tuple[str | float, ...]


def feedback_lines(result: Result, results: Results, answers: Answers | None) -> Iterator[Line]:
    """Yields a line for each blank. answers: of this student, if they are to be revealed."""
    for number, blank in enumerate(results.blanks, 1):
        mark = result.marks.get(blank.id, Mark(points=0, status="empty"))
        points: str | float = "" if mark.status == "excused" else round(mark.points * blank.weight, 4)
        asked = (number, blank.words or blank.title, _where(blank), _numbers(mark.given))
        got = (LOOKS[mark.status][0], points, blank.weight, _why(mark, blank))
        yield Line(mark.status, (*asked, *got, *([_numbers(answers[blank.id])] if answers else [])))


def _why(mark: Mark, blank: Marked) -> str:
    """Returns the sentence on a blank; that what is right is right stands beside it.

    What a misconception says stays as it is: β is another symbol than Β.
    """
    why = mark.why.removeprefix(mark.status).lstrip(";: ")
    if not (mark.says and why.startswith(mark.says)):
        why = why[:1].upper() + why[1:]
    if mark.status == "wrong" and not mark.misconception and not any(how in why.lower() for how in TOO_FEW.values()):
        return " ".join(filter(None, (f"{why}." * bool(why), NOT_KNOWN * (not why), blank.hint)))
    return why


def _where(blank: Marked) -> str:
    first, last = blank.cells[:1], blank.cells[1:][-1:]
    return f"{blank.sheet}, {' to '.join([*first, *last])}" if first else blank.sheet


def _numbers(given: Sequence[float | None]) -> str:
    return "  ".join("–" if each is None else f"{each:.6g}".replace("-", "−") for each in given)


def summed(result: Result, results: Results) -> list[str]:
    """Says in a few sentences what all marks come to."""
    if result.total is None:
        return [f"Your file could not be marked: {result.refused}."] if result.refused else ["Nothing was handed in."]
    said = [f"{result.total:g} of {results.points:g} points."]
    if result.penalty:
        said.append(f"{result.raw:g} points, less {result.penalty:.0%} for being {result.late:.1f} days late.")
    if any(mark.status == "carried" for mark in result.marks.values()):
        said.append(f"{CARRIED[:1].upper()}{CARRIED[1:]}.")
    return said


def feedback_workbook(result: Result, results: Results, answers: Answers | None) -> bytes:
    """Returns the feedback as a workbook."""
    content = BytesIO()
    with Workbook(content, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}) as book:
        sheet = book.add_worksheet("Feedback")
        sheet.hide_gridlines(2)

        made = dict[str, Any]()

        def look(properties: styles.Properties) -> Any:
            """Returns a format, which is made once, however many cells have it."""
            name = repr(sorted(properties.items()))
            if name not in made:
                made[name] = book.add_format(styles.BASE | properties)
            return made[name]

        heads = [*HEADS, *([REVEALED] if answers else [])]
        for column, width in enumerate(WIDTHS[: len(heads)]):
            sheet.set_column(column, column, width)
        sheet.write_string(0, 0, f"{results.assignment}: {result.name or result.student}", look(styles.LABELS["title"]))
        said = summed(result, results)
        for row, sentence in enumerate(said, 1):
            sheet.write_string(row, 0, sentence, look(styles.LABELS["lead"]))
        top = len(said) + 2
        lines = (
            () if result.refused else feedback_lines(result, results, answers)
        )  # of what was not read no blank is empty
        for column, head in enumerate(() if result.refused else heads):
            align = {"align": "center" if head in ("blank", "points", "of") else "left"}
            sheet.write_string(top, column, head, look(styles.LABELS["table head"] | align))
        for row, line in enumerate(lines, top + 1):
            for column, (head, cell) in enumerate(zip(heads, line.cells, strict=True)):
                own = LOOKS[line.status][1] if head == "mark" else {}
                plain = styles.LABELS["wrapped"] | {"align": "left" if isinstance(cell, str) else "center"}
                write = sheet.write_string if isinstance(cell, str) else sheet.write_number
                write(row, column, cell, look(plain | own))
        sheet.freeze_panes(top + 1, 0)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
    return content.getvalue()


def feedback_page(result: Result, results: Results, answers: Answers | None) -> str:
    """Returns the feedback as a page that needs nothing else."""
    return html_page(
        "feedback.html",
        title=f"{results.assignment}: {result.name or result.student}",
        said=summed(result, results),
        heads=[*HEADS, *([REVEALED] if answers else [])],
        lines=[] if result.refused else [*feedback_lines(result, results, answers)],
    )


FEEDBACK, POLICY = "feedback", "policy.toml"


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


def write_results(
    folder: Path, found: Results, key: Key, reveal: bool, policy: Path | None, done: Callable[[int], object]
) -> None:
    """Writes scores, flags, the grading policy, feedback and, last, the results. done: called after each student."""
    save_csv(folder / SCORES, score_rows(found))
    save_csv(folder / FLAGS, flag_rows(found.flags))
    if policy is not None and policy.resolve() != (folder / POLICY).resolve():
        with saved_whole(folder / POLICY) as unfinished:
            unfinished.write_bytes(policy.read_bytes())
    (folder / FEEDBACK).mkdir(exist_ok=True)
    for _, files in feedback_of(found, key, reveal):
        for name, content in files.items():  # made anew from the results, so that they need not be safe from a crash
            unfinished = folder / FEEDBACK / f".{name}.part"
            unfinished.write_bytes(content)
            os.replace(unfinished, folder / FEEDBACK / name)
        done(1)
    found.save(folder)


def feedback_of(found: Results, key: Key, reveal: bool) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yields each student who has handed something in, or has marks, with what one gets to read: files by their names."""
    answers = {student.id: student.answers for student in key.students} if reveal else {}
    for result in found.results:
        if result.file or result.marks:
            own, stem = answers.get(result.student), f"feedback_{folder_of(result.student)}"
            page, book = feedback_page(result, found, own), feedback_workbook(result, found, own)
            yield result.student, {f"{stem}.html": page.encode("utf-8"), f"{stem}.xlsx": book}


class Changed(NamedTuple):
    """A student whose total changed, from and to (None: nothing was marked), and a reason for each blank that did."""

    student: str
    name: str
    before: float | None
    after: float | None
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        who = " ".join(filter(None, (unquoted(self.student), unquoted(self.name))))
        before, after = ("–" if total is None else f"{total:g}" for total in (self.before, self.after))
        return f"{who}: {before} → {after}{': ' * bool(self.reasons)}{'; '.join(self.reasons)}"


def changes(before: Results, after: Results) -> Iterator[Changed]:
    """Yields the students whose total changed, in the order of the key; who is new in it, too."""
    known = {result.student: result for result in before.results}
    heads = _heads(before, after)
    for new in after.results:
        old = known.pop(new.student, Result(student=new.student))
        if old.total != new.total:
            yield Changed(new.student, new.name, old.total, new.total, (*heads, *_reasons(old, new)))
    for gone in known.values():
        if gone.total is not None:
            yield Changed(gone.student, gone.name, gone.total, None, ("is not in the key any more",))


def _heads(before: Results, after: Results) -> list[str]:
    """Says what changed for all: what the whole is worth, and weights."""
    weights = {each.id: each.weight for each in before.blanks}
    said = [f"all is worth {after.points:g}, not {before.points:g}"] if before.points != after.points else []
    moved = [each for each in after.blanks if weights.get(each.id) != each.weight]
    return said + [
        f"{each.id} counts {each.weight:g}, not {weights[each.id]:g}" for each in moved if each.id in weights
    ]


def _reasons(old: Result, new: Result) -> Iterator[str]:
    if old.file != new.file:
        yield f"{unquoted(new.file)} is marked, not {unquoted(old.file)}"
    for id in dict.fromkeys([*old.marks, *new.marks]):
        before, after = old.marks.get(id), new.marks.get(id)
        counted = [mark and (mark.points, mark.status == "excused") for mark in (before, after)]
        if counted[0] != counted[1]:
            was, now = (f"{mark.status} {mark.points:g}" if mark else "none" for mark in (before, after))
            yield f"{id} {was} → {now}{f' ({unquoted(after.why, 200)})' if after else ''}"
    if old.penalty != new.penalty:
        yield f"late: {old.penalty:.0%} → {new.penalty:.0%}"
