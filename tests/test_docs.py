"""The page Errata is run as it stands there: its code prints what it says, and its sentences quote what was printed."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
ERRATA = (DOCS / "errata.md").read_text(encoding="utf-8")
FENCED = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)


def run(page: str) -> doctest.TestResults:
    """Runs all sessions of a page in one space, as a reader would type them."""
    session = "\n".join(FENCED.findall(page))
    runner = doctest.DocTestRunner(verbose=False)
    return runner.run(doctest.DocTestParser().get_doctest(session, {}, "errata", "errata.md", 0))


def unprinted(page: str) -> set[str]:
    """Returns the decimal numbers that the sentences of a section quote, but no code of that section types or prints."""
    found: set[str] = set()
    for section in page[: page.index("## Known traps")].split("\n## "):
        sentences = re.sub(r"\]\([^)]*\)|`[^`]*`", "", FENCED.sub("", section))
        found |= decimals(sentences) - decimals("\n".join(FENCED.findall(section)))
    return found


def decimals(text: str) -> set[str]:
    """Returns the decimal numbers of a text, a minus with each that is below 0 (and not taken off something)."""
    return set(re.findall(r"(?<![\w.])-?\d+\.\d+", text.replace("−", "-")))


def test_the_code_prints_what_the_page_says() -> None:
    results = run(ERRATA)
    assert results.failed == 0
    assert results.attempted >= 20


def test_the_sentences_quote_what_was_printed() -> None:
    assert unprinted(ERRATA) == set()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("1 7  1.2340  1.0037  0.0000", "1 7  1.2340  1.0037 -0.1000"),
        ("right 0.1055   as printed -0.2093\nL_V 0.8", "right 0.1056   as printed -0.2093\nL_V 0.8"),
        ("0.9152 0.9212 0.9381", "0.9152 0.9212 0.9382"),
        ("policy + c1 * value - c2 * entropy", "policy + c1 * value + c2 * entropy"),
    ],
)
def test_rot_in_the_code_is_seen(right: str, wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert right in ERRATA
    head, *sections = ERRATA.split("\n## ")
    (section,) = (each for each in sections if right in each)
    assert run(head + section.replace(right, wrong)).failed > 0


@pytest.mark.parametrize(
    ("right", "wrong"), [("= −0.2093.", "= −0.2094."), ("= −0.2093.", "= 0.2093."), ("not 0.55", "not 0.56")]
)
def test_rot_in_the_sentences_is_seen(right: str, wrong: str) -> None:
    assert right in ERRATA
    assert len(unprinted(ERRATA.replace(right, wrong))) == 1


def test_every_entry_has_an_anchor_and_a_line_in_the_table() -> None:
    anchors = re.findall(r'^<a id="([\w-]+)"></a>$', ERRATA, flags=re.MULTILINE)
    assert len(anchors) >= 26
    assert sorted(re.findall(r"\]\(#([\w-]+)\)", ERRATA[: ERRATA.index("```python")])) == sorted(anchors)
    entries = re.findall(r"\n\n(?:\*\*\S|\*Printed)", ERRATA[: ERRATA.index("## Known traps")])
    assert entries == []  # none without an anchor above it


def test_all_errors_and_the_traps_are_there() -> None:
    headings = re.findall(r"^## (.*)$", ERRATA, flags=re.MULTILINE)
    assert headings == [
        "1. The signs of the total loss",
        "2. A figure of GAE whose last advantage is not its last TD error",
        "3. Where no gradient flows",
        "4. How to check a sheet of your own",
        "5. What is printed about preferences",
        "6. Where the clip stops, and where it does not",
        "7. Bias and variance",
        "8. A training loop as printed",
        "9. A KL demonstration with five styles",
        "10. A grid and its heat map",
        "11. Cart-pole, as the notebook trains it",
        "12. Rewards that can be verified",
        "13. Said in passing",
        "Known traps in libraries",
    ]
    assert len(re.findall(r"^- \*\*\w+ [\w.]+\*\*, `", ERRATA, flags=re.MULTILINE)) == 3
