"""The book that explanations are asked of."""

from __future__ import annotations

import pytest

from blueprint import Book
from tests.page.workshop import made


@pytest.fixture(scope="module")
def default() -> Book:
    """Makes the default book."""
    return made()
