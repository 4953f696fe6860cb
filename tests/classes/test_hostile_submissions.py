"""One student's submission may hold anything: it is flagged beside the name, and everybody else is marked."""

from __future__ import annotations

import io
import os
import signal
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from blueprint.classes import ClassError, submissions_folder
from blueprint.classes.grading_policy import GradingPolicy
from blueprint.classes.key import Key
from blueprint.classes.results import Results
from blueprint.classes.submissions_folder import Collected, Store, collect
from blueprint.classes.worker import Job, OutOfTime, Worker, alarmed
from tests.classes.handing_in import hand_in, key_of, right
from tests.commands import run_command

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has neither pipes in folders, nor such names, nor alarms")
ADA, EVE = "4711", "0815"
OF_ADA, OF_EVE = (f"Student {id}_{number}_assignsubmission_file_" for id, number in ((ADA, 1001), (EVE, 1002)))
TOO_MUCH = (
    "it unpacks to 75 MB in 3 files, and of one submission at most 60 MB and 50 files are read: ask for the worksheet alone; "
    "what holds files of several students is graded by itself"
)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key of two students, and a right file of the first one."""
    room = tmp_path_factory.mktemp("class")
    key = key_of("very-very-sleepy", [("td_errors", [(0, 0)], "number")], {ADA: {}, EVE: {}})
    (room / "key.json").write_text(key.model_dump_json(), encoding="utf-8")
    hand_in(room / "ada.xlsx", key, key.students[0], right(key, key.students[0]))
    return room


def grade(source: Path, room: Path, folder: Path, *more: str) -> Result:
    return run_command("class", "grade", source, "--key", room / "key.json", "-o", folder, *more)  # fmt: skip


def zipped(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as target:
        for name, each in files.items():
            target.writestr(name, each)
    return content.getvalue()


def bomb() -> bytes:
    return zipped({f"{number}.xlsx": bytes(25_000_000) for number in range(3)})


def undecodable() -> bytes:
    """A zip whose name says that it is UTF-8, and is not."""
    return zipped({"aé.xlsx": b"x"}).replace("aé".encode(), b"a\xff\xff")


SUBMITTED: dict[str, tuple[Callable[[], bytes], str]] = {
    "all.zip": (bomb, TOO_MUCH),
    "many.zip": (
        lambda: zipped({f"{number}.xlsx": b"" for number in range(51)}),
        TOO_MUCH.replace("75 MB in 3 files", "0 MB in 51 files"),
    ),
    "listed.zip": (
        lambda: zipped({f"{number:0200}": b"" for number in range(5000)}),
        "it lists more files than any submission has: ask for the worksheet alone",
    ),
    "odd.zip": (undecodable, "it is damaged (UnicodeDecodeError): ask for it again"),
    "cut.zip": (lambda: zipped({"a.xlsx": b"x"})[20:], "'cut.zip' is no zip: ask for it again"),
}


@pytest.mark.parametrize("in_zip", [True, False])
@pytest.mark.parametrize("name", SUBMITTED)
def test_a_hostile_submission_is_flagged_beside_the_name_and_the_class_is_graded(
    room: Path, tmp_path: Path, name: str, in_zip: bool
) -> None:
    make, says = SUBMITTED[name]
    files = {f"{OF_ADA}/answer.xlsx": (room / "ada.xlsx").read_bytes(), f"{OF_EVE}/{name}": make()}
    source = tmp_path / "all"
    for path, content in files.items():
        (source / path).parent.mkdir(parents=True)
        (source / path).write_bytes(content)
    if in_zip:
        source = tmp_path / "all.zip"
        source.write_bytes(zipped(files))
    ended = grade(source, room, tmp_path / "graded")
    assert ended.exit_code == 3, ended.output
    found = Results.load(tmp_path / "graded")
    ada, eve = found.results
    assert (ada.total, eve.total) == (1, None)
    (flag,) = [each for each in found.flags if each.kind == "not read"]
    assert (flag.says, flag.students) == (says, [EVE])
    assert flag.files[0].startswith(OF_EVE.removesuffix("_"))
    assert (eve.refused, eve.file) == (says, flag.files[0])
    assert says in (tmp_path / "graded" / "scores.csv").read_text("utf-8-sig").replace('""', '"').splitlines()[2]
    kept = [path.parent.name for path in (tmp_path / "graded" / "submissions").rglob("*.xlsx")]
    assert kept == [ADA]


def test_the_files_of_a_participant_are_one_submission(tmp_path: Path) -> None:
    """Each archive alone is within the bound; the third one is not unpacked."""
    inner = zipped({"a.xlsx": bytes(25_000_000)})
    (tmp_path / "all.zip").write_bytes(zipped({f"{OF_EVE}/{number}.zip": inner for number in range(9)}))
    found = list(collect(tmp_path / "all.zip"))
    assert [bool(each.refused) for each in found] == [False, False, True]
    assert (found[-1].name, found[-1].participant) == (OF_EVE.removesuffix("_"), "1002")


def test_an_archive_of_many_students_is_within_the_bounds_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submissions_folder, "MOST_IN_SUBMISSION", 3)
    inner = zipped({f"Student {n}_{n}_assignsubmission_file_/a.xlsx": b"%d" % n for n in range(10)})
    (tmp_path / "all.zip").write_bytes(zipped({"monday.zip": inner}))
    assert [each.refused for each in collect(tmp_path / "all.zip")] == [""] * 10


def test_what_a_killed_grading_left_is_cleared(room: Path, tmp_path: Path) -> None:
    """A grading that was killed has put files among those of nobody, and had not yet listed them."""
    unknown = tmp_path / "graded" / "submissions" / "_unknown"
    unknown.mkdir(parents=True)
    (unknown / f"{'0' * 16}.xlsx").write_bytes(b"left behind")
    (unknown / "notes of mine.xlsx").write_bytes(b"kept")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.xlsx").write_bytes((room / "ada.xlsx").read_bytes())
    assert grade(tmp_path / "in", room, tmp_path / "graded").exit_code == 0
    assert [path.name for path in unknown.iterdir()] == ["notes of mine.xlsx"]


def test_a_grading_that_ends_before_all_is_collected_keeps_nothing(tmp_path: Path) -> None:
    def found() -> Iterator[Collected]:
        yield Collected("a.xlsx", b"a", None)
        raise ClassError("too much")

    with pytest.raises(ClassError):
        Store(tmp_path).add(found())
    assert not list((tmp_path / "submissions").rglob("*.xlsx"))


@POSIX
def test_names_pipes_and_times_of_any_kind_end_no_grading(room: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    odd = os.fsencode(folder) + b"/caf\xe9.xlsx"
    Path(os.fsdecode(odd)).write_bytes((room / "ada.xlsx").read_bytes())
    os.utime(odd, (10**13, 10**13))
    os.mkfifo(folder / "pipe.xlsx")
    (folder / "gone.xlsx").symlink_to(tmp_path / "nowhere")
    (folder / "folder.xlsx").mkdir()
    ended = grade(folder, room, tmp_path / "graded")
    assert ended.exit_code == 3
    found = Results.load(tmp_path / "graded")
    assert (found.results[0].total, found.results[0].file) == (1, "caf\\udce9.xlsx")
    assert sorted((flag.says, *flag.files) for flag in found.flags) == [
        ("it is a link or a device, which is not followed", "gone.xlsx"),
        ("it is a link or a device, which is not followed", "pipe.xlsx"),
    ]
    again = grade(
        folder, room, tmp_path / "graded", "--force", "--assign", f"{os.fsdecode(b'caf' + bytes([0xE9]))}.xlsx={EVE}"
    )
    assert again.exit_code == 3
    assert Results.load(tmp_path / "graded").results[1].file == "caf\\udce9.xlsx"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (undecodable, "is a damaged zip ('utf-8' codec can't decode byte 0xff in position 1: invalid start byte)"),
        (lambda: zipped({"a": b""}).replace(b"PK\x01\x02", b"PK\x01\x03"), "is a damaged zip (Bad magic number for"),
    ],
)
def test_a_source_of_which_nothing_can_be_listed_is_refused(
    tmp_path: Path, make: Callable[[], bytes], says: str
) -> None:
    (tmp_path / "s.zip").write_bytes(make())
    with pytest.raises(ClassError) as refused:
        list(collect(tmp_path / "s.zip"))
    assert says in str(refused.value)
    assert str(refused.value).endswith("download it again")


@POSIX
def test_a_pipe_is_no_source(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.zip")
    with pytest.raises(
        ClassError, match="is a pipe or a device: give a folder, or the zip that the platform lets you download"
    ):
        list(collect(tmp_path / "s.zip"))


def test_a_folder_that_cannot_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "eve").mkdir()
    listing = os.scandir

    def refusing(path: str) -> object:
        if os.fspath(path).endswith("eve"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return listing(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert [(each.name, each.refused) for each in collect(tmp_path)] == [
        ("eve", "the folder cannot be read (permission denied)")
    ]


@POSIX
def test_the_files_of_a_submission_share_their_time(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(Key.load(room / "key.json"), GradingPolicy.model_validate({}))

    def endless(*given: object) -> None:
        try:
            while True:
                time.sleep(0.01)
        except Exception:  # as readers of damaged files do
            return

    monkeypatch.setattr("blueprint.classes.worker.SECONDS", 0.2)
    monkeypatch.setattr("blueprint.classes.worker.read_submission", endless)
    began = time.monotonic()
    found = worker.work_on([Job(room / "ada.xlsx", submission="x")] * 3)
    assert time.monotonic() - began < 5
    assert {each.refused for each in found} == {"its submission takes more than 0 seconds to be read: ask for it again"}
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_no_time_at_all_is_over_at_once() -> None:
    with pytest.raises(OutOfTime), alarmed(0):
        raise AssertionError
