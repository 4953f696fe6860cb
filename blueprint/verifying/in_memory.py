"""A small dump in memory: its rows and numbers are computed again as a whole, for every cause anew, and compared, each within the
room that its kind gives it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from blueprint.dumps import Array, Dump
from blueprint.language import Constant, NotationError, Op
from blueprint.misconceptions.rewriting import Change
from blueprint.verifying.compare import Axes, Compared, compare_number, distance, first_spot, folded
from blueprint.verifying.definitions import Kept
from blueprint.verifying.found_places import part_of, places_of
from blueprint.verifying.other_numbers import Moved, otherwise_by
from blueprint.verifying.places import Seen, Stands, laid, made, stands
from blueprint.verifying.rounding import LARGEST, SUMS, TOLERANCES, coarsest, last_digit
from blueprint.verifying.settings import Settings
from blueprint.verifying.trials import judged
from blueprint.verifying.two_changes import FEWEST as FEWEST_PAIRS
from blueprint.verifying.two_changes import SHARE, Effects, Together, terms_fitted, totals_of, two_at_a_time
from blueprint.verifying.verdict import Otherwise, Verdict


class Quantity(NamedTuple):
    """A result. after: results that it is made of; made_of: tensors whose rounding it carries.

    means: the rows or numbers that may stand under the name, the usual one first, and what that means, in words. axes: what its
    rows and columns are called, where that is not as of all others.
    """

    name: str
    after: tuple[str, ...] = ()
    made_of: tuple[str, ...] = ()
    means: tuple[tuple[str, str], ...] = ()
    axes: Axes | None = None

    @property
    def rows(self) -> tuple[tuple[str, str], ...]:
        """What may stand under the name."""
        return ((self.name, ""), *self.means)


@dataclass
class Again:
    """A dump computed again, and what came of it. All by name; `rows` [N] or [N, T], `numbers` of the whole.

    sizes: by number, the mean size of what it averages. room: how far rounding alone may move a row or number, or each cell;
    extra: of a share, how much more, where rounding decides. lacks: by quantity, what the file has not that it takes.
    on_the_way: of a row, each cell, or a number, the largest number that it is made of, if that may be larger than what comes out:
        where a library's dtype cannot hold it, infinity or no number comes out there.
    """

    batch: Any
    settings: Mapping[str, float | str]
    rows: dict[str, Array] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    room: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, float] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)
    on_the_way: dict[str, Any] = field(default_factory=dict)


class Judge:
    """Compares what a file logged with what was computed again. factor: multiplies every room; axes: what rows are called."""

    def __init__(
        self,
        dump: Dump,
        straight: Again,
        quantities: Mapping[str, Quantity],
        factor: float = 1.0,
        axes: Axes | None = None,
    ) -> None:
        """Takes room from the straight recomputation, so that what is allowed does not depend on what is tried."""
        self.dump, self.straight, self.quantities, self.factor = dump, straight, quantities, factor
        self._axes = axes or Axes()
        self._dtypes = {name: dtype for name, dtype in dump.dtypes.items() if dtype in TOLERANCES}

    def compared(self, found: Again, only: str = "") -> dict[str, Compared]:
        """Returns what each logged quantity comes to, in the order of derivation; of what may stand for it, the nearest.

        only: the one that is asked for; "": all.
        """
        both = [self._each(each, found) for each in self.quantities.values() if only in ("", each.name)]
        return {each.name: each for each in both if each is not None}

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        return self.dump.called.get(name, name)

    def uncompared(self) -> dict[str, str]:
        """Returns, by the file's name for each logged quantity that cannot be computed, what the file lacks for it."""
        lacks, logged = self.straight.lacks, self.dump.tensors.keys() | self.dump.logged.keys()
        return {self.called(each): lacks[each] for each in self.quantities if each in logged and each in lacks}

    def _each(self, quantity: Quantity, found: Again) -> Compared | None:
        if quantity.name in self.straight.lacks or quantity.name in found.lacks:
            return None
        rows = [row for row in quantity.rows if row[0] in found.rows]
        if quantity.name in self.dump.tensors and (rows or quantity.name not in self.dump.logged):
            return _nearest([self._row(quantity, *row, found) for row in rows])
        if quantity.name in self.dump.logged:
            return _nearest([self._number(quantity, *row, found) for row in quantity.rows if row[0] in found.numbers])
        return None

    def _dtype(self, quantity: Quantity) -> str:
        return coarsest(self._dtypes, (quantity.name, *quantity.made_of))

    def _room(self, quantity: Quantity, row: str) -> float:
        """Returns the room of a row; of one that the straight recomputation has not, that of the usual one."""
        return float(self.straight.room.get(row, self.straight.room.get(quantity.name, 0.0)))

    def _in_range(self, row: str, theirs: Array, ours: Array, dtype: str) -> Array:
        """Returns our numbers; where one, or what it is made of, is beyond what the dtype holds, infinity or no number of theirs is
        the same."""
        largest = np.maximum(np.abs(ours), _with_columns_of(ours, self.straight.on_the_way.get(row, 0.0)))
        return np.where(~(largest <= LARGEST[dtype]) & ~np.isfinite(theirs), theirs, ours)

    def _row(self, quantity: Quantity, row: str, means: str, found: Again) -> Compared:
        dtype, usual = self._dtype(quantity), self.straight.rows.get(row, found.rows[row])
        theirs, ours = (_with_columns(each) for each in (self.dump.tensors[quantity.name], found.rows[row]))
        allowed = self.factor * self._room(quantity, row)
        apart = distance(theirs, self._in_range(row, theirs, ours, dtype))
        wrong = ~(apart <= allowed * _grown(theirs, ours, usual)) | np.isinf(apart)
        spot = first_spot(self.dump, wrong, theirs, ours, range(len(wrong)))
        size = _mean_size(usual)
        return Compared(
            quantity.name, row, means, int(apart.size), int(wrong.sum()), float(apart.max(initial=0.0)), allowed, spot,
            size=max(size, 1e-300), dtype=dtype, arithmetic=self.factor * SUMS[dtype] * (1 + size),
            axes=quantity.axes or self._axes, ours=folded(ours),
        )  # fmt: skip

    def _number(self, quantity: Quantity, row: str, means: str, found: Again) -> Compared:
        logged, ours, dtype = self.dump.logged[quantity.name], found.numbers[row], self._dtype(quantity)
        size = self.straight.sizes.get(row, abs(ours))
        extra = last_digit(logged, self.dump.decimals) + self.straight.extra.get(row, 0.0)
        grown = float(_grown(*map(np.asarray, (logged, ours, self.straight.numbers.get(row, ours)))))
        allowed = self.factor * self._room(quantity, row) * grown + extra
        both = logged, float(self._in_range(row, np.asarray(logged), np.asarray(ours), dtype))
        arithmetic = self.factor * SUMS[dtype] * (1 + size)
        found_so = compare_number(quantity.name, row, means, both, allowed)
        return replace(found_so, size=max(size, 1e-300), extra=extra, dtype=dtype, arithmetic=arithmetic)


