"""Makes the pictures of docs/class.md from a simulated class.

    python -m tests.classes.simulated 10 --keep FOLDER
    python workbooks/class_pictures.py FOLDER

The report is rendered by weasyprint, which is no dependency: python -m pip install weasyprint.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pictures import Picture, render

DOCS = Path(__file__).parents[1] / "docs" / "pictures"
WORKSHEET = Picture("worksheet", "Reward & advantage", "A1:Z34", 4.5)
REPORT = ["-r", "80", "-x", "30", "-y", "30", "-W", "610", "-H", "880", "-f", "1", "-singlefile", "-png"]


def main() -> None:
    """Renders a worksheet as students get it, and the beginning of the report."""
    folder = Path(sys.argv[1])
    handed_out = sorted((folder / "hw1" / "students").glob("*.xlsx"))[0]
    DOCS.mkdir(exist_ok=True)
    with TemporaryDirectory() as room:
        render(handed_out, WORKSHEET, Path(room), DOCS / "worksheet")
        subprocess.run(["weasyprint", folder / "graded" / "report.html", f"{room}/report.pdf"], check=True)
        subprocess.run(["pdftoppm", *REPORT, f"{room}/report.pdf", DOCS / "report"], check=True)


if __name__ == "__main__":
    main()
