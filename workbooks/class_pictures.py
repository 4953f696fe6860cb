"""Makes the pictures of docs/class.md from a simulated class.

    python -m tests.classes.simulated 10 --keep FOLDER
    python workbooks/class_pictures.py FOLDER

The report is opened in Chromium, as the pictures of the page are.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pictures import Picture, render
from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parents[1] / "docs" / "pictures"
WORKSHEET = Picture("worksheet", "Reward & advantage", "A1:Z34", 4.45)
REPORT = {"width": 900, "height": 1340}
"""Of the report what is seen of it: marks, and how hard each blank was."""


def main() -> None:
    """Renders a worksheet as students get it, and the beginning of the report."""
    folder = Path(sys.argv[1])
    handed_out = sorted((folder / "hw1" / "students").glob("*.xlsx"))[0]
    DOCS.mkdir(exist_ok=True)
    with TemporaryDirectory() as room:
        render(handed_out, WORKSHEET, Path(room), DOCS / "worksheet")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=REPORT, color_scheme="light")
        page.goto((folder / "graded" / "report.html").resolve().as_uri())
        page.screenshot(path=DOCS / "report.png")


if __name__ == "__main__":
    main()
