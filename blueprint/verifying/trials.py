"""Verifies dumps that are small enough to be recomputed for every possible cause: finds what deviates first and what explains it,
in one file, or once for all files of a step, in the file that deviates first.

A kind brings a `Trial`: how its dump is computed under other settings or with a known mistake, and compared with the file.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from blueprint.dumps import Array, Dump, MinibatchError, in_order, key_of, missing_in, rows_twice
from blueprint.verifying.compare import (
    DIFFERS,
    NEEDS_OTHERS,
    Compared,
    Line,
    StepLine,
    first_line,
    first_of,
    following,
    lines_of,
    settled,
    step_lines,
)
from blueprint.verifying.progress import Room, Watch
from blueprint.verifying.settings import Chosen, Settings, VerifyOptions, choose
from blueprint.verifying.verdict import NOTHING, Causes, Match, Otherwise, Part, StepVerdict, Verdict, same, told_apart

Given = Mapping[str, Array]


class Labelled(Protocol):
    """Something that may have been done otherwise; label: how a report puts it."""

    @property
    def label(self) -> str:
        """How a report puts it, behind "matches with"."""


class Trial(Protocol):
    """A dump with its quantities by name, in the order of derivation, each with those that it is made of, `after`.

    given: the results that the file has, to go on with in place of what was computed.
    """

    @property
    def quantities(self) -> Mapping[str, Any]:
        """All quantities, by name."""

    @property
    def given(self) -> Given:
        """What the file has of them."""

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""

    def compared(self, each: Any = None, given: Given | None = None, until: str = "") -> Mapping[str, Compared]:
        """Compares what the file logged with what comes out, as the settings say or with something done otherwise.

        given: results of the file that stand in place of computed ones. until: the last quantity that is needed; "": all.
        """


@runtime_checkable
class Movable(Protocol):
    """A trial that can also be made of numbers that are others than those of its file."""

    def otherwise(self, each: Any, name: str, alone: bool) -> Otherwise | None:
        """Returns what a cause of a quantity then comes to, `alone` or in all that follows; None where that is not known."""


class Evidence(Protocol):
    """What a cause is held against: one file, or all files of a step."""

    def explains(self, each: Any, name: str) -> bool:
        """Tells whether a quantity agrees with a cause, made again from the files' own rows before it."""

    def match(self, each: Any, name: str) -> Match:
        """Returns a cause with what still deviates when everything is recomputed with it."""

    def bits(self, name: str, match: Match | None = None) -> float:
        """Returns how many bits a quantity has that a cause must explain; match: how many one explains that comes nearer."""

    def of_few(self, name: str) -> bool:
        """Tells whether a quantity that deviates is a share of few."""

    def otherwise(self, each: Any, name: str, alone: bool) -> Otherwise | None:
        """Returns what a cause comes to where the numbers are others; None where that is not known."""


@dataclass(frozen=True)
class OfFile:
    """A file by itself."""

    trial: Trial

    @cached_property
    def straight(self) -> Mapping[str, Compared]:
        """What the file comes to as it is."""
        return self.trial.compared()

    def explains(self, each: Labelled, name: str) -> bool:
        """Tells whether a quantity agrees with a cause, made again from the file's own rows before it."""
        trial = self.trial
        before = {key: value for key, value in trial.given.items() if key in trial.quantities[name].after}
        found = trial.compared(each, before, name)
        return name in found and found[name].agrees

    def match(self, each: Labelled, name: str) -> Match:
        """Returns a cause with what still deviates when everything is recomputed with it."""
        whole = self.under(each)
        found = [_match(each.label, name, [self.straight], [compared]) for compared in (whole, self.alone(whole, name))]
        return least_left(found, self.trial.called(name))

    def alone(self, compared: Mapping[str, Compared], name: str) -> Mapping[str, Compared]:
        """Returns what the file comes to with a cause of one quantity alone: all others stay as they are."""
        return {**self.straight, name: compared[name]} if name in compared else self.straight

    def bits(self, name: str, match: Match | None = None) -> float:
        """Returns how many bits the numbers of a quantity have that deviate; match: how many it explains."""
        left = None if match is None else match.made[0].get(name)
        return self.straight[name].bits if left is None else self.straight[name].bits_down_to(left.largest)

    def of_few(self, name: str) -> bool:
        """Tells whether a quantity is a share of few."""
        return name in self.straight and self.straight[name].of_few

    def otherwise(self, each: Any, name: str, alone: bool) -> Otherwise | None:
        """Returns what a cause comes to where the file's numbers are others."""
        return self.trial.otherwise(each, name, alone) if isinstance(self.trial, Movable) else None

    def under(self, each: Labelled) -> Mapping[str, Compared]:
        """Compares with everything done so, as far as it can be computed then."""
        return self.trial.compared(each)


