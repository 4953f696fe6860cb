"""The files of a step of PPO, compared with what comes out where something was done otherwise: a setting, an equation of the
definitions, a row that is another one, a tensor of the file. What is whitened together is of all its rows, then the numbers of each
file are of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from blueprint.dumps import Array, Minibatch, MinibatchError, joined, key_of
from blueprint.language import NotationError
from blueprint.verifying import (
    NEEDS_OTHERS,
    Again,
    Compared,
    Given,
    Kept,
    Line,
    Moved,
    Otherwise,
    Settings,
    Try,
    Verdict,
    compare_number,
    computed,
    otherwise_by,
)
from blueprint.verifying.compare import FOLLOWS
from blueprint.verifying.logged import ALL, PARTS, TENSORS, Quantity, before
from blueprint.workbooks.rlhf_ppo.verifying import with_pads
from blueprint.workbooks.rlhf_ppo.verifying.feeding import EQUATIONS, Fed, Laid, Memory, fed
from blueprint.workbooks.rlhf_ppo.verifying.judge import Judge, as_given, cut
from blueprint.workbooks.rlhf_ppo.verifying.own_rows import Own
from blueprint.workbooks.rlhf_ppo.verifying.parts import BEFORE_WHITENING, TWO, straight
from blueprint.workbooks.rlhf_ppo.verifying.replay import replay

ROWS = {each.name: each for each in TENSORS}
SIGNAL = tuple(row for each in TENSORS for row, _ in each.rows)
"""The rows that are made of a whole rollout, whatever part of it a file is."""
FEWEST, CELLS, OVERHEAD = 16, 1 << 25, 11 << 8
"""So many changes are tried at least, and so many tokens gone through for them; a small file takes as long as one of so many."""
SMALL, FEW, LOOKS = 1 << 14, 8, 1 << 21
"""Tokens of a file above which a change of a row is tried on so many responses first; so many of their tokens are gone through."""
PLACES = 24
"""So many of these changes are places of what is read, of all tensors in turns."""
Rows = dict[str, Array]
Stages = Callable[..., Iterator[list[Try]]]
"""Of a trial, a quantity and whether there is time, what may have been done otherwise where it deviates, in stages."""


@dataclass
class Rollout:
    """All rows that were whitened together, in one dump. called: by tensor the row that it is; given: results that it has;
    device: where it is computed.

    order: its rows as they were generated, where files say so. made: what a change last came to, so that each file of it need not
    compute it again; altered: the batch that last had other tensors, what altered which, and how it was laid out.
    """

    batch: Minibatch
    settings: Settings
    called: Mapping[str, str]
    given: tuple[str, ...] = ()
    device: str = "cpu"
    feeds: dict[object, tuple[Fed, Memory]] = field(default_factory=dict)
    padded: dict[object, tuple[Fed, Memory]] = field(default_factory=dict)
    laid: Laid = field(default_factory=dict)
    order: Array | None = None
    made: tuple[Try | None, object, Rows] = (None, None, {})
    kept: Kept = field(default_factory=Kept)
    altered: tuple[object, Minibatch | None, Minibatch | None, Laid] = (None, None, None, {})

    def rows(self, each: Try, own: tuple[str, ...], wanted: Collection[str]) -> Rows:
        """Returns rows [B, T] as a change has them; own: tensors of the dump that stand in the place of computed ones."""
        last, of, _ = self.made
        asked = own, tuple(sorted(wanted))
        if last is not each or of != asked:
            self.made = each, asked, self.done_so(each, own, {}, asked[1])
        return self.made[2]

    def done_so(
        self,
        each: Try,
        own: tuple[str, ...],
        numbers: Mapping[str, float],
        wanted: Sequence[str],
        over: Rows | None = None,
    ) -> Rows:
        """Computes rows and numbers where something is done otherwise.

        numbers: the file's parts of its loss; over: rows that were made of more than this file.
        """
        ways = each.ways
        if (size := ways.get("microbatch")) and not (over and ways.get("generated")):
            return self._in_runs(each, own, wanted, size)
        batch = self._altered(ways["batch"]) if "batch" in ways else None
        if only := ways.get("only"):
            return self._only(each, (own, numbers, over or {}), wanted, (batch, only))
        made, memory = self.feed(own, numbers, each.settings or self.settings, batch)
        if over:
            made, memory = made.with_rows(over), Memory()
        if stands := ways.get("stands"):
            seen = Own(made, batch or self.batch, memory)
            made = made.with_rows({name: row(seen) for name, row in stands.items()})
            memory = Memory()
        if ways.get("pads"):
            return self._with_pads(each, made, own, wanted, over or {})
        if ways.get("equations"):
            found = made.changed(wanted, ways["equations"], memory)
        else:
            kept = self.kept if made.device == "cpu" else None
            found = EQUATIONS.values(made.settings, made.sizes, made.known, wanted, device=made.device, kept=kept)
        factor = ways.get("factor", {})
        return {name: row * factor[name] if name in factor else row for name, row in found.items()}

    def _altered(self, way: Callable[[Minibatch], Minibatch]) -> Minibatch:
        """Returns the batch with other tensors; it is altered once for the tries that follow each other."""
        by, of, made, _ = self.altered
        if made is None or by is not way or of is not self.batch:
            made = way(self.batch)
            self.altered = way, self.batch, made, {}
        return made

    def _with_pads(self, each: Try, made: Fed, own: tuple[str, ...], wanted: Sequence[str], over: Rows) -> Rows:
        """Computes rows and numbers as libraries spell them that carry pads along; what they do not spell follows from these."""
        if own not in self.padded:
            self.padded[own] = with_pads.laid_out(self.batch, made, self.order), Memory()
        there, memory = self.padded[own]
        spelled = with_pads.spelled(self.settings, (*wanted, *SIGNAL))
        if over:
            there, memory = there.with_rows({name: row for name, row in over.items() if name in spelled}), Memory()
        rest = [name for name in wanted if name not in spelled]
        asked = spelled if rest else [*dict.fromkeys(wanted)]
        found = there.changed(asked, each.ways.get("equations", {}), memory)
        if self.order is not None:
            back = self.order.argsort()
            found = {name: row[back] if np.ndim(row) else row for name, row in found.items()}
        if rest:
            plain = made.with_rows({name: found[name] for name in SIGNAL if name in found and name not in made.known})
            found |= plain.values(rest)
        return {name: found[name] for name in wanted}

    def _only(
        self, each: Try, given: tuple[tuple[str, ...], Mapping[str, float], Rows], wanted: Sequence[str],
        of: tuple[Minibatch | None, tuple[str, ...]],
    ) -> Rows:  # fmt: skip
        """Computes some rows or numbers otherwise, of the file's own rows before them, and what follows from them as it is."""
        (batch, rows), (own, numbers, over) = of, given
        results = tuple(name for name in self.given if self.called[name] not in rows)
        some, _ = self.feed(results, {}, each.settings, batch)
        plain, _ = self.feed(own, numbers)
        found = some.values([row for row in rows if row in EQUATIONS.live], self.kept)
        stands = {name: row for name, row in found.items() if name not in numbers}
        return plain.with_rows({**over, **stands}).values(wanted, self.kept)

    def _in_runs(self, each: Try, own: tuple[str, ...], wanted: Sequence[str], size: int) -> Rows:
        """Computes runs of so many responses, each with statistics and losses of its own: numbers are the mean of theirs."""
        count, plain, tensors = len(self.batch.slots), each._replace(ways={}), dict[str, Array]()
        rows = self.order if each.ways.get("generated") and self.order is not None else np.arange(count)
        if each.ways.get("losses"):  # of the file's own tensors; these are of all responses together
            tensors = self.done_so(plain, own, {}, [name for name in wanted if name in SIGNAL])
            own, wanted = self.given, [name for name in wanted if name not in SIGNAL]
        runs = [replace(self, batch=cut(self.batch, rows[at : at + size]), feeds={}, padded={}, laid={}, kept=Kept())
                for at in range(0, count, size)]  # fmt: skip
        found = [run.done_so(plain, own, {}, wanted) for run in runs]
        return tensors | {name: _joined([of[name] for of in found], rows.argsort()) for name in wanted}

    def feed(
        self,
        own: tuple[str, ...],
        numbers: Mapping[str, float] | None = None,
        settings: Settings | None = None,
        batch: Minibatch | None = None,
    ) -> tuple[Fed, Memory]:
        """Returns the dump with some of its own results in the place of computed ones; what is as it was is laid out once."""
        use = self.settings if settings is None else settings
        names = as_given({name: self.called[name] for name in own if name in ROWS})
        if batch is not None or use != self.settings:
            laid = self.laid if batch is None else self.altered[3]
            return fed(batch or self.batch, use, names, numbers or {}, self.device, laid, self.kept), Memory()
        if own not in self.feeds:
            self.feeds[own] = fed(self.batch, use, names, numbers or {}, self.device, self.laid, self.kept), Memory()
        return self.feeds[own]


