"""How a dump is verified that is small enough to be computed again for every cause: what deviates first, and what explains it.

A kind brings a `Trial`: how its dump is computed under other settings or with a known mistake, and compared with the file.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from blueprint.dumps import Array
from blueprint.verifying.compare import Compared
from blueprint.verifying.lines import DIFFERS, NEEDS_OTHERS, Line, first_of, following, lines_of, settled
from blueprint.verifying.verdict import NOTHING, Causes, Match

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


class Evidence(Protocol):
    """What a cause is held against: one file, or all files of a step."""

    def explains(self, each: Any, name: str) -> bool:
        """Tells whether a quantity agrees with a cause, made again from the files' own rows before it."""

    def match(self, each: Any, name: str) -> Match:
        """Returns a cause with what deviates although everything was done so."""


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
        """Returns a cause with what deviates although everything was done so."""
        compared = self.under(each)
        return Match(each.label, compared[name].largest, deviating(compared))

    def under(self, each: Labelled) -> Mapping[str, Compared]:
        """Compares with everything done so; what cannot be computed then stays as it is, and is not taken to agree."""
        return {**self.straight, **self.trial.compared(each)}


def deviating(compared: Mapping[str, Compared]) -> tuple[tuple[str, float], ...]:
    """Returns what does not agree, and by how much."""
    return tuple((each.name, each.largest) for each in compared.values() if not each.agrees)


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


def causes_of(evidence: Evidence, tries: Iterable[Sequence[Labelled]], name: str, most: int | None = None) -> Causes:
    """Returns what explains a deviation and leaves the least: tried on that quantity alone, from the files' own rows before it,
    then on the rest."""
    best, tried, known = list[Match](), 0, 0
    for stage in tries:
        here = stage if most is None else stage[: max(0, most - tried)]
        tried, known = tried + len(here), known + len(stage)
        found = [evidence.match(each, name) for each in here if evidence.explains(each, name)]
        fewest = min((len(each.still) for each in found), default=0)
        if found and (
            not best or fewest < len(best[0].still)
        ):  # what a later stage explains no better is farther fetched
            best = [each for each in found if len(each.still) == fewest]
        if any(each.rest for each in best):
            break
    return Causes(tuple(best), tried, known, "None of the known mistakes that were tried explains it.")
