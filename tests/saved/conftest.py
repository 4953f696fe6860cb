"""Saved workbooks, of both levels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.page.workshop import made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves the default workbook and the one of the token level."""
    folder = tmp_path_factory.mktemp("saved")
    made().save(folder / "default.xlsx")
    made(numbers="very-very-sleepy").save(folder / "sleepy.xlsx")
    return folder
