"""Grading: from what was handed in to the results of a class. Everything that hangs on policy and overrides is done here."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from blueprint.classes.collecting import submission_of
from blueprint.classes.errors import ClassError
from blueprint.classes.flags import Handed, flags_of
from blueprint.classes.grading_policy import GradingPolicy
from blueprint.classes.in_words import InWords, in_words
from blueprint.classes.key import Key, KeyBlank, KeyStudent
from blueprint.classes.overrides import Overrides, overridden
from blueprint.classes.results import Mark, Marked, Result, Results
from blueprint.classes.store import UNKNOWN, Store, Stored
from blueprint.classes.whose import names_of, numbers_of, seeming_owner
from blueprint.classes.working import Job, Worked, worked_on
from blueprint.quoting import unquoted

Times = Mapping[str, datetime]
"""By the id of a student, or by the platform's number of a participant, when the file was handed in."""


def grade(
    store: Store,
    key: Key,
    policy: GradingPolicy,
    overrides: Overrides,
    times: Times,
    processes: int,
    done: Callable[[int], object] = lambda count: None,
) -> Results:
    """Marks every file that is kept, and puts each among those of its student. Raises ClassError for a line without use."""
    kept = [each for each in store.files if each.stored]
    assigned = _assigned(kept, overrides.assigned, key)
    jobs = [
        Job(store.folder / str(each.stored), assigned.get(each.sha256), submission_of(each.names[0])) for each in kept
    ]
    worked = worked_on(jobs, key, policy, processes, done)
    handed = [Handed(stored, each) for stored, each in zip(kept, worked, strict=True)]
    for stored, each in handed:
        store.move(stored, each.owners[0] if len(each.owners) == 1 else UNKNOWN)
    store.save()
    not_taken = [Handed(each, Worked(refused=each.refused)) for each in store.files if not each.stored]
    handed = _with_owners([*handed, *not_taken], key)
    results = [_result(student, handed, key, policy, overrides, times) for student in key.students]
    words = in_words(key)
    return Results(
        assignment=key.assignment,
        points=_points(key, policy),
        blanks=[_head(blank, policy, words[blank.id]) for blank in key.blanks],
        results=results,
        flags=flags_of(key, handed, results),
    )


def _with_owners(handed: list[Handed], key: Key) -> list[Handed]:
    """Says of files that were not read whose they seem to be, so that a name stands beside the flag."""
    numbers, names = numbers_of(handed), names_of(key)
    return [
        Handed(stored, replace(worked, owners=seeming_owner(stored, numbers, names)))
        if worked.refused and not worked.owners
        else Handed(stored, worked)
        for stored, worked in handed
    ]


def _assigned(kept: list[Stored], said: Mapping[str, str], key: Key) -> dict[str, str]:
    """Returns by its bytes whose file somebody says that it is. Raises ClassError for a file that nobody handed in."""
    found: dict[str, str] = {}
    for name, student in said.items():
        files = [each for each in kept if any(_is_named(known, name) for known in each.names)]
        if len(files) != 1:
            says = "there is none of that name" if not files else f"{len(files)} end so"
            raise ClassError(
                f"file {unquoted(name)}, given to student {unquoted(student)}: {says}; write it as flags.csv does"
            )
        found[files[0].sha256] = key.student(student).id
    return found


def _is_named(known: str, name: str) -> bool:
    return known == name or known.endswith(f"/{name}")


def _points(key: Key, policy: GradingPolicy) -> float:
    return policy.points if policy.points is not None else sum(policy.weight(blank) for blank in key.blanks)


def _head(blank: KeyBlank, policy: GradingPolicy, words: InWords) -> Marked:
    return Marked(
        id=blank.id,
        title=blank.title,
        words=words.asked,
        hint=words.hint,
        sheet=blank.sheet,
        cells=blank.addresses,
        weight=policy.weight(blank),
        asks=blank.asks,
    )


def _result(
    student: KeyStudent, handed: list[Handed], key: Key, policy: GradingPolicy, overrides: Overrides, times: Times
) -> Result:
    """Puts together what a student gets; of several files the one that the grading policy says."""
    mine = sorted((each for each in handed if each.worked.owners == (student.id,)), key=_order)
    marked = [each for each in mine if each.worked.marks is not None]
    chosen = _chosen(marked, key, policy) or next(iter(mine), None)
    result = Result(
        student=student.id, name=student.name, email=student.email, variant=student.variant, attempts=len(mine)
    )
    set_by_hand = [each for each in overrides.marks if each.student == student.id]
    marks = dict(chosen.worked.marks or {}) if chosen else {}
    if set_by_hand:
        marks = overridden(
            {blank.id: Mark(points=0, status="empty") for blank in key.blanks} | marks, student.id, set_by_hand
        )
    if chosen:
        stored, worked = chosen
        result.file, result.stored, result.refused = stored.names[0], stored.stored, worked.refused
        result.participant = next(iter(stored.participants), None)
        result.attempt = mine.index(chosen) + 1
    _sum_up(result, marks, key, policy, times)
    return result


def _sum_up(result: Result, marks: dict[str, Mark], key: Key, policy: GradingPolicy, times: Times) -> None:
    """Adds the marks, their total, and what being late costs."""
    result.marks = marks
    result.raw = total_of(marks, key, policy)
    result.submitted = times.get(result.student) or times.get(result.participant or "")
    if policy.late and result.submitted and result.file:
        result.late = round(policy.late.days(result.submitted), 6)
        result.penalty = policy.late.penalty(result.late)
    if result.raw is not None:
        result.total = round(result.raw * (1 - result.penalty), 9)


def total_of(marks: Mapping[str, Mark], key: Key, policy: GradingPolicy) -> float | None:
    """Returns what marks come to, of the points of those that are not excused; None where there are none."""
    counted = {blank.id: policy.weight(blank) for blank in key.blanks if blank.id in marks}
    counted = {id: weight for id, weight in counted.items() if marks[id].status != "excused"}
    if not counted:
        return None
    earned = sum(weight * marks[id].points for id, weight in counted.items())
    return round(_points(key, policy) * earned / sum(counted.values()), 9)


def _order(handed: Handed) -> tuple[datetime, str]:
    return (handed.stored.when or datetime.min, handed.stored.names[0])


def _chosen(marked: list[Handed], key: Key, policy: GradingPolicy) -> Handed | None:
    if not marked:
        return None
    if policy.attempts == "best":
        return max(marked, key=lambda each: total_of(each.worked.marks or {}, key, policy) or 0.0)
    return marked[0 if policy.attempts == "first" else -1]
