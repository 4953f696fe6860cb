"""How a dump is verified that is small enough to be computed again for every cause: what deviates first, and what explains it.

A kind brings a `Trial`: how its dump is computed under other settings or with a known mistake, and compared with the file.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
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
        causes = causes_of(trial, tries(first.compared.name), first.compared.name, most)
        if causes.matches and causes.matches[0].rest:
            lines = [line if settled(line) or line == first else following(line) for line in lines]
    return Judged(lines, first, causes)


def causes_of(trial: Trial, tries: Iterable[Sequence[Labelled]], name: str, most: int | None = None) -> Causes:
    """Returns what explains a deviation: tried on that quantity alone, from the file's own rows before it, then on the rest."""
    found, tried, known = list[Match](), 0, 0
    for stage in tries:
        here = stage if most is None else stage[: max(0, most - tried)]
        tried, known = tried + len(here), known + len(stage)
        found += [_match(trial, each, name) for each in here if _explains(trial, each, name)]
        if any(each.rest for each in found):
            break
    best: Sequence[Match] = [each for each in found if each.rest] or sorted(found, key=lambda match: len(match.still))
    return Causes(tuple(best), tried, known, "None of the known mistakes that were tried explains it.")


def _explains(trial: Trial, each: Labelled, name: str) -> bool:
    before = {key: value for key, value in trial.given.items() if key in trial.quantities[name].after}
    found = trial.compared(each, before, name)
    return name in found and found[name].agrees


def _match(trial: Trial, each: Labelled, name: str) -> Match:
    """Returns a cause with what deviates although everything was done so."""
    compared = trial.compared(each)
    still = tuple((one.name, one.largest) for one in compared.values() if not one.agrees)
    return Match(each.label, compared[name].largest, still)
