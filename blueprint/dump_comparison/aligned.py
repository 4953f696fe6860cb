"""Which response of one dump is which of the other: by their tokens, in whatever order they stand; without tokens as they stand.

Raises MinibatchError in a sentence that names the response where two dumps are not of one batch.
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from blueprint.dump_comparison.sides import Side, rows_in
from blueprint.dumps import Array, Dump, Minibatch, MinibatchError, require

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
        f"{one.path} has {counts[0]} rows and {other.path} {counts[1]}: they are of different batches, or of parts of one; "
        "compare the same part.",
    )
    return _each_beside_itself(counts[0]), "as they stand", True


def _each_beside_itself(count: int) -> Array:
    return np.repeat(np.arange(count)[:, None], 2, axis=1)


def _called(dump: Dump) -> str:
    names = {"rlhf_ppo": "a step of PPO", "grpo": "a step of GRPO", "dpo": "a step of DPO", "classic_ppo": "a rollout"}
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
        f"{len(tokens)} tokens ({quoted}), is not in the second{where}. Compare dumps of the same responses."
    )


def _tokens(written: bytes) -> Array:
    return np.frombuffer(written, np.int64)


def _as_they_stand(one: Minibatch, other: Minibatch) -> Rows:
    """Pairs rows as they stand. Raises MinibatchError for other numbers of responses, or responses of other lengths."""
    counts = len(one.mask), len(other.mask)
    require(
        counts[0] == counts[1],
        f"{one.path} has {counts[0]} responses and {other.path} {counts[1]}, and without response_ids in both nothing tells which "
        "are the same: write the tokens into both, or compare the same responses.",
    )
    lengths = [np.asarray(each.mask.sum(axis=1)) for each in (one, other)]
    odd = np.flatnonzero(lengths[0] != lengths[1])
    if len(odd) > counts[0] / 2:
        row = int(odd[0])
        raise MinibatchError(
            f"{one.path} and {other.path} are of different batches, or in another order: row {one.file_row(row)} has "
            f"{lengths[0][row]} tokens in the first and {lengths[1][row]} in the second; write response_ids into both."
        )
    return _each_beside_itself(counts[0]), "as they stand: without response_ids in both nothing tells more", True