def _grown(theirs: Array, ours: Array, usual: Array) -> Array:
    """Returns how many times larger numbers are than those for which there is room, at least once: where something is done
    otherwise both may be, and then both are rounded to more."""
    largest = 1 + float(np.abs(usual[np.isfinite(usual)]).max(initial=0.0))
    times = np.fmin(np.abs(theirs), np.abs(ours)) / largest
    return np.asarray(np.where(np.isfinite(times), np.maximum(1.0, times), 1.0))


def _with_columns_of(ours: Array, largest: Any) -> Array:
    """Returns numbers of rows in the shape of ours, [N, T] or []."""
    return np.asarray(largest, np.float64).reshape((len(ours), -1) if ours.ndim and np.ndim(largest) else ())


def _with_columns(row: Array) -> Array:
    return np.asarray(row, np.float64).reshape(len(row), -1)


def _mean_size(row: Array) -> float:
    finite = np.abs(row[np.isfinite(row)])
    return float(finite.mean()) if finite.size else 0.0


def _nearest(found: Sequence[Compared]) -> Compared | None:
    """Returns the first that agrees, else the usual one."""
    return next((each for each in found if each.agrees), found[0] if found else None)


def given_of(dump: Dump, quantities: Iterable[str]) -> dict[str, Array]:
    """Returns the results that a file has, to go on with in place of what was computed."""
    return {name: np.asarray(dump.tensors[name], np.float64) for name in quantities if name in dump.tensors}


