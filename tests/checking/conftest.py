"""A saved workbook, and where its blocks stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.page.read import Found
from tests.page.workshop import located, save_made


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves the default workbook."""
    return save_made(tmp_path_factory.mktemp("check") / "rlhf_ppo.xlsx")


@pytest.fixture(scope="module")
def places(path: Path) -> dict[str, Found]:
    """Returns where its blocks stand."""
    return located(path)
