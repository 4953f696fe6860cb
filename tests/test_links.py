"""Every link of every page in Markdown leads somewhere: to a page that is there, and to a heading or an anchor on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "workbooks").glob("*.md"), *DOCS.rglob("*.md")])
LINK = re.compile(r"\]\(([^)]+)\)")
LINKED = {
    "README": 30,
    "errata": 30,
    "confusions": 40,
    "sources": 90,
    "index": 40,
    "lesson-plan": 2,
    "objectives": 2,
    "jose": 2,
    "questions": 2,
}
"""By page the fewest links that it has."""
HEADING = re.compile(r"^#+ (.+)$", flags=re.MULTILINE)


def slug(heading: str) -> str:
    """Returns the name under which a heading of a page is linked."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", "")).replace(" ", "-")


def leads_nowhere(link: str, page: Path) -> bool:
    """Tells whether the page to which one links, or a heading or an anchor on it, is missing."""
    other, _, place = link.partition("#")
    path = page.parent / other if other else page
    if not place or not path.exists():
        return not path.exists()
    text = path.read_text(encoding="utf-8")
    return place not in {*map(slug, HEADING.findall(text)), *re.findall(r'<a id="([\w-]+)">', text)}


def links_of(page: Path) -> list[str]:
    """Lists the links of a page to what is ours."""
    return [
        link for link in LINK.findall(page.read_text(encoding="utf-8")) if not link.startswith(("http://", "https://"))
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [link for link in links_of(page) if leads_nowhere(link, page)] == []


def test_links_are_found() -> None:
    counts = {page.stem: len(links_of(page)) for page in (ROOT / "README.md", *DOCS.glob("*.md"))}
    assert {name: counts[name] for name, least in LINKED.items() if counts[name] < least} == {}
    assert len(PAGES) > 50


@pytest.mark.parametrize(
    "link",
    ["puzzle.md", "puzzles.md#1-my-kl-is-positive", "scenarios/kl.md", "errata.md#clip-minimum", "#no-such-heading"],
)
def test_a_link_that_leads_nowhere_is_seen(link: str) -> None:
    assert leads_nowhere(link, DOCS / "errata.md")
