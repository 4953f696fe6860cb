"""The tables of docs/minibatch.md as they follow from names.csv and the records of settings.

`python -m tests.dumps.pages` writes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from blueprint.dumps import TENSOR, UNUSED
from blueprint.dumps.recognise import AID, BEYOND, LOGGED, NAMES, SETTING, Alias, Row

PAGE = Path(__file__).parents[2] / "docs" / "minibatch.md"


def tensors() -> str:
    """Returns the table of neutral tensors."""
    listed = [row for row in NAMES.rows if row.kind in (TENSOR, AID)]
    return _table(("name", "shape", "what it is"), ((f"`{row.name}`", row.shape, row.meaning) for row in listed))


def names(*kinds: str) -> str:
    """Returns the table of what libraries call the rows of some kinds."""
    heads = [f"{library}: {NAMES.read_at[library]}" for library in NAMES.libraries]
    listed = [row for row in NAMES.rows if row.kind in kinds]
    lines = []
    for row in listed:
        name = "not needed" if row.kind == UNUSED else f"`{row.name}`"
        mine = [alias for alias in NAMES.aliases(*kinds) if alias.row is row]
        cells = [_spelled(alias for alias in mine if alias.library == library) for library in NAMES.libraries]
        others = _spelled(alias for alias in mine if alias.library is None and alias.spelling != row.name)
        lines.append((name, *cells, others, *([_words(row)] if SETTING in kinds else [])))
    return _table(("neutral", *heads, "also", *(["values"] if SETTING in kinds else [])), lines)


def unexpressed() -> str:
    """Returns the table of settings that no convention expresses."""
    lines = []
    for alias in NAMES.aliases(BEYOND):
        row, values = alias.row, [value for value in alias.row.words if value != "if"]
        fine = " ".join(f"`{value}`" for value in values)
        needed = f"where there is `{row.words['if']}`" if "if" in row.words else ""
        lines.append((f"`{alias.spelling}`", str(alias.library), fine, needed, row.meaning, _quoted(row.name)))
    return _table(("setting", "library", "fine at", "counts", "else it means", "not compared then"), lines)


def _quoted(names: str) -> str:
    return " ".join(f"`{name}`" for name in names.split())


def page(text: str) -> str:
    """Returns the page with its tables made anew: each stands where one with the same head stood, in the same order."""
    wanted = [tensors(), names(TENSOR, AID, UNUSED), names(SETTING), unexpressed(), names(LOGGED)]
    parts = text.split("\n\n")
    for at, part in enumerate(parts):
        if wanted and part.split("\n")[0] == wanted[0].split("\n")[0]:
            parts[at] = wanted.pop(0) + "\n" * (part.endswith("\n"))
    assert not wanted
    return "\n\n".join(parts)


def _spelled(found: Iterable[Alias]) -> str:
    return " ".join(f"`{alias.spelling}{'?!'[alias.strength // 2] if alias.strength != 1 else ''}`" for alias in found)


def _words(row: Row) -> str:
    return " ".join(f"`{said}={meant}`" for said, meant in row.words.items())


def _table(head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    body = ["|" + "".join(f" {cell} |" if cell else " |" for cell in line) for line in lines]
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *body])


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
