"""The definitions of a kind, evaluated on the numbers of a file: only the rows that are asked for, from what stands in the file on.

What no setting says is a change of an equation, in the words of misconceptions; or other numbers in the place of those of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from blueprint.dumps import Array
from blueprint.inputs.catalogue import OFF, Setting
from blueprint.language import (
    Axis,
    Block,
    Edge,
    Expr,
    Ref,
    Step,
    Values,
    in_order,
    rebuilt,
    run,
    schedule,
    typed,
    walk,
)
from blueprint.language.blocks import Definition
from blueprint.language.schedule import read_by
from blueprint.misconceptions.rewriting import Change, Names
from blueprint.verifying.settings import Settings
from blueprint.verifying.stages import OnDevice, Pick, Selection, Stage, pick_of, places_in
from blueprint.verifying.switched import Settled, Switched, code_of, read_under, said_by
from blueprint.workbooks.common import Choices, Rows, Used
from blueprint.workbooks.common.definitions.settings_presets_and_ranges import Switch
from blueprint.workbooks.common.labels import Labels

T = TypeVar("T")
Known = Mapping[str, Array | Selection]
"""By name what is typed, edges included, and rows whose numbers stand in place of computed ones."""
Changes = Mapping[str, Change]
"""By row, how its equation is changed."""
NO_CHANGES: Changes = MappingProxyType({})


def changed(ways: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the changes of equations that ways of computing have, and what is kept, as `Definitions.values` takes them."""
    return {"changes": ways.get("equations", NO_CHANGES), "kept": ways.get("kept")}


@dataclass(frozen=True, eq=False)
class Definitions:
    """Where the definitions of a kind begin. settings: its records. derive: makes the rows, by name, from what is typed.

    typed: by the name of a block the axes along which a file's numbers stand in it; edges: cells before or behind them.
    masks: typed blocks that are 1 where something counts. side: the one that is 1 on the chosen response of a pair.
    counts: by typed number the axis of which it is the size.
    """

    settings: Mapping[str, Setting]
    labels: Labels
    typed: Mapping[str, tuple[Axis, ...]]
    derive: Callable[[Rows, Choices], Rows]
    edges: Mapping[str, tuple[Edge, ...]] = field(default_factory=dict)
    masks: tuple[str, ...] = ()
    side: str = ""
    counts: Mapping[str, Axis] = field(default_factory=dict)
    _last: list[Any] = field(default_factory=list)

    def under(self, settings: Settings) -> Equations:
        """Returns the equations under some settings: words are settled, and limits that are off are not there."""
        if not self._last or self._last[0] is not settings:
            said = tuple(
                str(settings[key]) if record.words else record.limit and float(settings[key]) == OFF
                for key, record in self.settings.items()
            )
            self._last[:] = [settings, _equations(self, said)]
        return cast(Equations, self._last[1])

    def among_many(self, settings: Settings) -> Equations:
        """Returns the same equations where many settings are tried: what a setting does not move is one block under all of them."""
        if self.switched.full:
            del self.__dict__["switched"], self.__dict__["_many"]
        said = tuple(said_by(self.settings, settings).values())
        if said not in self._many:
            self._many[said] = Equations(
                self.switched.rows(settings),
                self.switched.numbers(),
                self.settings,
                _compiled=self.switched.compiled,
                _reads=self.switched.reads,
            )
        return self._many[said]

    @cached_property
    def switched(self) -> Switched:
        """The rows under any settings."""
        return Switched(self.live, self.settings)

    @cached_property
    def _many(self) -> dict[tuple[str | bool, ...], Equations]:
        return {}

    @cached_property
    def live(self) -> Rows:
        """The rows with every word of every setting, as where they can be chosen."""
        used = {key: typed(key, limit=record.limit) for key, record in self.settings.items()}
        switch = {key: Switch(tuple(each.words), used[key]) for key, each in self.settings.items() if each.words}
        given = {name: typed(name, axes, edges=self.edges.get(name, ())) for name, axes in self.typed.items()}
        return {**given, **self.derive(given, Choices(cast(Mapping[str, Used], used), switch, labels=self.labels))}

    def read(self, settings: Settings, wanted: Iterable[str], known: Collection[str] = ()) -> set[str]:
        """Returns the settings that some rows read where others are known, by the words that are in force."""
        stop = {self.live[name] for name in known if name in self.live}
        blocks = dict.fromkeys(self.live[name] for name in wanted if name in self.live)
        for block in (ahead := [*blocks]):
            new = dict.fromkeys(each for of in block.definitions for each in read_under(of.expr, settings))
            ahead += [each for each in new if each not in blocks and each not in stop]
            blocks |= new
        return {block.name for block in blocks if block.name in self.settings}

    def values(
        self,
        settings: Settings,
        sizes: Mapping[Axis, int],
        known: Known,
        wanted: Iterable[str],
        changes: Changes = NO_CHANGES,
        device: str = "cpu",
        kept: Kept | None = None,
    ) -> dict[str, Array]:
        """Computes rows by name; of changes those count that what is wanted is made of, and that nothing stands in place of.

        kept: rows without changes, so that only what follows from one is computed again.
        """
        wanted = tuple(wanted)
        equations = self.under(settings) if changes or kept is None or device != "cpu" else self.among_many(settings)
        if any(name not in equations.rows for name in wanted):
            equations, kept = self.under(settings), None
        of = equations.reached(wanted, known) if changes else ()
        here = [name for name in changes if name in of and name not in known]
        at_hand = kept if device == "cpu" else None

        def standing(known: Known, changed: Collection[str]) -> Known:
            return known if at_hand is None else at_hand.known(equations, settings, sizes, known, wanted, changed)

        stands, made = standing(known, here), dict[str, Array]()
        for name in sorted(here, key=lambda each: len(equations.made_of((each,)))) if len(here) > 1 else here:
            made |= equations.values(settings, sizes, {**stands, **made}, (name,), changes[name], device, edges=True)
        if here:  # what came out as it was moves nothing
            stands = standing({**known, **made}, ())
        return equations.values(settings, sizes, stands, wanted, None, device)

    def means(
        self,
        settings: Settings,
        parts: Sequence[tuple[Mapping[Axis, int], Known]],
        wanted: Collection[str],
        changes: Changes = NO_CHANGES,
        device: str = "cpu",
        kept: Kept | None = None,
    ) -> dict[str, float]:
        """Computes numbers, as a mean over the parts of a file, of which there is usually one: its sizes, and what is known."""
        each = [
            self.values(settings, *part, wanted, changes, device, kept if len(parts) == 1 else None) for part in parts
        ]
        return {name: float(np.mean([found[name] for found in each])) for name in wanted}


