"""Settings that no convention expresses: what they change is not compared, and a note says so, instead of accusing the run."""

from collections.abc import Collection, Mapping
from typing import Any

from blueprint.dumps.names import BEYOND, Names, Row
from blueprint.quoting import unquoted

FINE = "ok"
"""Stands in the table at the values with which a setting changes nothing."""


def unexpressed(said: Mapping[str, Any], library: str | None, names: Names) -> dict[str, str]:
    """Returns, by neutral name of a logged number that cannot be compared, which setting of the file forbids it, and why.

    said: hyperparameters as the file has them, by dotted names.
    """
    found: dict[str, str] = {}
    for name, value in said.items():
        for row in beyond(name, library, names):
            if _text(value) not in row.words and _counts(row, said):
                reason = f"{unquoted(name)} = {unquoted(_text(value))} ({row.meaning})"
                found |= {logged: reason for logged in row.name.split() if logged not in found}
    return found


def beyond(name: str, library: str | None, names: Names) -> list[Row]:
    """Returns the rows of the table that a setting means, in a library if that is known."""
    last = name.rpartition(".")[2]
    mine = [each for each in names.aliases(BEYOND) if library not in names.libraries or each.library == library]
    return [alias.row for alias in mine if alias.spelling in (name, last)]


def notes(logged: Collection[str], reasons: Mapping[str, str]) -> tuple[str, ...]:
    """Returns a sentence for each setting that keeps logged numbers from being compared."""
    by_reason: dict[str, list[str]] = {}
    for name in logged:
        if name in reasons:
            by_reason.setdefault(reasons[name], []).append(name)
    return tuple(
        f"not compared: {', '.join(names)}; no convention says {reason}" for reason, names in by_reason.items()
    )


def _counts(row: Row, said: Mapping[str, Any]) -> bool:
    """Whether a row counts: `if=x` counts only where a setting x is there and neither 0 nor false."""
    needed = row.words.get("if")
    return needed is None or any(name.rpartition(".")[2] == needed and bool(value) for name, value in said.items())


def _text(value: Any) -> str:
    """Returns a value as the table has it: true, false, none, a word, or a number."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else str(value)
