"""Grading: from what was handed in to the results of a class, with flags: what a teacher may want to look at.

Everything that hangs on policy and overrides is done here. No flag is a verdict, and none changes a mark. Whose a file without a
token seems to be follows from the platform's number or the name in its path; no mark follows from that.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from blueprint.classes import ClassError
from blueprint.classes.grading_policy import GradingPolicy, Overrides, overridden
from blueprint.classes.key import TOKEN, Key, KeyStudent
from blueprint.classes.marking import Course
from blueprint.classes.results import Flag, Mark, Marked, Result, Results
from blueprint.classes.roster import letters_of, plain
from blueprint.classes.submissions_folder import UNKNOWN, Store, Stored, submission_of
from blueprint.classes.worker import Job, Worked, worked_on
from blueprint.files import PROGRAM
from blueprint.language import Axis, Ref, Values, equation, filled_by, walk
from blueprint.page.blanks import cells_named
from blueprint.page.outline import Blank
from blueprint.quoting import unquoted

FEW = 5
"""Students who share the name of the one who saved their files; more of them sit at machines that belong to a room."""
SHARED, MORE = 2, 4
"""In how many cells another's answers are no chance, and decimals beyond those shown that say so in a single one."""
FEWER = 3
"""Significant digits that each of these has at least."""
DIGITS = 4
"""Significant digits from which on it is no chance that two write the same wrong number."""
PROGRAMS = frozenset({
    "", PROGRAM.casefold(), "openpyxl", "libreoffice", "microsoft office user", "user", "admin", "administrator", "student",
    "guest", "root",
})  # fmt: skip
"""What stands for a person in files that no person's name is in."""
MOST_NAMED = 6


class Handed(NamedTuple):
    """A file as it is kept, and what became of it."""

    stored: Stored
    worked: Worked


def flags_of(key: Key, handed: list[Handed], results: list[Result]) -> list[Flag]:
    """Returns everything that is flagged: by file, by student, and between students."""
    return [
        *chain.from_iterable(_flags_of_file(key, each) for each in handed),
        *_handed_in_twice(key, handed),
        *_same_numbers(key, results),
        *_of_another(key, results),
        *_saved_by_another(key, handed),
    ]


def _flags_of_file(key: Key, handed: Handed) -> Iterator[Flag]:
    stored, worked = handed
    names, owners = stored.names, list(worked.owners)
    if why := stored.refused or worked.refused:
        yield Flag(kind="not read", says=why, students=owners, files=names)
    elif not worked.tokens and not owners:
        yield Flag(kind="no token", says="whose file it is cannot be told: name the student with --assign", files=names)
    elif not owners:
        yield Flag(kind="foreign token", says=_foreign(key, worked.tokens.values()), files=names)
    elif len(owners) > 1:
        says = "the tokens of several students stand in it, so that it is not marked: name one of them with --assign"
        yield Flag(kind="tokens disagree", says=says, students=owners, files=names)
    elif len(set(worked.tokens.values())) > 1:
        says = f"its {' and '.join(worked.tokens)} hold different tokens, of which one is this student's"
        yield Flag(kind="tokens disagree", says=says, students=owners, files=names)
    if worked.edited:
        yield Flag(kind="locked cells edited", says=_listed("cells of", worked.edited), students=owners, files=names)
    if worked.unreadable:
        says = _listed("what stands there is no number in", worked.unreadable)
        yield Flag(kind="no number", says=says, students=owners, files=names)
    if worked.constants:
        says = _listed("a number stands where a formula was asked for in", worked.constants)
        yield Flag(kind="pasted constant", says=says, students=owners, files=names)


def _foreign(key: Key, tokens: Iterable[str]) -> str:
    """Says what is foreign about tokens: another assignment, or a signature that the key did not make."""
    assignments = {match[0].split(".")[1] for token in tokens if (match := TOKEN.fullmatch(token))}
    others = sorted(assignments - {key.assignment})
    if others:
        return f"its token is of the assignment {unquoted(others[0])}, and this is {key.assignment}"
    return "its token was not made with this key: it is of another class, of another making of this one, or invented"


