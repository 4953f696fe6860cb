"""The command `blueprint numbers`: what it writes, prints and refuses, and that nothing is lost."""

from __future__ import annotations

import json
import os
import tomllib
from functools import partial
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from blueprint.inputs import SCHEMA_FILE, load
from tests.commands import run_command
from tests.inputs.equal import differing
from tests.page.workshop import made

MINE = Path("mine.toml")


pytestmark = pytest.mark.usefixtures("folder")


call = partial(run_command, "numbers")


def files() -> list[str]:
    """Lists the files of the folder, unfinished ones too."""
    return sorted(path.name for path in Path().iterdir())


def test_a_file_and_its_schema_are_written() -> None:
    result = call("-o", "mine.toml")
    assert result.exit_code == 0
    assert result.stdout == (
        "mine.toml: all numbers of The old dog is …; blueprint build --numbers makes a workbook of it\n"
        f"{SCHEMA_FILE}: beside it, for editors that complete and check TOML\n"
    )
    assert files() == [SCHEMA_FILE, "mine.toml"]
    assert MINE.read_text(encoding="utf-8").startswith(f"#:schema ./{SCHEMA_FILE}\n")
    checker = Draft202012Validator(json.loads(Path(SCHEMA_FILE).read_text(encoding="utf-8")))
    assert list(checker.iter_errors(tomllib.loads(MINE.read_text(encoding="utf-8")))) == []


def test_what_is_written_is_what_is_built() -> None:
    overrides = ["sizes.hidden=3", "seed=5", "ppo.gamma=0.25"]
    assert (
        call("--preset", "verl", *(word for each in overrides for word in ("--set", each)), "-o", MINE).exit_code == 0
    )
    Path("default.toml").write_bytes(MINE.read_bytes())
    assert differing(load("default", ["preset=verl", *overrides]), load("default.toml")) == []


def test_parts_that_no_longer_fit_are_named() -> None:
    found = call("--set", "sizes.max_new_tokens=3", "-o", MINE).stdout
    assert "drawn anew from the seed, because they no longer fit: rollout.draws\n" in found


def test_without_a_file_it_is_printed_as_utf8() -> None:
    assert call("-o", MINE).exit_code == 0
    assert call().stdout_bytes == MINE.read_bytes()
    assert call("classic").stdout.splitlines()[4] == (
        'level = "classic"               # where the numbers begin: rewards are given, nothing is drawn'
    )


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("# gamma = 0.9                   # γ: discount of later rewards (RLHF: often 1); 0 to 1", "default"),
        ('# kl_estimator = "k1"           # KL estimate that enters the reward; k1, k2, k3, abs or full', "default"),
        (
            '# dual_clip = "off"             # c: dual clip: for Â < 0 not below c · Â; 1 or more, or "off"',
            "ten-libraries",
        ),
        ("# horizon = 10000.0             # K: horizon: the larger, the slower; 1 to 1000000", "kl-controller"),
        ('# bootstrap = "done"            # which end cuts V(next) off; done or terminated', "classic"),
    ],
)
def test_settings_say_what_they_mean(line: str, level: str) -> None:
    assert line in call(level).stdout.splitlines()


@pytest.mark.parametrize("level", ["default", "classic", "kl-controller", "ten-libraries", "very-very-sleepy"])
def test_no_key_is_without_its_meaning(level: str) -> None:
    lines = call(level).stdout.splitlines()
    for number, line in enumerate(lines):
        key = line.removeprefix("# ").split(" = ")[0]
        if " = " in line and key.isidentifier() and not line.startswith("    "):
            behind = line.partition("  # ")[2]
            above = lines[number - 1] if lines[number - 1].startswith("# ") else ""
            assert any(letter.isalpha() for letter in behind or above), line


def test_where_the_numbers_come_from() -> None:
    MINE.write_text('level = "weights"\nseed = 7\n[ppo]\ngamma = 0.5\n', encoding="utf-8")
    result = call(MINE, "--show", "--preset", "verl", "--set", "ppo.kl_coef=0.3")
    assert result.exit_code == 0
    found = {line.split()[0]: line.split("  ")[-1].strip() for line in result.stdout.splitlines()}
    expected = {
        "seed": "mine.toml", "ppo.gamma": "mine.toml", "ppo.kl_coef": "--set", "preset": "--preset",
        "ppo.vf_coef": "preset verl", "loss.dual_clip": "preset verl", "old.E": "seed 7", "sizes.hidden": "default",
    }  # fmt: skip
    assert {key: found[key] for key in expected} == expected
    assert files() == ["mine.toml"]


def test_the_schema_is_printed_or_written() -> None:
    printed = call("--schema")
    assert json.loads(printed.stdout)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert call("--schema", "-o", "here.json").exit_code == 0
    assert Path("here.json").read_bytes() == printed.stdout_bytes
    described = json.loads(printed.stdout)["$defs"]["weights"]["properties"]["ppo"]["properties"]["gamma"]
    assert described["description"] == "γ: discount of later rewards (RLHF: often 1)"


def test_the_schema_that_lies_there_is_not_touched() -> None:
    assert call("-o", MINE).exit_code == 0
    assert f"{SCHEMA_FILE}: lies beside it already\n" in call("-o", MINE, "--force").stdout
    Path(SCHEMA_FILE).write_text("{}", encoding="utf-8")
    found = call("-o", MINE, "--force").stdout.splitlines()[-1]
    assert found == (
        f"{SCHEMA_FILE}: is there already, but is not this version's; "
        f"blueprint numbers --schema --force -o {SCHEMA_FILE} renews it"
    )
    assert Path(SCHEMA_FILE).read_text(encoding="utf-8") == "{}"


@pytest.mark.parametrize("name", ["mine.xlsx", "MINE.XLSX", "mine.other"])
def test_a_workbook_gives_the_numbers_that_are_typed_in_it(name: str) -> None:
    made("ppo.gamma=0.25").save(Path("made.xlsx"))
    os.replace("made.xlsx", name)
    assert call(name, "-o", MINE).exit_code == 0
    assert differing(load("default", ["ppo.gamma=0.25"]), load(MINE)) == ["name"]
    shown = call(name, "--show", "--set", "ppo.gamma=0.5").stdout.splitlines()
    assert [line.split()[1:] for line in shown if line.startswith("ppo.gamma ")] == [["0.5", "--set"]]
    assert [line.split()[-1] for line in shown if line.startswith("old.E ")] == [name]


def refused(*arguments: str | Path) -> str:
    """Returns the sentence of a refusal."""
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    return result.stderr.removeprefix("Error: ").rstrip("\n")


def test_a_file_that_is_there_is_replaced_where_that_is_asked_for() -> None:
    MINE.write_text("mine", encoding="utf-8")
    assert call("-o", MINE, "--force").exit_code == 0
    assert differing(load(), load(MINE)) == ["name"]


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_directory_is_no_file(force: tuple[str, ...]) -> None:
    MINE.mkdir()
    assert refused("-o", MINE, *force).startswith("mine.toml is a directory: give the name of a file")
    assert files() == ["mine.toml"]


def test_a_folder_that_is_not_there() -> None:
    path = Path("none") / "mine.toml"
    assert refused("-o", path) == f"{path} cannot be written: there is no folder none"


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
