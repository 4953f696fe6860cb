"""The pages in the gallery are those that the built-in numbers give now, and small enough to be kept."""

from __future__ import annotations

import pytest

from tests.web.gallery import FOLDER, LARGEST, NAMES, TOGETHER, compared, written


@pytest.mark.parametrize("name", NAMES)
def test_a_page_of_the_gallery_is_up_to_date(name: str) -> None:
    kept = (FOLDER / f"{name}.html").read_text(encoding="utf-8")
    assert compared(kept) == compared(written(name)), f"{name}: run python -m tests.web.gallery"


def test_the_gallery_is_small() -> None:
    sizes = {path.stem: path.stat().st_size for path in FOLDER.glob("*.html")}
    assert len(sizes) >= 13
    assert max(sizes.values()) <= LARGEST
    assert sum(sizes.values()) <= TOGETHER
