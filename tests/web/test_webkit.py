"""The page in WebKit, the engine of Safari and of every browser on an iPhone: the same numbers as in Python, and it can be used."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import blueprint as bp
from tests.web.conftest import page_text

DRIVER = shutil.which("WebKitWebDriver")
BROWSERS = sorted(Path("/usr/lib").glob("*/webkit2gtk-*/MiniBrowser"))
CHANGES = {
    "gamma.yours": 0.5,
    "gae_lambda.yours": 1.0,
    "kl_coef.yours": 0.37,
    "clip_range.yours": 0.05,
    "update_step.yours": 2.5,
}


@pytest.fixture(scope="module")
def webkit() -> Iterator[Any]:
    """Starts the browser once, on a screen of its own; skips where it is missing, and fails if BLUEPRINT_NEEDS_WEBKIT is set."""
    try:
        from selenium import webdriver
        from selenium.webdriver.webkitgtk.options import Options
        from selenium.webdriver.webkitgtk.service import Service
    except ImportError:
        webdriver = None  # type: ignore[assignment]
    if webdriver is None or DRIVER is None or not BROWSERS or shutil.which("Xvfb") is None:
        missing = "WebKit is not installed: apt-get install webkit2gtk-driver xvfb, pip install selenium"
        (pytest.fail if os.environ.get("BLUEPRINT_NEEDS_WEBKIT") else pytest.skip)(missing)
    reading, writing = os.pipe()
    screen = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1400x900x24", "-nolisten", "tcp"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    with os.fdopen(reading) as said:
        display = said.readline().strip()
    options = Options()
    options.binary_location = str(BROWSERS[-1])
    options.add_argument("--automation")
    service = Service(DRIVER, env={**os.environ, "DISPLAY": f":{display}"})
    browser = webdriver.WebKitGTK(options=options, service=service)
    browser.set_window_size(1366, 768)
    yield browser
    browser.quit()
    screen.terminate()
    screen.wait(10)


def shown(webkit: Any, folder: Path, numbers: str, where: str = "") -> Any:
    """Opens the page of built-in numbers."""
    path = folder / f"{numbers}.html"
    path.write_text(page_text(numbers), encoding="utf-8")
    webkit.get(f"{path.as_uri()}{where}")
    return webkit


def cells_apart(webkit: Any, book: bp.Book) -> list[str]:
    """Returns the quantities of which a cell is another one than in Python."""
    theirs = webkit.execute_script("""return Object.fromEntries(blocks.map((block) => [
      block.name, [...block.cells].map((cell) => (typeof cell === "string" ? cell : Number.isFinite(cell) ? cell : String(cell))),
    ]));""")
    apart = []
    for name, block in book.blocks.items():
        ours, other = [*book.values.arrays[block].flat], theirs[name]
        if block.text:
            same = ours == other
        else:
            mine = np.array(ours, dtype=float)
            found = np.array([float(str(cell).replace("Infinity", "inf")) for cell in other])
            known = np.isfinite(mine)
            same = bool(
                np.array_equal(known, np.isfinite(found))
                and np.all(np.abs(mine[known] - found[known]) <= 1e-12 * np.maximum(1, np.abs(mine[known])))
            )
        apart += [] if same else [name]
    return apart


@pytest.mark.parametrize("numbers", ["default", "grpo", "dpo"])
def test_every_cell_is_pythons(webkit: Any, tmp_path: Path, numbers: str) -> None:
    page = shown(webkit, tmp_path, numbers)
    assert cells_apart(page, bp.build(numbers)) == []


def test_after_changes_it_is_pythons_too(webkit: Any, tmp_path: Path) -> None:
    page = shown(webkit, tmp_path, "default")
    for name, value in CHANGES.items():
        page.execute_script("type(byName[arguments[0]].number, 0, arguments[1])", name, str(value))
    book = bp.build("default")
    assert cells_apart(page, bp.Book(book.blueprint.with_typed(CHANGES))) == []


def test_it_can_be_walked_and_voted_on(webkit: Any, tmp_path: Path) -> None:
    page = shown(webkit, tmp_path, "default", "#walk/34")
    assert page.execute_script("return state.step") == 34
    page.execute_script("move(1); setVote(true)")
    assert len(page.find_elements("css selector", ".vote .answer")) >= 3
    page.execute_script("setMode('overview')")
    assert "−0.0519" in page.find_element("id", "overview").text
    page.execute_script(
        "setMode('explore'); state.sheet = sheets.findIndex((sheet) => sheet.title === 'Charts'); drawSheet()"
    )
    assert len(page.find_elements("css selector", "figure svg path.line")) >= 3


def test_equations_are_set_in_the_letters_that_come_with_the_page(webkit: Any, tmp_path: Path) -> None:
    page = shown(webkit, tmp_path, "default", "#walk/34")
    assert page.execute_script("return document.fonts.check('20px \"STIX Two Math\"')")
    high, wide = page.execute_script("""const box = document.querySelector(".equation math").getBoundingClientRect();
      return [box.height, box.width];""")
    assert high > 15
    assert wide > 100
