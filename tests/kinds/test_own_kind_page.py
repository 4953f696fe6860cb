"""The page on a kind of one's own is run as it stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.workbooks import registry
from tests.test_docs import DOCS, run

PAGE = (DOCS / "own-kind.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("right", "wrong", "failed"), [("", "", 0), ("2      -0.500", "2      -0.501", 1)])
def test_the_code_does_what_the_page_says(
    right: str, wrong: str, failed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_added", {})
    monkeypatch.chdir(tmp_path)
    results = run(PAGE.replace(right, wrong))
    assert (results.failed, results.attempted) == (failed, 16)
