"""The definitions of a kind, evaluated on the numbers of a file: only the rows that are asked for, from what stands in the file on.

What no setting says is a change of an equation, in the words of misconceptions; or other numbers in the place of those of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np
import torch

from blueprint.dumps import Array
from blueprint.inputs.catalogue import OFF, Setting
from blueprint.language import (
    Axis,
    Block,
    Edge,
    Expr,
    Op,
    Reduce,
    Ref,
    Step,
    Values,
    equal,
    fill,
    in_order,
    rebuilt,
    schedule,
    typed,
    walk,
)
from blueprint.language.blocks import Definition
from blueprint.language.evaluate_torch import Tensors
from blueprint.language.schedule import read_by
from blueprint.misconceptions.rewriting import Change, Names
from blueprint.verifying.settings import Settings
from blueprint.workbooks.common import Choices, Rows, Used
from blueprint.workbooks.common.definitions.choices import Fixed
from blueprint.workbooks.common.labels import Labels
from blueprint.workbooks.common.settings import Switch


class Selection(NamedTuple):
    """A typed block of 0 and 1 that says where something stands, as in [q, i, n]; nothing is added up where it picks.

    to: by [q, i] the place of n that is read. back: by n the place that is read of [q, i], counted row by row.
    """

    to: Array
    back: Array


class Pick(NamedTuple):
    """A row whose equation is a sum over such a block: of which row it takes cells, by which block, and which way."""

    row: Block
    read: Block
    by: Block
    back: bool


class Stage(NamedTuple):
    """What is computed next, and the blocks that nothing reads any more then."""

    step: Step | Pick
    dead: list[Block]


Known = Mapping[str, Array | Selection]
"""By name what is typed, edges included, and rows whose numbers stand in place of computed ones."""
Changes = Mapping[str, Change]
"""By row, how its equation is changed."""
NO_CHANGES: Changes = MappingProxyType({})


def changed(ways: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the changes of equations that ways of computing have, and what is kept, as `Definitions.values` takes them."""
    return {"changes": ways.get("equations", NO_CHANGES), "kept": ways.get("kept")}


class Settled(Fixed):
    """A switch that stands at one word; a condition may ask for it."""

    def says(self, word: str) -> Expr:  # type: ignore[override]  # 0 and 1 are no conditions
        """Returns a condition that holds where the word is the one."""
        return equal(int(word == self.word), 1)


@dataclass(frozen=True, eq=False)
class Definitions:
    """Where the definitions of a kind begin. settings: its records. derive: makes the rows, by name, from what is typed.

    typed: by the name of a block the axes along which a file's numbers stand in it; edges: cells before or behind them.
    """

    settings: Mapping[str, Setting]
    labels: Labels
    typed: Mapping[str, tuple[Axis, ...]]
    derive: Callable[[Rows, Choices], Rows]
    edges: Mapping[str, tuple[Edge, ...]] = field(default_factory=dict)

    def under(self, settings: Settings) -> Equations:
        """Returns the equations under some settings: words are settled, and limits that are off are not there."""
        return _equations(
            self,
            tuple(
                str(settings[key]) if record.words else record.limit and float(settings[key]) == OFF
                for key, record in self.settings.items()
            ),
        )

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
            new = dict.fromkeys(each for of in block.definitions for each in _read_under(of.expr, settings))
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
        equations, wanted = self.under(settings), tuple(wanted)
        of = equations.made_of(wanted)
        here = [name for name in changes if name in of and name not in known]
        if kept is not None and device == "cpu":
            known = kept.known(equations, settings, sizes, known, wanted, here)
        for name in sorted(here, key=lambda each: len(equations.made_of((each,)))):
            made = equations.values(settings, sizes, known, (name,), changes[name], device, edges=True)
            known = {**known, **made}
        return equations.values(settings, sizes, known, wanted, None, device)

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


