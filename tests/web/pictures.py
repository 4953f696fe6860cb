"""Takes the pictures of the page in docs/pictures, at three sizes, light and dark: `python -m tests.web.pictures`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.web.conftest import CHROMIUM, page_text

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
SIZES = {"laptop": (1366, 768), "projector": (1920, 1080), "phone": (390, 844)}
SETTLED = 1500
"""Milliseconds in which the curves above the sliders are drawn."""


VOTED = """setLecture(true); goTo(34, 1); setVote(true);
  [1, 2, 2, 2, 0, 3].forEach((i) => document.querySelectorAll(".vote .answer")[i].click())"""


class Picture(NamedTuple):
    """What is opened, what is done there, on which screen, light or dark."""

    name: str
    numbers: str
    screen: str
    scheme: str
    script: str


PICTURES = (
    Picture("page-overview", "default", "laptop", "light", ""),
    Picture("page-explore", "default", "laptop", "dark", "choose(byName['advantages'].number, 4, true)"),
    Picture("page-lecture", "default", "projector", "light", "setLecture(true); goTo(34, 1)"),
    Picture("page-vote", "default", "projector", "dark", VOTED),
    Picture("page-phone", "default", "phone", "light", "choose(byName['advantages'].number, 4, true)"),
    Picture("page-phone-walk", "grpo", "phone", "dark", "setMode('walk'); goTo(8, 2)"),
)


def main() -> None:
    """Writes all pictures."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started, TemporaryDirectory() as folder:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for each in PICTURES:
            path = Path(folder) / f"{each.numbers}.html"
            path.write_text(page_text(each.numbers), encoding="utf-8")
            width, height = SIZES[each.screen]
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=each.scheme)  # type: ignore[arg-type]
            page.goto(path.as_uri())
            page.evaluate(f"() => {{ {each.script}; }}")
            page.wait_for_timeout(SETTLED)
            page.screenshot(path=FOLDER / f"{each.name}.png")
            page.close()
            print(each.name)


if __name__ == "__main__":
    main()
