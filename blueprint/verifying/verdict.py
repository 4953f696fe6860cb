"""What dumps come to, of whichever kind: a verdict for each file, one for all files of a step, and what explains a deviation."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blueprint.verifying.lines import DIFFERS, Line, StepLine
from blueprint.verifying.settings import Chosen, Settings

Progress = Callable[[int], None]
Watch = Callable[[str, int], Progress]
"""Called with what begins and how many tokens it will go through; returns what is called with how many were done."""


def unseen(words: int) -> None:
    """Shows no progress."""


def quiet(what: str, words: int) -> Progress:
    """Shows no progress of anything."""
    return unseen


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
    changes: Settings = field(default_factory=dict)

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


@dataclass(frozen=True)
class First:
    """What must hold before the first update. lines: of log-probs and values. said: what it looks like, in sentences."""

    lines: tuple[Line, ...] = ()
    said: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def differs(self) -> Line | None:
        """The first line that no noise of a forward explains."""
        return next((line for line in self.lines if line.says == DIFFERS), None)


@dataclass(frozen=True)
class Verdict:
    """What a dump comes to under a preset.

    preset: its name, for people. replayed: the dump computed again: its `batch`, and its `numbers` by name.
    lines: every logged quantity that can be compared, in the order of derivation.
    uncompared: logged quantities that cannot be, and what the file lacks for them.
    first: the first that differs by itself, or else the first that deviates at all; and causes: which single known
        convention explains it, the best first. search: how much was tried for that; None where nobody asked for a cause.
    left_open: tensors that only the other files of the step can judge, and the straight line that they lie on.
    before_update: what must hold before the first update, where the file says that it is of that time; its lines stand first.
    """

    preset: str
    replayed: Any
    lines: tuple[Line, ...]
    uncompared: Mapping[str, str]
    first: Line | None
    causes: tuple[Match, ...]
    notes: tuple[str, ...]
    search: Causes | None = NOTHING
    left_open: Mapping[str, Any] = field(default_factory=dict)
    before_update: First = field(default_factory=First)

    @property
    def agrees(self) -> bool:
        """Whether every logged number that could be compared agrees."""
        return self.first is None


@dataclass(frozen=True)
class Part:
    """One file of a step: how it was verified, and what it came to."""

    path: Path
    chosen: Chosen
    verdict: Verdict


@dataclass(frozen=True)
class StepVerdict:
    """What the files of one step come to.

    step: its number, as the files say it, else None.
    parts: a verdict for each file, in the order of ranks, epochs, minibatches and microbatches.
    unread: by file that could not be read, or not be computed with, why, in a sentence.
    lines: every logged quantity, where it is worst. first: the one that deviates first. causes: what explains it, the best
        first; looked for once, for all files.
    lacking: what is not there of the step, in sentences' parts. notes: sentences on what was assumed.
    """

    step: int | None
    parts: tuple[Part, ...]
    unread: Mapping[Path, str]
    lines: tuple[StepLine, ...] = ()
    first: StepLine | None = None
    causes: tuple[Match, ...] = ()
    lacking: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether every logged number of every file that could be compared agrees."""
        return self.first is None
