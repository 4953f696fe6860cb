"""The two sides of a comparison, and which response of one is which of the other.

A side is the files in which a framework wrote one step, in their order, and put together. Of several passes over a rollout
(epochs) the first is compared: what a later one begins with is what the first one left. Responses are told by their tokens, in
whatever order they stand; without tokens as they stand. Raises MinibatchError in a sentence that names the response where two
dumps are not of one batch.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np

from blueprint.dumps import (
    Array,
    Dump,
    Minibatch,
    MinibatchError,
    Place,
    first_pass,
    in_order,
    is_bundle,
    key_of,
    read_dump,
    require,
)
from blueprint.inputs import counted
from blueprint.verifying import read_dumps, verifier_of
from blueprint.verifying.runs.steps import find

AnyPath = str | PathLike[str]


@dataclass(frozen=True)
class Side:
    """The files of one step of one framework.

    files: those of the first pass over the rollout, in the order of their places. whole: their rows, one file below the other;
    the file itself where there is one. notes: files that repeat others, and passes that are left out.
    """

    files: tuple[Dump, ...]
    whole: Dump
    notes: tuple[str, ...] = ()

    def place(self, row: int) -> tuple[str, int, int]:
        """Returns which file a row of the whole is of, "" where there is one; its row there, and in which column it begins."""
        if len(self.files) > 1 and sum(map(rows_in, self.files)) == rows_in(self.whole):
            for each in self.files:
                if row < rows_in(each):
                    return Path(each.path).name, *each.position(row)
                row -= rows_in(each)
        return "", *self.whole.position(row)


def rows_in(dump: Dump) -> int:
    """Returns how many rows a dump has: responses, pairs or environments."""
    return len(dump.mask) if isinstance(dump, Minibatch) else len(next(iter(dump.tensors.values())))


def side_of(dumps: Dump | Sequence[Dump]) -> Side:
    """Puts the files of a step together; a single one stays what it is.

    Raises:
        MinibatchError: files of two kinds, of two steps, or two that say they are the same part of one.
    """
    found = [dumps] if isinstance(dumps, Dump) else list(dumps)
    require(bool(found), "found no dump, expected the files of one step.")
    kinds = sorted({each.kind for each in found})
    require(len(kinds) == 1, f"{found[0].path} and others are dumps of different kinds, {', '.join(kinds)}.")
    ordered, notes = in_order([_placed(each) for each in found])
    kept = first_pass(ordered)
    if len(kept) < len(ordered):
        passes = len({key_of(each)[1] for each in ordered})
        notes.append(
            f"{len(kept)} of {len(ordered)} files are compared, those of the first of {passes} passes over the rollout"
        )
    put = verifier_of(kept[0]).together
    require(
        put is not None or len(kept) == 1,
        f"{kept[0].path}: files of {kept[0].kind} are not put together: name one of them.",
    )
    return Side(tuple(kept), put(kept) if put else kept[0], tuple(notes))


def _placed(dump: Dump) -> Dump:
    """Counts the updates of a pass as minibatches in files that say nothing else of their place, as those of SB3."""
    place = dump.place
    if place is None or place.minibatch is not None or place.optimizer_step is None:
        return dump
    return replace(dump, place=Place(**{**vars(place), "minibatch": place.optimizer_step}))


def read_side(paths: AnyPath | Sequence[AnyPath]) -> Side:
    """Reads a side: a file, several of one step, a bundle of Relax, or a folder with the files of one step.

    Raises:
        MinibatchError: as `side_of`; a file that cannot be read; a folder of several steps, or of none.
    """
    named = [Path(paths)] if isinstance(paths, str | PathLike) else [Path(each) for each in paths]
    files = [file for each in named for file in _files_of(each)]
    if len(files) == 1:
        return side_of(read_dump(files[0]))
    dumps, unread = read_dumps(files)
    require(not unread, next(iter(unread.values()), ""))
    return side_of(dumps)


def _files_of(path: Path) -> list[Path]:
    """Returns the files of the one step that a folder holds; of anything else itself."""
    if not path.is_dir() or is_bundle(path):
        return [path]
    steps = find(path).steps
    if len(steps) != 1:
        many = "no dump" if not steps else f"{len(steps)} steps ({steps[0].name} … {steps[-1].name})"
        raise MinibatchError(f"{path} holds {many}: name a folder with the files of one step, or one file.")
    return [path / file.name for file in steps[0].files]


MOST_TOKENS = 6
"""Tokens of a response that are quoted."""


@dataclass(frozen=True)
class Aligned:
    """Two dumps of the same batch.

    sides: the files that each was put together of. rows: [N, 2], rows of both that are the same response. by: how that is known,
    in words. whole: whether every response of one is in the other, and the other way round.
    """

    sides: tuple[Side, Side]
    rows: Array
    by: str
    whole: bool

    @property
    def one(self) -> Dump:
        """The first dump."""
        return self.sides[0].whole

    @property
    def other(self) -> Dump:
        """The second dump."""
        return self.sides[1].whole

    @property
    def files(self) -> list[tuple[Dump, Dump]]:
        """Returns the files of both that hold the same rows, in which alone logged numbers can be compared; else none."""
        if not self.whole:
            return []
        one, other = (side.files for side in self.sides)
        if len(one) == len(other) and self.one.minibatch_rows is not None:
            both = list(zip(one, other, strict=True))
            steps = ((here.minibatch_rows, there.minibatch_rows) for here, there in both)
            same = all(a is not None and b is not None and np.array_equal(a, b) for a, b in steps)
            return both if same else []
        if len(one) == len(other) == 1:
            return [(self.one, self.other)]
        of = [np.repeat(np.arange(len(files)), list(map(rows_in, files))) for files in (one, other)]
        moved = (of[at][self.rows[:, at]].tolist() for at in (0, 1))
        pairs = sorted(set(zip(*moved, strict=True)))
        single = len(pairs) == len(one) == len(other)
        return [(one[here], other[there]) for here, there in pairs] if single else []

    @property
    def moved(self) -> bool:
        """Whether the responses stand in another order, or some only in one."""
        return not np.array_equal(self.rows[:, 0], self.rows[:, 1])


def align(ours: Side, theirs: Side) -> Aligned:
    """Finds the responses that both dumps have.

    Raises:
        MinibatchError: dumps of different kinds, or of different batches.
    """
    return Aligned((ours, theirs), *_rows(ours.whole, theirs.whole))


Rows = tuple[Array, str, bool]
"""Rows that are the same response, how that is known, and whether they are all."""


def _rows(one: Dump, other: Dump) -> Rows:
    require(
        one.kind == other.kind,
        f"{one.path} is {_called(one)} and {other.path} {_called(other)}: compare two dumps of the same kind.",
    )
    if isinstance(one, Minibatch) and isinstance(other, Minibatch):
        both = [_written(each) for each in (one, other)]
        return _by_tokens(one, other, *both) if both[0] and both[1] else _as_they_stand(one, other)
    counts = [rows_in(each) for each in (one, other)]
    require(
        counts[0] == counts[1],
        f"{one.path} has {counted(counts[0], 'row')} and {other.path} {counts[1]}: they are of different batches, or of parts "
        "of one; compare the same part.",
    )
    return _each_beside_itself(counts[0]), "as they stand", True


def _each_beside_itself(count: int) -> Array:
    return np.repeat(np.arange(count)[:, None], 2, axis=1)


def _called(dump: Dump) -> str:
    names = {
        "rlhf_ppo": "a step of PPO", "grpo": "a step of GRPO", "dpo": "a step of DPO", "classic_ppo": "a rollout",
        "kto": "a step of KTO", "reward_model": "a step of a reward model", "sft": "a step of fine-tuning",
    }  # fmt: skip
    return names.get(dump.kind, f"a dump of {dump.kind.replace('_', ' ')}")


def _written(dump: Minibatch) -> list[bytes]:
    """Returns what tells a response from others: its tokens; nothing where the file has none."""
    ids = dump.tensors.get("response_ids")
    if ids is None or ids.shape[1] < dump.mask.shape[1]:
        return []
    last = [np.flatnonzero(row) for row in dump.mask]
    return [
        np.ascontiguousarray(row[: int(at[-1]) + 1 if len(at) else 0], np.int64).tobytes()
        for row, at in zip(ids, last, strict=True)
    ]


def _by_tokens(one: Minibatch, other: Minibatch, ours: list[bytes], theirs: list[bytes]) -> Rows:
    """Pairs responses with the same tokens; of those that were written twice, the ones with the nearest log-probs."""
    places: dict[bytes, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, written in enumerate((ours, theirs)):
        for row, each in enumerate(written):
            places[each][side].append(row)
    pairs = sorted(pair for here, there in places.values() for pair in _nearest(one, other, here, there))
    if len(pairs) < min(len(ours), len(theirs)):
        _refuse(one, other, ours, theirs, {row for row, _ in pairs})
    whole = len(pairs) == len(ours) == len(theirs)
    return np.array(pairs, np.int64), "by their tokens", whole


def _nearest(one: Minibatch, other: Minibatch, here: list[int], there: list[int]) -> list[tuple[int, int]]:
    """Pairs rows of the same tokens, the nearest first."""
    if len(here) == len(there) == 1 or not {"logprobs_old"} <= one.tensors.keys() & other.tensors.keys():
        return list(zip(here, there, strict=False))
    apart = {(row, place): _apart(one, other, row, place) for row in here for place in there}
    pairs = list[tuple[int, int]]()
    for row, place in sorted(apart, key=lambda pair: (apart[pair], pair)):
        if all(row != taken and place != used for taken, used in pairs):
            pairs.append((row, place))
    return pairs


def _apart(one: Minibatch, other: Minibatch, row: int, place: int) -> float:
    """Returns how far the log-probs of two responses are apart in the mean, where both have tokens."""
    width = min(one.mask.shape[1], other.mask.shape[1])
    both = one.mask[row, :width].astype(bool) & other.mask[place, :width].astype(bool)
    ours, theirs = (
        np.asarray(dump.tensors["logprobs_old"][at, :width], np.float64)[both]
        for dump, at in ((one, row), (other, place))
    )
    return float(np.abs(ours - theirs).mean()) if both.any() else 0.0


def _refuse(one: Minibatch, other: Minibatch, ours: list[bytes], theirs: list[bytes], paired: set[int]) -> None:
    """Says which response is not in the other dump, and, where only its end differs, from which token on."""
    row = next(row for row in range(len(ours)) if row not in paired)
    tokens, near = _tokens(ours[row]), row if row < len(theirs) else None
    same = np.array([], np.int64) if near is None else _tokens(theirs[near])
    width = min(len(tokens), len(same))
    parted = np.flatnonzero(tokens[:width] != same[:width])
    at = int(parted[0]) if len(parted) else width
    where = f"; row {other.file_row(row)} there begins with the same {at}" if near is not None and at else ""
    quoted = " ".join(map(str, tokens[:MOST_TOKENS].tolist())) + (" …" if len(tokens) > MOST_TOKENS else "")
    raise MinibatchError(
        f"{one.path} and {other.path} are of different batches: the response in row {one.file_row(row)} of the first, of "
        f"{counted(len(tokens), 'token')} ({quoted}), is not in the second{where}. Compare dumps of the same responses."
    )


def _tokens(written: bytes) -> Array:
    return np.frombuffer(written, np.int64)


def _as_they_stand(one: Minibatch, other: Minibatch) -> Rows:
    """Pairs rows as they stand. Raises MinibatchError for other numbers of responses, or responses of other lengths."""
    counts = len(one.mask), len(other.mask)
    require(
        counts[0] == counts[1],
        f"{one.path} has {counted(counts[0], 'response')} and {other.path} {counts[1]}, and without response_ids in both "
        "nothing tells which are the same: write the tokens into both, or compare the same responses.",
    )
    lengths = [np.asarray(each.mask.sum(axis=1)) for each in (one, other)]
    odd = np.flatnonzero(lengths[0] != lengths[1])
    if len(odd) > counts[0] / 2:
        row = int(odd[0])
        raise MinibatchError(
            f"{one.path} and {other.path} are of different batches, or in another order: row {one.file_row(row)} has "
            f"{counted(int(lengths[0][row]), 'token')} in the first and {lengths[1][row]} in the second; write response_ids "
            "into both."
        )
    return _each_beside_itself(counts[0]), "as they stand: without response_ids in both nothing tells more", True
