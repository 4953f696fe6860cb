"""What a run may have been set to instead: other values of its settings, other presets, two words at a time; and known mistakes.

A kind has tables for it: numbers that people use, by setting; words of which no dump of the kind can be computed; and mistakes by
name, with what is done otherwise then.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

from blueprint.inputs import Catalogue
from blueprint.verifying.in_memory import Try, Ways
from blueprint.verifying.settings import Setting, Settings, shown, written

Mistakes = Mapping[str, Sequence[tuple[str, Ways]]]
"""By what they concern, mistakes: how a report puts each, and what is done otherwise."""


@dataclass(frozen=True)
class Conventions:
    """The settings of a kind, and what they may be instead.

    presets: all of them, with the record of each setting. numbers: by setting, those that libraries and papers use.
    never: by setting, words that take what no dump of the kind has.
    """

    presets: Callable[[], Catalogue]
    numbers: Mapping[str, Sequence[float]]
    never: Mapping[str, Collection[str]] = field(default_factory=dict)

    @cached_property
    def catalogue(self) -> Catalogue:
        """The presets and settings."""
        return self.presets()

    def said(self, changes: Settings) -> str:
        """Says settings as numbers files have them."""
        return ", ".join(f"{written(self.catalogue, key)} = {shown(value)}" for key, value in changes.items())

    def values(self, settings: Settings, key: str, also: Sequence[Setting] = ()) -> list[Setting]:
        """Returns what a setting may be instead: every other word, or the numbers that people use, and `also`."""
        every: tuple[Setting, ...] = self.catalogue.settings[key].words or (*self.numbers.get(key, ()), *also)
        return [each for each in dict.fromkeys(every) if each not in (settings[key], *self.never.get(key, ()))]

    def others(self, settings: Settings, keys: Collection[str]) -> Iterator[Try]:
        """Yields each of some settings with its other values."""
        for key in self.catalogue.settings:
            for value in self.values(settings, key) if key in keys else ():
                yield self.changed(settings, {key: value})

    def changed(self, settings: Settings, changes: Settings, more: str = "", fitted: bool = False) -> Try:
        """Returns settings with changes; more: what is said behind them; fitted: whether the file gave a number away."""
        return Try(f"{self.said(changes)}{more}", {**settings, **changes}, fitted=fitted, found=fitted)

    def of_presets(self, settings: Settings, read: Collection[str] | None = None) -> Iterator[Try]:
        """Yields what other presets do, where something that is read is another value; None: everything is."""
        for name, preset in self.catalogue.presets.items():
            keys = preset.values.keys() if read is None else preset.values.keys() & set(read)
            known = all(preset.values[key] not in words for key, words in self.never.items())
            if known and any(preset.values[key] != settings[key] for key in keys):
                yield Try(f"the conventions of {name}", {**settings, **preset.values})

    def two_at_a_time(self, settings: Settings, keys: Sequence[str]) -> Iterator[Try]:
        """Yields two of some settings at a time, each with another value."""
        singles = [(key, value) for key in keys for value in self.values(settings, key)]
        for (one, value), (other, second) in combinations(singles, 2):
            if one != other:
                both = f"{self.said({one: value})}, and {self.said({other: second})}"
                yield Try(both, {**settings, one: value, other: second})


def mistakes_in(table: Mistakes, concerns: Collection[str], settings: Settings) -> list[Try]:
    """Returns the mistakes that concern something; what reads one position too late may have the same numbers as another mask."""
    return [Try(label, settings, ways, far="moved" in ways) for each in concerns for label, ways in table[each]]


def multiplied(settings: Settings, name: str, by: float, says: str) -> Try:
    """Returns a quantity multiplied by a number."""
    return Try(says, settings, {"factor": {name: by}})
