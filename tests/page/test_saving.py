"""A file is saved whole, and its cells are those of the writer that looks at each of them."""

import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from xlsxwriter.worksheet import Worksheet

from blueprint.book import Book
from blueprint.files import SaveError, saved_whole
from blueprint.inputs import load
from blueprint.page import cells, write
from blueprint.page.layout import Layout
from blueprint.page.write import PlainSheet
from blueprint.workbooks import blueprint_of

OLD = b"the old file"
BUILD = [sys.executable, "-m", "blueprint", "build", "--no-proof", "--force"]


def anew(numbers: str = "default") -> Book:
    """Makes a book that no test shares, so that its file is written."""
    return Book(blueprint_of(load(numbers)))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Makes a folder with an old file in it, and nothing else."""
    folder = tmp_path / "target"
    folder.mkdir()
    (folder / "book.xlsx").write_bytes(OLD)
    return folder / "book.xlsx"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows replaces no file that is open")
def test_the_old_file_is_replaced_and_never_written_to(target: Path) -> None:
    """Whoever has the old file open keeps it whole: at no moment did the new one stand half in its place."""
    with target.open("rb") as old:
        anew(numbers="very-very-sleepy").save(target)
        assert old.read() == OLD
    assert target.read_bytes() != OLD
    assert list(target.parent.iterdir()) == [target]


def assert_untouched(target: Path) -> None:
    """Asserts that the old file is whole and alone."""
    assert target.read_bytes() == OLD
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("fault", [RuntimeError, OSError, KeyboardInterrupt])
def test_a_writer_that_dies_midway_leaves_the_old_file(target: Path, fault: type[BaseException]) -> None:
    def die() -> None:
        with saved_whole(target) as unfinished:
            unfinished.write_bytes(b"half a new f")
            raise fault

    with pytest.raises(fault):
        die()
    assert_untouched(target)


def test_a_book_that_dies_midway_leaves_the_old_file(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def some_runs(layout: Layout) -> Iterator[cells.Run]:
        for number, run in enumerate(cells.runs(layout)):
            yield run
            if number == 200:
                raise MemoryError

    monkeypatch.setattr(write, "runs", some_runs)
    with pytest.raises(MemoryError):
        anew().save(target)
    assert_untouched(target)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no limit of a file's size")
def test_a_full_disk_is_said_in_one_sentence(target: Path) -> None:
    # Bytecode that is cut off at the limit would end every later process.
    command = f"ulimit -f 40; exec {sys.executable} -B -m blueprint build --no-proof -o {target}"
    ended = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert_untouched(target)
    assert "Traceback" not in ended.stderr
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)


STOPS = {
    "while it computes": "import blueprint.page.write as write\nwrite.runs = stop",
    "when it is written": "import os\nos.replace = stop",
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot be asked to kill like this")
@pytest.mark.parametrize("moment", STOPS)
def test_a_killed_build_leaves_the_old_file_and_the_next_one_tidies_up(target: Path, moment: str) -> None:
    stop = f"import time\ndef stop(*given): print('here', flush=True); time.sleep(100)\n{STOPS[moment]}"
    command = [sys.executable, "-c", f"{stop}\nfrom blueprint.cli import main\nmain()", *BUILD[3:], "-o", str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        process.send_signal(signal.SIGKILL)
    assert target.read_bytes() == OLD
    assert len(list(target.parent.iterdir())) == 2
    anew(numbers="very-very-sleepy").save(target)
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_formula_of_what_is_no_number_is_not_written(target: Path, value: float) -> None:
    book = anew(numbers="very-very-sleepy")
    advantages = np.array(book.values.arrays[book.blocks["advantages"]])
    advantages[0, 3] = value
    book.values.arrays[book.blocks["advantages"]] = advantages
    with pytest.raises(SaveError, match=f"would hold {value}, which is no number"):
        book.save(target)
    assert target.read_bytes() == OLD


def test_a_directory_as_target(tmp_path: Path) -> None:
    with pytest.raises(SaveError) as caught:
        anew(numbers="very-very-sleepy").save(tmp_path)
    assert (
        str(caught.value) == f"{tmp_path} is a directory: give the name of a file, such as {tmp_path / 'workbook.xlsx'}"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SaveError) as caught:
        anew(numbers="very-very-sleepy").save(tmp_path / "there" / "book.xlsx")
    assert str(caught.value) == (
        f"{tmp_path / 'there' / 'book.xlsx'} cannot be written: there is no folder {tmp_path / 'there'}"
    )


def test_a_folder_that_is_a_file(target: Path) -> None:
    with pytest.raises(SaveError, match=r"book.xlsx/new.xlsx cannot be written: .*") as caught:
        anew(numbers="very-very-sleepy").save(target / "new.xlsx")
    assert "\n" not in str(caught.value)
    assert_untouched(target)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="no permission binds the administrator")
def test_a_folder_in_which_nothing_may_be_written(target: Path) -> None:
    target.parent.chmod(0o555)
    try:
        with pytest.raises(SaveError, match=r"book.xlsx cannot be written: permission denied"):
            anew(numbers="very-very-sleepy").save(target)
    finally:
        target.parent.chmod(0o755)
    assert_untouched(target)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="only some systems have pipes with names")
def test_a_target_that_is_no_ordinary_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # stands for /dev/null, which an administrator would otherwise replace by a workbook
    with pytest.raises(SaveError):
        anew(numbers="very-very-sleepy").save(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def built(path: Path, **environment: str) -> bytes:
    """Builds the default workbook in a process of its own and returns its bytes."""
    subprocess.run(
        [*BUILD, "-o", str(path)], env=os.environ | environment, check=True, stdout=subprocess.DEVNULL, timeout=100
    )
    return path.read_bytes()


def test_the_same_numbers_give_the_same_bytes_in_two_processes(tmp_path: Path) -> None:
    one = built(tmp_path / "one.xlsx", PYTHONHASHSEED="1", TZ="UTC")
    other = built(tmp_path / "other.xlsx", PYTHONHASHSEED="2", TZ="Asia/Tokyo", LC_ALL="C")
    assert one == other


def created(path: Path) -> str:
    """Returns when a file says that it was made."""
    with zipfile.ZipFile(path) as archive:
        found = re.search(r"<dcterms:created[^>]*>(.*?)<", archive.read("docProps/core.xml").decode())
    assert found is not None
    return found[1]


def test_source_date_epoch_is_honoured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = anew(numbers="very-very-sleepy")
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    book.save(tmp_path / "plain.xlsx")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    book.save(tmp_path / "dated.xlsx")
    assert created(tmp_path / "plain.xlsx") == "2026-01-01T00:00:00Z"
    assert created(tmp_path / "dated.xlsx") == "2001-09-09T01:46:40Z"


@pytest.mark.parametrize("moment", ["yesterday", "99999999999999999999"])
def test_a_source_date_epoch_that_is_no_moment_is_said_in_one_sentence(target: Path, moment: str) -> None:
    environment = os.environ | {"SOURCE_DATE_EPOCH": moment}
    ended = subprocess.run(
        [*BUILD, "-o", str(target)], env=environment, capture_output=True, text=True, check=False, timeout=100
    )
    assert_untouched(target)
    assert "Traceback" not in ended.stderr
    assert "SOURCE_DATE_EPOCH" in ended.stderr
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)


# The sheets that write their cells at once give the same bytes as the writer that looks at every formula and cell.


@pytest.mark.parametrize("numbers", ["very-very-sleepy", "ten-libraries", "reinforce"])
def test_cells_are_the_writer_s_own(numbers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    anew(numbers=numbers).save(short := tmp_path / "short.xlsx")
    monkeypatch.setattr(PlainSheet, "_write_cell", Worksheet._write_cell)
    monkeypatch.setattr(PlainSheet, "_prepare_formula", Worksheet._prepare_formula)
    monkeypatch.setattr(PlainSheet, "formula", Worksheet.write_formula)
    anew(numbers=numbers).save(full := tmp_path / "full.xlsx")
    with zipfile.ZipFile(short) as one, zipfile.ZipFile(full) as other:
        assert one.namelist() == other.namelist()
        assert not [name for name in one.namelist() if one.read(name) != other.read(name)]