def _read_under(expr: Expr, settings: Settings) -> Iterator[Block]:
    """Yields the blocks that an equation reads; of a choice by a setting, the setting, and what its word in force says."""
    if (
        isinstance(expr, Op)
        and expr.name == "choose"
        and isinstance(by := expr.args[0], Ref)
        and by.block.name in settings
    ):
        yield by.block
        word = str(settings[by.block.name])
        chosen = [part for label, part in zip(expr.labels, expr.args[1:], strict=True) if label == word]
        for part in chosen or expr.args[1:]:
            yield from _read_under(part, settings)
    elif isinstance(expr, Op):
        for part in expr.args:
            yield from _read_under(part, settings)
    else:
        yield from (node.block for node in walk(expr) if isinstance(node, Ref))


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
    _changed: dict[tuple[str, Change], Block] = field(default_factory=dict)
    _made_of: dict[tuple[str, ...], set[str]] = field(default_factory=dict)
    _plans: dict[object, list[Stage]] = field(default_factory=dict)
    _compiled: dict[object, tuple[Values, dict[object, Any]]] = field(default_factory=dict)
    _readers: dict[str, list[str]] = field(default_factory=dict)

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
        chosen = {self.rows[name]: each for name, each in known.items() if isinstance(each, Selection)}
        stood = {self.rows[name]: each for name, each in known.items() if not isinstance(each, Selection)}
        stood |= {block: np.asarray(float(settings[block.name])) for block in self.numbers}
        plan = self._plan(blocks, stood, chosen)
        values, compiled = self._compiled.setdefault(tuple(sizes.items()), (Values(sizes, beyond=True), {}))
        if device == "cpu":
            values.arrays = stood
            for step, dead in plan:
                if isinstance(step, Pick):
                    values.arrays[step.row] = np.ravel(values.arrays[step.read])[_places(step, chosen)]
                else:
                    fill((step,), values, compiled)
                for block in dead:
                    values.arrays.pop(block, None)
        else:
            values.arrays = OnDevice(sizes, device).filled(plan, stood, chosen, blocks)
        found = {
            name: values.arrays[block] if edges else values[block] for name, block in zip(wanted, blocks, strict=True)
        }
        values.arrays = {}  # of a large file, rows that are kept for every setting that is tried fill the memory
        return found

    def made_of(self, wanted: tuple[str, ...]) -> set[str]:
        """Returns the names of rows, and of all rows that they are made of."""
        if wanted not in self._made_of:
            blocks = dict.fromkeys(self.rows[name] for name in wanted)
            for block in (ahead := [*blocks]):
                ahead += [each for each in read_by(block) if each not in blocks]
                blocks |= dict.fromkeys(ahead)
            self._made_of[wanted] = {name for name, block in self.rows.items() if block in blocks}
        return self._made_of[wanted]

    def follows(self, names: Collection[str], within: Collection[str]) -> set[str]:
        """Returns the rows, of some, that are made of others, directly or by the way of rows that are among them."""
        if not self._readers:
            called = {block: name for name, block in self.rows.items()} | {block: block.name for block in self.numbers}
            for name, row in self.rows.items():
                for block in {*read_by(row)}:
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
        names, stop = {block: name for name, block in self.rows.items()}, {self.rows[name] for name in known}
        blocks = dict.fromkeys([self.rows[wanted]])
        for block in (ahead := [*blocks]):
            new = [each for each in read_by(block) if each in names and each not in blocks and each not in stop]
            ahead += [*dict.fromkeys(each for each in new if each.definitions)]
            blocks |= dict.fromkeys(ahead)
        return [names[block] for block in blocks]

    def changed(self, name: str, change: Change) -> Block:
        """Returns a row with another equation."""
        if (name, change) not in self._changed:
            row = self.rows[name]
            made = self._changed[name, change] = Block(name, row.axes, row.about)
            names = Names(self.rows, {})
            changed = [(each.target, change(each.expr, names)) for each in row.definitions]
            made.definitions = [Definition(target, _reading(expr, row, made)) for target, expr in changed]
            made.edges = set(row.edges)
        return self._changed[name, change]

    def _plan(self, wanted: Collection[Block], stood: Collection[Block], chosen: Collection[Block]) -> list[Stage]:
        """Lists what must be computed where some rows stand, and blocks of 0 and 1 pick."""
        key = (tuple(map(id, wanted)), frozenset(map(id, stood)), frozenset(map(id, chosen)))
        if key in self._plans:
            return self._plans[key]
        needed, ahead, picks = dict[Block, None](), [*wanted], dict[Block, Pick]()
        while ahead:
            block = ahead.pop()
            if block in needed or block in stood:
                continue
            needed[block] = None
            if (pick := _pick(block, chosen)) is not None:
                picks[block] = pick
            ahead += [picks[block].read] if block in picks else read_by(block)
        steps = [picks.get(cast(Block, step), step) for step in schedule([*needed])]
        last = {read: at for at, step in enumerate(steps) for read in _read(step)}
        dead: dict[int, list[Block]] = {}
        for block, at in last.items():
            dead.setdefault(at, []).extend([block] if block not in set(wanted) else [])
        return self._plans.setdefault(key, [Stage(step, dead.get(at, [])) for at, step in enumerate(steps)])


