"""The page of sources: every row has a place, its workbooks and sheets are built in, its commands exist."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.commands import run_command
from tests.test_docs import DOCS
from tests.test_index import BUILT_IN, sheets_of
from tests.test_links import LINK

PAGE = (DOCS / "sources.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", flags=re.MULTILINE)
SOURCES = ("The announcement", "The long tutorial", "The deep dive", "The textbook section with labs", "The notebook")
CODE = re.compile(r"`([^`]+)`((?: \*[^*]+\*)*)")
"""A workbook or a command, and the sheets behind it."""


def rows() -> list[tuple[str, str, str]]:
    """Returns section, item and place of all rows, the heads of the tables left out."""
    found = ROW.findall(PAGE)
    return [each for each in found if each[0] not in ("section", "---")]


def places(where: str) -> list[tuple[str, list[str]]]:
    """Returns the workbooks and commands of a cell, each with the sheets behind it."""
    return [(code, re.findall(r"\*([^*]+)\*", sheets)) for code, sheets in CODE.findall(where)]


def workbooks() -> dict[str, set[str]]:
    """Returns the sheets that the page names, by the numbers of their workbook."""
    found: dict[str, set[str]] = {}
    for _, _, where in rows():
        for name, sheets in places(where):
            if not name.startswith("blueprint "):
                found.setdefault(name, set()).update(sheets)
    return found


@cache
def help_of(word: str) -> str:
    """Returns what a command says of itself; empty where there is no such command."""
    asked = run_command(word, "--help")
    return asked.output if asked.exit_code == 0 else ""


def wrong(command: str) -> str:
    """Says what is wrong with a command that the page names: the command or an option is none; empty if both exist."""
    word, *rest = command.removeprefix("blueprint ").split()
    if not help_of(word):
        return f"no command {word}"
    options = set(re.findall(r"--[\w-]+", help_of(word)))
    return ", ".join(f"no option {each}" for each in rest if each.startswith("--") and each not in options)


def test_the_sources_are_five_and_every_row_has_a_place() -> None:
    assert tuple(re.findall(r"^## (.+)$", PAGE, flags=re.MULTILINE)) == SOURCES
    assert len(rows()) > 110
    assert [
        item
        for _, item, where in rows()
        if not (LINK.search(where) or CODE.search(where) or where.startswith("not here: "))
    ] == []


def test_every_workbook_is_built_in() -> None:
    assert sorted(set(workbooks()) - BUILT_IN) == []
    assert len(workbooks()) > 12


@pytest.mark.parametrize("name", sorted(name for name, sheets in workbooks().items() if sheets))
def test_its_sheets_are_there(name: str) -> None:
    assert workbooks()[name] - sheets_of(name) == set()


def test_every_command_exists_with_its_options() -> None:
    commands = {name for _, _, where in rows() for name, _ in places(where) if name.startswith("blueprint ")}
    assert len(commands) > 6
    assert {command: wrong(command) for command in sorted(commands) if wrong(command)} == {}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("blueprint fly", "no command fly"),
        ("blueprint run --wings 2", "no option --wings"),
        ("blueprint run --beta 0", ""),
    ],
)
def test_a_command_that_does_not_exist_is_seen(command: str, said: str) -> None:
    assert wrong(command) == said
