"""Saved workbooks, of every level."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.page.workshop import save_made
from tests.reopening.kinds import KINDS, save_kind


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves the default workbook and the one of the token level."""
    folder = tmp_path_factory.mktemp("saved")
    save_made(folder / "default.xlsx")
    save_made(folder / "sleepy.xlsx", numbers="very-very-sleepy")
    return folder


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves a workbook of every other kind."""
    folder = tmp_path_factory.mktemp("kinds")
    for kind in KINDS:
        save_kind(kind, folder / f"{kind}.xlsx")
    return folder