def deviating(compared: Mapping[str, Compared]) -> tuple[tuple[str, float], ...]:
    """Returns what does not agree, and by how much."""
    return tuple((each.name, each.largest) for each in compared.values() if not each.agrees)


def _match(
    said: str, name: str, straight: Sequence[Mapping[str, Compared]], made: Sequence[Mapping[str, Compared]]
) -> Match:
    """Returns a cause with what it leaves in files; straight: what they come to as they are, made: with the cause."""
    still, lost = dict[str, float](), dict[str, None]()
    for before, compared in zip(straight, made, strict=True):
        for quantity, apart in deviating(compared):
            still[quantity] = max(still.get(quantity, 0.0), apart)
        lost |= dict.fromkeys(unseen(before, compared))
    largest = max(
        of.get(name, before[name]).largest for before, of in zip(straight, made, strict=True) if name in before
    )
    return Match(said, largest, tuple(still.items()), unseen=tuple(lost), made=tuple(made))


def least_left(found: Sequence[Match], called: str) -> Match:
    """Returns a cause as it is, or as one of a quantity alone, the second, where that leaves less: what agreed stays so then.

    called: what the file calls the quantity.
    """
    whole, alone = found
    alone = replace(alone, said=f"{alone.said}, in {called} alone", rank=max(alone.rank, OF_ONE_QUANTITY))
    return min(whole, alone, key=_left)


def unseen(straight: Mapping[str, Compared], compared: Mapping[str, Compared]) -> tuple[str, ...]:
    """Returns what was compared as the file is, and cannot be computed with a cause: nothing is known of it."""
    return tuple(name for name in straight if name not in compared)


class Judged(NamedTuple):
    """What is said of each quantity, the first that deviates, and what explains it."""

    lines: list[Line]
    first: Line | None
    causes: Causes


def judged(
    trial: Trial,
    tries: Callable[[str], Iterable[Sequence[Labelled]]],
    left: Callable[[Mapping[str, Compared]], Collection[str]] = lambda straight: (),
    most: int | None = None,
) -> Judged:
    """Compares a dump with itself computed again, and looks for what explains the first deviation.

    tries: by the quantity that deviates, what may have been done otherwise, in stages, the likelier first: where one explains
    everything, no later one is tried. left: of what was compared, what only others could judge. most: how many of the tries there
    is time for.
    """
    straight, own = trial.compared(), trial.compared(given=trial.given)
    open_ = left(straight)
    # what is made of something that is left open is judged by the file's own rows before it
    judged_by = {
        name: own[name] if set(trial.quantities[name].after) & set(open_) else each for name, each in straight.items()
    }
    lines = lines_of(trial.quantities, trial.called, judged_by, own)
    lines = [replace(line, says=NEEDS_OTHERS, within={}) if line.compared.name in open_ else line for line in lines]
    first, causes = first_of(lines), NOTHING
    if first is not None and first.says == DIFFERS:
        causes = causes_of(OfFile(trial), tries(first.compared.name), first.compared.name, most)
        if causes.matches and causes.matches[0].rest:
            lines = [line if settled(line) or line == first else following(line) for line in lines]
    return Judged(lines, first, causes)