Given = Mapping[str, Array]
Ways = Mapping[str, Any]
PLAIN: Ways = MappingProxyType({})
NOTHING: Given = MappingProxyType({})
CELLS = 3 << 23
"""So many numbers are gone through for causes at most: all causes on a small dump, the likeliest on a large one."""
FEWEST = 32


class Try(NamedTuple):
    """Something that may have been done otherwise: how a report puts it, and what is computed then; in_loss: in losses alone.

    ways: what no setting says, as the kind's `recompute` reads it; "whole" where it is done over all files of the step.
    fitted: whether it is a number that the file itself gave away. bits: how much evidence it takes; 0 where any will do.
    found: whether its numbers tell that it explains the quantity, so that there is time to try it.
    far: whether it is an equation that reads what it does not: by chance many others would do as well.
    once: whether what it changes is read by others, too, as it was: it may be another thing for them as well.
    term: of a term too many, what makes it anew with another number by which it is multiplied.
    """

    label: str
    settings: Settings
    ways: Ways = PLAIN
    in_loss: bool = False
    fitted: bool = False
    bits: float = 0.0
    found: bool = False
    far: bool = False
    term: Callable[[float], Any] | None = None
    once: bool = False


MANY = 1 << 10
"""Where there is time for so many causes, it is asked first of which rows anything comes; on a large file that takes long."""
PUT_INSTEAD: tuple[Change, ...] = (
    lambda expr, names: Op("add", (Constant(1000), Op("mul", (Constant(3), expr)))),
    lambda expr, names: Op("sub", (Constant(-1000), Op("mul", (Constant(7), expr)))),
)
"""Other numbers than a row has, by which it is seen whether anything comes of it."""
T = TypeVar("T")


def amid(stages: Iterable[list[T]], *later: Callable[[], list[T]]) -> Iterator[list[T]]:
    """Puts later stages of causes in front of numbers that are fitted; behind all others, where nothing is."""
    waiting = [*later]
    for stage in stages:
        while waiting and any(getattr(each, "fitted", False) for each in stage):
            yield waiting.pop(0)()
        yield stage
    for each in waiting:
        yield each()


CHANGED = {"equations", "joined"}
"""Ways in which equations are changed: of the definitions, or of those in which losses and KL are joined."""


def computed(ways: Ways, made: Callable[[], T]) -> T | None:
    """Returns what is made; None where a change made by a program is no equation, or reads what there is not: a sum within a sum
    over the same letters, a column that nothing has."""
    try:
        return made()
    except (ValueError, IndexError, KeyError, NotationError):
        if not ways.keys() & CHANGED:
            raise
        return None


