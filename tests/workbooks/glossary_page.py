"""The page docs/glossary.md as it follows from the table of terms; `python -m tests.workbooks.glossary_page` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language import Block
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.guides.glossary import Term, terms

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"
HEAD = """# Glossary

The words of RLHF PPO, with the symbol and the row by which each goes in the workbooks. Every workbook has this list as a sheet,
*Glossary*, with links to its own rows; page and sheet are made of one table,
`blueprint/workbooks/common/guides/terms.csv`. The name of a row can be asked for:
`blueprint explain td_errors --episode 1 --token 5`.
"""
OF_LIVE = "*with live conventions*"


def page() -> str:
    """Returns the page."""
    plain, live = (Book(blueprint_of(load("default", how))).blocks for how in ((), ("conventions=live",)))
    groups = (_group(title, list(found), plain, live) for title, found in groupby(terms(), key=lambda term: term.group))
    return "\n".join((HEAD, *groups))


def _group(title: str, listed: list[Term], plain: Mapping[str, Block], live: Mapping[str, Block]) -> str:
    lines = [f"## {title}\n", "| symbol | term | meaning | row |", "|---|---|---|---|"]
    for term in listed:
        block = term.found(plain)
        blocks = plain if block is not None else live
        symbol, found = term.symbol(blocks).replace("|", "\\|"), block if block is not None else term.found(live)
        row = "" if found is None else f"`{found.name}`" + ("" if block is not None else f" {OF_LIVE}")
        lines.append(f"| {symbol} | {term.term} | {term.meaning.replace('|', chr(92) + '|')} | {row} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