@np.errstate(all="ignore")
def causes_of(evidence: Evidence, tries: Iterable[Sequence[Labelled]], name: str, most: int | None = None) -> Causes:
    """Returns the causes that explain a deviation and leave the least: each is tried on that quantity alone, from the files' own
    rows before it, then on the rest. One that takes evidence (`bits`) is named only if there is enough, and it explains all.

    A doubtful cause is compared with later stages: a less doubtful one that explains as much is named before it; one that gives the
    same numbers is named with it. What a cause comes to may be beyond every number: then it explains nothing, and numpy has nothing
    to say of it.
    """
    room, known, by = Room(most), 0, dict[str, Any]()
    best = Best(lambda match: _doubt(match, by[match.said], name))
    for stage in tries:
        known, enough = known + len(stage), evidence.bits(name)
        plain = (
            each for each in room.of(stage) if getattr(each, "found", False) or not getattr(each, "bits", 0.0) > enough
        )
        both = [(each, evidence.match(each, name)) for each in plain if evidence.explains(each, name)]
        both = [
            each
            for each in both
            if not _asked(*each, evidence.of_few(name)) > max(enough, evidence.bits(name, each[1]))
        ]
        by |= {match.said: each for each, match in both}
        best.add([match for each, match in both if match.rest or not getattr(each, "bits", 0.0)])
        if best.settled():
            break
        if room.late:
            known += 1  # at least one more is not listed
            break
    matches = told_apart(
        nearest_first(best.matches),
        lambda match: evidence.otherwise(by[match.said], name, alone=match.rank == OF_ONE_QUANTITY),
    )
    return Causes(matches, room.tried, known, "None of the known mistakes that were tried explains it.")


LEAST = 3.0
"""So many bits a cause must explain: what is hardly more than rounding moves, many changes bring nearer by chance."""


def _asked(each: Any, match: Match, of_few: bool) -> float:
    """Returns how many bits a cause must explain; a share of few that differs in some files alone has never as many."""
    by_chance = match.rank == OF_SOME_FILES and of_few
    return float("inf") if by_chance else max(LEAST, float(getattr(each, "bits", 0.0)))


NEARLY, ROUNDED = 10.0, 1e-7
FAR, WITHIN = 1, 2
"""Doubts: an equation that reads what it does not, or reads alone what others read as it was; numbers that agree within what is
allowed, and not to rounding."""
WAITS = (0, 1, 3)
"""By doubt, against how many stages more a cause is held that explains everything."""
COARSE = 1e-3
"""Where as much is allowed, as of numbers that were rounded to 16 bits, nothing agrees to rounding."""


@dataclass
class Best:
    """The causes that leave the least so far. doubt: how doubtful one is, from 0; held: against how many stages they were held."""

    doubt: Callable[[Match], int]
    matches: list[Match] = field(default_factory=list)
    held: int = 0

    def add(self, found: Sequence[Match]) -> None:
        """Takes in what a stage explains; what it explains no better is farther fetched, unless what is there is doubtful."""
        least = min(map(_left, found), default=None)
        if least is None or (self.matches and least > _left(self.matches[0])):
            return
        here = [each for each in found if _left(each) == least]
        here = list({each.said: each for each in sorted(here, key=self.doubt)}.values())
        if not self.matches or least < _left(self.matches[0]):
            self.matches, self.held = here, 0
        elif doubt := min(map(self.doubt, self.matches)):
            alike = [each for each in here if any(same(each, of) for of in self.matches)]
            better = [each for each in here if each not in alike and self.doubt(each) < doubt]
            self.matches = list({each.said: each for each in (*better, *self.matches, *alike)}.values())

    def settled(self) -> bool:
        """Counts a stage, and tells whether a cause that explains everything was held against enough of them."""
        waits = [WAITS[max(int(each.rank > 0), self.doubt(each))] for each in self.matches if each.rest]
        self.held += bool(waits)
        return bool(waits) and self.held > min(waits)


def _doubt(match: Match, each: Any, name: str) -> int:
    """Returns how doubtful a cause of a quantity is, from 0: how likely by chance others would do as well."""
    there = [of[name] for of in match.made if name in of]
    allowed = max((each.allowed for each in there), default=0.0)
    size = max((each.size for each in there if np.isfinite(each.size)), default=0.0)
    if not match.largest <= NEARLY * ROUNDED * max(1.0, size) and allowed <= COARSE:
        return WITHIN
    return FAR if getattr(each, "far", False) or getattr(each, "once", False) else 0


def nearest_first(found: Sequence[Match]) -> list[Match]:
    """Puts what agrees within the tolerance alone behind what agrees to rounding; in all else their order stays."""
    least = min((each.largest for each in found), default=0.0)
    return sorted(found, key=lambda each: not each.largest <= NEARLY * max(least, ROUNDED))