def _listed(says: str, names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return f"{says} {', '.join(found[:MOST_NAMED])}{more}"


def _handed_in_twice(key: Key, handed: list[Handed]) -> Iterator[Flag]:
    """Yields students whose token came from others, too: from several participants of the platform, or under another's name.

    Where no path tells of a person, the same bytes under two names are flagged. Names that are the student's own are not.
    """
    by_student: dict[str, list[Stored]] = {}
    for each in handed:
        for student in each.worked.owners if each.worked.tokens or not each.worked.refused else ():
            by_student.setdefault(student, []).append(each.stored)
    names = names_of(key)
    for student, files in by_student.items():
        paths = {name: _named_in(name, names) for each in files for name in each.names}
        long = {part: who for part, who in names.items() if len(part) >= LEAST_LETTERS}
        named = {name: _named_in(name, long) for name, who in paths.items() if student not in who}
        others = {name: next(iter(who)) for name, who in named.items() if len(who) == 1}
        participants = dict.fromkeys(number for each in files for number in each.participants)
        if len(participants) > 1:
            says = f"handed in by {len(participants)} participants of the platform: {', '.join(participants)}"
            yield Flag(
                kind="same token twice", says=says, students=[student, *dict.fromkeys(others.values())], files=[*paths]
            )
        elif others:
            for other in dict.fromkeys(others.values()):
                says = f"its token is that of {unquoted(student)}, and its path names {unquoted(other)}"
                of = [name for name, who in others.items() if who == other]
                yield Flag(kind="another's file", says=says, students=[student, other], files=of)
        else:
            yield from (
                Flag(kind="same file twice", says=_under_names(each), students=[student], files=each.names)
                for each in files
                if _differ(each.names) and any(student not in paths[name] for name in each.names)
            )


LEAST_DIGITS = LEAST_LETTERS = 4
"""Of a number that says in a path who somebody is, a shorter one may be that of a group, or of an attempt; and of a name by which
another person is told, since `a1` may be an assignment."""


def _named_in(path: str, names: Mapping[str, str]) -> set[str]:
    """Returns the students whom a path names; in what a platform made of it, its folder says who, and no file in that.

    names: as of names_of.
    """
    told = (part for part in _parts(submission_of(path)) if len(part) >= LEAST_DIGITS or not part.isdigit())
    return {names[part] for part in told if part in names}


def _differ(names: list[str]) -> bool:
    """Tells whether files are called differently, not only their folders: so they are where a zip is downloaded once more."""
    return len({name.rpartition("/")[2] for name in names}) > 1


def _under_names(stored: Stored) -> str:
    return f"the same bytes came under {len(stored.names)} names"


def _same_numbers(key: Key, results: list[Result]) -> Iterator[Flag]:
    """Yields students who write the same wrong number, though nothing known explains it and their right ones differ."""
    answers = {student.id: student.answers for student in key.students}
    found: dict[tuple[str, int, str], list[str]] = {}
    for result in results:
        for blank, mark in result.marks.items():
            if mark.status in ("wrong", "carried") and mark.misconception is None:
                right = answers[result.student][blank]
                for i, number in enumerate(mark.given):
                    if number is not None and _telling(number) and f"{number:.6g}" != f"{right[i]:.6g}":
                        found.setdefault((blank, i, f"{number:.9g}"), []).append(result.student)
    groups: dict[tuple[str, ...], dict[str, str]] = {}
    for (blank, _, written), students in found.items():
        if len(students) > 1:
            groups.setdefault(tuple(students), {}).setdefault(blank, written)
    for who, shared in groups.items():
        says = _listed("the same wrong number in", (f"{blank} ({written})" for blank, written in shared.items()))
        yield Flag(kind="identical wrong numbers", says=says, students=list(who))


def _of_another(key: Key, results: list[Result]) -> Iterator[Flag]:
    """Yields students whose wrong numbers are another's right ones: in full, or in so many cells that it is no chance."""
    decimals = {blank.id: blank.decimals for blank in key.blanks}
    whose: dict[tuple[str, int, int, float], set[str]] = {}  # by blank, cell, decimals, and the number to so many
    for student in key.students:
        for blank, numbers in student.answers.items():
            for i, number in enumerate(numbers):
                for digits in (decimals[blank], decimals[blank] + MORE):
                    whose.setdefault((blank, i, digits, round(number, digits)), set()).add(student.id)
    # An answer that many have says nothing.
    whose = {place: students for place, students in whose.items() if len(students) <= FEW}
    for result in results:
        alike, in_full = dict[str, list[str]](), set[str]()
        for blank, i, number in _wrong_numbers(result):
            digits = decimals[blank]
            in_full |= whose.get((blank, i, digits + MORE, round(number, digits + MORE)), set())
            for other in whose.get((blank, i, digits, round(number, digits)), set()) - {result.student}:
                alike.setdefault(other, []).append(blank)
        for other, blanks in alike.items():
            if other in in_full or len(blanks) >= SHARED:
                says = _listed(f"the right answers of {unquoted(other)} in", dict.fromkeys(blanks))
                yield Flag(kind="another's answers", says=says, students=[result.student, other])


def _wrong_numbers(result: Result) -> Iterator[tuple[str, int, float]]:
    for blank, mark in result.marks.items():
        if mark.status == "wrong":
            yield from (
                (blank, i, each) for i, each in enumerate(mark.given) if each is not None and _telling(each, FEWER)
            )


def _telling(number: float, digits: int = DIGITS) -> bool:
    """Tells whether a number has so many digits that two do not write it by chance."""
    return len(f"{abs(number):.9e}".partition("e")[0].replace(".", "").rstrip("0")) >= digits


def _saved_by_another(key: Key, handed: list[Handed]) -> Iterator[Flag]:
    """Yields files whose last saver is named in the roster as somebody else, or has saved files of a few students."""
    names = {student.name.casefold(): student.id for student in key.students if student.name}
    savers: dict[str, dict[str, list[str]]] = {}
    for stored, worked in handed:
        person = worked.saved_by[1].strip()
        if len(worked.owners) == 1 and person.casefold() not in PROGRAMS:
            savers.setdefault(person, {}).setdefault(worked.owners[0], []).extend(stored.names)
    for person, of in savers.items():
        known = [names[person.casefold()]] if person.casefold() in names else []
        if 1 < len(of) <= FEW or (known and [*of] != known):
            says = f"last saved by {unquoted(person)}, who saved files of {len(of)} students"
            files, students = [*chain.from_iterable(of.values())], [*dict.fromkeys([*of, *known])]
            yield Flag(kind="saved by another", says=says, students=students, files=files)


def flag_rows(flags: Iterable[Flag]) -> Iterator[list[str]]:
    """Yields the rows of `flags.csv`."""
    yield ["flag", "students", "says", "files"]
    yield from ([each.kind, " ".join(each.students), each.says, " | ".join(each.files)] for each in flags)


LONGEST_ID = 12
"""Words of a name of which orders are tried."""


def seeming_owner(stored: Stored, numbers: Mapping[str, str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the id of the one student whose a file seems to be, in a tuple; an empty one where that is not clear.

    numbers: by the platform's number of a participant, and names: by the letters of a name or an id, the student's id.
    """
    said = [numbers[each] for each in stored.participants if each in numbers]
    said = said or [names[part] for path in stored.names for part in _parts(path) if part in names]
    return (said[0],) if len(set(said)) == 1 else ()


def numbers_of(handed: Iterable[Handed]) -> dict[str, str]:
    """Returns by the platform's number of a participant whose files they hand in."""
    return _owned((number, id) for stored, worked in handed for number in stored.participants for id in worked.owners)


def names_of(key: Key) -> dict[str, str]:
    """Returns by the letters of a name, its words in any turn, or of an id whose that is."""
    return _owned((each, student.id) for student in key.students for each in _turned(student))


def _owned(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns whose each thing is; what two share is nobody's."""
    found: dict[str, set[str]] = {}
    for what, student in pairs:
        found.setdefault(what, set()).add(student)
    return {what: next(iter(students)) for what, students in found.items() if what and len(students) == 1}


def _turned(student: KeyStudent) -> set[str]:
    words = re.findall(r"[^\W_]+", plain(student.name))[:LONGEST_ID]
    return {letters_of(student.id)} | {"".join(words[turn:] + words[:turn]) for turn in range(len(words))}


def _parts(path: str) -> Iterable[str]:
    """Yields the letters of what may be a name in a path: each folder or file, and what stands before its first `_`."""
    for part in path.split("/"):
        yield from {letters_of(part), letters_of(part.partition("_")[0]), letters_of(part.partition(".")[0])}


MOST_READ = 6
"""Rows that a hint names."""


class InWords(NamedTuple):
    """A blank in words: what is asked and where, and what to look at again; the latter holds no number of the student's file."""

    asked: str
    hint: str


def in_words(key: Key) -> dict[str, InWords]:
    """Returns the blanks of a class in words, by id."""
    course = Course(key, GradingPolicy.model_validate({}))
    values = course.everything.values(course.base.typed)
    across = {sheet.title: frozenset(sheet.across) for sheet in course.base.sheets}
    return {each.id: _in_words(course.blanks[each.id], across[each.sheet], values) for each in key.blanks}


def _in_words(blank: Blank, across: frozenset[Axis], values: Values) -> InWords:
    block = blank.block
    asked = f"{block.about.meaning or block.name} ({block.symbol})", cells_named(blank, values)
    if (filled := filled_by(block, blank.cells[0], values)) is None:
        return InWords(", ".join(filter(None, asked)), "")
    abouts = [node.block.about for node in walk(filled.definition.expr) if isinstance(node, Ref)]
    read = [*dict.fromkeys(f"{about.symbol} ({about.meaning})".removesuffix(" ()") for about in abouts)]
    more = " and what else it reads" if len(read) > MOST_READ else ""
    look = f"; look again at {', '.join(read[:MOST_READ])}{more}" if read else ""
    hint = f"The equation is {equation(block, filled.definition, across)}{look}."
    return InWords(", ".join(filter(None, asked)), hint)


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
    blanks = [
        Marked(
            id=blank.id, title=blank.title, words=words[blank.id].asked, hint=words[blank.id].hint, sheet=blank.sheet,
            cells=blank.addresses, weight=policy.weight(blank), asks=blank.asks,
        )
        for blank in key.blanks
    ]  # fmt: skip
    flags = flags_of(key, handed, results)
    points = _points(key, policy)
    return Results(assignment=key.assignment, points=points, blanks=blanks, results=results, flags=flags)


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
        files = [each for each in kept if any(f"/{known}".endswith(f"/{name}") for known in each.names)]
        if len(files) != 1:
            says = "there is none of that name" if not files else f"{len(files)} end so"
            raise ClassError(
                f"file {unquoted(name)}, given to student {unquoted(student)}: {says}; write it as flags.csv does"
            )
        found[files[0].sha256] = key.student(student).id
    return found


def _points(key: Key, policy: GradingPolicy) -> float:
    return policy.points if policy.points is not None else sum(policy.weight(blank) for blank in key.blanks)


def _result(
    student: KeyStudent, handed: list[Handed], key: Key, policy: GradingPolicy, overrides: Overrides, times: Times
) -> Result:
    """Puts together what a student gets; of several files the one that the grading policy says."""
    mine = sorted(
        (each for each in handed if each.worked.owners == (student.id,)),
        key=lambda each: (each.stored.when or datetime.min, each.stored.names[0]),
    )
    result = Result(
        student=student.id, name=student.name, email=student.email, variant=student.variant, attempts=len(mine)
    )
    if mine:
        stored, worked = chosen = _chosen(mine, key, policy)
        result.file, result.stored, result.refused = stored.names[0], stored.stored, worked.refused
        result.participant = next(iter(stored.participants), None)
        result.attempt = mine.index(chosen) + 1
        result.marks = dict(worked.marks or {})
    if set_by_hand := [each for each in overrides.marks if each.student == student.id]:
        empty = {blank.id: Mark(points=0, status="empty") for blank in key.blanks}
        result.marks = overridden(empty | result.marks, student.id, set_by_hand)
    result.raw = total_of(result.marks, key, policy)
    result.submitted = times.get(result.student) or times.get(result.participant or "")
    if policy.late and result.submitted and result.file:
        result.late = round(policy.late.days(result.submitted), 6)
        result.penalty = policy.late.penalty(result.late)
    if result.raw is not None:
        result.total = round(result.raw * (1 - result.penalty), 9)
    return result


def total_of(marks: Mapping[str, Mark], key: Key, policy: GradingPolicy) -> float | None:
    """Returns what marks come to, of the points of those that are not excused; None where there are none."""
    counted = {blank.id: policy.weight(blank) for blank in key.blanks if blank.id in marks}
    counted = {id: weight for id, weight in counted.items() if marks[id].status != "excused"}
    if not counted:
        return None
    earned = sum(weight * marks[id].points for id, weight in counted.items())
    return round(_points(key, policy) * earned / sum(counted.values()), 9)


def _chosen(mine: list[Handed], key: Key, policy: GradingPolicy) -> Handed:
    """Returns which of a student's files counts; where none is marked, the first."""
    marked = [each for each in mine if each.worked.marks is not None] or mine[:1]
    if policy.attempts == "best":
        return max(marked, key=lambda each: total_of(each.worked.marks or {}, key, policy) or 0.0)
    return marked[0 if policy.attempts == "first" else -1]
