"""What dumps come to, of whichever kind: a verdict for each file, and one for all files of a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.verifying.causes import NOTHING, Causes, Match
from blueprint.verifying.lines import DIFFERS, Line

if TYPE_CHECKING:
    from blueprint.verifying.choose import Chosen
    from blueprint.verifying.step_lines import StepLine

Progress = Callable[[int], None]
Watch = Callable[[str, int], Progress]
"""Is told what begins and how many words it will go through, and returns what is called with how many were done."""


def quiet(what: str, words: int) -> Progress:
    """Shows no progress."""
    return lambda done: None


@dataclass(frozen=True)
class VerifyOptions:
    """How dumps are verified, as the options of `blueprint verify` say it.

    preset: whose conventions, None: those of the library that the file names. overrides: other values, as `ppo.gamma=0.99`.
    tolerance: multiplies every tolerance. device: where torch computes.
    """

    preset: str | None = None
    overrides: tuple[str, ...] = ()
    tolerance: float = 1.0
    device: str = "cpu"


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
    def files(self) -> tuple[Path, ...]:
        """The files that were verified."""
        return tuple(part.path for part in self.parts)

    @property
    def agrees(self) -> bool:
        """Whether every logged number of every file that could be compared agrees."""
        return self.first is None
