"""What a misconception is: of which row, how a teacher says it, and how it changes the equation."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from blueprint.misconceptions.names import Change

NUMBER = r"\d+(?:\.\d+)*"
"""That of a step or a repetition: 2, or 2.1 for a part of the second."""
STANDS_FOR = {"step": NUMBER, "weight": ".+?", "row": ".+?"}
"""What {braces} of these names stand for; any others for one word."""


@dataclass(frozen=True)
class Misconception:
    """A mistake that is often made in a row.

    row:    the name of the row; in it {braces} stand for a word ({step} for a number, {weight} and {row} for any name), and
            a repetition (`epoch2.`) may stand before it. Several rows stand apart by |.
    name:   short and stable: results and reports use it.
    says:   one sentence in a teacher's words.
    change: what the equation then is. made: what the row then shows, of the other rows' numbers by name, where no change of
            the one equation says it; one of the two is given.
    """

    row: str
    name: str
    says: str
    change: Change | None = None
    made: Callable[[Any], Any] | None = None

    def bound(self, block: str) -> Mapping[str, str | None] | None:
        """Returns what the braces stand for in the name of a block, None if it is another row."""
        for named_like in _rows(self.row):
            if found := named_like.fullmatch(block):
                return found.groupdict()
        return None


def of(row: str, *known: tuple[str, str, Change]) -> tuple[Misconception, ...]:
    """Returns the misconceptions of a row: name, sentence and change of each."""
    return tuple(Misconception(row, *each) for each in known)


@cache
def _rows(named: str) -> tuple[re.Pattern[str], ...]:
    return tuple(map(_named_like, named.split("|")))


def _named_like(row: str) -> re.Pattern[str]:
    """Returns what the names of the rows look like that a misconception is of."""
    texts = re.split(r"\{(\w+)\}", row)
    parts = (rf"(?P<{text}>{STANDS_FOR.get(text, '[a-z_]+')})" for text in texts[1::2])
    made = "".join(next(parts) if place % 2 else re.escape(text) for place, text in enumerate(texts))
    return re.compile(rf"(?P<within>[a-z]+{NUMBER}\.)?{made}")
