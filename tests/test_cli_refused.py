"""What commands refuse of their words, in one sentence each, which stand in refused.toml; nothing is written, nothing is lost."""

import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from blueprint.cli import main
from tests.page.workshop import save_made

TABLE: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("refused.toml").read_text(encoding="utf-8"))
BEFORE = {"build": "--no-proof --force -o there.xlsx", "worksheet": "--numbers very-very-sleepy --no-proof -o s.xlsx"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workbook, somebody's file, and a file that is no TOML."""
    folder = tmp_path_factory.mktemp("refused")
    save_made(folder / "mine.xlsx")
    (folder / "there.xlsx").write_bytes(b"somebody's")
    (folder / "corrupt.toml").write_text("level = ", encoding="utf-8")
    return folder


@pytest.mark.parametrize("command", TABLE)
def test_what_a_command_cannot_do_is_refused_word_for_word(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for words, sentence in TABLE[command].items():
        said = CliRunner().invoke(main, shlex.split(f"{command} {BEFORE.get(command, '')} {words}"))
        assert (said.exit_code, said.stdout, said.stderr) == (2, "", f"Error: {sentence}\n"), words
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before, words


def test_the_table_is_whole() -> None:
    assert {command: len(table) for command, table in TABLE.items()} == {
        "build": 8, "explain": 31, "diff": 2, "page": 3, "serve": 2, "numbers": 12, "worksheet": 8,
    }  # fmt: skip