OF_ONE_QUANTITY, OF_SOME_FILES = 1, 2
"""Ranks of causes: of one quantity alone, where all that is made of it agrees as it is; and of some files alone, where the others
agree without it: the last to be believed."""


def _left(match: Match) -> tuple[int, int]:
    """Returns how much a cause leaves, what still deviates and what nobody knows; and how far-fetched it is."""
    return len(match.still) + len(match.unseen), match.rank


class FileTrial(Trial, Protocol):
    """A trial of one file of a step. most: how many causes there is time for; None: all."""

    @property
    def batch(self) -> Any:
        """The file."""

    @property
    def settings(self) -> Settings:
        """The conventions under which it is computed."""

    @property
    def most(self) -> int | None:
        """How many causes there is time for."""

    def tries(self, name: str) -> Iterable[Sequence[Labelled]]:
        """Returns what may have been done otherwise where a quantity deviates, in stages."""


class Way(NamedTuple):
    """How a kind verifies one file. quantities: all, by name, in the order of derivation.

    trial: makes one of a dump, its conventions, the options and all dumps of the step; raises MinibatchError where it cannot be
    computed. verdict: of a trial and the name of its preset; explain: whether to look for a cause.
    """

    quantities: Mapping[str, Any]
    trial: Callable[[Any, Settings, VerifyOptions, Sequence[Any]], Any]
    verdict: Callable[[Any, str, bool], Verdict]


