"""The page Puzzles: its code prints what it says, its commands what stands below them, and the workbook holds it.

When a row has moved or a symbol is new, `python -m tests.test_puzzles` writes the commands' present outputs into the page.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import NamedTuple

import openpyxl
import pytest
from click.testing import CliRunner

from blueprint import Book
from blueprint.cli import main
from tests.page.workshop import made
from tests.test_docs import DOCS, FENCED, decimals, run

PAGE = DOCS / "puzzles.md"
PUZZLES = PAGE.read_text(encoding="utf-8")
COMMAND = re.compile(r"(?<=```text\n)\$ (blueprint explain .*)\n((?:(?!```).*\n)*)")
TARGET = re.compile(r"^Look at `([^`]+)` on \*([^*]+)\*:\n\n```text\n\$ blueprint explain (.*)\n", flags=re.MULTILINE)
PLACE = re.compile(r" = (\S+)  \((\S+), (?:'([^']+)'|(\w+))!([A-Z]+\d+)\)")


class Target(NamedTuple):
    """Where a puzzle sends its reader: a block, the sheet on which it stands, and the command that shows it."""

    block: str
    sheet: str
    arguments: tuple[str, ...]

    def book(self) -> Book:
        """Makes the workbook that the command speaks of."""
        options = list(zip(self.arguments, self.arguments[1:], strict=False))
        numbers = [value for option, value in options if option == "--numbers"]
        return made(*(value for option, value in options if option == "--set"), numbers=(numbers or ["default"])[0])


TARGETS = [Target(block, sheet, tuple(shlex.split(line))) for block, sheet, line in TARGET.findall(PUZZLES)]


@cache
def printed(line: str) -> str:
    """Returns what a command prints; it must succeed."""
    result = CliRunner().invoke(main, shlex.split(line)[1:], catch_exceptions=False, prog_name="blueprint")
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def refreshed(page: str) -> str:
    """Returns the page with the present output below every command."""
    return COMMAND.sub(lambda found: f"$ {found[1]}\n{printed(found[1])}", page)


def unprinted(page: str) -> set[str]:
    """Returns the numbers with a decimal point that a puzzle's sentences quote, but nothing in it prints or types."""
    return {number for entry in page.split("\n## ") for number in _unprinted(entry)}


def _unprinted(entry: str) -> set[str]:
    sentences = re.sub(r"`[^`]*`|version 1\.11", "", re.sub(r"```\w+\n.*?```", "", entry, flags=re.DOTALL))
    shown = numbers("\n".join([*FENCED.findall(entry), *(output for _, output in COMMAND.findall(entry))]))
    taken_off = {
        number for number in numbers(" ".join(re.findall(r"− (\d+\.\d+)", sentences))) if f"-{number}" in shown
    }
    return numbers(sentences) - shown - taken_off


def numbers(text: str) -> set[str]:
    """Returns the decimal numbers of a text, all spelled alike: 0.4000 is 0.4."""
    return {str(float(number)) for number in decimals(text)}


def test_the_code_prints_what_the_page_says() -> None:
    results = run(PUZZLES)
    assert results.failed == 0
    assert results.attempted >= 40


def test_the_commands_print_what_the_page_says() -> None:
    assert len(COMMAND.findall(PUZZLES)) == 8
    assert refreshed(PUZZLES) == PUZZLES


def test_the_sentences_quote_what_was_printed() -> None:
    assert unprinted(PUZZLES) == set()


@pytest.mark.parametrize("name", ["puzzles", "puzzles-grpo", "puzzles-dpo"])
def test_the_page_begins_with_the_question(name: str) -> None:
    """The code that all puzzles share is folded away: a reader comes to the first question at once."""
    head = (DOCS / f"{name}.md").read_text(encoding="utf-8").partition("\n## 1. ")[0]
    shown, folded, _ = re.split(r"^<details>|</details>$", head, flags=re.MULTILINE)
    assert len(shown.splitlines()) <= 5
    assert "```" not in shown
    assert "```python\n" in folded


def test_every_puzzle_has_a_target_and_threads() -> None:
    entries = re.split(r"^## ", PUZZLES, flags=re.MULTILINE)[1:]
    assert [entry[:2] for entry in entries] == [f"{number}." for number in range(1, 9)]
    for entry in entries:
        assert entry.splitlines()[0].endswith("?")
        assert len(TARGET.findall(entry)) == 1
        assert len(re.findall(r"^\*Threads:\* ", entry, flags=re.MULTILINE)) == 1
        assert re.search(r"\w#\d+", entry.partition("*Threads:*")[2])


@pytest.mark.parametrize("target", TARGETS, ids=[target.block for target in TARGETS])
def test_the_workbook_holds_the_number_where_the_puzzle_says(target: Target, tmp_path: Path) -> None:
    found = PLACE.search(printed(shlex.join(["blueprint", "explain", *target.arguments])))
    assert found is not None
    number, block, quoted, plain, cell = found.groups()
    assert (block, quoted or plain) == (target.block, target.sheet)
    book, path = target.book(), tmp_path / "built.xlsx"
    book.save(path)
    sheet = openpyxl.load_workbook(path, data_only=True, read_only=True)[target.sheet]
    at = int(re.sub(r"\D", "", cell))
    row = {
        each.coordinate: each.value for (*cells,) in sheet.iter_rows(at, at) for each in cells if each.value is not None
    }
    assert row[cell] == pytest.approx(float(number.replace("−", "-")), abs=0.00005)
    assert book.blocks[block].about.meaning in row.values()


@pytest.mark.parametrize(
    ("puzzle", "right", "wrong"),
    [
        (1, "kl.k3 0.0613 0.0156\n", "kl.k3 0.0613 0.0157\n"),
        (5, "0.3532 0.2908 0.3532\n", "0.3532 0.2909 0.3532\n"),
        (5, "for choice in (max, min)", "for choice in (min, max)"),
    ],
)
def test_rot_in_the_code_is_seen(puzzle: int, right: str, wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    head, *entries = PUZZLES.split("\n## ")
    assert right in entries[puzzle - 1]
    assert run(head + entries[puzzle - 1].replace(right, wrong)).failed > 0


@pytest.mark.parametrize(("right", "wrong"), [("(6/5) = 1.0954", "(6/5) = 1.0955"), ("= −0.0244.", "= 0.0244.")])
def test_rot_in_the_sentences_is_seen(right: str, wrong: str) -> None:
    assert right in PUZZLES
    assert len(unprinted(PUZZLES.replace(right, wrong))) == 1


def test_rot_below_a_command_is_seen() -> None:
    assert "\n  exp(0) = 1\n" in PUZZLES
    assert refreshed(PUZZLES.replace("\n  exp(0) = 1\n", "\n  exp(0) = 2\n")) == PUZZLES


def test_links_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", PUZZLES) if not link.startswith("https://")]
    assert links
    assert [link for link in links if not (DOCS / link).exists()] == []


if __name__ == "__main__":
    PAGE.write_text(refreshed(PUZZLES), encoding="utf-8")