@lru_cache(maxsize=512)
def _equations(of: Definitions, said: tuple[str | bool, ...]) -> Equations:
    """Returns the equations; said: the word of each setting that has words, else whether it is a limit that is off."""
    switch, used = dict[str, Settled](), dict[str, Used]()
    for key, word in zip(of.settings, said, strict=True):
        if isinstance(word, str):
            switch[key] = Settled(word)
        else:
            used[key] = cast(Used, OFF) if word else typed(key)
    given = {name: typed(name, axes, edges=of.edges.get(name, ())) for name, axes in of.typed.items()}
    rows = of.derive(given, Choices(used, switch, labels=of.labels))
    return Equations({**given, **rows}, [each for each in used.values() if isinstance(each, Block)])


@dataclass(frozen=True, eq=False)
class Equations:
    """The rows by name, typed ones among them, and the settings that are numbers."""

    rows: Rows
    numbers: list[Block]
    records: Mapping[str, Setting] = field(default_factory=dict)
    _changed: dict[tuple[str, Change], Block] = field(default_factory=dict)
    _made_of: dict[tuple[str, ...], set[str]] = field(default_factory=dict)
    _reached: dict[object, Collection[str]] = field(default_factory=dict)
    _plans: dict[object, tuple[list[Stage], list[Block]]] = field(default_factory=dict)
    _compiled: dict[object, tuple[Values, dict[object, Any]]] = field(default_factory=dict)
    _readers: dict[str, list[str]] = field(default_factory=dict)
    _reads: dict[Block, tuple[Block, ...]] = field(default_factory=dict)
    _last: list[Any] = field(default_factory=list)

    def values(
        self,
        settings: Settings,
        sizes: Mapping[Axis, int],
        known: Known,
        wanted: tuple[str, ...],
        change: Change | None,
        device: str,
        edges: bool = False,
    ) -> dict[str, Array]:
        """Computes rows, as `Definitions.values` does; change: how the equation of the one that is wanted is changed.

        edges: whether with the cells before and behind, as where they stand in place of computed ones.
        """
        blocks = [self.changed(name, change) if change else self.rows[name] for name in wanted]
        stood, chosen = dict[Block, Array](), dict[Block, Selection]()
        for name, each in known.items():
            if isinstance(each, Selection):
                chosen |= {self.rows[name]: each} if name in self.rows else {}
            elif name in self.rows:  # no other is read
                stood[self.rows[name]] = each
        stood |= self.numbers_under(settings)
        plan, absent = self._plan(blocks, tuple(known), stood, chosen)
        if (size := tuple(sizes.items())) not in self._compiled:
            self._compiled[size] = Values(sizes, beyond=True), {}
        values, compiled = self._compiled[size]
        # what a file has not, and only a change reads, has no number
        stood |= {block: np.full(values.shape(block), np.nan) for block in absent}
        if device == "cpu":
            values.arrays = stood
            with np.errstate(all="ignore"):  # a cause may make no number of it; it then explains nothing
                for step, dead in plan:
                    if isinstance(step, Pick):
                        stood[step.row] = np.ravel(stood[step.read])[places_in(step, chosen)]
                    else:
                        run(step, values, compiled)
                    for block in dead:
                        stood.pop(block, None)
        else:
            values.arrays = OnDevice(sizes, device).filled(plan, stood, chosen, blocks)
        found = {
            name: values.arrays[block] if edges else values[block] for name, block in zip(wanted, blocks, strict=True)
        }
        values.arrays = {}  # of a large file, rows that are kept for every setting that is tried fill the memory
        return found

    def numbers_under(self, settings: Settings) -> dict[Block, Array]:
        """Returns the settings as rows read them; those that were asked for last are not made again."""
        if not self._last or self._last[0] is not settings:
            found = (
                code_of(each, settings, self.records) if self.records else settings[each.name] for each in self.numbers
            )
            arrays = {block: np.asarray(float(number)) for block, number in zip(self.numbers, found, strict=True)}
            self._last[:] = [settings, arrays]
        return cast(dict[Block, Array], self._last[1])

    def reads(self, block: Block) -> tuple[Block, ...]:
        """Returns the blocks that a block reads, each once."""
        if block not in self._reads:
            self._reads[block] = tuple(dict.fromkeys(read_by(block)))
        return self._reads[block]

    def made_of(self, wanted: tuple[str, ...]) -> set[str]:
        """Returns the names of rows, and of all rows that they are made of."""
        if wanted not in self._made_of:
            blocks = dict.fromkeys(self.rows[name] for name in wanted)
            for block in (ahead := [*blocks]):
                new = [each for each in self.reads(block) if each not in blocks]
                ahead += new
                blocks |= dict.fromkeys(new)
            self._made_of[wanted] = {name for name, block in self.rows.items() if block in blocks}
        return self._made_of[wanted]

    def reached(self, wanted: tuple[str, ...], known: Collection[str]) -> Collection[str]:
        """Returns the names of rows that some are made of, as far as others that are known."""
        key = (wanted, frozenset(known))
        if key not in self._reached:
            computed = [name for name in wanted if name not in known]
            self._reached[key] = dict.fromkeys(row for name in computed for row in self.on_the_way(name, known))
        return self._reached[key]

    def follows(self, names: Collection[str], within: Collection[str]) -> set[str]:
        """Returns the rows, of some, that are made of others, directly or by the way of rows that are among them."""
        if not self._readers:
            called = {block: name for name, block in self.rows.items()} | {block: block.name for block in self.numbers}
            for name, row in self.rows.items():
                for block in self.reads(row):
                    if block in called:
                        self._readers.setdefault(called[block], []).append(name)
        found = set[str]()
        ahead = [*names]
        while ahead:
            new = {each for each in self._readers.get(ahead.pop(), ()) if each in within and each not in found}
            found |= new
            ahead += new
        return found

    def on_the_way(self, wanted: str, known: Collection[str]) -> list[str]:
        """Returns the rows that are computed where some are known, the nearest to the one that is wanted first."""
        names = {block: name for name, block in self.rows.items()}
        stop = {self.rows[name] for name in known if name in self.rows}
        blocks = dict.fromkeys([self.rows[wanted]])
        for block in (ahead := [*blocks]):
            new = [each for each in self.reads(block) if each in names and each not in blocks and each not in stop]
            ahead += [*dict.fromkeys(each for each in new if each.definitions)]
            blocks |= dict.fromkeys(ahead)
        return [names[block] for block in blocks]

    def on_the_way_to_any(self, wanted: Iterable[str], known: Collection[str]) -> list[str]:
        """Returns the rows that are computed for some that are wanted, as far as there are such rows."""
        there = (name for name in wanted if name in self.rows)
        return list(dict.fromkeys(row for name in there for row in self.on_the_way(name, known)))

    def changed(self, name: str, change: Change) -> Block:
        """Returns a row with another equation."""
        if (name, change) not in self._changed:
            row = self.rows[name]
            made = self._changed[name, change] = Block(name, row.axes, row.about)
            names = Names({**self.rows, **{block.name: block for block in self.numbers}}, {})
            changed = [(each.target, change(each.expr, names)) for each in row.definitions]
            made.definitions = [Definition(target, _reading(expr, row, made)) for target, expr in changed]
            made.edges = set(row.edges)
        return self._changed[name, change]

    def _plan(
        self, wanted: Collection[Block], known: tuple[str, ...], stood: Collection[Block], chosen: Collection[Block]
    ) -> tuple[list[Stage], list[Block]]:
        """Lists what must be computed where some rows stand, those that are known and numbers, and blocks of 0 and 1 pick; and what
        is read, and not there."""
        key = (tuple(map(id, wanted)), known, tuple(map(id, chosen)))
        if key in self._plans:
            return self._plans[key]
        needed, ahead, picks, absent = dict[Block, None](), [*wanted], dict[Block, Pick](), list[Block]()
        while ahead:
            block = ahead.pop()
            if block in needed or block in stood:
                continue
            needed[block] = None
            if not block.definitions and block not in chosen:
                absent.append(block)
            if (pick := pick_of(block, chosen)) is not None:
                picks[block] = pick
            ahead += [picks[block].read] if block in picks else self.reads(block)
        steps = [picks.get(cast(Block, step), step) for step in self._ordered([*needed])]
        last = {read: at for at, step in enumerate(steps) for read in self._read(step)}
        dead: dict[int, list[Block]] = {}
        for block, at in last.items():
            dead.setdefault(at, []).extend([block] if block not in set(wanted) else [])
        return self._plans.setdefault(key, ([Stage(step, dead.get(at, [])) for at, step in enumerate(steps)], absent))

    def _ordered(self, blocks: list[Block]) -> Sequence[Step]:
        """Puts blocks behind those that they read; where each needs at most itself, that is quicker than a schedule."""
        listed, done, found = {*blocks}, dict[Block, bool](), list[Step]()
        waiting = [*blocks]
        while waiting:
            block = waiting[-1]
            if block in done:
                waiting.pop()
                if not done[block]:
                    done[block] = True
                    found += schedule([block]) if block in {*self.reads(block)} else (block,)
                continue
            done[block] = False
            ahead = [each for each in self.reads(block) if each in listed and each is not block and not done.get(each)]
            if any(each in done for each in ahead):  # they need each other
                return schedule(blocks)
            waiting += ahead
        return found

    def _read(self, step: Step | Pick) -> Iterable[Block]:
        """Returns the blocks that a step reads."""
        if isinstance(step, Pick):
            return (step.read,)
        return [each for block in in_order((step,)) for each in self.reads(block)]


