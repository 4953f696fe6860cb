"""What dumps come to, of whichever kind: a verdict for each file, one for all files of a step, and what explains a deviation.

Also what a kind of workbook does with dumps: it verifies those of a step, and shows a part of one as a workbook, of which it
says how near that is to the dump computed again.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from blueprint.dumps import Array, Dump, require
from blueprint.verifying.compare import NEEDS_OTHERS, Compared, Line, StepLine, same_numbers, summary
from blueprint.verifying.progress import Watch
from blueprint.verifying.settings import Chosen, Settings, VerifyOptions
from blueprint.verifying.two_forwards import TwoForwards
from blueprint.workbooks.registry import kind_named

NEARLY = 10.0
"""How much worse than the best match another one may be, and still be named."""


@dataclass(frozen=True)
class Match:
    """A cause with which a quantity agrees. said: how a report puts it, behind "matches with".

    largest: the largest difference that is left of the quantity. still: what else deviates then, and by how much, by name.
    rank: how far-fetched it is, from 0; beyond: whether it is the mean and deviation of another batch; see
        `neighbours.Neighbour`. changes: the settings that it changes. tried_on: so many of the files that deviate it was
        tried on, where that are not all of them; else 0. unseen: what was logged and cannot be computed if everything was done so.
    same: causes that give the same numbers in every logged value of every file (`said` of each): no file here tells them apart.
    stands_for: so many more changes that come to the same for any numbers, not for those of these files alone: one mistake, spelled
        otherwise. constant: whether the quantity no longer depends on the file's numbers.
    made: of each file, what it comes to with the cause; forgotten once it was asked what is the same.
    rank is 1 where a cause is one of the quantity alone, 2 where it is one of some files alone, in `trials`.
    """

    said: str
    largest: float
    still: tuple[tuple[str, float], ...] = ()
    rank: int = 0
    beyond: bool = False
    changes: Settings = field(default_factory=dict)
    tried_on: int = 0
    unseen: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    stands_for: int = 0
    constant: bool = False
    made: tuple[Mapping[str, Compared], ...] = field(default=(), repr=False, compare=False)

    @property
    def rest(self) -> bool:
        """Whether everything else that was logged then agrees, too: all of it was computed again with the cause."""
        return not self.still and not self.unseen


class Otherwise(NamedTuple):
    """What a cause makes of a file with other numbers: by name rows and numbers; constant: whether the quantity is."""

    made: Mapping[str, Array]
    constant: bool


Elsewhere = Callable[[Match], Otherwise | None]


def told_apart(found: Sequence[Match], elsewhere: Elsewhere = lambda match: None) -> tuple[Match, ...]:
    """Returns the causes in order, each naming in `same` those that give the same numbers in all files: computed, not assumed.

    A cause that agrees only within rounding gives other numbers, so `same` leaves it out. elsewhere: computes a cause on numbers
    other than the files'; if more than `FEW_EQUAL` causes are alike, only the first of those alike there, too, is kept.
    """
    classes = list[list[Match]]()
    for match in found:
        home = next((each for each in classes if same(each[0], match)), None)
        if home is None:
            classes.append([match])
        elif _change(match) not in map(_change, home):  # said of two spellings of an equation it is one change
            home.append(match)
    classes = [_said_once(each, elsewhere) if len(each) > FEW_EQUAL else each for each in classes]
    return tuple(
        replace(match, same=tuple(other.said for other in each if other is not match), made=())
        for each in classes
        for match in each
    )


FEW_EQUAL = 5
"""So many causes that give the same numbers are named one by one."""


def _said_once(equal: Sequence[Match], elsewhere: Elsewhere) -> list[Match]:
    """Returns causes of which each gives other numbers than the others, in a file whose numbers are others."""
    kept = list[tuple[Match, Otherwise | None]]()
    for match in equal:
        there = elsewhere(match)
        home = next((at for at, (_, other) in enumerate(kept) if _alike(there, other)), None)
        if home is None:
            kept.append((replace(match, constant=there is not None and there.constant), there))
        else:
            first, other = kept[home]
            kept[home] = replace(first, stands_for=first.stands_for + 1), other
    return [match for match, _ in kept]


def _alike(one: Otherwise | None, other: Otherwise | None) -> bool:
    """Tells whether two causes come to the same in that file; False where it could not be computed."""
    if one is None or other is None or one.made.keys() != other.made.keys():
        return False
    return all(_as_one(row, other.made[name]) for name, row in one.made.items())


def _as_one(row: Array, other: Array) -> bool:
    """Tells whether numbers are the same; none, and infinite ones, are all alike."""
    there = np.isfinite(row) & np.isfinite(other)
    return np.array_equal(np.isfinite(row), np.isfinite(other)) and np.allclose(row[there], other[there], 1e-9, 1e-12)


def _change(match: Match) -> tuple[str, str]:
    """Returns of which row a cause is, and what is changed there, however that row is spelled; else all that is said.

    The row behind is the one before, and so is the first or the last of all.
    """
    head, colon, change = match.said.partition(": ")
    own = head.partition(SPELLED)[0].partition(" (")[0]
    return (own, ANOTHER.sub(r" of the \1 before is read", change.lower())) if colon else (match.said, "")


SPELLED = ", as libraries spell it"
ANOTHER = re.compile(r" of the (?:first |last )?([\w ]+?) (?:behind is read|is read for all)")
"""Another row that is read."""


def same(one: Match, other: Match) -> bool:
    """Tells whether two causes give the same numbers in every logged value of every file; False where that was not computed."""
    if not one.made or len(one.made) != len(other.made):
        return False
    return all(
        here.keys() == there.keys() and all(same_numbers(here[name], there[name]) for name in here)
        for here, there in zip(one.made, other.made, strict=True)
    )


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
    named = (match for match in best if match.largest <= max(NEARLY * least, negligible))
    return tuple(sorted(named, key=lambda match: (match.rank, max(match.largest, negligible))))


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
    engine: the generating engine's log-probs beside the trainer's; their line comes next.
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
    before_update: TwoForwards = field(default_factory=TwoForwards)
    engine: TwoForwards = field(default_factory=TwoForwards)

    def __repr__(self) -> str:
        """Says in a line or two what it comes to: a notebook shows it, and no arrays."""
        return _in_short(f"{type(self).__name__} by {self.preset}", self.lines, self.first, self.causes)

    @property
    def of_forwards(self) -> tuple[Line, ...]:
        """The lines of what two forwards of the same policy make."""
        return (*self.before_update.lines, *self.engine.lines)

    @property
    def agrees(self) -> bool:
        """Whether every logged number that could be compared agrees."""
        return self.first is None

    @property
    def compared(self) -> bool:
        """Whether anything could be compared at all."""
        return any(line.says != NEEDS_OTHERS for line in self.lines)


@dataclass(frozen=True)
class Part:
    """One file of a step: how it was verified, and what it came to."""

    path: Path
    chosen: Chosen
    verdict: Verdict


@dataclass(frozen=True)
class StepVerdict:
    """What the files of one step come to.

    step: its number, as the files say it, else None. parts: a verdict for each file, in the order of their places.
    unread: by file that could not be read, or not be computed with, why, in a sentence.
    lines: every logged quantity, where it is worst. first: the one that deviates first. causes: what explains it, the best
        first; looked for once, for all files.
    lacking: what is not there of the step, in sentences' parts. notes: sentences on what was assumed.
    search: how much was tried for what explains several files; None of a single one, whose verdict says it, and where nobody asked.
    """

    step: int | None
    parts: tuple[Part, ...]
    unread: Mapping[Path, str]
    lines: tuple[StepLine, ...] = ()
    first: StepLine | None = None
    causes: tuple[Match, ...] = ()
    lacking: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    search: Causes | None = None

    def __repr__(self) -> str:
        """Says in a line or two what it comes to: a notebook shows it, and no arrays."""
        step = "" if self.step is None else f" of step {self.step}"
        first, lines = self.first.line if self.first else None, tuple(each.line for each in self.lines)
        return _in_short(f"{type(self).__name__}{step}, files {len(self.parts)}", lines, first, self.causes)

    @property
    def agrees(self) -> bool:
        """Whether every logged number of every file that could be compared agrees."""
        return self.first is None

    @property
    def compared(self) -> bool:
        """Whether anything could be compared at all, in any file."""
        return any(part.verdict.compared for part in self.parts)


def _in_short(what: str, lines: Sequence[Line], first: Line | None, causes: Sequence[Match]) -> str:
    """Says how many logged quantities were compared, which deviates first, and what explains it."""
    if first is None:
        return f"<{what}: {summary(lines)}>" if lines else f"<{what}: nothing could be compared>"
    found = first.compared
    deviating = sum(not line.compared.agrees for line in lines)
    cause = f"; {causes[0].said}" if causes else ""
    far = (
        f"{found.deviating} of {found.cells} numbers, by up to {found.largest:.3g} where {found.allowed:.1g} is allowed"
    )
    return f"<{what}: {deviating} of {len(lines)} logged quantities deviate, first {first.called} ({far}){cause}>"


class ViewOptions(NamedTuple):
    """What is shown of a dump, as the options of `blueprint import` say it; see there."""

    rows: list[int] | None = None
    worst: int | None = None
    by: str | None = None
    tokens: int = 32
    gradients: bool = False


class Agreement(NamedTuple):
    """By name how far a row or a number is from the replay's, over 1 + its largest; and how far it may be."""

    distances: Mapping[str, float]
    near: float

    @property
    def worst(self) -> float:
        """The largest distance."""
        return max(self.distances.values(), default=0.0)

    @property
    def apart(self) -> list[str]:
        """What is farther than rounding, in order."""
        return [name for name, off in self.distances.items() if not off <= self.near]


