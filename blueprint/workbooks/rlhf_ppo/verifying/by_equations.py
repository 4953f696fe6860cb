"""The files of a step of PPO, compared with what changed equations of the definitions come to: what is whitened together is of all
its rows, then the numbers of each file are of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from blueprint.dumps import Array, Minibatch, MinibatchError, joined, key_of
from blueprint.language import NotationError
from blueprint.verifying import NEEDS_OTHERS, Compared, Given, Line, Part, Settings, Try, compare_number
from blueprint.verifying import of_equations as of_parts
from blueprint.verifying.compare import Tally, folded
from blueprint.verifying.deviation import as_given
from blueprint.verifying.judge import SUPPORT
from blueprint.verifying.logged import ALL, PARTS, TENSORS, Quantity
from blueprint.verifying.substitutes import tries as of_what_is_read
from blueprint.verifying.tiled_passes import cut
from blueprint.verifying.trials import OfFile
from blueprint.workbooks.rlhf_ppo.verifying.feeding import EQUATIONS, Fed, Memory, fed

ROWS = {each.name: each for each in TENSORS}
SIGNAL = tuple(row for each in TENSORS for row, _ in each.rows)
"""The rows that are made of a whole rollout, whatever part of it a file is."""
FEWEST, CELLS, OVERHEAD, OF_COLUMN = 16, 1 << 24, 1 << 12, 1 << 6
"""So many changes are tried at least, and so many tokens gone through for them; a small file takes as long as one of so many, and a
column, which sums from the end go through one by one, as so many."""
SMALL, FEW = 1 << 14, 8
"""Tokens of a file above which a change of a row that needs no other responses is tried on so many responses first."""
Rows = dict[str, Array]


@dataclass
class Rollout:
    """All rows that were whitened together, in one dump. called: by tensor the row that it is.

    made: what a change last came to, so that each file of it need not compute it again.
    """

    batch: Minibatch
    settings: Settings
    called: Mapping[str, str]
    feeds: dict[tuple[str, ...], tuple[Fed, Memory]] = field(default_factory=dict)
    made: tuple[object, Rows] = (None, {})

    def rows(self, each: Try, own: tuple[str, ...], wanted: Collection[str]) -> Rows:
        """Returns rows [B, T] as a change has them; own: tensors of the dump that stand in the place of computed ones."""
        key = (id(each), own, tuple(sorted(wanted)))
        if self.made[0] != key:
            made, memory = self.feed(own)
            self.made = key, made.changed(key[-1], each.ways["equations"], memory)
        return self.made[1]

    def feed(self, own: tuple[str, ...], numbers: Mapping[str, float] | None = None) -> tuple[Fed, Memory]:
        """Returns the dump with some of its own results in the place of computed ones."""
        if own not in self.feeds:
            names = as_given({name: self.called[name] for name in own if name in ROWS})
            self.feeds[own] = fed(self.batch, self.settings, names, numbers or {}), Memory()
        return self.feeds[own]


@dataclass(frozen=True)
class EquationTrial:
    """A file of a step as it was verified, to be compared with what changed equations come to.

    lines: what was compared, by name. left_open: what only other files can judge; it stands before the rest as the file has it.
    alone: the file; rollout: all that was whitened with it, of which the rows `at` are the file's.
    """

    lines: Mapping[str, Line]
    left_open: tuple[str, ...]
    alone: Rollout
    rollout: Rollout
    at: slice
    quantities: Mapping[str, Quantity] = field(default_factory=lambda: ALL)

    @property
    def batch(self) -> Minibatch:
        """The file."""
        return self.alone.batch

    @property
    def settings(self) -> Settings:
        """The conventions under which it was computed."""
        return self.alone.settings

    @property
    def most(self) -> int:
        """How many changes there is time for."""
        columns = int(self.rollout.batch.mask.shape[1])
        return max(FEWEST, CELLS // max(OVERHEAD, self.rollout.batch.size, OF_COLUMN * columns))

    @cached_property
    def given(self) -> Given:
        """What the file has of the results, and what is made of them can be made of."""
        names = (name for name in (*self.lines, *self.left_open) if name in ROWS or self._is_part(name))
        return {name: np.asarray(self.batch.tensors[name] if name in ROWS else self._logged(name)) for name in names}

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        return self.lines[name].called

    def tries(self, name: str) -> Iterator[list[Try]]:
        """Yields what may be otherwise in the equations that make a quantity of the file's own results before it, in stages.

        In a large file, of a row that needs no other responses, only what a few responses allow.
        """
        few = self._few(name)
        left = few.most if few else 0
        for stage in self._stages(name):
            here = stage[:left] if few else stage
            left -= len(here)
            yield [each for each in here if OfFile(few).explains(each, name)] if few else here

    def _stages(self, name: str) -> Iterator[list[Try]]:
        known = [self._row(each) for each in self.quantities[name].after if each in self.given]
        yield [*of_parts(EQUATIONS, self.settings, self._row(name), known)]
        yield from of_what_is_read(EQUATIONS, self.settings, self._row(name), known)

    def untried(self, name: str) -> tuple[int, int]:
        """Returns how many changes there are, and for how many there is time."""
        few = self._few(name)
        known, most = sum(map(len, self._stages(name))), (few or self).most
        return known, min(known, most)

    def _few(self, name: str) -> EquationTrial | None:
        """Returns a few responses of a large file, the first that deviates among them; None where a quantity is of all of them."""
        spot, use = self.lines[name].compared.spot, self.settings
        whitened = use["reward.whiten"] == "on" or (
            self._row(name) == "advantages_used" and use["whiten_advantages"] != "off"
        )
        if self.batch.size <= SMALL or name not in ROWS or spot is None or whitened:
            return None
        rows = np.unique([spot.episode, *np.linspace(0, len(self.batch.mask) - 1, FEW).astype(int)])
        some = Rollout(cut(self.batch, rows), use, self.alone.called)
        return replace(self, alone=some, rollout=some, at=slice(None))

    def compared(self, each: Try | None = None, given: Given | None = None, until: str = "") -> Mapping[str, Compared]:
        """Compares what the file logged with what comes out of changed equations; nothing where that cannot be computed."""
        if each is None:
            return {name: line.compared for name, line in self.lines.items()}
        own = tuple(dict.fromkeys((*self.left_open, *(given or ()))))
        names = [name for name in ([until] if until else self.lines) if name in self.lines and name not in own]
        try:
            found = self._computed(each, own, names)
        except NotationError:  # a cell that needs itself
            return {}
        return {name: self._against(name, found[self._row(name)]) for name in names}

    def _computed(self, each: Try, own: tuple[str, ...], names: Sequence[str]) -> Rows:
        """Returns rows and numbers of the file: of the rollout what is made of all of it, then the rest of the file alone."""
        wanted = {self._row(name) for name in names}
        if self.rollout is self.alone:
            made, memory = self._feed(own)
            return made.changed(sorted(wanted), each.ways["equations"], memory)
        tensors = {name for name in names if name in ROWS}
        if len(tensors) == len(names):
            rows = self.rollout.rows(each, own, {self._row(name) for name in tensors})
            return {name: self._mine(row) for name, row in rows.items()}
        made, memory = self._feed(own)
        if not tensors:
            return made.changed(sorted(wanted), each.ways["equations"], memory)
        found = {name: self._mine(row) for name, row in self.rollout.rows(each, own, SIGNAL).items()}
        made = made.having(found)
        return found | made.changed(sorted(wanted - {*SIGNAL}), each.ways["equations"], Memory())

    def _mine(self, row: Array) -> Array:
        """Returns of a row of the rollout that of the file."""
        return row[self.at, : self.batch.mask.shape[1]]

    def _against(self, name: str, ours: Array) -> Compared:
        """Compares a logged row or number with another than was computed again."""
        was = self.lines[name].compared
        if name not in ROWS:
            return compare_number(name, was.row, was.means, (self._logged(name), float(ours)), was.allowed)
        tally = Tally(self.batch, name, was.row, was.means, was.allowed)
        tally.add(0, {**self._support, was.row: ours})
        return replace(tally.found, ours=folded(ours))

    @cached_property
    def _support(self) -> Rows:
        """The rows that say where numbers mean something."""
        return self._feed(())[0].values(SUPPORT)

    def _feed(self, own: tuple[str, ...]) -> tuple[Fed, Memory]:
        return self.alone.feed(own, {self._row(name): self._logged(name) for name in own if name not in ROWS})

    def _row(self, name: str) -> str:
        """Returns the row that a quantity is in this file."""
        return self.lines[name].compared.row if name in self.lines else ALL[name].rows[0][0]

    def _logged(self, name: str) -> float:
        return float(self.lines[name].compared.logged or 0.0)

    def _is_part(self, name: str) -> bool:
        """Whether a number is a part of the total as it is, not times its coefficient."""
        return name in PARTS and name in self.lines and self._row(name) == name


def trials_of(parts: Sequence[Part]) -> list[EquationTrial]:
    """Returns the files of a step, each with all that was whitened with it, as far as that is there."""
    found = [_alone(part) for part in parts]
    rollouts = dict[tuple[int, int], tuple[Rollout, list[EquationTrial]] | None]()
    made = []
    for each in found:
        key = (id(each.batch.moments), key_of(each.batch)[1])
        mates = [other for other in found if (id(other.batch.moments), key_of(other.batch)[1]) == key]
        if key not in rollouts:
            rollouts[key] = _together(mates) if each.batch.moments and len(mates) > 1 else None
        if (whole := rollouts[key]) is None:
            made.append(each)
            continue
        before = sum(len(other.batch.mask) for other in mates[: mates.index(each)])
        made.append(replace(each, rollout=whole[0], at=slice(before, before + len(each.batch.mask))))
    return made


def _alone(part: Part) -> EquationTrial:
    """Takes a file with everything that it is computed with, and how far rounding may move what was compared."""
    verdict = part.verdict
    own = [line for line in verdict.lines if line not in verdict.of_forwards]
    open_ = tuple(line.compared.name for line in own if line.says == NEEDS_OTHERS)
    lines = {line.compared.name: line for line in own if line.says != NEEDS_OTHERS}
    called = {name: lines[name].compared.row if name in lines else of.rows[0][0] for name, of in ROWS.items()}
    alone = Rollout(verdict.replayed.batch, verdict.replayed.options, called)
    return EquationTrial(lines, open_, alone, alone, slice(None))


def _together(mates: Sequence[EquationTrial]) -> tuple[Rollout, list[EquationTrial]] | None:
    """Returns the files of one pass as one dump; None where they cannot be joined, or are not all that was whitened together."""
    batches = [each.batch for each in mates]
    try:
        whole = joined(batches, batches[0].path)
    except MinibatchError:
        return None
    settings, of = mates[0].settings, whole.moments.get("advantage")
    counted = float(whole.slots.sum()) if settings["advantage.stats"] == "all" else float(whole.mask.sum())
    if of is not None and of.count != counted:
        return None
    return Rollout(replace(whole, moments={}), settings, mates[0].alone.called), list(mates)
