"""What platforms deliver: folders and zips of any depth, with litter, and with what somebody has put there on purpose."""

import io
import os
import stat
import zipfile
from pathlib import Path

import pytest

from blueprint.classes import ClassError, submissions_folder
from blueprint.classes.submissions_folder import collect


def zipped(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as target:
        for name, each in files.items():
            target.writestr(name, each)
    return content.getvalue()


def names(source: Path) -> dict[str, str]:
    """Returns what was collected: by name its content, or why there is none."""
    return {each.name: each.refused or each.content.decode() for each in collect(source)}


FILES = {
    "Ada Lovelace_1001_assignsubmission_file_/a, b.xlsx": b"ada",
    "Zoë 🙂/=cmd.xlsx": b"zoe",
    "__MACOSX/._a.xlsx": b"litter",
    "deep/er/.DS_Store": b"litter",
    "deep/er/~$a.xlsx": b"litter",
    "deep/er/x": b"any name",
}


def test_a_zip_and_a_folder_say_the_same(tmp_path: Path) -> None:
    archive, folder = tmp_path / "s.zip", tmp_path / "s"
    archive.write_bytes(zipped(FILES))
    with zipfile.ZipFile(archive) as source:
        source.extractall(folder)
    assert names(archive) == names(folder) == {name: each.decode() for name, each in FILES.items() if each != b"litter"}
    assert [each.participant for each in collect(archive)] == ["1001", None, None]


def test_an_archive_within_is_opened_and_one_within_that_is_not(tmp_path: Path) -> None:
    inner = zipped({"x.xlsx": b"x", "deeper.zip": zipped({"y.xlsx": b"y"})})
    (tmp_path / "s.zip").write_bytes(zipped({"group.zip": inner, "broken.zip": b"no"}))
    found = {each.name: each for each in collect(tmp_path / "s.zip")}
    assert found["group.zip/x.xlsx"].content == b"x"
    assert found["group.zip/deeper.zip"].content.startswith(b"PK")  # a file like any other, which is no workbook
    assert found["broken.zip"].refused == "'broken.zip' is no zip: ask for it again"


def test_links_are_not_followed_and_names_lead_nowhere(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.xlsx")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as target:
        target.writestr(link, "/etc/passwd")
        target.writestr("../../up.xlsx", b"up")
    assert names(tmp_path / "s.zip") == {"../../up.xlsx": "up", "link.xlsx": "it is a link, which is not followed"}
    folder = tmp_path / "folder"
    folder.mkdir()
    os.symlink(tmp_path / "s.zip", folder / "a.xlsx")
    os.symlink(tmp_path, folder / "all")
    assert set(names(folder).values()) == {"it is a link or a device, which is not followed"}


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "s.zip", "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("big.xlsx", b"\0" * (submissions_folder.LARGEST_FILE + 1))
        target.writestr("good.xlsx", b"good")
    assert names(tmp_path / "s.zip") == {"big.xlsx": "it has 30 MB, and at most 30 MB are read", "good.xlsx": "good"}
    monkeypatch.setattr(submissions_folder, "MOST_FILES", 1)
    with pytest.raises(ClassError, match="holds more than 1 files, or unpacks to more than 4 GB"):
        names(tmp_path / "s.zip")


@pytest.mark.parametrize(
    ("content", "says"), [(b"no zip", "is neither a folder nor a zip"), (None, "cannot be read: no such file")]
)
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes | None, says: str) -> None:
    if content is not None:
        (tmp_path / "s.zip").write_bytes(content)
    with pytest.raises(ClassError, match=says):
        list(collect(tmp_path / "s.zip"))


@pytest.mark.parametrize("name", ["4711.xlsx", "late.ODS"])
def test_a_workbook_by_itself_is_one_submission(tmp_path: Path, name: str) -> None:
    """A workbook is a zip, too, and what is in it was marked as so many submissions."""
    with zipfile.ZipFile(tmp_path / name, "w") as target:
        target.writestr("[Content_Types].xml", b"types")
    (tmp_path / "beside.xlsx").write_bytes(b"of another student")
    (found,) = collect(tmp_path / name)
    assert (found.name, found.content, found.refused) == (name, (tmp_path / name).read_bytes(), "")


def test_of_files_that_are_not_taken_the_list_is_kept(tmp_path: Path) -> None:
    store = submissions_folder.Store(tmp_path)
    link = submissions_folder.Collected("link.xlsx", b"", None, refused="it is a link, which is not followed")
    store.add([link, link])
    kept = submissions_folder.Store(tmp_path).files
    assert [(each.names, each.stored, each.refused) for each in kept] == [(["link.xlsx"], None, link.refused)]
