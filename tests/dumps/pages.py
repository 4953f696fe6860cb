"""The tables of docs/minibatch.md as they follow from names.csv."""

from __future__ import annotations

from collections.abc import Iterable

from blueprint.dumps.names import (
    AID,
    BEYOND,
    LIBRARIES,
    LOGGED,
    SETTING,
    TENSOR,
    UNUSED,
    Alias,
    Row,
    aliases,
    read_at,
    rows,
)


def tensors() -> str:
    """Returns the table of neutral tensors."""
    listed = [row for row in rows() if row.kind in (TENSOR, AID)]
    return _table(("name", "shape", "what it is"), ((f"`{row.name}`", row.shape, row.meaning) for row in listed))


def names(*kinds: str) -> str:
    """Returns the table of what libraries call the rows of some kinds."""
    heads = [f"{library}: {read_at()[library]}" for library in LIBRARIES]
    listed = [row for row in rows() if row.kind in kinds]
    lines = []
    for row in listed:
        name = "not needed" if row.kind == UNUSED else f"`{row.name}`"
        mine = [alias for alias in aliases(*kinds) if alias.row is row]
        cells = [_spelled(alias for alias in mine if alias.library == library) for library in LIBRARIES]
        others = _spelled(alias for alias in mine if alias.library is None and alias.spelling != row.name)
        lines.append((name, *cells, others, *([_words(row)] if SETTING in kinds else [])))
    return _table(("neutral", *heads, "also", *(["values"] if SETTING in kinds else [])), lines)


def unexpressed() -> str:
    """Returns the table of settings that no convention expresses."""
    lines = []
    for alias in aliases(BEYOND):
        row, values = alias.row, [value for value in alias.row.words if value != "if"]
        fine = " ".join(f"`{value}`" for value in values)
        needed = f"where there is `{row.words['if']}`" if "if" in row.words else ""
        lines.append((f"`{alias.spelling}`", str(alias.library), fine, needed, row.meaning, _quoted(row.name)))
    return _table(("setting", "library", "fine at", "counts", "else it means", "not compared then"), lines)


def _quoted(names: str) -> str:
    return " ".join(f"`{name}`" for name in names.split())


def page(template: str) -> str:
    """Fills the tables into a page that has a word in capitals where each stands."""
    filled = template.replace("TENSORS", tensors()).replace("ALIASES", names(TENSOR, AID, UNUSED))
    return filled.replace("SETTINGS", names(SETTING)).replace("LOGGED", names(LOGGED)).replace("BEYOND", unexpressed())


def _spelled(found: Iterable[Alias]) -> str:
    return " ".join(f"`{alias.spelling}{'?!'[alias.strength // 2] if alias.strength != 1 else ''}`" for alias in found)


def _words(row: Row) -> str:
    return " ".join(f"`{said}={meant}`" for said, meant in row.words.items())


def _table(head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    body = ["|" + "".join(f" {cell} |" if cell else " |" for cell in line) for line in lines]
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *body])
