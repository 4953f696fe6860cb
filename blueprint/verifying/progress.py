"""How what takes long shows its progress."""

from collections.abc import Callable

Progress = Callable[[int], None]
Watch = Callable[[str, int], Progress]
"""Called with what begins and how many tokens it will go through; returns what is called with how many were done."""


def unseen(words: int) -> None:
    """Shows no progress."""


def quiet(what: str, words: int) -> Progress:
    """Shows no progress of anything."""
    return unseen
