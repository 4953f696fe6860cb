"""Flags: what a teacher may want to look at. None of them is a verdict, and none changes a mark."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from blueprint.classes.identity import TOKEN
from blueprint.classes.key import Key, KeyBlank
from blueprint.classes.results import Flag, Result
from blueprint.classes.store import Stored
from blueprint.classes.working import Worked
from blueprint.program import PROGRAM
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
        *chain.from_iterable(_of_file(key, each) for each in handed),
        *_twice(handed),
        *_same_numbers(key, results),
        *_of_another(key, results),
        *_saved_by_another(key, handed),
    ]


def _of_file(key: Key, handed: Handed) -> Iterator[Flag]:
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


def _twice(handed: list[Handed]) -> Iterator[Flag]:
    """Yields students whose token came from several participants of the platform, in one file or in several."""
    by_student: dict[str, list[Stored]] = {}
    for each in handed:
        for student in each.worked.owners if each.worked.tokens or not each.worked.refused else ():
            by_student.setdefault(student, []).append(each.stored)
    for student, files in by_student.items():
        participants = dict.fromkeys(number for each in files for number in each.participants)
        if len(participants) > 1:
            says = f"handed in by {len(participants)} participants of the platform: {', '.join(participants)}"
            names = [name for each in files for name in each.names]
            yield Flag(kind="same token twice", says=says, students=[student], files=names)


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
    shown, exact = _Answers(key, lambda blank: blank.decimals), _Answers(key, lambda blank: blank.decimals + MORE)
    for result in results:
        alike, in_full = dict[str, list[str]](), set[str]()
        for blank, i, number in _wrong_numbers(result):
            in_full |= exact.whose(blank, i, number)
            for student in shown.whose(blank, i, number) - {result.student}:
                alike.setdefault(student, []).append(blank)
        for student, blanks in alike.items():
            if student in in_full or len(blanks) >= SHARED:
                says = _listed(f"the right answers of {unquoted(student)} in", dict.fromkeys(blanks))
                yield Flag(kind="another's answers", says=says, students=[result.student, student])


def _wrong_numbers(result: Result) -> Iterator[tuple[str, int, float]]:
    for blank, mark in result.marks.items():
        if mark.status == "wrong":
            yield from (
                (blank, i, each) for i, each in enumerate(mark.given) if each is not None and _telling(each, FEWER)
            )


class _Answers:
    """Whose right answer a number is, to so many decimals; those that many have say nothing."""

    def __init__(self, key: Key, decimals: Callable[[KeyBlank], int]):
        self._decimals = {blank.id: decimals(blank) for blank in key.blanks}
        self._whose: dict[tuple[str, int, float], set[str]] = {}
        for student in key.students:
            for blank, numbers in student.answers.items():
                for i, number in enumerate(numbers):
                    self._whose.setdefault((blank, i, round(number, self._decimals[blank])), set()).add(student.id)

    def whose(self, blank: str, cell: int, number: float) -> set[str]:
        """Returns the students whose answer it is."""
        found = self._whose.get((blank, cell, round(number, self._decimals[blank])), set())
        return found if len(found) <= FEW else set()


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
        known = names.get(person.casefold())
        others = [student for student in of if student != known]
        if 1 < len(of) <= FEW or (known and others):
            files = [name for each in of.values() for name in each]
            says = f"last saved by {unquoted(person)}, who saved files of {len(of)} students"
            yield Flag(
                kind="saved by another",
                says=says,
                students=list(dict.fromkeys([*of, *([known] if known else [])])),
                files=files,
            )


def rows_of(flags: Iterable[Flag]) -> Iterator[list[str]]:
    """Yields the rows of `flags.csv`."""
    yield ["flag", "students", "says", "files"]
    yield from ([each.kind, " ".join(each.students), each.says, " | ".join(each.files)] for each in flags)
