"""The known name that a misspelt one is nearest to, and none for a name that is merely a little like it."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

ALIKE = 0.85
"""How alike two names must be, as difflib counts it, without their underlines: token_type_ids and token_ids are not."""
ENDED = 2
"""So many letters may be missing at the end: lamda is lam."""
SHORTEST = 3


def nearest(name: str, known: Collection[str]) -> str | None:
    """Returns the known name that a name is nearest to, or None where none is alike."""
    plain = {_plain(each): each for each in sorted(known, reverse=True)}
    found = get_close_matches(_plain(name), plain, 1, ALIKE)
    begun = [each for each in plain if len(each) >= SHORTEST and _begins(_plain(name), each)]
    return plain[(found or begun)[0]] if found or begun else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _begins(name: str, known: str) -> bool:
    short, long = sorted((name, known), key=len)
    return len(short) >= SHORTEST and long.startswith(short) and len(long) - len(short) <= ENDED
