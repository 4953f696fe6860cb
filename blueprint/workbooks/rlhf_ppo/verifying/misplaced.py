"""Where numbers of a step of PPO may have come from: other rows, columns, files and epochs of the step, and other tensors.

A result that is logged tells its place by its own numbers (`blueprint.verifying.found_places`). What is read tells it only in what
is made of it: there every place is tried, in a large file on a few responses first. The first file has none before it: of what is
not here the other files tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice, zip_longest
from math import log2
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps import Array, Minibatch, key_of
from blueprint.verifying import (
    Compared,
    Place,
    Seen,
    Try,
    file_called,
    laid,
    part_of,
    places_in_part,
    places_of,
    places_to_try,
)
from blueprint.verifying.logged import ALL, TENSORS, reads
from blueprint.verifying.places import MOST_KNOWN
from blueprint.verifying.two_changes import CERTAIN
from blueprint.workbooks.rlhf_ppo.verifying.misread import in_scopes
from blueprint.workbooks.rlhf_ppo.verifying.own_rows import BESIDE, Own
from blueprint.workbooks.rlhf_ppo.verifying.trial import PLACES, ROWS, SMALL, MinibatchTrial

TOKENS = 1 << 23
"""A step of so many tokens at most is held in memory as a whole."""
FAR = 2
"""So many files away what is read is looked for."""
SHARES = ("clip_fraction.used", "clip_fraction.dual", "clip_fraction.value")
"""Numbers of few digits: how many tokens of a file are clipped."""
NEAR = 1e-6
"""Two numbers may be that much apart besides, as a part of their size: they were logged in float32."""


def of_places(trial: MinibatchTrial, name: str) -> Iterator[Try]:
    """Yields where a quantity may have come from, or what it is made of, if neither settings nor equations explain it."""
    there = [each for each in trial.files if name in each.lines]
    there = there if there and sum(each.batch.size for each in there) <= TOKENS else [trial]
    at = next(at for at, each in enumerate(there) if each.batch is trial.batch)
    files = Files(there, name, at, trial.few(name), trial.looked_at(name))
    if ALL[name] in TENSORS:
        yield from _of_result(files, name)
        yield from _of_inputs(files, name)
    else:  # one of many places always fits a number of few digits
        inputs = [] if name in SHARES else [*_of_inputs(files, name)]
        found = [*_of_number(files, name), *inputs]
        yield from (each._replace(bits=log2(len(found)) + CERTAIN + files.untold(each)) for each in found)


@dataclass(frozen=True)
class Files:
    """The files of a step, in order, each with all that it is computed with.

    name: what deviates in them. at: the first in which it does. few: some of its responses, `rows`, that are looked at first; None
    where it is not large.
    """

    of: Sequence[MinibatchTrial]
    name: str
    at: int
    few: MinibatchTrial | None
    rows: Array

    @property
    def here(self) -> MinibatchTrial:
        """The file that deviates."""
        return self.of[self.at]

    def untold(self, each: Try) -> float:
        """Returns how many bits those files have of a number that tell nothing of a cause: what it is then made of is not there."""
        there = [of.lines[self.name].compared for of in self.of if id(of.batch) in each.ways.get("unknown", ())]
        return sum(compared.bits for compared in there)

    def members(self, batch: Minibatch) -> list[int]:
        """Returns the files that a dump is made of: one, or all that were whitened together. Raises KeyError for another dump."""
        for at, each in enumerate(self.of):
            if each.batch is batch:
                return [at]
        found = [at for at, each in enumerate(self.of) if each.rollout.batch is batch]
        if sum(len(self.of[at].batch.mask) for at in found) != len(batch.mask):  # some of its files are not here
            raise KeyError(batch.path)
        return sorted(found, key=lambda at: self.of[at].at.start)

    @cached_property
    def starts(self) -> list[int]:
        """Where each file begins among the rows of all."""
        return [0, *np.cumsum([len(each.batch.mask) for each in self.of]).tolist()]

    @cached_property
    def earlier(self) -> Array:
        """Where each response of the step stands in the pass before, or −1."""
        places = {
            (*key_of(each.batch)[:2], int(index)): start + row
            for start, each in zip(self.starts, self.of, strict=False)
            for row, index in enumerate(each.batch.tensors.get("row_index", ()))
            if each.batch.place is not None
        }
        found = np.full(self.starts[-1], -1)
        for (rank, epoch, index), at in places.items():
            found[at] = places.get((rank, epoch - 1, index), -1)
        return found

    def called(self, row: int) -> str:
        """Returns what a report calls a row of all files."""
        at = int(np.searchsorted(self.starts, row, side="right")) - 1
        batch = self.of[at].batch
        said = f"row {batch.file_row(row - self.starts[at])}"
        return said if len(self.of) == 1 else f"{said} of {Path(batch.path).name}"

    @cached_property
    def parts(self) -> list[Array | None]:
        """By file the responses in which a tensor differs, [N]; None where all do, or of a number."""
        if self.name not in ROWS:
            return [None for _ in self.of]
        shown, allowed = self.result, [each.lines[self.name].compared.allowed for each in self.of]
        rows = zip(shown.theirs, shown.ours, shown.cells, allowed, strict=True)
        return [part_of(Seen(self.name, theirs, ours, cells), most) for theirs, ours, cells, most in rows]

    @cached_property
    def result(self) -> Shown:
        """The tensor that differs."""
        return self.results(self.name)

    def results(self, name: str) -> Shown:
        """Returns by file a tensor that it logged, beside what comes out of its own rows before it."""
        rows = [each.alone.feed(each.known(name))[0].values((each.row(name),))[each.row(name)] for each in self.of]
        theirs = [np.nan_to_num(np.asarray(each.batch.tensors[name], np.float64)) for each in self.of]
        return Shown(self, name, rows, theirs, [each.judge.cells(name) for each in self.of])

    def inputs(self, name: str) -> Shown:
        """Returns by file a tensor that something is made of, as it is; what comes in from elsewhere is finite."""
        rows = [
            np.nan_to_num(np.asarray(each.batch.tensors[name], np.float64), posinf=0.0, neginf=0.0) for each in self.of
        ]
        return Shown(self, name, rows, rows, [np.ones(row.shape, bool) for row in rows])

    def joined(self, rows: Sequence[Array], batch: Minibatch) -> Array:
        """Returns the rows of the files that a dump is made of below each other, as wide as it."""
        some = [rows[at] for at in self.members(batch)]
        return np.concatenate([_wide(row, batch.mask.shape[1], 0.0) for row in some])


def _wide(row: Array, width: int, fill: float) -> Array:
    """Returns rows [N, T] of another width; numbers of responses, [N], as they are."""
    if row.ndim == 1 or row.shape[1] == width:
        return row
    return np.pad(row[:, :width], ((0, 0), (0, max(0, width - row.shape[1]))), constant_values=fill)


@dataclass(frozen=True)
class Shown:
    """A row of every file of a step: as it comes out, as it was logged, and where it has numbers."""

    files: Files
    name: str
    ours: Sequence[Array]
    theirs: Sequence[Array]
    cells: Sequence[Array]

    @cached_property
    def whole(self) -> Array:
        """The row of all files below each other; NaN where it has no number."""
        width = max(row.shape[-1] for row in self.ours)
        rows = (np.where(cells, row, np.nan) for row, cells in zip(self.ours, self.cells, strict=True))
        return np.concatenate([_wide(row, width, np.nan) for row in rows])

    @cached_property
    def logged(self) -> Array:
        """The same as it was logged."""
        width = max(row.shape[-1] for row in self.theirs)
        return np.concatenate([_wide(row, width, np.nan) for row in self.theirs])

    @cached_property
    def here(self) -> Seen:
        """The row of the file that deviates."""
        return self.seen(self.files.at)

    def seen(self, at: int) -> Seen:
        """Returns the row of one file beside all others of the step, and other tensors of the file."""
        files, batch, ours = self.files, self.files.of[at].batch, self.ours[at]
        rows = slice(files.starts[at], files.starts[at + 1])
        others = {
            batch.called.get(name, name): np.asarray(each, np.float64)
            for name, each in batch.tensors.items()
            if name != self.name and each.dtype.kind == "f" and each.shape == ours.shape
        }
        alone = len(files.of) == 1
        width = ours.shape[-1]
        return Seen(
            self.name, self.theirs[at], ours, self.cells[at], _prompts(batch), others,
            whole=None if alone else _wide(self.whole, width, np.nan), logged=None if alone else _wide(self.logged, width, np.nan),
            start=files.starts[at], earlier=files.earlier[rows], called=files.called, part=files.parts[at],
        )  # fmt: skip

    def unknown(self, place: Place) -> Iterator[frozenset[int]]:
        """Yields the files that differ and have nothing in a place, by the id of their dump; then all that was whitened with them,
        too; not where those are most of the files that differ."""
        files = self.files
        differ = [at for at, each in enumerate(files.of) if not each.lines[files.name].compared.agrees]
        lacking = [at for at in differ if self._lacks(place, at)]
        rollouts = {id(files.of[at].rollout.batch) for at in lacking}
        whole = [at for at, each in enumerate(files.of) if id(each.rollout.batch) in rollouts]
        for lost in [lacking] if whole == lacking else [lacking, whole]:
            if len({*lost} & {*differ}) <= MOST_KNOWN * len(differ):
                few = [files.few.batch] if files.few is not None and files.at in lost else []
                yield frozenset(map(id, (*(files.of[at].batch for at in lost), *few)))

    def _lacks(self, place: Place, at: int) -> bool:
        row, part = place.put(self.seen(at)), self.files.parts[at]
        return row is None or bool(np.isnan(row if part is None else row[part]).all())

    def laid(self, place: Place, batch: Minibatch) -> Array:
        """Returns the rows of a dump as a place has them, [B, T] or [B]."""
        files = self.files
        if files.few is not None and batch is files.few.batch:
            return laid(place, self.here)[files.rows]
        members = files.members(batch)
        rows = {at: laid(place, self.seen(at)) for at in members}
        return files.joined([rows.get(at, row) for at, row in enumerate(self.ours)], batch)


def _prompts(batch: Minibatch) -> Array | None:
    """Returns by response the number of its prompt, in the order in which they come; None where no two responses share one."""
    if "prompt_ids" not in batch.tensors:
        return None
    rows = [each.tobytes() for each in np.asarray(batch.tensors["prompt_ids"])]
    numbers = {each: number for number, each in enumerate(dict.fromkeys(rows))}
    return np.array([numbers[each] for each in rows]) if len(numbers) < len(rows) else None


def _of_result(files: Files, name: str) -> Iterator[Try]:
    """Yields the places that the numbers of a logged tensor tell, and of rewards those that the scores in them do."""
    trial, shown = files.here, files.result
    allowed = trial.lines[name].compared.allowed
    for place in places_of(shown.here, allowed):
        stands = {trial.row(name): partial(_laid, shown, place)}
        yield Try(f"{trial.called(name)} that are {place.said}", trial.settings, {"stands": stands}, found=True)
    if name == "rewards":
        scores = _scores(files)
        for place in places_of(scores.here, allowed):
            stands = {"score.placed": partial(_placed, scores, place)}
            yield Try(f"scores that are {place.said}", trial.settings, {"stands": stands}, found=True)


def _laid(shown: Shown, place: Place, own: Own) -> Array:
    return shown.laid(place, own.batch)


def _placed(scores: Shown, place: Place, own: Own) -> Array:
    return np.asarray(own["score.place"] * scores.laid(place, own.batch)[:, None])


def _scores(files: Files) -> Shown:
    """Returns by file the scores as they are in its rewards, [B], beside what comes out."""
    ours, theirs = list[Array](), list[Array]()
    for each in files.of:
        of = each.alone.feed(each.known("rewards"))[0].values(("reward.penalty", "score.place", "score.placed"))
        logged = np.nan_to_num(np.asarray(each.batch.tensors["rewards"], np.float64))
        ours.append(of["score.placed"].sum(axis=1))
        theirs.append(((logged - of["reward.penalty"]) * of["score.place"]).sum(axis=1))
    return Shown(files, "scores", ours, theirs, [np.ones(row.shape, bool) for row in ours])


def _of_inputs(files: Files, name: str) -> Iterator[Try]:
    """Yields every place of what a quantity is made of; of a large file a few of each tensor, those that explain some responses.

    There is no time to try them on a number of a large file.
    """
    if files.few is not None:
        few, tensors = files.few, zip_longest(*(_wherever(*each) for each in _read(files, name)))
        some = islice((each for of_each in tensors for each in of_each if each is not None), PLACES)
        yield from (each._replace(found=True) for each in some if few.allows(each, name))
    elif files.here.batch.size <= SMALL:
        for shown, altered in _read(files, name):
            for each in _wherever(shown, altered):
                yield from in_scopes(each, name)


def _read(files: Files, name: str) -> Iterator[tuple[Shown, Callable[[Shown, Place], dict[str, Any]]]]:
    """Yields what a quantity is made of, tensors and results that the file has, and how it is computed of another place."""
    there, trial = files.here.batch.tensors, files.here
    for read in sorted(reads(ALL[name].needs, set(trial.known(name)))):
        if all(read in each.batch.tensors for each in files.of) and there[read].dtype.kind == "f":
            yield files.inputs(read), lambda shown, place: {"batch": partial(_with, shown, place)}
    for read in ALL[name].after:
        if read in ROWS and all(read in each.given for each in files.of):
            row = trial.row(read)
            yield files.results(read), lambda shown, place, row=row: {"stands": {row: partial(_laid, shown, place)}}  # type: ignore[misc]


def _wherever(shown: Shown, altered: Callable[[Shown, Place], dict[str, Any]]) -> Iterator[Try]:
    """Yields every place of something that is read."""
    trial = shown.files.here
    for place, unknown in _places(shown):
        said = f"{trial.batch.called.get(shown.name, shown.name)} that are {place.said}"
        yield Try(said, trial.settings, {**altered(shown, place), **unknown})


def _places(shown: Shown) -> Iterator[tuple[Place, dict[str, frozenset[int]]]]:
    """Yields the places of what is read, and of which files nothing is known then."""
    seen = shown.here
    for place in (*places_to_try(seen), *places_in_part(seen, _columns)):
        if not place.far:
            yield place, {}
        elif place.far <= FAR:
            yield from ((place, {"unknown": each}) for each in shown.unknown(place))


def _columns(seen: Seen) -> Iterator[Place]:
    """Yields what is read from another column, or row; what comes in at the edge is 0, or what went out at the other."""
    if seen.ours.ndim > 1:
        for said, moves in BESIDE.items():
            yield from (Place(f"those {said}", partial(_beside, move)) for move in moves)


def _beside(move: Callable[[Array], Array], seen: Seen) -> Array:
    return move(seen.ours)


def _with(shown: Shown, place: Place, batch: Minibatch) -> Minibatch:
    return replace(batch, tensors={**batch.tensors, shown.name: shown.laid(place, batch)})


def _of_number(files: Files, name: str) -> Iterator[Try]:
    """Yields the files of the step of which a number may be, it alone or all that are logged, if it is theirs in all files that
    differ and have such a file."""
    trial, count = files.here, len(files.of)
    numbers = [each for each in trial.lines if each not in ROWS]
    differing = [each for each in numbers if not trial.lines[each].compared.agrees]
    alone = f"{trial.called(name)} that is that"
    both = [(alone, [name]), *([("all logged numbers that are those", numbers)] if len(differing) > 1 else [])]
    lines = [each.lines[name].compared for each in files.of]
    for by in sorted(range(1 - count, count), key=lambda by: (abs(by), by)):
        if by and _bits(lines, by, name in SHARES) >= log2(2 * count) + CERTAIN:
            lacking = frozenset(id(each.batch) for at, each in enumerate(files.of) if not 0 <= at + by < count)
            for said, of in both:
                stands = {trial.row(each): partial(_number_of, files, each, by) for each in of}
                ways = {"stands": stands, "unknown": lacking}
                yield Try(f"{said} of {file_called(by)}", trial.settings, ways, found=True)


def _bits(lines: Sequence[Compared], by: int, share: bool) -> float:
    """Returns how many bits say that a number is that of the file so many behind wherever it differs, as far as that is there; 0
    where one says it is not, or most have no such file. share: whether a file may have the same number as another by chance."""
    differing = [at for at, line in enumerate(lines) if not line.agrees]
    known = [at for at in differing if 0 <= at + by < len(lines)]
    for at in known:
        logged, other = lines[at].logged, lines[at + by].recomputed
        if logged is None or other is None or not abs(logged - other) <= lines[at].allowed + NEAR * abs(logged):
            return 0.0
    if len(known) < MOST_KNOWN * len(differing):
        return 0.0
    each = log2(len({line.recomputed for line in lines})) if share else float("inf")
    return sum(min(each, lines[at].bits) for at in known)


def _number_of(files: Files, name: str, by: int, own: Own) -> Array:
    """Returns the number of another file; where the step has no such file, as it was logged."""
    at = files.members(own.batch)[0]
    there = 0 <= at + by < len(files.of) and name in files.of[at + by].lines
    compared = (files.of[at + by] if there else files.of[at]).lines[name].compared
    return np.asarray(compared.recomputed if there else compared.logged, np.float64)
