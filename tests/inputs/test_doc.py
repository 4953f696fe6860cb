"""The page about numbers files: its files can be loaded, its commands run, its origins are those that are printed."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from blueprint.inputs import SCHEMA_FILE, load, toml_of
from blueprint.workbooks.rlhf_ppo.conventions_and_update import WeightNumbers
from tests.commands import run_command
from tests.page.workshop import made

PAGE = (Path(__file__).parents[2] / "docs" / "numbers-file.md").read_text(encoding="utf-8")
COMMANDS = [line.strip() for line in PAGE.splitlines() if line.startswith("    blueprint ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    for read in ("mine.xlsx", "rlhf_ppo.xlsx"):
        if read in command.partition("-o")[0]:
            made().save(Path(read))
    if "mine.toml" in command.partition("-o")[0]:
        Path("mine.toml").write_text(toml_of(load()), encoding="utf-8")
    _, *arguments = shlex.split(command, comments=True)
    result = run_command(*arguments)
    assert result.exit_code == 0, result.output


def test_the_page_has_commands() -> None:
    assert len(COMMANDS) >= 7


def test_its_example_of_responses_can_be_loaded(tmp_path: Path) -> None:
    example = next(each for each in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL) if "responses" in each)
    (tmp_path / "mine.toml").write_text(example, encoding="utf-8")
    loaded = load(tmp_path / "mine.toml")
    assert isinstance(loaded, WeightNumbers)
    assert loaded.responses == (("or", "not", "to", "be", "<eos>"), ())


def test_its_lines_are_those_that_are_written() -> None:
    lines = next(each for each in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL) if "kl_coef" in each).splitlines()
    assert tomllib.loads("\n".join(lines)) == {"ppo": {"kl_coef": 0.2}}
    written = run_command("numbers", "--set", "ppo.kl_coef=0.2").stdout.splitlines()
    assert set(lines) - set(written) == set()


def test_it_names_the_schema_file() -> None:
    assert f"#:schema ./{SCHEMA_FILE}\n" in PAGE