def agreeing(both: Sequence[Sequence[Together]], most: int, compared: Callable[[Try], Compared | None]) -> list[Try]:
    """Returns the pairs of changes with which a quantity agrees; of those with the same effects one is computed.

    both: pairs, in a list those of the same effects. most: how many causes there is time for. compared: the quantity with a pair.
    """
    made = list[Try]()
    for alike in both[: max(FEWEST_PAIRS, most // SHARE)]:
        some = [Try(each.label, each.settings, each.ways, bits=each.bits, found=True) for each in alike]
        here = compared(some[0])
        made += some if here is not None and here.agrees else []
    return made


MOST_PARTS = 8


def sums_of(pairs: int, settings: Settings, name: str) -> Iterator[Try]:
    """Yields a number of some pairs as a sum, as a mean in parts, and multiplied or divided by a count of something."""
    counts = [each for each in range(2, min(pairs, 64) + 1) if pairs % each == 0 or each <= MOST_PARTS]
    for says, count in (("pairs", pairs), ("responses", 2 * pairs)):
        yield Try(f"a sum over all {says}, not their mean", settings, {"factor": {name: float(count)}})
    for count in counts:
        if count < pairs:
            yield Try(f"a mean over {count} microbatches, each averaged by itself", settings, {"parts": count})
            yield Try(f"everything multiplied by {count}", settings, {"factor": {name: float(count)}})
        yield Try(f"everything divided by {count}", settings, {"factor": {name: 1.0 / count}})


class Recompute(Protocol):
    """Computes a dump again. given: results of the file that stand in place of computed ones; sized: with room for rounding."""

    def __call__(
        self, batch: Any, settings: Settings, ways: Ways = PLAIN, given: Given = NOTHING, sized: bool = False
    ) -> Again:
        """Returns what came of it."""


class Causes(Protocol):
    """Yields what may have been done otherwise where a quantity deviates, in stages, the likelier first."""

    def __call__(self, batch: Any, settings: Settings, name: str, given: Given, whole: Any) -> Iterator[list[Try]]:
        """Yields stages of tries; given: results of the file before it; whole: all files of the step, where there are several."""


@dataclass(frozen=True)
class SmallTrial:
    """A dump, and how it is computed again and compared. losses: quantities of which something may be done otherwise alone."""

    batch: Any
    settings: Settings
    straight: Again
    judge: Judge
    given: Given
    whole: Any
    recompute: Recompute
    causes: Causes
    losses: tuple[str, ...]
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    kept: Kept = field(default_factory=Kept)
    effects: Effects = field(default_factory=Effects)
    of_step: dict[str, Array] = field(default_factory=dict)
    moved: Moved = field(default_factory=list)
    of_whole: tuple[Kept, Moved] = field(default_factory=lambda: (Kept(), []))
    still: dict[tuple[str, str], bool] = field(default_factory=dict)
    unmoved: dict[str, Array | None] = field(default_factory=dict)
    cells = CELLS

    @property
    def most(self) -> int:
        """How many causes there is time for."""
        return max(FEWEST, self.cells // max(1 << 11, int(self.batch.size)))

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        return self.judge.called(name)

    def compared(self, each: Try | None = None, given: Given | None = None, until: str = "") -> dict[str, Compared]:
        """Compares what the file logged with what comes out, as the settings say or with something done otherwise."""
        if each is None and not given:
            return self.judge.compared(self.straight, until)
        settings, ways = (each.settings, each.ways) if each else (self.settings, PLAIN)
        if ways.get("whole") and self.whole is not None:
            found = replace(self.recompute(self.whole, settings), rows={})  # its rows are not those of one file
            return self.judge.compared(found, until)
        if not self.kept.made:
            self.recompute(self.batch, self.settings, {"kept": self.kept}, given or {})
        if stands := ways.get("stands"):
            return self.judge.compared(self._with(stands, settings, given or {}), until)
        if "place" in ways:
            return self.judge.compared(self._placed(ways["place"], ways["of"], given or {}), until)
        own = {**ways, "until": until, "kept": self.kept}
        made = computed(ways, lambda: self.recompute(self.batch, settings, own, given or {}))
        if made is None:
            return {}
        found = self._in_loss(made) if each and each.in_loss else made
        if each and until and not each.bits:
            self.effects.note(until, each, self._sums(found, until))
        return self.judge.compared(found, until)

    def tries(self, name: str) -> Iterator[list[Try]]:
        """Yields what may have been done otherwise where a quantity deviates."""
        before = {key: value for key, value in self.given.items() if key in self.quantities[name].after}
        for stage in amid(
            self.causes(self.batch, self.settings, name, before, self.whole),
            lambda: self._places(name, before),
            lambda: [] if name in self.batch.tensors else self._stands(name),
            lambda: self._pairs(name, before),
            lambda: self._stands(name) if name in self.batch.tensors else [],
        ):
            moving = (each for each in stage if not self._moves_nothing(each, name, before))
            yield [each._replace(in_loss=name in self.losses) for each in moving]
        yield [each._replace(in_loss=name in self.losses) for each in self._terms(name, before)]

    def _moves_nothing(self, each: Try, name: str, given: Given) -> bool:
        """Tells whether a change is of equations alone of which nothing comes to a quantity, as of an entropy of weight 0."""
        if self.most < MANY or each.settings != self.settings or each.ways.keys() != {"equations"}:
            return False
        return all(self._is_still(row, name, given) for row in each.ways["equations"])

    def _is_still(self, row: str, name: str, given: Given) -> bool:
        """Tells whether a quantity stays the same, whatever is put in the place of a row."""
        if (row, name) not in self.still:
            ways = {"until": name, "kept": self.kept}
            if name not in self.unmoved:
                self.unmoved[name] = self._sums(self.recompute(self.batch, self.settings, ways, given), name)
            plain = self.unmoved[name]
            made = [
                computed(own, lambda own=own: self.recompute(self.batch, self.settings, {**own, **ways}, given))  # type: ignore[misc]
                for own in ({"equations": {row: change}} for change in PUT_INSTEAD)
            ]
            sums = [None if found is None else self._sums(found, name) for found in made]
            self.still[row, name] = plain is not None and all(
                each is not None and np.array_equal(each, plain) for each in sums
            )
        return self.still[row, name]

    def _stands(self, name: str) -> list[Try]:
        """Returns other rows and numbers that may stand for one that is no loss."""
        if name in self.losses:
            return []
        rows = {row: each for row, each in self.straight.rows.items() if row not in self.losses}
        return [Try(label, self.settings, {"stands": each}) for label, each in stands(rows, name)]

    def _again(self, name: str, given: Given) -> Again:
        """Computes the dump again without a change, for one quantity, as far as results of the file do not stand in place."""
        return self.recompute(self.batch, self.settings, {"kept": self.kept}, given)

    def _totals(self, of: Array | float) -> Array:
        """Returns a number, or sums of a row, as pairs of changes are looked for."""
        return totals_of(of)

    def _sums(self, found: Again, name: str) -> Array | None:
        """Returns what a quantity came to, as pairs of changes are looked for."""
        there = found.numbers.get(name) if name in found.numbers else found.rows.get(name)
        return None if there is None else self._totals(there)

    def _places(self, name: str, given: Given) -> list[Try]:
        """Returns where the numbers of a row may have come from, as far as every cell says so."""
        if name not in self.batch.tensors or name not in self.straight.rows:
            return []
        found = self._again(name, given)
        allowed = self.judge.compared(found, name)[name].allowed
        places = places_of(self._seen_in_part(name, found), allowed)
        said = f"{self.called(name)} that are {{}}".format
        return [Try(said(e.said), self.settings, {"place": e, "of": name}, found=True) for e in places]

    def _placed(self, place: Any, name: str, given: Given) -> Again:
        """Computes the dump again with a row laid out in another way."""
        row = laid(place, self._seen_in_part(name, self._again(name, given)))
        found = self._again(name, {**given, name: row})
        return replace(found, rows={**found.rows, name: row})

    def _seen_in_part(self, name: str, found: Again) -> Seen:
        seen, compared = self._seen(name, found), self.judge.compared(found, name)
        return replace(seen, part=part_of(seen, compared[name].allowed)) if name in compared else seen

    def _seen(self, name: str, found: Again) -> Seen:
        theirs, ours = np.asarray(self.batch.tensors[name], np.float64), found.rows[name]
        others = {
            f"{self.called(each)}": row for each, row in found.rows.items() if each != name and row.shape == ours.shape
        }
        if self.whole is not None and name not in self.of_step:
            self.of_step[name] = self.recompute(self.whole, self.settings).rows.get(name, np.empty(0))
        logged = None if self.whole is None else self.whole.tensors.get(name)
        return Seen(name, theirs, ours, np.isfinite(theirs), None, others, self.of_step.get(name), logged)

    def _terms(self, name: str, given: Given) -> list[Try]:
        """Returns terms too many, with the numbers by which they are multiplied as far as the file gives them away."""
        straight = self._sums(self._again(name, given), name)
        return [] if straight is None else terms_fitted(self.effects, name, straight, self._logged(name))

    def _logged(self, name: str) -> Array:
        """Returns what the file has, as pairs of changes are looked for."""
        return self._totals(self.batch.logged[name] if name in self.batch.logged else self.batch.tensors[name])

    def _pairs(self, name: str, given: Given) -> list[Try]:
        """Returns two changes at a time that may explain a quantity together."""
        found = self._again(name, given)
        compared, straight = self.judge.compared(found, name).get(name), self._sums(found, name)
        if compared is None or straight is None:
            return []
        allowed = compared.allowed * compared.cells**0.5
        both = two_at_a_time(
            self.effects, name, self.settings, straight, self._logged(name), allowed, [*found.numbers.values()]
        )
        return agreeing(both, self.most, lambda each: self.compared(each, given, name).get(name))

    def otherwise(self, each: Try, name: str, alone: bool) -> Otherwise | None:
        """Returns what a cause of a quantity, `alone` or all, comes to on other numbers; None for one of this file alone."""
        asked = [name] if alone else [*self.losses] if each.in_loss else [*self.quantities]

        def made(batch: Any, kept: Kept, one: Try | None = None) -> Again:
            if one is None:
                return self.recompute(batch, self.settings, {"kept": kept})
            return self.recompute(batch, one.settings, {**one.ways, "kept": kept} | ({"until": name} if alone else {}))

        whole = self.whole is not None and not self.quantities[name].after  # a part may lack what it is made of
        of, kept, there = (self.whole, *self.of_whole) if whole else (self.batch, self.kept, self.moved)
        return otherwise_by(made, each, name, asked, (of, kept), there)

    def verdict(self, preset: str, explain: bool) -> Verdict:
        """Compares the dump with itself computed again; explain: whether to look for a cause."""
        lines, first, causes = judged(self, self.tries if explain else lambda name: iter(()), most=self.most)
        uncompared, notes = self.judge.uncompared(), self.batch.notes
        return Verdict(preset, self.straight, tuple(lines), uncompared, first, causes.matches, notes, causes)

    def _with(self, of: Stands, settings: Settings, given: Given) -> Again:
        """Returns what was computed, with other rows and numbers in the place of some: alone, or in all that is made of them."""
        rows, numbers = made(of, self.recompute(self.batch, settings, PLAIN, given).rows)
        on = {name: row for name, row in rows.items() if of[name].on}
        found = self.recompute(self.batch, settings, PLAIN, {**given, **on})
        return replace(found, rows={**found.rows, **rows}, numbers={**found.numbers, **numbers})

    def _in_loss(self, found: Again) -> Again:
        """Returns what was computed, of which the losses alone were made otherwise."""
        straight = self.straight
        rows = {name: found.rows[name] for name in self.losses if name in found.rows}
        numbers = {name: found.numbers[name] for name in self.losses if name in found.numbers}
        return replace(
            straight,
            rows={**straight.rows, **rows},
            numbers={**straight.numbers, **numbers},
            lacks={**straight.lacks, **found.lacks},
        )


def verdict_of(trial: SmallTrial, preset: str, explain: bool) -> Verdict:
    """Compares a dump with itself computed again, as `SmallTrial.verdict`."""
    return trial.verdict(preset, explain)
