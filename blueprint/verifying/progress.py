"""How what takes long shows its progress, and how many threads it may take."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

Progress = Callable[[int], None]
Watch = Callable[[str, int], Progress]
"""Called with what begins and how many tokens it will go through; returns what is called with how many were done."""


def unseen(words: int) -> None:
    """Shows no progress."""


def quiet(what: str, words: int) -> Progress:
    """Shows no progress of anything."""
    return unseen


@contextmanager
def one_thread() -> Iterator[None]:
    """Lets torch use one thread: with several, small computations mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
