"""The misconceptions of a blank: what each of them gives in its cells, on the numbers at hand."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np

from blueprint.language import Block, Constant, Definition, Expr, NotationError, Ref, Values, components, needs, walk
from blueprint.language.trees import free_axes, letters_of
from blueprint.misconceptions.evaluating import Made, Rewritten, WrongRow
from blueprint.misconceptions.mechanical import changed
from blueprint.misconceptions.relatives import Relatives
from blueprint.misconceptions.rewriting import Misconception, Names, is_setting, same
from blueprint.misconceptions.upstream import Beyond
from blueprint.page.outline import Blank, Blueprint
from blueprint.workbooks.kind import Kind, imported

NEAR = 1e-9
"""Numbers that differ by a smaller part of themselves are one: rounding takes 1e-12 of it, another mistake none of it."""
MOST_ELSEWHERE = 24
"""Other cells of a row that are looked at."""
LARGEST = 3
"""Blocks in a recursion that somebody computes by hand from end to end; a larger one is a whole rollout."""
DIGITS = 9
"""Digits behind the point in which two numbers agree that are one."""
PLAIN = {-1.0, 0.0, 1.0}
"""Numbers that stand in many a cell: where a mistake leaves no more than one of them, it is not known by it."""


@dataclass(frozen=True)
class Wrong:
    """What a misconception gives in the cells of a blank.

    name:    short and stable. says: one sentence in a teacher's words.
    numbers: one for each cell, in their order.
    written: whether somebody wrote the sentence; else it follows from how the equation is built.
    far:     how far from the row's own equation the mistake is made; 0 in it.
    elsewhere: what it gives in a few other cells of the row, by which two mistakes are told apart that are alike in a blank.
    """

    name: str
    says: str
    numbers: tuple[float, ...]
    written: bool = True
    far: int = 0
    elsewhere: tuple[float, ...] = ()

    @cached_property
    def key(self) -> str:
        """By which a mistake is known: its numbers, but for what rounding takes."""
        return " ".join([f"{each + 0.0:.{DIGITS}e}" for each in (*self.numbers, *self.elsewhere)])


def wrong_values(
    kind: Kind | None, blueprint: Blueprint, values: Values, blank: Blank, mechanical: bool = True
) -> list[Wrong]:
    """Returns what the known misconceptions of a row give in the cells of a blank, the written ones first.

    kind: whose written misconceptions are known; None: those of no kind. blueprint, values: a whole workbook (what a worksheet
    leaves out cannot be read by mistake), with the true numbers, or a student's (`compute(…, held=…)`). mechanical: those, too,
    that follow from how the equation is built.
    Made in the step alone, and throughout a recursion: where these differ, a misconception stands twice in the list.
    What equals the numbers that the equation itself gives is no mistake, and what is no number nobody writes: both are left
    out. Of two that give the same the one that follows from the equation alone gives way to a written one.
    """
    rows = Rows.of(blueprint)
    seen = _Seen(blank, values, rows, elsewhere=mechanical)
    made = (row for row in rows.wrong(kind, blank.block) if mechanical or row.written)
    return seen.counted((*_made(made, seen), *(_beside(blank, seen) if mechanical else ())))


def further_values(
    kind: Kind | None,
    blueprint: Blueprint,
    values: Values,
    blank: Blank,
    known: Sequence[Wrong],
) -> list[Wrong]:
    """Returns what mistakes further up than a row's own equation give in the cells of a blank, the nearest first.

    known: what `wrong_values` found; what gives the same, in the whole row, is no other mistake.
    """
    rows = Rows.of(blueprint)
    seen, beyond = _Seen(blank, values, rows), rows.beyond(kind)
    return seen.counted(_made_beyond(beyond, blank.block, seen), known)


def _made_beyond(beyond: Beyond, block: Block, seen: "_Seen") -> Iterator[Wrong]:
    beyond.bench.take(seen.values)
    for each in beyond.of(block):
        if each.row is not None and _is_idle(each.row, seen.values):
            continue
        with suppress(NotationError, KeyError, IndexError, ValueError):
            if numbers := each.numbers(seen.cells, beyond.bench):
                yield seen.wrong(each.name, each.says, numbers, each.written, each.far)


class _Seen:
    """The cells of a blank, and a few others of its row, with the numbers that are right there."""

    def __init__(self, blank: Blank, values: Values, rows: "Rows", elsewhere: bool = True):
        self.own = len(blank.cells)
        self.cells = (*blank.cells, *(_elsewhere(blank, values) if elsewhere else ()))
        self.values = values
        self.right = rows.right(blank.block).in_the_step(self.cells, values)

    def wrong(self, name: str, says: str, numbers: Sequence[float], written: bool, far: int = 0) -> Wrong:
        """Returns a mistake by the numbers that it gives in all these cells."""
        return Wrong(name, says, tuple(numbers[: self.own]), written, far, tuple(numbers[self.own :]))

    def counted(self, made: Iterable[Wrong], known: Iterable[Wrong] = ()) -> list[Wrong]:
        """Returns those that are a mistake, and not one that is known already; one that somebody wrote down stands for itself."""
        shown, written, found = {each.key for each in known}, {(each.name, each.key) for each in known}, list[Wrong]()
        for each in made:
            if not all(map(math.isfinite, each.numbers)) or (not each.written and set(each.numbers) <= PLAIN):
                continue
            twice = (each.name, each.key) in written if each.written else each.key in shown
            if not twice and not alike(each.numbers, self.right[: self.own]):
                found.append(each)
                shown.add(each.key)
                written.add((each.name, each.key))
        return found


def _elsewhere(blank: Blank, values: Values) -> list[tuple[int, ...]]:
    """Returns a few other cells of a row in which something stands."""
    numbers = values[blank.block].astype(float)
    own = set(blank.cells)
    places = [tuple(map(int, at)) for at in np.argwhere(np.nan_to_num(numbers) != 0)]
    others = [at for at in places if at not in own]
    return others[:: max(1, len(others) // MOST_ELSEWHERE)][:MOST_ELSEWHERE]


def _made(rows: Iterable[WrongRow], seen: _Seen) -> Iterator[Wrong]:
    for row in rows:
        for made in (row.in_the_step, row.throughout):
            # What a misconception reads may not be on a page, and what a student typed may lead nowhere.
            if row.written and _is_idle(row, seen.values):
                continue
            with suppress(NotationError, KeyError, IndexError, ValueError):
                if numbers := made(seen.cells, seen.values):
                    yield seen.wrong(row.name, row.says, numbers, row.written)


def _is_idle(row: WrongRow, values: Values) -> bool:
    """Tells whether a mistake is about a setting that is 0 now, so that another one gives the same: ε, where none is set."""
    return any(values.arrays[each] == 0 for each in _settings_named(row))


@lru_cache(maxsize=4096)
def _settings_named(row: WrongRow) -> tuple[Block, ...]:
    """Returns the settings that a mistake's sentence names and its row reads; none of one that is forgotten."""
    if row.name.endswith("forgotten"):
        return ()
    read = {ref.block for each in row.block.definitions for ref in walk(each.expr) if isinstance(ref, Ref)}
    words = re.findall(r"[^\s.,:;·]+", row.says)
    return tuple(each for each in read if is_setting(each) and not each.limit and each.symbol in words)


