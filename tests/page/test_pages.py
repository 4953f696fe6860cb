"""On paper, as LibreOffice prints it: what a class needs is on a page of its own, and nobody prints the lists."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter

import pytest

from tests.page.finished import finished

FOOT = re.compile(r"^ *default \.xlsx +(.+?) +page (\d+) of (\d+)$", re.MULTILINE)
"""The foot of a page: the file, the sheet, the page and their number."""
MOST = 35
"""The workbook took 89 pages when its columns were wide and its lists were printed."""


@pytest.fixture(scope="module")
def pages(needs_libreoffice: None, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The text of every page of the default workbook."""
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed (poppler-utils)")
    room = tmp_path_factory.mktemp("paper")
    profile = f"-env:UserInstallation={(room / 'profile').as_uri()}"
    source = finished("default").path
    subprocess.run(
        ["soffice", profile, "--headless", "--convert-to", "pdf", "--outdir", str(room), str(source)], check=True
    )
    pdf = room / f"{source.stem}.pdf"
    text = subprocess.run(["pdftotext", "-layout", str(pdf), "-"], check=True, capture_output=True, text=True).stdout
    return text.split("\f")[:-1]


def test_the_default_workbook_takes_few_pages(pages: list[str]) -> None:
    found = [FOOT.search(page) for page in pages]
    sheets = Counter(foot[1] for foot in found if foot)
    assert sum(sheets.values()) == len(pages) <= MOST
    for sheet in ("Walk", "Reward & advantage", "Loss", "Inputs", "First hour", "Delivered", "Contents"):
        assert sheets[sheet] == 1, sheet
    assert all(sheets[sheet] in (2, 4) for sheet in ("Old policy", "Reference", "Policy"))


@pytest.mark.parametrize("sheet", ["Reward & advantage", "Loss"])
def test_one_page_holds_names_equations_and_both_episodes(pages: list[str], sheet: str) -> None:
    (page,) = (page for page in pages if (foot := FOOT.search(page)) and foot[1] == sheet)
    for text in ("Episode 1", "Episode 2", "happy", "sleepy"):
        assert text in page, text
    last = {"Loss": "share", "Reward & advantage": "Â_used"}[sheet]
    assert re.search(rf"^ *\d+ +{last} .*= .*(-?\d\.\d{{4}} +){{15}}-?\d\.\d{{4}}", page, re.MULTILINE)


def test_the_page_of_the_walk_has_names_values_equations_and_numbers(pages: list[str]) -> None:
    """From the choice of a decision to the total loss; how the page is made stays off the paper."""
    (walk,) = (page for page in pages if (foot := FOOT.search(page)) and foot[1] == "Walk")
    assert re.search(r"ρ +importance ratio.* 1\.1737 +=.*= exp\(", walk)
    assert "episode to walk through" in walk
    assert re.search(r"L +total loss.* 0\.1055 +=.*= \(?−0\.0519", walk)
    assert "How this page is made" not in walk
