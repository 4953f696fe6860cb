"""How what takes long shows its progress, how many threads it may take, and how long a search for causes goes on."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import thread_time
from typing import TypeVar

import torch

T = TypeVar("T")

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


MOST_SECONDS = 45.0
"""So long a search for causes may take, in a processor's time: the likelier ones are tried by then."""


class Room:
    """How many causes may be tried: so many, or all where it is None, in the time that there is. tried: how many were."""

    def __init__(self, most: int | None) -> None:
        """Begins to count."""
        self.most, self.tried, self._end = most, 0, thread_time() + MOST_SECONDS

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return thread_time() > self._end

    def of(self, stage: Sequence[T]) -> Iterator[T]:
        """Yields the causes of a stage for which there is room, and all of which numbers tell that they explain something."""
        left = len(stage) if self.most is None else self.most - self.tried
        for at, each in enumerate(stage):
            if getattr(each, "found", False) or (at < left and not self.late):
                self.tried += 1
                yield each
