"""What commands refuse of their words, in one sentence each, which stand in refused.toml; nothing is written, nothing is lost."""

import shlex
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.commands import run_command
from tests.page.workshop import save_made

TABLE: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("refused.toml").read_text(encoding="utf-8"))
BEFORE = {"build": "--no-proof --force -o there.xlsx", "worksheet": "--numbers very-very-sleepy --no-proof -o s.xlsx"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workbook, somebody's files, links to them, a step of a run, and a file that is no TOML."""
    folder = tmp_path_factory.mktemp("refused")
    save_made(folder / "mine.xlsx")
    for ending in ("xlsx", "toml"):
        (folder / f"there.{ending}").write_bytes(b"somebody's")
        (folder / f"link.{ending}").symlink_to(f"there.{ending}")
    (folder / "nowhere.xlsx").symlink_to("gone.xlsx")
    if find_spec("torch") is not None:
        from tests.test_cli_verify import of
        from tests.verifying.dumps import FIRST

        of(FIRST["verl"], folder / "run.npz")
    (folder / "corrupt.toml").write_text("level = ", encoding="utf-8")
    return folder


def files_in(folder: Path) -> dict[str, bytes]:
    """Returns what lies in a folder; of a link that leads nowhere, nothing."""
    return {path.name: path.read_bytes() if path.exists() else b"" for path in folder.iterdir()}


@pytest.mark.parametrize("command", TABLE)
def test_what_a_command_cannot_do_is_refused_word_for_word(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    if command.startswith("verify"):
        pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")
    monkeypatch.chdir(folder)
    before = files_in(folder)
    for words, sentence in TABLE[command].items():
        said = run_command(*shlex.split(f"{command} {BEFORE.get(command, '')} {words}"))
        assert (said.exit_code, said.stdout, said.stderr) == (2, "", f"Error: {sentence}\n"), words
        assert files_in(folder) == before, words


def test_the_table_is_whole() -> None:
    assert {command: len(table) for command, table in TABLE.items()} == {
        "build": 12, "explain": 36, "diff": 2, "page": 4, "serve": 2, "numbers": 15, "worksheet": 10,
        "build --numbers very-very-sleepy --no-proof": 5, "presets": 3, "which": 12, "verify run.npz": 11,
    }  # fmt: skip
