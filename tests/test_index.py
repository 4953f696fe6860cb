"""The page of questions: every built-in workbook, page and notebook is on it, and every sheet that it names is there."""

from __future__ import annotations

import re

import pytest

from blueprint.inputs import load
from blueprint.page.grid import ONE_PAGE
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.registry import kinds
from tests.test_docs import DOCS
from tests.test_links import LINK

INDEX = (DOCS / "index.md").read_text(encoding="utf-8")
NOTEBOOKS = DOCS.parent / "notebooks"
ROW = re.compile(r"^\| .+ \| `([\w/-]+)` \| (\*.+\*) \|$", flags=re.MULTILINE)
BUILT_IN = {name for kind in kinds() for name in kind.built_in()}


def sheets_of(name: str) -> set[str]:
    """Returns the titles of a built-in workbook's sheets, One page among them where the workbook has it."""
    outline = blueprint_of(load(name))
    return {sheet.title for sheet in outline.sheets} | ({ONE_PAGE} if outline.one_page is not None else set())


def test_every_built_in_workbook_answers_a_question() -> None:
    assert len(BUILT_IN) >= 14
    assert BUILT_IN ^ {name for name, _ in ROW.findall(INDEX)} == set()


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_the_sheets_to_look_at_are_there(name: str) -> None:
    asked = {title for of, titles in ROW.findall(INDEX) if of == name for title in re.findall(r"\*([^*]+)\*", titles)}
    assert asked
    assert asked - sheets_of(name) == set()


def test_every_page_and_notebook_is_on_it() -> None:
    pages = {path.name for path in DOCS.glob("*.md")} - {"index.md"}
    books = {f"../notebooks/{path.name}" for path in NOTEBOOKS.glob("*.ipynb")}
    assert (pages | books) - {*LINK.findall(INDEX)} == set()
