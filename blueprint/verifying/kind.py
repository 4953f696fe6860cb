"""What a kind of workbook does with dumps of real runs: it verifies those of a step, and shows a part of one as a workbook."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from blueprint.dumps import Array, Dump
from blueprint.verifying.settings import Chosen, VerifyOptions
from blueprint.verifying.verdict import StepVerdict, Verdict, Watch
from blueprint.workbooks.registry import kind_named


class ViewOptions(NamedTuple):
    """Which rows of a dump are shown, as the options of `blueprint import` say it; see there."""

    rows: list[int] | None = None
    worst: int | None = None
    by: str | None = None
    tokens: int = 32


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

    what: what is shown, in words. remarks: what of the workbook is not as the library had it.
    numbers: makes its numbers, under a name. agreement: compares its blocks, by their names, with the dump computed again.
    """

    what: str
    remarks: tuple[str, ...]
    numbers: Callable[[str], Any]
    agreement: Callable[[Mapping[str, Array]], Agreement]


@dataclass(frozen=True)
class Verifier:
    """How dumps of a kind are verified and shown.

    check_device: raises MinibatchError where they cannot be computed. verify: what the dumps of one step come to; `unread` are
    files of it that could not be read. whitened_alike: a dump that is a part of a larger batch, as that was whitened.
    shown: what of a dump is shown; raises MinibatchError for a row that is not there, and other such wishes.
    """

    check_device: Callable[[str], None]
    verify: Callable[[Sequence[Any], VerifyOptions, Watch, Mapping[Path, str]], StepVerdict]
    shown: Callable[[Verdict, Chosen, ViewOptions], Shown]
    whitened_alike: Callable[[Verdict], Dump]


def verifier_of(dump: Dump) -> Verifier:
    """Returns how dumps of the kind of this one are verified."""
    found: Verifier = kind_named(dump.kind).part("verifier")
    return found
