"""Saved workbooks, of every level."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.page.workshop import made
from tests.reopening.kinds import KINDS, book_of_kind


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves the default workbook and the one of the token level."""
    folder = tmp_path_factory.mktemp("saved")
    made().save(folder / "default.xlsx")
    made(numbers="very-very-sleepy").save(folder / "sleepy.xlsx")
    return folder


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves a workbook of every other kind."""
    folder = tmp_path_factory.mktemp("kinds")
    for kind in KINDS:
        book_of_kind(kind).save(folder / f"{kind}.xlsx")
    return folder
