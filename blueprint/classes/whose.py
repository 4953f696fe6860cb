"""Whose a file seems to be that holds no token, by the platform's number or the name in its path.

No mark follows from that: a file that could not be read is flagged beside the name of whoever seems to have handed it in.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping

from blueprint.classes.flags import Handed
from blueprint.classes.key import Key
from blueprint.classes.store import Stored

LONGEST = 12
"""Words of a name of which orders are tried."""


def seeming_owner(stored: Stored, numbers: Mapping[str, str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the id of the one student whose a file seems to be, in a tuple; an empty one where that is not clear.

    numbers: by the platform's number of a participant, and names: by the letters of a name or an id, the student's id.
    """
    said = [numbers[each] for each in stored.participants if each in numbers]
    said = said or [names[part] for path in stored.names for part in _parts(path) if part in names]
    return (said[0],) if len(set(said)) == 1 else ()


def numbers_of(handed: Iterable[Handed]) -> dict[str, str]:
    """Returns by the platform's number of a participant whose files they hand in, where that is one student's."""
    found: dict[str, set[str]] = {}
    for stored, worked in handed:
        for number in stored.participants:
            found.setdefault(number, set()).update(worked.owners)
    return {number: next(iter(owners)) for number, owners in found.items() if len(owners) == 1}


def names_of(key: Key) -> dict[str, str]:
    """Returns by the letters of a name, its words in any turn, or of an id whose that is; what two share is nobody's."""
    found: dict[str, set[str]] = {}
    for student in key.students:
        words = re.findall(r"[^\W_]+", _plain(student.name))[:LONGEST]
        turned = {"".join(words[turn:] + words[:turn]) for turn in range(len(words))}
        for each in turned | {_letters(student.id)}:
            found.setdefault(each, set()).add(student.id)
    return {name: next(iter(ids)) for name, ids in found.items() if len(ids) == 1 and name}


def _parts(path: str) -> Iterable[str]:
    """Yields the letters of what may be a name in a path: each folder or file, and what stands before its first `_`."""
    for part in path.split("/"):
        yield from {_letters(part), _letters(part.partition("_")[0]), _letters(part.partition(".")[0])}


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", _plain(text))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
