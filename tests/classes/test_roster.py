"""Rosters: tables of one's own and of the platforms, in every encoding, and what is refused with its line."""

from pathlib import Path

import pytest

from blueprint.classes import ClassError
from blueprint.classes.roster import Student, read_roster

OWN = 'id,name,email\n4711,"Müller, Ünal",m@x.org\n=1+1,"O""Hara 🎓",\n'
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Homework 1 (77)\n"
    ",,,,,Muted\n    Points Possible,,,,,100\n"
    '"Curie, Marie",101,s1,marie,A,\n"Test Student",102,,x,A,\n'
)
SHEET = "\ufeffIdentifier;Full name;Email address;Grade\nParticipant 12;Ada Lovelace;ada@x.org;-\n"
PEOPLE = "First name,Last name,ID number,Email address\nAda,Lovelace,7,ada@x.org\nCarl,Gauß,,carl@x.org\n"


def roster(folder: Path, text: str | bytes, match: str | None = None) -> list[Student]:
    path = folder / "roster.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_roster(path, match)


@pytest.mark.parametrize(
    ("text", "match", "first"),
    [
        (OWN, None, Student("4711", "Müller, Ünal", "m@x.org")),
        (OWN.replace(",", ";").replace("\n", "\r\n"), None, Student("4711", "Müller; Ünal", "m@x.org")),
        (OWN.encode("utf-16"), None, Student("4711", "Müller, Ünal", "m@x.org")),
        (OWN.replace("🎓", "").encode("cp1252"), None, Student("4711", "Müller, Ünal", "m@x.org")),
        (OWN, "EMAIL ", Student("m@x.org", "Müller, Ünal", "m@x.org")),
        (CANVAS, None, Student("101", "Curie, Marie")),
        (CANVAS, "sis user id", Student("s1", "Curie, Marie")),
        (SHEET, None, Student("Participant 12", "Ada Lovelace", "ada@x.org")),
        (PEOPLE, None, Student("ada@x.org", "Ada Lovelace", "ada@x.org")),
        ("id\n1\n", None, Student("1")),
    ],
)
def test_students_are_read(tmp_path: Path, text: str | bytes, match: str | None, first: Student) -> None:
    if match == "EMAIL ":
        text = str(text).replace('🎓",', '🎓",o@x.org')
    assert roster(tmp_path, text, match)[0] == first


def test_rows_of_nobody_are_none(tmp_path: Path) -> None:
    assert roster(tmp_path, CANVAS) == [Student("101", "Curie, Marie")]
    assert roster(tmp_path, OWN)[1] == Student("=1+1", 'O"Hara 🎓')


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("id,name\n1,A\n2,B\n1,C\n", "lines 2 and 4: both have 1"),
        ('id,note,name\n1,"x\ny",A\n\nÜ,,B\nu\u0308,,C\n', "lines 5 and 6: both have ü"),
        ("id,name\n,A\n", "no column identifies a student (its columns: id, name): name one with --match"),
        ("name\nA\n", "no column identifies a student"),
        ("id,name\n1,A,B,C\n", "line 2: found 4 cells, expected 2"),
        ("id,name\n", "found no students, expected 1 to 2,000"),
        ("", "is empty: give a roster"),
        ("id\n" + "\n".join(map(str, range(2001))), "found more than 2,000 students"),
        ("id,name,id\n1,A,2\n", "found two columns called 'id', which identifies a student: rename one"),
        (b"PK\x03\x04\0\0\0\0", "is no text: save it as CSV"),
        (f"id\n{'9' * 201}\n", "expected at most 200 letters"),
        ("id\n1\u202e2\n", "each of which can be seen"),
    ],
)
def test_what_is_no_roster_is_refused_with_its_line(tmp_path: Path, text: str | bytes, says: str) -> None:
    with pytest.raises(ClassError) as refused:
        roster(tmp_path, text)
    assert says in str(refused.value)


def test_a_column_that_is_not_there_or_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ClassError, match=r"--match sis usr id: .* did you mean SIS User ID\?"):
        roster(tmp_path, CANVAS, "sis usr id")
    with pytest.raises(ClassError, match="line 3: 'ID number' is empty"):
        roster(tmp_path, PEOPLE, "ID number")
    with pytest.raises(ClassError, match="cannot be read as a roster"):
        read_roster(tmp_path / "no.csv")