OF_ONE_ROLLOUT = {"microbatch", "order"}
"""Ways that say something of the responses of one rollout."""


def _joined(runs: Sequence[Array], back: Array) -> Array:
    """Returns the rows of runs of responses in one, each in its place again, or the mean of their numbers."""
    return np.concatenate(runs)[back] if np.ndim(runs[0]) else np.asarray(np.mean(runs))


@dataclass(frozen=True)
class MinibatchTrial:
    """A file of a step as it was verified, to be compared with what comes out where something was done otherwise.

    lines: what was compared, by name. left_open: what only other files can judge; it stands before the rest as the file has it.
    alone: the file; rollout: all that was whitened with it, of which the rows `at` are the file's. stages: yields what may have
    been done otherwise where one of its quantities deviates. preset: its name. whole: whether all that was whitened together is
    there; if not, whitened rows may have any mean and deviation; None: nobody knows. explained: by cause and quantity what it came
    to, of the file's own rows before it, where it agreed. moved: the rollout with other numbers; elsewhere: how that is computed.
    files: all files of the step, this one among them; none where it is alone. listed: by quantity that was searched how many causes
    there are, as far as they were listed, and one more where not all were.
    """

    lines: Mapping[str, Line]
    left_open: tuple[str, ...]
    judge: Judge
    alone: Rollout
    rollout: Rollout
    at: slice
    stages: Stages
    preset: str = ""
    whole: bool | None = None
    quantities: Mapping[str, Quantity] = field(default_factory=lambda: ALL)
    explained: dict[tuple[str, str], Compared] = field(default_factory=dict)
    moved: Moved = field(default_factory=list)
    elsewhere: list[Rollout] = field(default_factory=list)
    listed: dict[str, int] = field(default_factory=dict)
    files: Sequence[MinibatchTrial] = field(default=(), repr=False, compare=False)

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
        return max(FEWEST, CELLS // max(OVERHEAD, self.rollout.batch.size))

    @cached_property
    def given(self) -> Given:
        """What the file has of the results, and what is made of them can be made of."""
        names = (name for name in (*self.lines, *self.left_open) if name in ROWS or self._is_part(name))
        return {name: np.asarray(self.batch.tensors[name] if name in ROWS else self._logged(name)) for name in names}

    @property
    def open(self) -> bool:
        """Whether whitened rows may have another batch's mean and deviation."""
        return self.whole is False

    @cached_property
    def carries_pads(self) -> bool:
        """Whether everything comes to the same where pads are carried along: under these settings there are such equations."""
        own, names = tuple(self.left_open), [name for name in self.lines if name not in self.left_open]
        both = [Try("", self.settings, ways) for ways in ({}, {"pads": True})]
        plain, padded = (self._computed(each, own, names) for each in both)
        return all(
            np.allclose(np.asarray(plain[row])[cells], np.asarray(padded[row])[cells], 1e-6, 1e-9, equal_nan=True)
            for row, cells in ((self.row(name), self.judge.cells(name) if name in ROWS else ...) for name in names)
        )

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        return self.lines[name].called

    def row(self, name: str) -> str:
        """Returns the row that a quantity is in this file."""
        return self.lines[name].compared.row if name in self.lines else ALL[name].rows[0][0]

    def known(self, name: str) -> tuple[str, ...]:
        """Returns the quantities before one that the file itself has."""
        return tuple(each for each in before(name) if each in self.given)

    def tries(self, name: str) -> Iterator[list[Try]]:
        """Yields what may have been done otherwise where a quantity deviates, in stages.

        Of a row of a large file only what a few responses allow; of any quantity of one, no more are listed than there is time for.
        """
        few, left, known = self.few(name), self.limit(name), 0

        def time() -> bool:
            return self.batch.size <= SMALL or left > 0

        for stage in self.stages(self, name, time):
            known += len(stage)
            told = [] if few is None else [each for each in stage if each.found]
            here = stage if few is None else [each for each in stage if not each.found][: max(0, left)]
            left -= len(here)  # of a number the search itself stops there
            yield [*(each for each in here if few is None or few.allows(each, name)), *told]
        self.listed[name] = known if time() else known + 1  # at least one more is not listed

    def limit(self, name: str) -> int:
        """Returns how many causes of a quantity there is time for: of a row of a large file on a few responses."""
        if self.batch.size <= SMALL or name not in ROWS:
            return self.most
        return max(FEWEST, LOOKS // (FEW * int(self.batch.mask.shape[1])) - PLACES)

    def few(self, name: str) -> MinibatchTrial | None:
        """Returns a few responses of a large file, the first that deviates among them; None of a number, or of a small file."""
        spot = self.lines[name].compared.spot
        if self.batch.size <= SMALL or name not in ROWS or spot is None:
            return None
        part = replace(cut(self.batch, self.looked_at(name)), moments={})
        some = Rollout(part, self.settings, self.alone.called, self.alone.given)
        judge = Judge(some.batch, replay(some.batch, self.settings), self.judge.factor)
        return replace(self, judge=judge, alone=some, rollout=some, at=slice(None), whole=False, explained={})

    def looked_at(self, name: str) -> Array:
        """Returns which responses those few are."""
        spot = self.lines[name].compared.spot
        first = [] if spot is None else [spot.episode]
        return np.unique([*first, *np.linspace(0, len(self.batch.mask) - 1, FEW).astype(int)])

    def allows(self, each: Try, name: str) -> bool:
        """Tells whether a quantity of these few responses does not rule a cause out, whatever it was whitened with."""
        if "order" in each.ways or ("stands" in each.ways and each.fitted):  # they need all responses
            return True
        if "microbatch" in each.ways:
            return name in BEFORE_WHITENING and self._each_on_a_line(each, name)
        found = self.compared(each, {name: self.given[name] for name in self.known(name)}, name)
        return name in found and found[name].agrees

    def _each_on_a_line(self, each: Try, name: str) -> bool:
        """Tells whether each response may have been whitened with a mean and deviation of its own."""
        raw = self.alone.done_so(each._replace(ways={}), self.known(name), {}, (BEFORE_WHITENING[name][0],))
        theirs, cells = np.nan_to_num(np.asarray(self.batch.tensors[name], np.float64)), self.judge.cells(name)
        for ours, logged, here in zip(*raw.values(), theirs, cells, strict=True):
            line = straight(ours[here], logged[here], fewest=TWO + 1)
            if line is not None and line.apart(ours[here], logged[here]) > self.lines[name].compared.allowed:
                return False
        return True

    def compared(self, each: Try | None = None, given: Given | None = None, until: str = "") -> Mapping[str, Compared]:
        """Compares what the file logged with what comes out if something is done otherwise; nothing where it cannot be computed."""
        if each is None:  # what follows from the file's own rows is no deviation of its own
            return {
                name: replace(line.compared, deviating=0) if line.says == FOLLOWS else line.compared
                for name, line in self.lines.items()
            }
        if id(self.batch) in each.ways.get("unknown", ()):  # what it would be made of is in no file
            return {name: replace(line.compared, deviating=0, largest=0.0) for name, line in self.lines.items()}
        own = tuple(dict.fromkeys((*self.left_open, *(self.known(until) if given is not None and until else ()))))
        names = [name for name in ([until] if until else self.lines) if name in self.lines and name not in own]
        try:
            found = computed(each.ways, lambda: self._computed(each, own, names))
        except (NotationError, MinibatchError, KeyError):  # it reads what this file has not
            found = None
        if found is None:
            return {}
        made = {name: self._against(name, found, each.settings or self.settings) for name in names}
        if until and made and made[until].agrees:
            self.explained[each.label, until] = made[until]
        return {
            name: each_of if each_of.agrees else self.explained.get((each.label, name), each_of)
            for name, each_of in made.items()
        }

    def otherwise(self, each: Try, name: str, alone: bool) -> Otherwise | None:
        """Returns what a cause comes to where the numbers of the rollout are others; None for one of this file alone."""
        if each.ways.keys() & OF_ONE_ROLLOUT:
            return None
        there = EQUATIONS.under(self.settings).rows
        rows = {of: self.row(of) for of in ([name] if alone else self.lines) if self.row(of) in there}

        def made(batch: Minibatch, kept: Kept, one: Try | None = None) -> Again:
            if batch is not self.rollout.batch and not self.elsewhere:
                whole = replace(self.rollout, batch=replace(batch, moments={}), order=None, kept=kept)
                self.elsewhere.append(replace(whole, feeds={}, padded={}, laid={}, made=(None, None, {})))
            here = self.rollout if batch is self.rollout.batch else self.elsewhere[0]
            found = here.done_so(one or Try("", self.settings), (), {}, sorted({*rows.values()}))
            return Again(batch, self.settings, {of: np.asarray(found[row]) for of, row in rows.items()})

        try:
            return otherwise_by(made, each, name, rows, (self.rollout.batch, self.rollout.kept), self.moved)
        except (NotationError, MinibatchError, KeyError):
            return None

    def _computed(self, each: Try, own: tuple[str, ...], names: Sequence[str]) -> Rows:
        """Returns rows and numbers of the file: of the rollout what is made of all of it, then the rest of the file alone."""
        rows = {self.row(name) for name in names}
        raw = {BEFORE_WHITENING[name][0] for name in names if self.open and name in BEFORE_WHITENING}
        wanted = sorted(rows | raw)
        numbers = self._parts(own)
        if self.rollout is self.alone:
            return self.alone.done_so(each, own, numbers, wanted)
        tensors = {name for name in names if name in ROWS}
        if len(tensors) == len(names):
            found = self.rollout.rows(each, own, {self.row(name) for name in tensors})
            return {name: self._mine(row) for name, row in found.items()}
        if not tensors:
            return self.alone.done_so(each, own, numbers, wanted)
        found = {name: self._mine(row) for name, row in self.rollout.rows(each, own, SIGNAL).items()}
        return found | self.alone.done_so(each, own, numbers, sorted({*wanted} - {*SIGNAL}), found)

    def numbers(self, name: str) -> dict[str, float]:
        """Returns the file's own parts of the loss before a number."""
        return self._parts(self.known(name))

    def _parts(self, names: Collection[str]) -> dict[str, float]:
        return {self.row(name): self._logged(name) for name in names if name in self.lines and name not in ROWS}

    def _mine(self, row: Array) -> Array:
        """Returns of a row of the rollout that of the file."""
        return row[self.at, : self.batch.mask.shape[1]]

    def _against(self, name: str, found: Rows, settings: Settings) -> Compared:
        """Compares a logged row or number with another than was computed again."""
        was, quantity = self.lines[name].compared, ALL[name]
        ours = found[was.row]
        if name not in ROWS:
            both = self._logged(name), float(ours)
            grown = min(map(abs, both)) / (1 + abs(was.recomputed or 0.0))  # both are rounded to more then
            return compare_number(
                name, was.row, was.means, both, was.allowed * (max(1.0, grown) if np.isfinite(grown) else 1)
            )
        theirs = np.asarray(self.batch.tensors[name], np.float64)
        largest = np.abs(theirs[np.isfinite(theirs) & self.judge.cells(name)]).max(initial=0.0)
        allowed = max(was.allowed, self.judge.tolerance(quantity) * (1 + float(largest)))
        if self.open and name in BEFORE_WHITENING and self._whitens(name, settings):
            cells, raw = self.judge.cells(name), found[BEFORE_WHITENING[name][0]]
            known = np.isfinite(raw[cells]).all() and np.isfinite(theirs[cells]).all()
            line = straight(raw[cells], theirs[cells], fewest=TWO + 1) if known else None
            ours = raw if line is None else line.slope * raw + line.constant
        return self.judge.row(quantity, was.row, was.means, ours, allowed)

    def _whitens(self, name: str, settings: Settings) -> bool:
        return self.row(name) == ALL[name].rows[0][0] and settings[BEFORE_WHITENING[name][1]] != "off"

    def _logged(self, name: str) -> float:
        logged = self.lines[name].compared.logged
        return float("nan") if logged is None else float(logged)

    def _is_part(self, name: str) -> bool:
        """Whether a number is a part of the total as it is, not times its coefficient."""
        return name in PARTS and name in self.lines and self.row(name) == name


def trial_of(
    verdict: Verdict,
    stages: Stages,
    factor: float = 1.0,
    whole: bool | None = None,
) -> MinibatchTrial:
    """Takes a file with everything that it is computed with, and how far rounding may move what was compared."""
    found = verdict.replayed
    own = [line for line in verdict.lines if line not in verdict.of_forwards]
    open_ = tuple(line.compared.name for line in own if line.says == NEEDS_OTHERS)
    lines = {line.compared.name: line for line in own if line.says != NEEDS_OTHERS}
    called = {name: lines[name].compared.row if name in lines else of.rows[0][0] for name, of in ROWS.items()}
    given = tuple(name for name in ROWS if name in lines or name in open_)
    alone = Rollout(found.batch, found.options, called, given, found.device, laid=found.laid)
    judge = Judge(found.batch, found, factor)
    return MinibatchTrial(lines, open_, judge, alone, alone, slice(None), stages, verdict.preset, whole)


def with_rollouts(found: Sequence[MinibatchTrial]) -> list[MinibatchTrial]:
    """Returns the files of a step, each with all that was whitened with it, as far as that is there."""
    rollouts = dict[tuple[int, int], tuple[Rollout, list[MinibatchTrial]] | None]()
    made = list[MinibatchTrial]()
    for each in found:
        key = (id(each.batch.moments), key_of(each.batch)[1])
        mates = [other for other in found if (id(other.batch.moments), key_of(other.batch)[1]) == key]
        if key not in rollouts:
            rollouts[key] = _together(mates) if each.batch.moments and len(mates) > 1 else None
        if (whole := rollouts[key]) is None:
            made.append(each)
            continue
        start = sum(len(other.batch.mask) for other in mates[: mates.index(each)])
        made.append(replace(each, rollout=whole[0], at=slice(start, start + len(each.batch.mask))))
    files = list[MinibatchTrial]()
    files.extend(replace(each, files=files) for each in made)
    return files


def _together(mates: Sequence[MinibatchTrial]) -> tuple[Rollout, list[MinibatchTrial]] | None:
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
    numbers = [each.tensors["row_index"] for each in batches if "row_index" in each.tensors]
    order = np.concatenate(numbers).argsort(kind="stable") if len(numbers) == len(batches) else None
    here = replace(
        mates[0].alone, batch=replace(whole, moments={}), feeds={}, padded={}, laid={}, order=order, kept=Kept()
    )
    return here, list(mates)
