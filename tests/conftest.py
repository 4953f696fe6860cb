"""Fixtures that several rooms share."""

import os

import pytest

from blueprint.page.recalculate import libreoffice


@pytest.fixture(scope="session")
def needs_libreoffice() -> None:
    """Skips a test where LibreOffice is not installed; fails it if BLUEPRINT_NEEDS_LIBREOFFICE is set, as in CI."""
    if libreoffice() is None:
        outcome = pytest.fail if os.environ.get("BLUEPRINT_NEEDS_LIBREOFFICE") else pytest.skip
        outcome("LibreOffice is not installed: no `soffice` was found")
