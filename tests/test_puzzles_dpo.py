"""The page Puzzles of DPO: its code prints what it says, its commands what stands below them.

When a row has moved or a symbol is new, `python -m tests.test_puzzles_dpo` writes the commands' present outputs into the page.
"""

from __future__ import annotations

import re

import pytest

from tests.test_docs import DOCS, run
from tests.test_puzzles import COMMAND, PLACE, TARGET, refreshed, unprinted

PAGE = DOCS / "puzzles-dpo.md"
PUZZLES = PAGE.read_text(encoding="utf-8")
COUNT = 10


def test_the_code_prints_what_the_page_says() -> None:
    results = run(PUZZLES)
    assert (results.failed, results.attempted >= 40) == (0, True)


def test_the_commands_print_what_the_page_says() -> None:
    assert len(COMMAND.findall(PUZZLES)) == COUNT
    assert refreshed(PUZZLES) == PUZZLES


def test_the_sentences_quote_what_was_printed() -> None:
    assert unprinted(PUZZLES) == set()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("0.6553 for the", "0.6554 for the"), ("the mean over the tokens is 2.5286", "the mean over the tokens is 2.5287"),
     ("gives 24.85 here", "gives 24.86 here")],
)  # fmt: skip
def test_rot_in_the_sentences_is_seen(right: str, wrong: str) -> None:
    assert right in PUZZLES
    assert len(unprinted(PUZZLES.replace(right, wrong))) == 1


def test_rot_in_the_code_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    head, *entries = PUZZLES.split("\n## ")
    assert "0.7500 0.8333\n" in entries[9]
    assert run(head + entries[9].replace("0.7500 0.8333\n", "0.7500 0.8334\n")).failed > 0


def test_every_puzzle_says_where_to_look_and_who_asked() -> None:
    entries = re.split(r"^## ", PUZZLES, flags=re.MULTILINE)[1:]
    assert [entry.split(".")[0] for entry in entries] == [str(number) for number in range(1, COUNT + 1)]
    for entry in entries:
        ((block, sheet, _),) = TARGET.findall(entry)
        found = PLACE.search(COMMAND.findall(entry)[0][1])
        assert found is not None
        assert (found[2], found[3] or found[4]) == (block, sheet)
        assert entry.splitlines()[0].endswith("?")
        assert re.search(r"\w#\d+", entry.partition("*Threads:* ")[2])


def test_links_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", PUZZLES) if not link.startswith("https://")]
    assert links
    assert [link for link in links if not (DOCS / link).exists()] == []


if __name__ == "__main__":
    PAGE.write_text(refreshed(PUZZLES), encoding="utf-8")
