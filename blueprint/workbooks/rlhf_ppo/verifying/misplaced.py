"""Where numbers of a step of PPO may have come from: other rows, columns, files and epochs of the step, and other tensors.

A result that is logged tells its place by its own numbers (`blueprint.verifying.places`). What is read tells it only in what is
made of it: there every place is tried, in a large file on a few responses first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from blueprint.dumps import Array, Minibatch, key_of
from blueprint.verifying import Compared, Place, Seen, Try, laid, places_of
from blueprint.verifying.logged import ALL, TENSORS, reads
from blueprint.verifying.places import STALE, places_to_try
from blueprint.workbooks.rlhf_ppo.verifying.judge import cut
from blueprint.workbooks.rlhf_ppo.verifying.misread import SCOPES
from blueprint.workbooks.rlhf_ppo.verifying.own_rows import Own
from blueprint.workbooks.rlhf_ppo.verifying.trial import ROWS, MinibatchTrial

SURE = 1e-3
"""One number tells where it is from if it may be off by such a part of itself at most; a coarser one must in two files."""
ENOUGH, NEAR = 2, 1e-6


def of_places(trial: MinibatchTrial, name: str) -> Iterator[Try]:
    """Yields where a quantity may have come from, or what it is made of, if neither settings nor equations explain it."""
    files = Files(trial.files or (trial,))
    at = files.at(trial.batch)
    if ALL[name] in TENSORS:
        yield from _of_result(files, at, name)
    else:
        yield from _of_number(files, at, name)
    yield from _of_inputs(files, at, name)


@dataclass(frozen=True)
class Files:
    """The files of a step, in order, each with all that it is computed with."""

    of: Sequence[MinibatchTrial]

    def at(self, batch: Minibatch) -> int:
        """Returns which file this is."""
        return next(at for at, each in enumerate(self.of) if each.batch is batch)

    def members(self, batch: Minibatch) -> list[int]:
        """Returns the files that a dump is made of: one, or all that were whitened together. Raises KeyError for another dump."""
        for at, each in enumerate(self.of):
            if each.batch is batch:
                return [at]
        found = [at for at, each in enumerate(self.of) if each.rollout.batch is batch]
        if not found:
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
    if row.ndim == 1:
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
            start=files.starts[at], earlier=files.earlier[rows], called=files.called,
        )  # fmt: skip

    def laid(self, place: Place, batch: Minibatch) -> Array:
        """Returns the rows of a dump as a place has them, [B, T] or [B]."""
        members = self.files.members(batch)
        rows = {at: laid(place, self.seen(at)) for at in members}
        return self.files.joined([rows.get(at, row) for at, row in enumerate(self.ours)], batch)


def _prompts(batch: Minibatch) -> Array | None:
    """Returns by response the number of its prompt, in the order in which they come; None where no two responses share one."""
    if "prompt_ids" not in batch.tensors:
        return None
    rows = [each.tobytes() for each in np.asarray(batch.tensors["prompt_ids"])]
    numbers = {each: number for number, each in enumerate(dict.fromkeys(rows))}
    return np.array([numbers[each] for each in rows]) if len(numbers) < len(rows) else None


def _of_result(files: Files, at: int, name: str) -> Iterator[Try]:
    """Yields the places that the numbers of a logged tensor tell, and of rewards those that the scores in them do."""
    trial, shown = files.of[at], files.results(name)
    allowed = trial.lines[name].compared.allowed
    for place in places_of(shown.seen(at), allowed):
        stands = {trial.row(name): partial(_laid, shown, place)}
        yield Try(f"{trial.called(name)} that are {place.said}", trial.settings, {"stands": stands}, found=True)
    if name == "rewards":
        scores = _scores(files)
        for place in places_of(scores.seen(at), allowed):
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


def _of_inputs(files: Files, at: int, name: str) -> Iterator[Try]:
    """Yields every place of what a quantity is made of; of a large file those that explain a few responses."""
    trial = files.of[at]
    few = trial.few(name)
    for each in _read_elsewhere(files, at, name):
        if few is None:
            yield each
        elif few.allows(_of_few(each, trial, trial.looked_at(name)), name):
            yield each._replace(found=True)


def _read_elsewhere(files: Files, at: int, name: str) -> Iterator[Try]:
    """Yields every place of every tensor that is read, by all or by some rows alone, and of the results that the file has."""
    trial = files.of[at]
    use, there = trial.settings, trial.batch.tensors
    for read in sorted(reads(ALL[name].needs, set(trial.known(name)))):
        if read in there and there[read].dtype.kind == "f" and all(read in each.batch.tensors for each in files.of):
            shown, called = files.inputs(read), trial.batch.called.get(read, read)
            for place in places_to_try(shown.seen(at)):
                ways = {"batch": partial(_read, shown, place)}
                for only in SCOPES.get(name, ()):
                    yield Try(f"{called} that are {place.said}", use, {**ways, "only": only})
                yield Try(f"{called} that are {place.said}", use, ways)
    for read in ALL[name].after:
        if read in ROWS and all(read in each.given for each in files.of):
            shown = files.results(read)
            for place in places_to_try(shown.seen(at)):
                stands = {trial.row(read): partial(_laid, shown, place)}
                yield Try(f"{trial.called(read)} that are {place.said}", use, {"stands": stands})


def _read(shown: Shown, place: Place, batch: Minibatch) -> Minibatch:
    return replace(batch, tensors={**batch.tensors, shown.name: shown.laid(place, batch)})


def _of_few(each: Try, trial: MinibatchTrial, rows: Array) -> Try:
    """Returns a cause of a file for some of its responses."""
    ways = dict(each.ways)
    if "batch" in ways:
        ways["batch"] = lambda _: cut(each.ways["batch"](trial.batch), rows)
    else:
        ways["stands"] = {name: partial(_some, made, trial.batch, rows) for name, made in each.ways["stands"].items()}
    return each._replace(ways=ways)


def _some(made: Callable[[Own], Array], batch: Minibatch, rows: Array, own: Own) -> Array:
    return made(Own(own.fed, batch))[rows]


def _of_number(files: Files, at: int, name: str) -> Iterator[Try]:
    """Yields the files of the step of which a number may be, if it is theirs in all files that differ and have such a file."""
    trial = files.of[at]
    lines = [each.lines[name].compared if name in each.lines else None for each in files.of]
    count = len(lines)
    for by in sorted(range(1 - count, count), key=lambda by: (abs(by), by)):
        if not by or not _is_of(lines, by):
            continue
        said = {-1: STALE.replace("those", "that"), 1: "that of the file behind"}.get(
            by, f"that of the file {abs(by)} {'before' if by < 0 else 'behind'}"
        )
        stands = {trial.row(name): partial(_number_of, files, name, by)}
        yield Try(f"{trial.called(name)} that is {said}", trial.settings, {"stands": stands}, found=True)


def _is_of(lines: Sequence[Compared | None], by: int) -> bool:
    """Tells whether a number is that of the file so many behind in every file that differs, as far as that is there."""
    sure, some = False, 0
    for at, line in enumerate(lines):
        other = lines[at + by] if 0 <= at + by < len(lines) else None
        if line is None or line.agrees or other is None:
            continue
        if line.logged is None or other.recomputed is None or not other.recomputed:
            return False
        if not abs(line.logged - other.recomputed) <= line.allowed + NEAR * abs(line.logged):
            return False
        some += 1
        sure = sure or line.allowed <= SURE * abs(line.logged)
    return sure or some >= ENOUGH


def _number_of(files: Files, name: str, by: int, own: Own) -> Array:
    """Returns the number of another file; where the step has no such file, as it was logged."""
    at = files.members(own.batch)[0]
    there = 0 <= at + by < len(files.of) and name in files.of[at + by].lines
    compared = (files.of[at + by] if there else files.of[at]).lines[name].compared
    return np.asarray(compared.recomputed if there else compared.logged, np.float64)
