"""The page docs/glossary.md and the list of words in CONTRIBUTING.md, as they follow from the glossary.

`python -m tests.workbooks.glossary_page` writes both.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language import Block
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.guides import Term, terms

REPOSITORY = Path(__file__).parents[2]
PAGE, CONTRIBUTING = REPOSITORY / "docs" / "glossary.md", REPOSITORY / "CONTRIBUTING.md"
BEFORE, BEHIND = "<!-- words -->\n", "<!-- /words -->"
"""Between these the list of words stands in CONTRIBUTING.md."""
HEAD = """# Glossary

The terms of RLHF, each with its symbol and its row in the workbooks. Every workbook has this list as the sheet *Glossary*, with
links to its own rows; page and sheet are made from `blueprint/workbooks/common/guides/glossary.toml`. Each thing has one name; the
last column lists words that others use for it. `explain` takes the name of a row:
`blueprint explain td_errors --episode 1 --token 5`.
"""
OF_LIVE = "*with live conventions*"
OTHERS = ("grpo", "sft", "dpo-batch", "reward-batch", "optimum", "frontier")
"""Numbers of other kinds, in whose workbooks the terms stand that the default has not."""
Where = Mapping[str, Mapping[str, Block]]
"""By what is said of a workbook beside a row, its blocks by name."""


def page() -> str:
    """Returns the page."""
    plain, live = (Book(blueprint_of(load("default", how))).blocks for how in ((), ("conventions=live",)))
    others = {f"*in* `{name}`": Book(blueprint_of(load(name))).blocks for name in OTHERS}
    where = {"": plain, OF_LIVE: live, **others}
    groups = (_group(title, list(found), where) for title, found in groupby(terms(), key=lambda term: term.group))
    return "\n".join((HEAD, *groups))


def _group(title: str, listed: list[Term], where: Where) -> str:
    lines = [f"## {title}\n", "| symbol | term | meaning | row | not |", "|---|---|---|---|---|"]
    for term in listed:
        said = next((said for said, blocks in where.items() if term.found(blocks) is not None), "")
        symbol, found = term.symbol(where[said]).replace("|", "\\|"), term.found(where[said])
        row = "" if found is None else f"`{found.name}`" + (f" {said}" if said else "")
        lines.append(
            f"| {symbol} | {term.term} | {term.meaning.replace('|', chr(92) + '|')} | {row} | {', '.join(term.avoided)} |"
        )
    return "\n".join(lines) + "\n"


def words() -> str:
    """Returns the list of words: what we write, and what we do not."""
    listed = [f"| {term.term} | {', '.join(term.avoided)} |" for term in terms() if term.avoided]
    return "\n".join(["| we write | not |", "|---|---|", *listed, ""])


def contributing() -> str:
    """Returns CONTRIBUTING.md with its list of words."""
    head, _, rest = CONTRIBUTING.read_text(encoding="utf-8").partition(BEFORE)
    return head + BEFORE + words() + BEHIND + rest.partition(BEHIND)[2]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    CONTRIBUTING.write_text(contributing(), encoding="utf-8")
