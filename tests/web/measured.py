"""How large and how fast the pages of all built-in workbooks are, with and without a slowed processor.

`python -m tests.web.measured`. ready: milliseconds from opening to the last number. slider: of the slowest of all sliders, from
its event to the numbers on the page.
choose: of the slowest of a hundred cells, from the click to its equation and where it goes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from blueprint.workbooks.registry import kinds
from tests.web.conftest import CHROMIUM, page_text

TURNS, SLOWED = 5, 4
SLIDERS = """() => {
  setMode("explore");
  const took = [...document.querySelectorAll("#settings input[type=range]")].map((slider) => {
    const began = performance.now();
    slider.value = String((Number(slider.min) + Number(slider.max)) / 2);
    slider.dispatchEvent(new Event("input"));
    return performance.now() - began;
  });
  return Math.max(0, ...took);
}"""
CHOOSE = """() => {
  setMode("explore");
  const step = Math.max(1, Math.floor(drawn.length / 100));
  const took = drawn.filter((_, i) => i % step === 0).slice(0, 100).map(({ block, offset }) => {
    const began = performance.now();
    choose(block.number, offset);
    return performance.now() - began;
  });
  return Math.max(0, ...took);
}"""


def measured(browser: Any, path: Path, slowed: int) -> tuple[float, float, float]:
    """Returns the medians of some turns."""
    found = []
    for _ in range(TURNS):
        context = browser.new_context(viewport={"width": 1366, "height": 768})
        page = context.new_page()
        if slowed > 1:
            context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slowed})
        page.goto(path.as_uri())
        found.append((page.evaluate("window.ready"), page.evaluate(SLIDERS), page.evaluate(CHOOSE)))
        context.close()
    ready, slider, choose = zip(*found, strict=True)
    return median(ready), median(slider), median(choose)


def main(asked: list[str]) -> None:
    """Prints a line for each page."""
    from playwright.sync_api import sync_playwright

    names = asked or [name for kind in kinds() for name in kind.built_in()]
    print(f"{'':22}{'kB':>6}{'ready':>8}{'slider':>8}{'choose':>8}   slowed {SLOWED} times: ready, slider, choose")
    with sync_playwright() as started, TemporaryDirectory() as folder:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name in names:
            path = Path(folder) / "page.html"
            path.write_text(page_text(name), encoding="utf-8")
            times = [f"{each:8.0f}" for slowed in (1, SLOWED) for each in measured(browser, path, slowed)]
            print(f"{name:22}{path.stat().st_size / 1000:6.0f}{''.join(times)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
