"""The command `explain`, as a stranger types it: what it prints, and how it refuses files and depths."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from blueprint import Book
from blueprint.commands.explain import EXAMPLES
from tests.commands import run_command
from tests.page.workshop import made


@pytest.fixture(scope="module")
def default() -> Book:
    """Makes the default book."""
    return made()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, default: Book) -> Path:
    """Saves it."""
    path = tmp_path_factory.mktemp("explain") / "mine.xlsx"
    default.save(path)
    return path


@pytest.fixture(autouse=True)
def folder(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs every test beside the workbook."""
    monkeypatch.chdir(saved.parent)


call = partial(run_command, "explain")


def printed(*arguments: str) -> str:
    """Returns what the command prints; it must succeed."""
    result = call(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout.removesuffix("\n")


def test_it_prints_what_the_book_explains(default: Book) -> None:
    told = printed("advantages", "--episode", "1", "--token", "5")
    assert told == str(default.explain("advantages", n=1, t=5))
    assert "(−0.3763) + 1·0.9·0.8·0.9767 = 0.3269" in told
    assert told.startswith("episode n = 1, position t = 5: reads “very”, writes “very”, m = 1\n")


@pytest.mark.parametrize("named", ["advantages@n=1,t=5", "advantages@episode=1,token=5"])
def test_a_cell_is_asked_for_by_the_name_that_worksheets_print(default: Book, named: str) -> None:
    assert printed(named) == str(default.explain("advantages", n=1, t=5))


def test_what_the_page_writes_in_column_4_is_what_token_4_is(default: Book) -> None:
    """The help promises it: column 4 reads the last word of the prompt and writes the first of the response."""
    prompt = default.values[default.blocks["given"]][0]
    assert [word for word in prompt if word][-1] == "is"
    assert printed("mask", "--episode", "1", "--token", "4").startswith(
        "episode n = 1, position t = 4: reads “is”, writes “very”"
    )
    assert printed("mask", "--episode", "1", "--token", "3", "--depth", "1").endswith("opened: --depth 2 goes one step "
        "further, --depth all down to the inputs.")  # fmt: skip
    assert default.values.cell(default.blocks["mask"], 0, 2) == 0


def test_the_options_say_which_cell(default: Book) -> None:
    told = str(default.explain("old.log_p", n=1, t=4, v=5))
    assert printed("old.log_p", "--episode", "1", "--decision", "4", "--word", "very") == told
    assert printed("old.log_p", "--at", "n=1", "--at", "t=4", "--word", "5") == told
    assert printed("old.memory", "--episode", "2", "--token", "1", "--at", "j=h3").startswith(
        "episode n = 2, position t"
    )


def test_numbers_and_settings_are_those_of_build() -> None:
    assert "γ = 0.9  (gamma, " in printed("gamma")
    assert "γ = 0.95  (gamma, " in printed("gamma", "--set", "ppo.gamma=0.95")
    sleepy = printed("advantages", "--numbers", "very-very-sleepy", "--episode", "1", "--token", "1")
    assert "0.09 + 1·0.9·0.8·0.97 = 0.7884" in sleepy


LIBRARY = ["library.advantages", "--episode", "1", "--token", "3", "--at", "l=verl"]


def test_numbers_may_stand_before_the_block() -> None:
    of = made(numbers="ten-libraries")
    told = str(of.explain("advantages", n=1, t=3))
    assert printed("ten-libraries", "advantages", "--episode", "1", "--token", "3") == told
    assert printed("advantages", "--numbers", "ten-libraries", "--episode", "1", "--token", "3") == told
    assert printed("ten-libraries", of.show("advantages", n=1, t=3).cell) == told
    assert printed("ten-libraries", *LIBRARY) == str(of.explain("library.advantages", n=1, t=3, l="verl"))
    assert "A[“verl”, 1, 3] = −0.13  (library.advantages, " in printed("ten-libraries", *LIBRARY)


def test_classic_ppo_and_the_controller_are_explained() -> None:
    told = printed("classic", "advantages", "--environment", "1", "--step", "3", "--preset", "sb3")
    assert told == str(made("preset=sb3", numbers="classic").explain("advantages", n=1, t=3))
    assert told.startswith("environment n = 1, step t = 3: ")
    beta = printed("kl-controller", "kl_coef.after", "--at", "u=3", "--set", "controller.target=3")
    assert beta == str(made("controller.target=3", numbers="kl-controller").explain("kl_coef.after", u=3))


def test_a_response_goes_by_its_own_word() -> None:
    told = printed("reward-model", "score", "--response", "2")
    assert told == printed("reward-model", "score", "--episode", "2")
    assert "r[2] = 0.2131" in told


def test_conventions_are_those_of_build() -> None:
    asked = ["--preset", "verl", "--compare", "trl_1.12,openrlhf", "--set", "ppo.gamma=0.5"]
    of = made("preset=verl", "compare=trl_1.12,openrlhf", "ppo.gamma=0.5")
    assert printed("total_loss", *asked) == str(of.explain("total_loss"))
    assert "preset_no_l[“openrlhf”] = 4  (library.number, " in printed("library.number", "--at", "l=openrlhf", *asked)
    assert "preset_choice = 0  (preset.number, " in printed("preset.number", "--conventions", "live")
    assert call("preset.number").exit_code == 2


def test_a_file_with_live_conventions_is_asked_by_address_and_by_name() -> None:
    of = made("text.episodes=[1]", "compare=openai,verl", numbers="ten-libraries")
    of.save("ten.xlsx")
    told = of.explain("library.advantages", n=1, t=3, l="verl")
    assert printed("ten.xlsx", *LIBRARY) == printed("ten.xlsx", told.cell) == str(told)
    assert json.loads(printed("ten.xlsx", *LIBRARY, "--json")) == told.to_dict()
    assert printed("ten.xlsx", *LIBRARY, "--latex") == told.latex()
    assert r"{A}_{\text{``verl''}, 1, 3} &= " in told.latex()


@pytest.mark.parametrize("depth", ["1", "3", "all"])
def test_the_depth_is_taken(default: Book, depth: str) -> None:
    expected = default.explain("policy_loss", depth="all" if depth == "all" else int(depth))
    assert printed("policy_loss", "--depth", depth) == str(expected)


def test_json_and_latex(default: Book) -> None:
    told = default.explain("advantages", n=1, t=5)
    arguments = ["advantages", "--episode", "1", "--token", "5"]
    assert json.loads(printed(*arguments, "--json")) == told.to_dict()
    assert printed(*arguments, "--latex") == told.latex()


def test_a_file_is_asked_by_address_and_by_name(default: Book) -> None:
    told = default.explain("advantages", n=1, t=5)
    assert printed("mine.xlsx", told.cell) == str(told)
    assert printed("mine.xlsx", told.cell.replace("'", "").lower()) == str(told)
    assert printed("mine.xlsx", "advantages", "--episode", "1", "--token", "5") == str(told)
    assert printed(told.cell) == str(told)


@pytest.mark.parametrize("depth", ["0", "-1", "deep", "1.5"])
def test_a_depth_that_is_none_is_refused(depth: str) -> None:
    result = call("gamma", f"--depth={depth}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{depth} is neither a number of steps, 1 or more, nor the word all" in result.stderr


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("no.xlsx", "no.xlsx does not exist"),
        ("text.xlsx", r"text\.xlsx is no workbook in xlsx format \(it begins as no \.xlsx file does\): name one .*"),
        ("folder.xlsx", r"folder\.xlsx .*"),
    ],
)
def test_a_file_that_cannot_be_read_is_another_exit_code(file: str, sentence: str) -> None:
    Path("text.xlsx").write_text("text", encoding="utf-8")
    Path("folder.xlsx").mkdir(exist_ok=True)
    result = call(file, "total_loss")
    assert (result.exit_code, result.stdout) == (3, "")
    assert re.fullmatch(f"Error: {sentence}\n", result.stderr)


