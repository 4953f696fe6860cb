"""Fixtures that several rooms share."""

import os
from importlib.util import find_spec

import pytest

from blueprint.page.recalculate import libreoffice


def pytest_configure() -> None:
    """Ends the run where CI promises torch and there is none, so that no test of the witness is skipped unseen."""
    if os.environ.get("BLUEPRINT_NEEDS_TORCH") and find_spec("torch") is None:
        pytest.exit("torch is not installed, but BLUEPRINT_NEEDS_TORCH is set", returncode=3)


@pytest.fixture(scope="session")
def needs_libreoffice() -> None:
    """Skips a test where LibreOffice is not installed; fails it if BLUEPRINT_NEEDS_LIBREOFFICE is set, as in CI."""
    if libreoffice() is None:
        outcome = pytest.fail if os.environ.get("BLUEPRINT_NEEDS_LIBREOFFICE") else pytest.skip
        outcome("LibreOffice is not installed: no `soffice` was found")
