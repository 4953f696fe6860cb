"""The pages of puzzles: their code prints what they say, their commands what stands below them, and the workbook holds it.

When a row has moved or a symbol is new, `python -m tests.test_puzzles` writes the commands' present outputs into the pages.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from blueprint import Book
from tests.commands import run_command
from tests.page.workshop import made, opened
from tests.test_docs import DOCS, FENCED, decimals, run


@dataclass(frozen=True)
class Page:
    """A page of puzzles.

    count: how many it has. sessions: lines of code that are run, at least.
    sentences: pieces of it, and what would be wrong there. code: the number of a puzzle, a piece of its code, and what would be.
    """

    text: str
    count: int
    sessions: int
    sentences: tuple[tuple[str, str], ...]
    code: tuple[tuple[int, str, str], ...]

    @property
    def entries(self) -> list[str]:
        """The puzzles, each from its question on."""
        return re.split(r"^## ", self.text, flags=re.MULTILINE)[1:]


def page(name: str, *given: Any) -> Page:
    return Page((DOCS / f"{name}.md").read_text(encoding="utf-8"), *given)


PAGES = {
    "puzzles": page(
        "puzzles", 8, 40, (("(6/5) = 1.0954", "(6/5) = 1.0955"), ("= −0.0244.", "= 0.0244.")),
        (
            (1, "kl.k3 0.0613 0.0156\n", "kl.k3 0.0613 0.0157\n"), (5, "0.3532 0.2908 0.3532\n", "0.3532 0.2909 0.3532\n"),
            (5, "for choice in (max, min)", "for choice in (min, max)"),
        ),
    ),
    "puzzles-dpo": page(
        "puzzles-dpo", 10, 40,
        (
            ("0.6553 for the", "0.6554 for the"), ("gives 24.85 here", "gives 24.86 here"),
            ("the mean over the tokens is 2.5286", "the mean over the tokens is 2.5287"),
        ),
        ((10, "0.7500 0.8333\n", "0.7500 0.8334\n"),),
    ),
    "puzzles-grpo": page(
        "puzzles-grpo", 10, 35,
        (("/ 47 = 0.1754", "/ 47 = 0.1755"), ("becomes 0.3093", "becomes 0.3094"), ("−0.4140,", "0.4141,")),
        ((2, "8.2434 0.1754\n", "8.2434 0.1755\n"),),
    ),
}  # fmt: skip
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


TARGETS = [
    Target(block, sheet, tuple(shlex.split(line))) for block, sheet, line in TARGET.findall(PAGES["puzzles"].text)
]


@cache
def printed(line: str) -> str:
    """Returns what a command prints; it must succeed."""
    result = run_command(*shlex.split(line)[1:])
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def refreshed(text: str) -> str:
    """Returns the page with the present output below every command."""
    return COMMAND.sub(lambda found: f"$ {found[1]}\n{printed(found[1])}", text)


def unprinted(text: str) -> set[str]:
    """Returns the numbers with a decimal point that a puzzle's sentences quote, but nothing in it prints or types."""
    return {number for entry in text.split("\n## ") for number in _unprinted(entry)}


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


@pytest.mark.parametrize("of", PAGES.values(), ids=PAGES)
def test_code_and_commands_print_what_the_page_says_and_its_sentences_quote_it(of: Page) -> None:
    results = run(of.text)
    assert results.failed == 0
    assert results.attempted >= of.sessions
    assert len(COMMAND.findall(of.text)) == of.count
    assert refreshed(of.text) == of.text
    assert unprinted(of.text) == set()


@pytest.mark.parametrize("of", PAGES.values(), ids=PAGES)
def test_the_page_begins_with_the_question(of: Page) -> None:
    """The code that all puzzles share is folded away: a reader comes to the first question at once."""
    shown, folded, _ = re.split(r"^<details>|</details>$", of.text.partition("\n## 1. ")[0], flags=re.MULTILINE)
    assert len(shown.splitlines()) <= 5
    assert "```" not in shown
    assert "```python\n" in folded


@pytest.mark.parametrize("of", PAGES.values(), ids=PAGES)
def test_every_puzzle_asks_says_where_to_look_and_who_asked(of: Page) -> None:
    assert [entry.split(".")[0] for entry in of.entries] == [str(number) for number in range(1, of.count + 1)]
    for entry in of.entries:
        assert entry.splitlines()[0].endswith("?")
        ((block, sheet, line),) = TARGET.findall(entry)
        found = PLACE.search(printed(f"blueprint explain {line}"))
        assert found is not None
        assert (found[2], found[3] or found[4]) == (block, sheet)
        assert len(re.findall(r"^\*Threads:\* ", entry, flags=re.MULTILINE)) == 1
        assert re.search(r"\w#\d+", entry.partition("*Threads:*")[2])


@pytest.mark.parametrize("target", TARGETS, ids=[target.block for target in TARGETS])
def test_the_workbook_holds_the_number_where_the_puzzle_says(target: Target, tmp_path: Path) -> None:
    found = PLACE.search(printed(shlex.join(["blueprint", "explain", *target.arguments])))
    assert found is not None
    number, block, _, _, cell = found.groups()
    book, path = target.book(), tmp_path / "built.xlsx"
    book.save(path)
    sheet = opened(path)[target.sheet]
    row = [each.value for each in sheet[sheet[cell].row] if each.value is not None]
    assert sheet[cell].value == pytest.approx(float(number.replace("−", "-")), abs=0.00005)
    assert book.blocks[block].about.meaning in row


@pytest.mark.parametrize(("of", "puzzle", "right", "wrong"), [(of, *each) for of in PAGES.values() for each in of.code])
def test_rot_in_the_code_is_seen(
    of: Page, puzzle: int, right: str, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = of.entries[puzzle - 1]
    assert right in entry
    assert run(of.text.partition("\n## ")[0] + entry.replace(right, wrong)).failed > 0


@pytest.mark.parametrize(("of", "right", "wrong"), [(of, *each) for of in PAGES.values() for each in of.sentences])
def test_rot_in_the_sentences_is_seen(of: Page, right: str, wrong: str) -> None:
    assert right in of.text
    assert len(unprinted(of.text.replace(right, wrong))) == 1


def test_rot_below_a_command_is_seen() -> None:
    text = PAGES["puzzles"].text
    assert "\n  exp(0) = 1\n" in text
    assert refreshed(text.replace("\n  exp(0) = 1\n", "\n  exp(0) = 2\n")) == text


if __name__ == "__main__":
    for each, of_it in PAGES.items():
        (DOCS / f"{each}.md").write_text(refreshed(of_it.text), encoding="utf-8")