def _beside(blank: Blank, seen: _Seen) -> Iterator[Wrong]:
    """Yields the numbers of the cells before and after those of a blank, along each axis."""
    for place, axis in enumerate(blank.block.axes):
        for by, where in ((-1, "before"), (1, "after")):
            moved = [(*cell[:place], cell[place] + by, *cell[place + 1 :]) for cell in seen.cells]
            there = [0 <= cell[place] < seen.values.size(axis) for cell in moved]
            if all(there[: seen.own]):
                numbers = [
                    float(seen.values.cell(blank.block, *cell)) if stands else math.nan
                    for cell, stands in zip(moved, there, strict=True)
                ]
                name = f"{axis.meaning}-{where}".replace(" ", "-")
                yield seen.wrong(name, f"It is the number of the {axis.meaning} {where}.", numbers, written=False)


def alike(some: Iterable[float], others: Iterable[float]) -> bool:
    """Tells whether numbers are the same but for rounding."""
    return all(
        math.isclose(a, b, rel_tol=NEAR, abs_tol=NEAR * NEAR) or (math.isnan(a) and math.isnan(b))
        for a, b in zip(some, others, strict=True)
    )


class Rows:
    """The rows of a workbook with their misconceptions; made once for all variants of it, since these share their sheets."""

    def __init__(self, blocks: Iterable[Block], blueprint: Blueprint | None = None):
        self._named = {block.name: block for block in blocks}
        self._known: dict[tuple[str, Block], tuple[WrongRow, ...]] = {}
        self._beyond: dict[str, Beyond] = {}
        self._blueprint = blueprint

    def beyond(self, kind: Kind | None) -> Beyond:
        """Returns the mistakes that are made further up than in a row's own equation."""
        key = kind.name if kind else ""
        if key not in self._beyond:
            assert self._blueprint is not None
            self._beyond[key] = Beyond(Relatives(self._blueprint), partial(self.wrong, kind))
        return self._beyond[key]

    @staticmethod
    def of(blueprint: Blueprint) -> "Rows":
        """Returns the rows of a workbook."""
        return _rows(_Same(blueprint))

    def right(self, block: Block) -> WrongRow:
        """Returns a row with nothing wrong in it."""
        return Rewritten("", "", True, block, {})

    def rewritten(self, kind: Kind | None, block: Block) -> tuple[Rewritten, ...]:
        """Returns a row with each equation by which somebody wrote down a misconception."""
        return tuple(row for row in self.wrong(kind, block) if isinstance(row, Rewritten) and row.written)

    def wrong(self, kind: Kind | None, block: Block) -> tuple[WrongRow, ...]:
        """Returns a row with each of its misconceptions, the written ones first."""
        key = kind.name if kind else "", block
        if key not in self._known:
            self._known[key] = (*self._written(kind, block), *self._built(block))
        return self._known[key]

    def _written(self, kind: Kind | None, block: Block) -> Iterator[WrongRow]:
        for each in misconceptions_of(kind):
            bound = each.bound(block.name)
            if bound is None:
                continue
            if each.made is not None:
                yield Made(each.name, each.says, each.made, block, bound, self._named)
            elif instead := self._changed(each, block, Names(self._named, bound)):
                yield Rewritten(each.name, each.says, True, block, instead, self._circles.get(block, ()))

    def _changed(self, each: Misconception, block: Block, names: Names) -> dict[Definition, Expr]:
        """Returns the equations that a misconception makes others of; none where the workbook lacks what it reads."""
        assert each.change is not None
        try:
            made = {d: each.change(d.expr, names) for d in block.definitions if not isinstance(d.expr, Constant)}
        except (KeyError, NotationError):
            return {}
        return {
            d: expr for d, expr in made.items() if not same(expr, d.expr) and free_axes(expr) <= {*letters_of(d.target)}
        }

    def _built(self, block: Block) -> Iterator[WrongRow]:
        circle = self._circles.get(block, ())
        for definition in (each for each in block.definitions if not isinstance(each.expr, Constant)):
            for name, says, expr in changed(definition.expr):
                yield Rewritten(name, says, False, block, {definition: expr}, circle)

    @cached_property
    def _circles(self) -> dict[Block, tuple[Block, ...]]:
        """By block that needs itself, the blocks that need each other, this one among them."""
        computed = [block for block in self._named.values() if not block.typed]
        reads = {block: {need.read: None for need in needs(block) if not need.read.typed} for block in computed}
        circles = [group for group in components(reads) if len(group) > 1 or group[0] in reads[group[0]]]
        return {block: tuple(group) for group in circles if len(group) <= LARGEST for block in group}


class _Same:
    """A blueprint as a key: those that share their sheets are one."""

    def __init__(self, blueprint: Blueprint):
        self.blueprint = blueprint

    def __hash__(self) -> int:
        return id(self.blueprint.sheets)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.blueprint.sheets is other.blueprint.sheets


@lru_cache(maxsize=8)
def _rows(same: _Same) -> Rows:
    return Rows(same.blueprint.blocks(), same.blueprint)


def misconceptions_of(kind: Kind | None) -> tuple[Misconception, ...]:
    """Returns the written misconceptions of a kind."""
    found: tuple[Misconception, ...] = imported(kind.misconceptions) if kind else ()
    return found
