"""What causes of a deviation come to: what matches, what then still deviates, and how much was tried."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from blueprint.verifying.settings import Setting

NEARLY = 10.0
"""How much worse than the best match another one may be, and still be named."""


@dataclass(frozen=True)
class Match:
    """A cause with which a quantity agrees. said: how a report puts it, behind "matches with".

    largest: the largest difference that is left of the quantity. still: what else deviates then, and by how much, by name.
    rank: how far-fetched it is, from 0; beyond: whether it is the mean and deviation of another batch; see
        `neighbours.Neighbour`. changes: the settings that it changes.
    """

    said: str
    largest: float
    still: tuple[tuple[str, float], ...] = ()
    rank: int = 0
    beyond: bool = False
    changes: Mapping[str, Setting] = field(default_factory=dict)

    @property
    def rest(self) -> bool:
        """Whether everything else that was logged then agrees, too."""
        return not self.still


@dataclass(frozen=True)
class Causes:
    """matches: the likeliest first. tried, known: how many causes were tried, of how many that might have been.

    unexplained: what is said where none of them matches.
    """

    matches: tuple[Match, ...] = ()
    tried: int = 0
    known: int = 0
    unexplained: str = "No single known convention explains it, no slip, and no pair of those that were tried."


NOTHING = Causes()


def ranked(found: Iterable[Match], negligible: float) -> tuple[Match, ...]:
    """Returns the matches that cannot be told apart, the likeliest first.

    What explains everything comes before what explains only the quantity; of these, what explains it to rounding before
    what only agrees within the tolerance; and a plain mistake before something far-fetched.
    """
    every = {match.said: match for match in found}.values()
    fewest = min((len(match.still) for match in every), default=0)
    best = [match for match in every if len(match.still) == fewest]
    least = min((match.largest for match in best), default=0.0)
    named = [match for match in best if match.largest <= max(NEARLY * least, negligible)]
    return tuple(sorted(named, key=lambda match: (match.rank, max(match.largest, negligible))))