def test_the_examples_of_the_help_run() -> None:
    lines = [line.strip().removeprefix("blueprint explain ") for line in EXAMPLES.splitlines()[2:] if line.strip()]
    assert len(lines) >= 7
    for line in lines:
        assert call(*(word.strip("'") for word in line.split())).exit_code == 0, line


def start(*arguments: str, code: str = "", encoding: str = "utf-8") -> str:
    """Runs the command, or some Python before it, in a process of its own, and returns what it prints."""
    program = (
        f"import sys\n{code}\nfrom blueprint.cli import main\nmain(['explain', *sys.argv[1:]], prog_name='blueprint')"
    )
    command = [sys.executable, "-c", program, *arguments]
    said = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding}, check=False)
    assert (said.returncode, said.stderr) == (0, b"")
    return said.stdout.decode(encoding)


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["gamma"], {"torch", "pandas", "openpyxl", "ironcalc"}),  # One page is laid out: XlsxWriter measures its words
        (["mine.xlsx", "gamma"], {"torch", "pandas", "ironcalc", "xlsxwriter"}),
    ],
)
def test_only_what_it_needs_is_loaded(arguments: list[str], unneeded: set[str]) -> None:
    said = start(*arguments, code="import atexit\natexit.register(lambda: print(*sys.modules))")
    assert said.startswith("γ = 0.9  (gamma, Inputs!")
    assert set(said.splitlines()[-1].split()) & unneeded == set()


@pytest.mark.parametrize("encoding", ["cp437", "cp1252"])
def test_a_console_without_greek_letters_spells_them_out(encoding: str) -> None:
    said = start("advantages", "--episode", "1", "--token", "5", "--depth", "3", encoding=encoding)
    assert "?" not in said
    if encoding == "cp1252":
        assert "delta[n, t] = m[n, t]·(r[n, t] + gamma·V_old[n, t + 1] - V_old[n, t])" in said
