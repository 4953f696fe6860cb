"""Writes the gallery of pages, workbooks/pages/NAME.html: `python -m tests.web.gallery`; more of them by their names."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import blueprint as bp

FOLDER = Path(__file__).parents[2] / "workbooks" / "pages"
NAMES = sorted(path.stem for path in FOLDER.glob("*.html"))
"""Built-in numbers that have a page there; one that is named on the command line gets one."""
LARGEST, TOGETHER = 650_000, 3_000_000
PROOF = re.compile(r'"proof":\[.*?\]')
"""The sums that were computed in Python, whose last digits differ from processor to processor."""


def written(name: str) -> str:
    """Returns the page of built-in numbers."""
    return bp.build(name).page().text


def compared(text: str) -> str:
    """Returns what two processors write alike."""
    return PROOF.sub('"proof":[]', text)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in sys.argv[1:] or NAMES:
        (FOLDER / f"{each}.html").write_text(written(each), encoding="utf-8", newline="\n")
        print(each)
