"""What the command `blueprint numbers` refuses, word for word, and that nothing is lost by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.inputs import load
from tests.inputs.equal import differing
from tests.test_cli_numbers import MINE, call, files


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs every test in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*arguments: str | Path) -> str:
    """Returns the sentence of a refusal."""
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    return result.stderr.removeprefix("Error: ").rstrip("\n")


def test_a_file_that_is_there_is_kept_unless_forced() -> None:
    MINE.write_text("mine", encoding="utf-8")
    assert refused("-o", MINE) == "mine.toml is there already: name another file, or replace it with --force"
    assert MINE.read_text(encoding="utf-8") == "mine"
    assert files() == ["mine.toml"]
    assert call("-o", MINE, "--force").exit_code == 0
    assert differing(load(), load(MINE)) == ["name"]


def test_a_link_is_kept_unless_forced() -> None:
    Path("other.toml").write_text("other", encoding="utf-8")
    MINE.symlink_to("other.toml")
    assert refused("-o", MINE) == (
        "mine.toml is a link to other.toml: name another file, or write through it with --force"
    )
    assert Path("other.toml").read_text(encoding="utf-8") == "other"


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_directory_is_no_file(force: tuple[str, ...]) -> None:
    MINE.mkdir()
    assert refused("-o", MINE, *force).startswith("mine.toml is a directory: give the name of a file")
    assert files() == ["mine.toml"]


def test_a_folder_that_is_not_there() -> None:
    path = Path("none") / "mine.toml"
    assert refused("-o", path) == f"{path} cannot be written: there is no folder none"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["-o", "mine.txt"],
            "mine.txt does not end in .toml, by which `blueprint build` knows a numbers file: name it so.",
        ),
        (["defualt"], "defualt: neither a built-in set of numbers nor a path ending in .toml, did you mean default?"),
        (["none.toml"], "none.toml: there is no such file; write the path of a TOML file."),
        (["--set", "ppo.kl_coeff=1", "-o", "mine.toml"], "ppo.kl_coeff: unknown key, did you mean ppo.kl_coef?"),
        (["--set", "sizes.hidden=40"], "sizes.hidden: found 40, expected 1 to 32."),
        (["--set", "gamma"], 'override "gamma": expected a key, an equals sign and a value, as in ppo.kl_coef=0.2.'),
        (["--show", "--set", "ppo.gamma=2"], "ppo.gamma: found 2, expected a number from 0 to 1."),
        (["--preset", "verll"], "preset verll: unknown, did you mean verl?"),
        (
            ["--show", "-o", "mine.toml"],
            "--show prints, and goes with neither --schema nor -o: leave one of them away.",
        ),
        (["--show", "--schema"], "--show prints, and goes with neither --schema nor -o: leave one of them away."),
        (["--schema", "classic"], "--schema describes every numbers file: leave all but -o and --force away."),
        (["--schema", "--preset", "verl"], "--schema describes every numbers file: leave all but -o and --force away."),
    ],
)
def test_refusals(arguments: list[str], sentence: str) -> None:
    assert refused(*arguments) == sentence
    assert files() == []


def test_utf16_is_refused_with_a_way_out() -> None:
    """PowerShell 5 writes it when output is redirected."""
    MINE.write_bytes(call().stdout.encode("utf-16"))
    assert refused(MINE) == (
        "mine.toml: found UTF-16 text, expected UTF-8; save it again as UTF-8 (PowerShell: write it with -o, not with >)."
    )


def test_a_disk_that_is_full_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert refused("-o", MINE) == "mine.toml cannot be written: no space left on device"
    assert files() == []


@pytest.mark.parametrize(
    ("name", "data"),
    [("none.xlsx", None), ("mine.xlsx", b"PK\x03\x04 and no more"), ("mine.toml", b"PK\x03\x04 and no more")],
)
def test_a_workbook_that_cannot_be_read(name: str, data: bytes | None) -> None:
    if data is not None:
        Path(name).write_bytes(data)
    result = call(name, "-o", "out.toml")
    assert result.exit_code == 3
    assert result.stderr.startswith(f"Error: {name}")
    assert len(result.stderr.splitlines()) == 1
    assert not Path("out.toml").exists()