class Shown(NamedTuple):
    """A part of a dump that becomes a workbook.

    what: what is shown, in words. remarks: what of the workbook is not as the library had it. numbers: makes its numbers,
    under a name. agreement: compares its blocks, by their names, with the dump computed again.
    """

    what: str
    remarks: tuple[str, ...]
    numbers: Callable[[str], Any]
    agreement: Callable[[Mapping[str, Array]], Agreement]


@dataclass(frozen=True)
class Verifier:
    """How dumps of a kind are verified and shown.

    check_device: raises MinibatchError where they cannot be computed. verify: what the dumps of one step come to; `unread` are
    files of it that could not be read. as_part: a dump that is a part of a larger batch, with what was
        fitted to what its verdict leaves open.
    together: the files of a step as one dump, of which a part may be shown; raises MinibatchError where that cannot be.
    shown: what of a dump is shown; raises MinibatchError for a row that is not there, and other such wishes.
    """

    check_device: Callable[[str], None]
    verify: Callable[[Sequence[Any], VerifyOptions, Watch, Mapping[Path, str]], StepVerdict]
    shown: Callable[[Verdict, Chosen, ViewOptions], Shown]
    as_part: Callable[[Verdict], Dump]
    together: Callable[[Sequence[Any]], Dump] | None = None