def _reading(expr: Expr, row: Block, made: Block) -> Expr:
    """Returns an expression of a recursion, in which a row goes on with itself, as that of the row with another equation; in its
    own cell it reads what the row is without it."""
    if isinstance(expr, Ref) and expr.block is row:
        return Ref(made, expr.at) if any(getattr(index, "by", 0) for index in expr.at) else expr
    return rebuilt(expr, lambda inner: _reading(inner, row, made)) if row in _blocks(expr) else expr


def _blocks(expr: Expr) -> set[Block]:
    return {node.block for node in walk(expr) if isinstance(node, Ref)}


KEPT, LARGE = 1 << 23, 1 << 14
"""So many numbers are kept at most, of 8 bytes; of a larger file everything is made again. And what is a large row."""


class Made(NamedTuple):
    """Rows by name as they are without a change: by which equations, what was known, and the settings that are numbers.

    stay: those that stay as they are, by what is another one.
    """

    equations: Equations
    known: Known
    numbers: Mapping[Block, Array]
    rows: dict[str, Array]
    stay: dict[object, dict[str, Array]]


@dataclass
class Kept:
    """Rows of one file as they are without a change, by what is wanted: of the equations that were asked for first, and of those of
    other settings that were asked for last."""

    made: dict[object, Made] = field(default_factory=dict)
    _once: dict[str, tuple[object, Any]] = field(default_factory=dict)

    def once(self, name: str, of: object, made: Callable[[], T]) -> T:
        """Returns what is made of the file, or of settings; made again only where these are others than the last time."""
        if name not in self._once or self._once[name][0] is not of:
            self._once[name] = of, made()
        return cast(T, self._once[name][1])

    def known(
        self,
        equations: Equations,
        settings: Settings,
        sizes: Mapping[Axis, int],
        known: Known,
        wanted: tuple[str, ...],
        changed: Collection[str],
    ) -> Known:
        """Returns what is known, and every row that follows neither from a change nor from anything that is another number now."""
        of = equations.made_of(wanted)
        found = self._made(equations, settings, sizes, known, wanted)
        if found is None:
            return known
        before, rows, numbers = found.known, found.rows, equations.numbers_under(settings)
        other = [name for name in {**before, **known} if not _alike(before.get(name, rows.get(name)), known.get(name))]
        if numbers is not found.numbers:
            other += [block.name for block, each in numbers.items() if not _alike(each, found.numbers.get(block))]
        asked = (equations, tuple(changed), tuple(other), tuple(known))
        if asked not in found.stay:
            new = {*changed} | equations.follows([*changed, *other], of)
            new |= {name for name in rows if equations.rows[name] is not found.equations.rows[name]}
            stay = [name for name in rows if name not in known and name not in new]
            if not changed:  # a changed equation may read any row
                computed = [equations.rows[name] for name in of if name not in known and name not in stay]
                read = {block for row in computed for block in equations.reads(row)}
                stay = [name for name in stay if name in wanted or equations.rows[name] in read]
            found.stay[asked] = {name: rows[name] for name in stay}
        return {**known, **found.stay[asked]}

    def _made(
        self,
        equations: Equations,
        settings: Settings,
        sizes: Mapping[Axis, int],
        known: Known,
        wanted: tuple[str, ...],
    ) -> Made | None:
        """Returns the rows that what is wanted is made of; None where they are too many to be kept."""
        key: tuple[object, ...] = (bool(equations.records), wanted, tuple(sizes.items()))
        if key in self.made and not equations.records and self.made[key].equations is not equations:
            key = ("other", *key)  # which has no block in common with those
            if key in self.made and self.made[key].equations is not equations:
                del self.made[key]
        if key not in self.made:
            names = tuple(
                name for name in equations.made_of(wanted) if equations.rows[name].definitions and name not in known
            )
            cells = [np.prod([sizes[axis] for axis in equations.rows[name].axes if axis in sizes]) for name in names]
            if sum(cells) + sum(row.size for each in self.made.values() for row in each.rows.values()) > KEPT:
                return None
            needed = _needed(equations, wanted, known, names)
            rows = equations.values(settings, sizes, known, needed, None, "cpu", edges=True)
            self.made[key] = Made(equations, known, equations.numbers_under(settings), rows, {})
        return self.made[key]


def _needed(equations: Equations, wanted: tuple[str, ...], known: Known, names: Collection[str]) -> tuple[str, ...]:
    """Returns the rows that are computed on the way where some are known, what is wanted among them."""
    found = {each: None for name in wanted if name in names for each in equations.on_the_way(name, known)}
    return tuple(name for name in found if name in names)


def _alike(one: Any, other: Any) -> bool:
    """Whether numbers are the same to the last bit."""
    if one is other:
        return True
    if one is None or other is None:
        return False
    if isinstance(one, Selection):
        return isinstance(other, Selection) and all(map(np.array_equal, one, other))
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.size > LARGE and one.dtype == np.float64 and one.flags.c_contiguous and other.flags.c_contiguous:
        return bool(np.array_equal(one.view(np.int64), other.view(np.int64)))  # without a copy of both
    return bool(one.tobytes() == other.tobytes())
