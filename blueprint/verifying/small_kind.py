"""A kind whose dumps are small enough to be computed again for every cause, told by its tables: how its verifier works on them; and
what the functions of such tables are made of: numbers that a file itself gives away, masks with a well-known mistake, and pairs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from blueprint.dumps import Array, Dump, together, whole_of
from blueprint.verifying.compare import Axes
from blueprint.verifying.in_memory import (
    Causes,
    Given,
    Judge,
    Quantity,
    Recompute,
    SmallTrial,
    Ways,
    given_of,
    verdict_of,
)
from blueprint.verifying.progress import Watch, one_thread
from blueprint.verifying.settings import Chosen, Settings, VerifyOptions, known_device
from blueprint.verifying.stages import Selection
from blueprint.verifying.trials import Way, verify_parts
from blueprint.verifying.verdict import Shown, StepVerdict, Verdict, Verifier, ViewOptions

UNITS = {"float64": 1e-12, "float32": 1e-6, "float16": 2.0**-9, "bfloat16": 2.0**-6}
"""By dtype, what a log-prob or a score may be off, of 1 + its size: 16 units in the last place, for two forwards of one text."""


class SmallKind(NamedTuple):
    """What a kind brings.

    quantities: by name, in the order of derivation, what a file may have logged. recompute: of a device, what computes a dump again
    there; one for each dump, so that it may keep what it read. tries: what may have been done otherwise where a quantity deviates.
    losses: quantities of which something may be done otherwise alone. axes: what rows are called.
    as_good: quantities that are not taken from the file where all of them agree with what was computed.
    """

    quantities: Mapping[str, Quantity]
    recompute: Callable[[str], Recompute]
    tries: Causes
    losses: Sequence[str]
    axes: Axes
    as_good: Sequence[str] = ()

    def trial(self, batch: Dump, settings: Settings, options: VerifyOptions, steps: Sequence[Dump] = ()) -> SmallTrial:
        """Computes a dump again under settings, to be compared with what its file logged; steps: all files of the step."""
        again = self.recompute(options.device)
        found = again(batch, settings, sized=True)
        judge = Judge(batch, found, self.quantities, options.tolerance, self.axes)
        given = given_of(batch, self.quantities)
        if all(each.agrees for name, each in judge.compared(found).items() if name in self.as_good):
            given = {name: each for name, each in given.items() if name not in self.as_good}
        whole, losses = whole_of(batch, steps), tuple(self.losses)
        return SmallTrial(batch, settings, found, judge, given, whole, again, self.tries, losses, self.quantities)

    def verifier(self, shown: Callable[[Verdict, Chosen, ViewOptions], Shown]) -> Verifier:
        """Returns how the files of one step are verified, each with its own rows; shown: what of a dump becomes a workbook."""

        @one_thread()
        def verify_steps(
            batches: Sequence[Dump], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
        ) -> StepVerdict:
            return verify_parts(Way(self.quantities, self.trial, verdict_of), batches, options, watch, not_read)

        return Verifier(known_device, verify_steps, shown, lambda verdict: verdict.replayed.batch, together)


def sums(rows: Mapping[str, Array]) -> dict[str, float]:
    """Returns by number the sum of the sizes of what it is a mean of: a library adds up before it divides."""
    with np.errstate(over="ignore"):
        return {name: float(np.abs(row).sum()) for name, row in rows.items()}


DIGITS = 3
"""So many digits a number has that somebody typed; of one with more, nothing is said."""
ON_A_LINE, NO_CONSTANT = 5, 1e-5
"""Different numbers below which a straight line through them proves nothing; and a constant that is none."""


def typed(value: float, most: float = np.inf, digits: int = DIGITS) -> Iterator[float]:
    """Yields a number above 0, and not above the most that may stand there, as it would be typed."""
    if np.isfinite(value) and value > 0:
        rounded = float(f"{value:.{digits}g}")
        yield from [rounded] if rounded <= most else []


def off_by(
    recompute: Recompute, batch: Dump, settings: Settings, name: str, given: Given
) -> Callable[[str, float], float]:
    """Returns how far a logged number is off where a setting has another value. given: results of the file before it."""
    return lambda key, value: recompute(batch, {**settings, key: value}, given=given).numbers[name] - batch.logged[name]


def coefficient(off: Callable[[float], float]) -> float:
    """Returns what a coefficient must be for nothing to be off; what is off is straight in it. nan where it does not count."""
    none, one = off(0.0), off(1.0)
    return none / (none - one) if none != one else np.nan


def straight_line(ours: Array, theirs: Array, digits: tuple[int, int] = (DIGITS, DIGITS)) -> tuple[float, float] | None:
    """Returns slope and constant of the line of our numbers on which theirs lie nearest, [N] both, as somebody would type them.

    None where our numbers are too few or theirs are none, and where both are the same.
    """
    if len(np.unique(ours.round(9))) < ON_A_LINE or not np.isfinite(theirs).all():
        return None
    found = np.linalg.lstsq(np.stack([ours, np.ones_like(ours)], axis=1), theirs, rcond=None)[0]
    slope, constant = (
        float(f"{each:.{few}g}") if abs(each) > NO_CONSTANT else 0.0 for each, few in zip(found, digits, strict=True)
    )
    return (slope, constant) if slope and (slope, constant) != (1.0, 0.0) else None


def on_the_line(line: tuple[float, float], of: str) -> str:
    """Says a line: `2 times the right advantages, and 1`."""
    slope, constant = line
    return f"{slope:g} times the right {of}{f', and {constant:g}' if constant else ''}"


def from_here_on(mask: Array) -> Array:
    """Returns how many tokens count from each position on, [N, T]: 0 behind the last one."""
    return np.asarray(np.flip(np.cumsum(np.flip(mask, 1), axis=1), 1))


def counted(mask: Array, way: str) -> Array:
    """Returns the mask, [N, T], bool, as it is or by one of the mistakes.

    no_last: without the last token of each row, as where the end token is taken for a pad. no_end: without it where pads follow.
    no_first: without the first.
    one_more: with the token behind the last. later: moved by a token, as where it is not shifted as the labels are. not_full:
    without the rows that fill their columns. all: every position, prompt and pads, too.
    """
    match way:
        case "no_last":
            return np.asarray(mask & (from_here_on(mask) > 1))
        case "no_end":
            return np.asarray(mask & ((from_here_on(mask) > 1) | mask[:, -1:]))
        case "no_first":
            return np.asarray(mask & (np.cumsum(mask, axis=1) > 1))
        case "one_more":
            return np.asarray(mask | np.pad(mask, ((0, 0), (1, 0)))[:, :-1])
        case "later":
            return np.asarray(np.pad(mask, ((0, 0), (1, 0)))[:, :-1])
        case "not_full":
            return np.asarray(mask & ~mask[:, -1:])
        case "all":
            return np.ones_like(mask)
    return mask


@lru_cache(maxsize=256)
def places(pairs: int) -> Mapping[str, Selection]:
    """Returns where responses and pairs stand in columns, by what definitions call it."""
    pair, other = np.arange(pairs), np.arange(pairs) + pairs
    both = np.concatenate([pair, pair])
    return {"chosen": Selection(pair, both), "rejected": Selection(other, both), "same": Selection(pair, pair)}


def parts_of(pairs: int, ways: Ways) -> list[Array]:
    """Returns the pairs of each part of a file where means are over so many parts; all where there are none."""
    size = -(-pairs // int(ways.get("parts", 1)))
    return [np.arange(start, min(start + size, pairs)) for start in range(0, pairs, size)]


def factor_of(ways: Ways, name: str) -> float:
    """Returns what a quantity is multiplied by."""
    return float(ways.get("factor", {}).get(name, 1.0))
