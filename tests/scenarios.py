"""Writes docs/scenarios/NAME.md, a page for each scenario, and the list docs/scenarios.md: `python -m tests.scenarios`

What a scenario is stands in `blueprint/scenarios`. A field in braces is a cell of a workbook: `{block}`, `{block@n=1,t=2}`, of
another column `{usual: block}`; with a stroke between them two are divided: `{value_loss / usual: value_loss}`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import blueprint as bp
from blueprint.book import Book
from blueprint.scenarios import GROUPS, PREFIX, Scenario, scenarios

DOCS = Path(__file__).parent.parent / "docs"
FIELD = re.compile(r"\{([^{}]+)\}")
LIST = """# Scenarios: what goes wrong, and what people stumble over

Each page begins with a question and a table of cells from a workbook. Say what you see, and why, before you open the answers.
`blueprint list --scenarios` lists them; where a name begins with `scenario/`, `blueprint build --numbers NAME` makes the workbook.
[The twenty-eight confusions](confusions.md) says which page answers which question. The pages are made of the files in
`blueprint/scenarios` by `python -m tests.scenarios`.
"""


class Row(NamedTuple):
    """A cell, as a scenario names it: a block, and the member of each axis."""

    block: str
    members: dict[str, int]


def row_of(text: str) -> Row:
    """Reads `block@n=1,t=2`."""
    name, _, at = text.strip().partition("@")
    pairs = (each.partition("=") for each in at.split(",") if each)
    return Row(name, {letter.strip(): int(number) for letter, _, number in pairs})


@cache
def columns(name: str) -> dict[str, Book]:
    """Returns the workbooks of a scenario, by the names of their columns, its own first."""
    of = scenarios()[name]
    if of.code:
        return {of.column: coded(of)}
    own = bp.build(PREFIX + name)
    return {of.column: own, **{each.name: bp.build(of.numbers, set=dict(each.set)) for each in of.beside}}


def coded(of: Scenario) -> Book:
    """Returns the workbook that a scenario's own lines make."""
    names: dict[str, Any] = {}
    exec(compile(of.code, f"{of.name}.toml", "exec"), names)
    made: Book = names["book"]
    return made


def value(book: Book, row: Row) -> Any:
    """Returns what stands in a cell."""
    return book.show(row.block, **row.members).value


def shown(cell: Any) -> str:
    """Writes a number with four decimals at most, and a minus; a text as it is."""
    if isinstance(cell, str):
        return cell.replace("<", "&lt;")
    text = f"{float(cell):.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")


def filled(of: Scenario, text: str) -> str:
    """Puts the numbers into a text, and writes an end token, outside of code, so that no page takes it for a tag."""
    parts = re.split(r"(`[^`]*`)", text.strip())
    told = "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)
    return FIELD.sub(lambda found: _field(of, found[1]), told)


def _field(of: Scenario, text: str) -> str:
    cells = [_cell(of, each) for each in text.split(" / ")]
    return shown(cells[0] if len(cells) == 1 else float(cells[0]) / float(cells[1]))


def _cell(of: Scenario, text: str) -> Any:
    column, colon, row = text.rpartition(": ")
    books = columns(of.name)
    return value(books[column] if colon else books[of.column], row_of(row))


def shown_rows(of: Scenario) -> list[str]:
    """Returns the lines of the table: what a row is, its cell, and its number in each column."""
    books = columns(of.name)
    lines = [
        f"| what | cell | {' | '.join(books)} |",
        f"|---|---|{'---|' * len(books)}",
    ]
    for text in of.show:
        row = row_of(text)
        here = books[of.column].show(row.block, **row.members)
        block = books[of.column].blocks[row.block]
        at = "".join(f", {axis.meaning} {row.members[axis.letter]}" for axis in block.axes)
        numbers = " | ".join(shown(value(book, row)) for book in books.values())
        lines.append(f"| {block.about.meaning}{at} | `{here.cell}` {block.symbol.replace('|', '')} | {numbers} |")
    return lines


def made_by(of: Scenario) -> str:
    """Returns the commands, or the lines, that make its workbooks."""
    if of.code:
        return f'```python\n{of.code.strip()}\nbook.save("{of.name}.xlsx")\n```'
    others = [f"    # {each.name}: {_commanded(of.numbers, each.set)}" for each in of.beside]
    return "\n".join([f"    blueprint build --numbers {PREFIX}{of.name}", *others])


def _commanded(numbers: str, changed: Any) -> str:
    settings = "".join(f" --set {_quoted(f'{key}={_plain(to)}')}" for key, to in changed.items())
    return f"blueprint build --numbers {numbers}{settings}"


def _plain(to: Any) -> str:
    return str(to).replace("'", '"') if isinstance(to, list) else str(to)


def _quoted(text: str) -> str:
    return f"'{text}'" if set(text) & set('[]" ') else text


def page(of: Scenario) -> str:
    """Returns the page of a scenario."""
    answers = [("What one sees", of.sees), ("Why", of.why), ("What to do", of.do)]
    changed = f"It is `{of.numbers}` with {_told(of)}." if of.numbers else "These lines make the workbook:"
    threads = f"\n*Threads:* {of.threads}.\n" if of.threads else ""
    return "\n".join(
        [
            f"# {of.asks}\n",
            f"{filled(of, of.begins)}\n",
            f"{changed}\n",
            f"{made_by(of)}\n",
            *shown_rows(of),
            "",
            *(
                f"<details>\n<summary>{title}</summary>\n\n{filled(of, text)}\n\n</details>\n"
                for title, text in answers
            ),
            f"{threads}\n[All scenarios](../scenarios.md)\n".lstrip("\n"),
        ]
    )


def _told(of: Scenario) -> str:
    keys = [f"`{key}`" for key in of.set]
    return (", ".join(keys[:-1]) + f" and {keys[-1]}" if len(keys) > 1 else "".join(keys)) + " changed"


def listed() -> str:
    """Returns the page that lists them."""
    lines = [LIST]
    for group, heading in GROUPS.items():
        several = [each for each in scenarios().values() if each.group == group]
        lines += [f"## {heading}\n", *(f"- [{each.asks}](scenarios/{each.name}.md)" for each in several), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    for each in scenarios().values():
        (DOCS / "scenarios" / f"{each.name}.md").write_text(page(each), encoding="utf-8")
    (DOCS / "scenarios.md").write_text(listed(), encoding="utf-8")