def verifier_of(dump: Dump) -> Verifier:
    """Returns how dumps of the kind of this one are verified."""
    found: Verifier = kind_named(dump.kind).part("verifier")
    return found


FEW, ALL = 4, 8
"""Rows of a larger dump that are shown unasked, and rows of a dump that is shown whole."""


def picked(path: str, badness: Array, most: int, options: ViewOptions, called: str) -> Array:
    """Returns which rows are shown: those that are asked for, else all of a few, else the worst. badness: [N], the worst first.

    Raises MinibatchError for a row that is not there, two wishes at once, or more than fit.
    """
    count = len(badness)
    require(
        options.rows is None or options.worst is None,
        f"--rows names the {called}, --worst finds them: use one of the two",
    )
    if options.rows is not None:
        stray = [row for row in options.rows if not 0 <= row < count]
        require(not stray, f"{path} has no row {stray[0] if stray else ''}: it has {called} 0 … {count - 1}")
        rows = np.array(list(dict.fromkeys(options.rows)))
    elif options.worst is None and count <= ALL:
        rows = np.arange(count)
    else:
        rows = np.sort(np.argsort(-badness, kind="stable")[: options.worst or FEW])
    require(len(rows) <= most, f"{len(rows)} {called} are asked for: a workbook shows up to {most}")
    return rows


def agreement_of(theirs: Mapping[str, Array], ours: Mapping[str, Array], near: float) -> Agreement:
    """Compares blocks of a workbook with rows and numbers, as far as both are there; each over 1 + its largest."""
    found = {}
    for name, row in ours.items():
        if name in theirs:
            apart = np.abs(np.asarray(theirs[name], float) - row).max(initial=0.0)
            found[name] = float(apart / (1 + np.abs(row).max(initial=0.0)))
    return Agreement(found, near)