def verify_parts(
    way: Way, batches: Sequence[Dump], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies the files of one step: each with its own numbers, and what is of the whole step over all of them.

    A cause is looked for once, in the file that deviates first; it must explain every other that differs, too, and what is said
    of the rest is said of all files.
    """
    unread, trials = dict(not_read), list[tuple[Chosen, FileTrial]]()
    steps, notes = in_order(batches)
    progress = watch("recomputing", sum(each.size for each in steps))
    for each in steps:
        try:
            chosen = choose(each, options)
            trials.append((chosen, way.trial(each, chosen.values, options, steps)))
        except MinibatchError as error:
            unread[Path(each.path)] = str(error)
        progress(each.size)
    if not trials:
        choose(steps[0], options)  # what is wrong with an option is no fault of a file
    alone = len(trials) == 1
    search = alone and options.causes
    parts = [Part(Path(of.batch.path), chosen, way.verdict(of, chosen.preset.name, search)) for chosen, of in trials]
    lines = step_lines([part.verdict for part in parts], way.quantities)
    first = first_line(lines)
    of_all = causes_in([of for _, of in trials], parts, first) if options.causes and not alone else None
    causes = of_all.matches if of_all else parts[0].verdict.causes if alone else ()
    if any(each.rest for each in causes) and first:
        lines = [
            replace(each, line=following(each.line)) if each.deviating and each != first else each for each in lines
        ]
    more = (*notes, *filter(None, [rows_twice(steps)]))
    return StepVerdict(steps[0].step, tuple(parts), unread, tuple(lines), first, causes, _lacking(steps), more, of_all)


def causes_in(trials: Sequence[FileTrial], parts: Sequence[Part], first: StepLine | None) -> Causes:
    """Returns what explains the first deviation of several files: what does so in every file that differs by itself."""
    if first is None or first.of_forwards or first.first is None or first.line.says != DIFFERS:
        return NOTHING
    differ = [
        any(line.compared.name == first.name and line.says == DIFFERS for line in part.verdict.lines) for part in parts
    ]
    here = next(of for of in trials if of.batch is first.first[1])
    where = [of for of, wrong in zip(trials, differ, strict=True) if wrong and of is not here]
    others = [of for of, wrong in zip(trials, differ, strict=True) if not wrong]
    return causes_of(OfStep(here, where, others), here.tries(first.name), first.name, here.most)


@dataclass(frozen=True)
class OfStep:
    """All files of a step, against which a cause is held.

    here: the first in which a quantity differs by itself; where: the others in which it does; others: those in which it does not.
    """

    here: FileTrial
    where: Sequence[FileTrial]
    others: Sequence[FileTrial]

    @cached_property
    def _files(self) -> Mapping[int, OfFile]:
        return {id(of): OfFile(of) for of in (self.here, *self.where, *self.others)}

    def explains(self, each: Any, name: str) -> bool:
        """Tells whether a quantity agrees with a cause in every file in which it differs by itself; a number that was fitted to one
        file must hold in all the others, too: to a single number some coefficient can always be fitted."""
        if not all(self._files[id(of)].explains(self._there(each, of), name) for of in (self.here, *self.where)):
            return False
        return not each.fitted or not self._apart(each)[1]

    def match(self, each: Any, name: str) -> Match:
        """Returns a cause with what then deviates in any file of the step; a file that agrees better as it is may be one in which
        nothing was done otherwise."""
        files = [self._files[id(of)] for of in (self.here, *self.where)]
        whole = [self._files[id(of)].under(self._there(each, of)) for of in (self.here, *self.where)]
        alone = [file.alone(compared, name) for file, compared in zip(files, whole, strict=True)]
        straight = [self._files[id(of)].straight for of in (self.here, *self.where, *self.others)]
        found = list[Match]()
        for made, of_one in ((whole, ""), (alone, name)):
            others, against = self._apart(each, of_one)
            match = _match(each.label, name, straight, [*made, *others])
            found.append(
                replace(match, rank=OF_SOME_FILES, said=f"{each.label}{self._in_these_alone(against)}")
                if against
                else match
            )
        unknown = each.ways.get("unknown", ())
        tried_on = sum(id(of.batch) not in unknown for of in (self.here, *self.where)) if unknown else 0
        return replace(least_left(found, self.here.called(name)), tried_on=tried_on)

    def bits(self, name: str, match: Match | None = None) -> float:
        """Returns how many bits the files have in which it differs; match: how many it explains."""
        files = [self._files[id(of)] for of in (self.here, *self.where)]
        if match is None:
            return sum(file.bits(name) for file in files)
        parts = [replace(match, made=(made,)) for made in match.made[: len(files)]]
        return sum(file.bits(name, part) for file, part in zip(files, parts, strict=True))

    def of_few(self, name: str) -> bool:
        """Tells whether a quantity is a share of few in a file in which it differs."""
        return any(self._files[id(of)].of_few(name) for of in (self.here, *self.where))

    def otherwise(self, each: Any, name: str, alone: bool) -> Otherwise | None:
        """Returns what a cause comes to where the numbers of the first file in which a quantity differs are others."""
        return self._files[id(self.here)].otherwise(each, name, alone)

    def _apart(self, each: Any, alone: str = "") -> tuple[list[Mapping[str, Compared]], int]:
        """Returns what the other files come to, with a cause or as they are, whichever is the better; and how many as they are.

        alone: the one quantity that the cause is of; "": all that follows from it, too.
        """
        found, against = list[Mapping[str, Compared]](), 0
        for of in self.others:
            file = self._files[id(of)]
            straight, under = file.straight, file.under(self._there(each, of))
            under = file.alone(under, alone) if alone else under
            worse = len(deviating(under)) + len(unseen(straight, under)) > len(deviating(straight))
            found.append(straight if worse else under)
            against += worse
        return found, against

    def _in_these_alone(self, against: int) -> str:
        """Says that a cause is none of the files that agree without it."""
        count = 1 + len(self.where)
        these = "that file" if count == 1 else f"these {count} files"
        others = "the other file agrees" if against == 1 else f"{against} others agree"
        return f" in {these} alone ({others} without it)" if against else ""

    def _there(self, each: Any, of: FileTrial) -> Any:
        """Returns a cause as another file has it: with what it changes, over that file's own settings."""
        if of is self.here:
            return each
        own = self.here.settings
        return each._replace(settings={**of.settings, **{k: v for k, v in each.settings.items() if v != own[k]}})


def _lacking(steps: Sequence[Dump]) -> tuple[str, ...]:
    """Returns what is not there of the step, as far as its files say it."""
    placed = [each for each in steps if each.place is not None]
    epochs = {key_of(each)[1] for each in placed}
    gaps = [
        part for epoch in epochs for part in missing_in([each for each in placed if key_of(each)[1] == epoch], True)
    ]
    return tuple(dict.fromkeys(gaps))