def _reading(expr: Expr, row: Block, made: Block) -> Expr:
    """Returns an expression of a recursion, in which a row goes on with itself, as that of the row with another equation; in its
    own cell it reads what the row is without it."""
    if isinstance(expr, Ref) and expr.block is row:
        return Ref(made, expr.at) if any(getattr(index, "by", 0) for index in expr.at) else expr
    return rebuilt(expr, lambda inner: _reading(inner, row, made)) if row in _blocks(expr) else expr


def _blocks(expr: Expr) -> set[Block]:
    return {node.block for node in walk(expr) if isinstance(node, Ref)}


KEPT = 1 << 23
"""So many numbers are kept at most, of 8 bytes; of a larger file everything is made again."""


@dataclass
class Kept:
    """Rows as they are without a change, by what is wanted; with what they were made of."""

    made: dict[object, tuple[dict[str, Any], dict[str, Array]]] = field(default_factory=dict)

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
        of, key = equations.made_of(wanted), (equations, wanted, tuple(sizes.items()))
        stands: dict[str, Any] = {**known, **{block.name: settings[block.name] for block in equations.numbers}}
        if key not in self.made:
            names = tuple(name for name in of if equations.rows[name].definitions and name not in known)
            cells = [np.prod([sizes[axis] for axis in equations.rows[name].axes if axis in sizes]) for name in names]
            if sum(cells) + sum(each.size for _, rows in self.made.values() for each in rows.values()) > KEPT:
                return known
            rows = equations.values(
                settings, sizes, known, _needed(equations, wanted, known, names), None, "cpu", edges=True
            )
            self.made[key] = stands, rows
        before, rows = self.made[key]
        other = [
            name for name in {**before, **stands} if not _alike(before.get(name, rows.get(name)), stands.get(name))
        ]
        new = {*changed} | equations.follows([*changed, *other], of)
        return {**known, **{name: row for name, row in rows.items() if name not in known and name not in new}}


def _needed(equations: Equations, wanted: tuple[str, ...], known: Known, names: Collection[str]) -> tuple[str, ...]:
    """Returns the rows that are computed on the way where some are known, what is wanted among them."""
    found = {each: None for name in wanted if name in names for each in equations.on_the_way(name, known)}
    return tuple(name for name in found if name in names)


def _alike(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if one is None or other is None:
        return False
    if isinstance(one, Selection):
        return isinstance(other, Selection) and all(map(np.array_equal, one, other))
    if isinstance(one, str) or isinstance(other, str):
        return bool(one == other)
    return np.array_equal(one, other, equal_nan=True)


def _pick(row: Block, chosen: Collection[Block]) -> Pick | None:
    """Returns how a row takes cells of another one by a block of 0 and 1; None where it does not."""
    match [each.expr for each in row.definitions]:
        case [Reduce("sum", axes, Op("mul", (Ref() as one, Ref() as other)))]:
            for by, read in ((one, other), (other, one)):
                if by.block in chosen:
                    return Pick(row, read.block, by.block, [axis.extent for axis in axes] != [by.block.axes[-1].extent])
    return None


def _read(step: Step | Pick) -> Iterator[Block]:
    """Yields the blocks that a step reads."""
    if isinstance(step, Pick):
        yield step.read
        return
    for block in in_order((step,)):
        yield from read_by(block)


def _places(pick: Pick, chosen: Mapping[Block, Selection]) -> Array:
    return chosen[pick.by].back if pick.back else chosen[pick.by].to


class OnDevice(Tensors):
    """The same in torch, where a device is asked for."""

    def __init__(self, sizes: Mapping[Axis, int], device: str):
        super().__init__([], sizes, [], device, "float64", (), (), beyond=True, near=0.0, single=True)

    def filled(
        self,
        plan: list[Stage],
        stood: Mapping[Block, Array],
        chosen: Mapping[Block, Selection],
        wanted: Collection[Block],
    ) -> dict[Block, Array]:
        """Returns the numbers of the blocks that are wanted, edges included."""
        for block, array in stood.items():
            self.arrays[block] = torch.as_tensor(np.asarray(array, np.float64), **self.of)[None]
        for step, dead in plan:
            if isinstance(step, Pick):
                at = torch.as_tensor(_places(step, chosen), device=self.of["device"])
                self.arrays[step.row] = self.arrays[step.read].flatten()[at][None]
            else:
                self._run((step,), {})
            for block in dead:
                self.arrays.pop(block, None)
        return {block: self.numpy(block) for block in wanted}
