"""Every tensor and logged number that two dumps have, side by side, in the order of the computation: by how much they differ, and
where; and whether rounding explains it, or that two forwards of one model are never the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from blueprint.dump_comparison.aligned import Aligned
from blueprint.dumps import Array, Dump, Minibatch, as_computed
from blueprint.verifying import TOLERANCES, coarsest, distance, held_in
from blueprint.verifying.two_forwards import forward, gap, limits, patterns

ORDER = (
    "response_mask", "scores", "greedy", "truncated", "logprobs_rollout", "logprobs_old", "logprobs_ref", "values_old",
    "rewards", "advantages", "returns", "logprobs_new", "values_new", "entropy", "ratio", "rollout_weights", "kl_new", "token_loss",
)  # fmt: skip
"""Tensors of responses, first what goes in; those of other kinds of dumps come in their own order, and logged numbers last."""
OF_FORWARDS = (
    "logprobs_rollout",
    "logprobs_old",
    "logprobs_ref",
    "values_old",
    "logprobs_new",
    "values_new",
    "entropy",
)
"""What a model computed: of one model and the same tokens it still differs, by kernels and precision."""
NOT_COMPARED = ("prompt_ids", "response_ids", "tokens", "group", "row_index", "ended", "rewards_per_func")
"""Told by the alignment, or by names that frameworks choose."""

LOSSES = ("entropy", "policy_loss", "value_loss", "kl_loss", "loss", "total_loss")
"""Logged numbers that come last, in their order."""

SIDES = "A", "B"
SAME, ROUNDING, FORWARDS, FOLLOWS, DIFFERS = "same", "rounding", "as two forwards", "follows", "DIFFERS"


@dataclass(frozen=True)
class Place:
    """A number that both dumps have.

    row, column: in the first one's file; other_row: in the second's. one, other: the numbers. files: those of the rows, "" where a
    side is a single one.
    """

    row: int
    other_row: int
    column: int | None
    one: float
    other: float
    files: tuple[str, str] = ("", "")

    def __str__(self) -> str:
        """Names rows, column and files as a report has them."""
        column = "" if self.column is None else f", column {self.column}"
        of = [f"{file} in {side}" if file else side for file, side in zip(self.files, SIDES, strict=True)]
        return f"row {self.row} of {of[0]} (row {self.other_row} of {of[1]}){column}"


@dataclass(frozen=True)
class Difference:
    """A quantity of both dumps.

    called: what each of them calls it. cells, differing: how many numbers were compared, and how many are further apart than
    `allowed`. largest: the largest difference, and `rms` their root mean square. first, worst: where it first differs, and where
    most; None of a single number. response, position: the row and the column with the largest mean difference, and that mean.
    patterns: what the difference of a forward's numbers is like. says: same, rounding, as two forwards, follows, or DIFFERS.
    both: of logged numbers, those of the first files that differ, else of the first ones; files: which these are, where a side has
    several.
    """

    name: str
    called: tuple[str, str]
    cells: int
    differing: int
    largest: float
    rms: float
    allowed: float
    says: str
    first: Place | None = None
    worst: Place | None = None
    response: tuple[Place, float] | None = None
    position: tuple[int, float] | None = None
    patterns: tuple[str, ...] = ()
    both: tuple[float, float] | None = None
    files: tuple[str, str] | None = None

    def __str__(self) -> str:
        """Says where it first differs, and what stands there in both."""
        if self.both:
            where = f", {self.files[0]} in A and {self.files[1]} in B" if self.files else ""
            return f"{self.name}{where}: {self.both[0]:.9g} in A, {self.both[1]:.9g} in B."
        return (
            f"{self.name}, {self.first}: {self.first.one:.9g} in A, {self.first.other:.9g} in B."
            if self.first
            else self.name
        )


def differences(pair: Aligned) -> list[Difference]:
    """Returns what both dumps have, in the order of the computation."""
    common = [name for name in pair.one.tensors if name in pair.other.tensors and name not in NOT_COMPARED]
    order = [name for name in ORDER if name in common] + [name for name in common if name not in ORDER]
    found = [each for name in order if (each := _of_tensor(pair, name)) is not None]
    return [*found, *_of_numbers(pair)]


def _of_tensor(pair: Aligned, name: str) -> Difference | None:
    """Compares a tensor of the responses that both dumps have; None where no number is in both."""
    both = _in_rows(pair, name)
    if both is None:
        return None
    one, other = both
    if one.ndim != other.ndim:  # one number of a response, or its place among the tokens
        one, other = (each.sum(axis=1) if each.ndim > 1 else each for each in (one, other))
    if one.ndim == 1:
        one, other = one[:, None], other[:, None]
    width = max(one.shape[1], other.shape[1])
    one, other = (np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in (one, other))
    inside = _inside(pair, name, one.shape)
    if not inside.any():
        return None
    apart = np.where(inside, distance(np.where(inside, one, 0.0), np.where(inside, other, 0.0)), 0.0)
    called = (pair.one.called.get(name, name), pair.other.called.get(name, name))
    largest = float(np.abs(np.where(inside & np.isfinite(one), one, 0.0)).max(initial=0.0))
    allowed = 0.0 if name == "response_mask" else _tolerance(pair, name) * (1 + largest)
    wrong = (apart > allowed) & inside
    says = SAME if not apart.any() else DIFFERS if wrong.any() else ROUNDING
    found = Difference(
        name, called, int(inside.sum()), int(wrong.sum()), float(apart.max()), _rms(apart[inside]), allowed, says
    )
    if says != DIFFERS:
        return found
    single = pair.one.tensors[name].ndim == 1
    found = _placed(found, pair, apart, (wrong, inside), (one, other), single)
    return _between_forwards(pair, found, one, other) if name in OF_FORWARDS else found


def _in_rows(pair: Aligned, name: str) -> tuple[Array, Array] | None:
    """Returns a tensor of both, row beside row; None where it is of minibatches of a rollout that have other steps."""
    one, other = (np.asarray(dump.tensors[name], np.float64) for dump in (pair.one, pair.other))
    known = [dump.minibatch_rows for dump in (pair.one, pair.other)]
    if known[0] is None or known[1] is None:
        return one[pair.rows[:, 0]], other[pair.rows[:, 1]]
    if len(one) == len(other) == len(pair.rows):
        return one, other
    return (one, other) if np.array_equal(known[0], known[1]) else None


def _inside(pair: Aligned, name: str, shape: tuple[int, ...]) -> Array:
    """Returns where both dumps have a token; of another tensor everywhere."""
    side_mask = f"{name.partition('.')[0]}.mask"
    if {side_mask} <= pair.one.tensors.keys() & pair.other.tensors.keys() and name != side_mask:
        masks = [np.asarray(dump.tensors[side_mask], np.bool_) for dump in (pair.one, pair.other)]
        if masks[0].shape == masks[1].shape == shape:  # of a side of pairs
            return np.asarray(masks[0] & masks[1])
    if not isinstance(pair.one, Minibatch) or not isinstance(pair.other, Minibatch) or shape[1] == 1:
        return np.ones(shape, np.bool_)
    inside = np.zeros((2, *shape), np.bool_)
    for side, dump in enumerate((pair.one, pair.other)):
        mask = dump.mask[pair.rows[:, side]][:, : shape[1]]
        inside[side, :, : mask.shape[1]] = mask
    return np.asarray(inside.any(axis=0) if name == "response_mask" else inside.all(axis=0))


def _tolerance(pair: Aligned, name: str) -> float:
    """Returns how far rounding may move a number, by the coarser dtype of both files."""
    both = [as_computed(dump) for dump in (pair.one, pair.other)]
    dtypes = [held_in(dump) if isinstance(dump, Minibatch) else dict(dump.dtypes) for dump in both]
    known = [each[name] for each in dtypes if each.get(name) in TOLERANCES]
    return max((TOLERANCES[each] for each in known), default=TOLERANCES["float64"])


def _rms(apart: Array) -> float:
    finite = apart[np.isfinite(apart)]
    return float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0


def _placed(
    found: Difference, pair: Aligned, apart: Array, where: tuple[Array, Array], both: tuple[Array, Array], single: bool
) -> Difference:
    """Says where numbers first differ and where most, and which response and position differ most in the mean.

    where: where they are too far apart, and where they are compared at all.
    """
    wrong, inside = where
    first = np.unravel_index(int(wrong.argmax()), wrong.shape)
    worst = np.unravel_index(int(np.where(inside, apart, -1.0).argmax()), apart.shape)
    finite = np.where(np.isfinite(apart), apart, 0.0)
    rows = finite.sum(axis=1) / np.maximum(inside.sum(axis=1), 1)
    columns = finite.sum(axis=0) / np.maximum(inside.sum(axis=0), 1)
    row, column = int(rows.argmax()), int(columns.argmax())
    moved = pair.sides[0].place(int(pair.rows[row, 0]))[2] if row < len(pair.rows) else 0
    return replace(
        found,
        first=_place(pair, int(first[0]), int(first[1]), both, single),
        worst=_place(pair, int(worst[0]), int(worst[1]), both, single),
        response=(_place(pair, row, column, both, True), float(rows[row])),
        position=None if single else (column + moved, float(columns[column])),
    )


def _place(pair: Aligned, at: int, column: int, both: tuple[Array, Array], single: bool) -> Place:
    one, other = (float(each[at, column]) for each in both)
    if at >= len(pair.rows):  # a row of a minibatch of a rollout
        return Place(at, at, None, one, other)
    file, row, moved = pair.sides[0].place(int(pair.rows[at, 0]))
    other_file, other_row, _ = pair.sides[1].place(int(pair.rows[at, 1]))
    return Place(row, other_row, None if single else column + moved, one, other, (file, other_file))


def _between_forwards(pair: Aligned, found: Difference, one: Array, other: Array) -> Difference:
    """Holds what models computed to how far two forwards of one model are ever apart, and says what a larger difference is like."""
    if (
        not isinstance(pair.one, Minibatch)
        or not isinstance(pair.other, Minibatch)
        or pair.one.tensors[found.name].ndim == 1
    ):
        return found
    beside = f"{found.name}.other"
    batch = pair.one
    if not np.array_equal(pair.rows[:, 0], np.arange(len(batch.mask))):
        return found  # a part of it
    width = batch.mask.shape[1]
    tensors = {**batch.tensors, beside: other[:, :width]}
    dtypes = {**batch.dtypes, beside: pair.other.dtypes.get(found.name, "float64")}
    between = gap(replace(batch, tensors=tensors, dtypes=dtypes), found.name, beside, "first file's")
    if between is None:
        return found
    dtype = coarsest(
        {name: forward(each, {})[0] for name, each in (("one", batch), ("two", pair.other))}, ("one", "two")
    )
    usual, most = limits(between, dtype)
    like = patterns(batch, between, usual)
    telling = any(each.telling for each in like) or between.has_a_row_off(most)
    says = FORWARDS if between.size() <= most and not telling else DIFFERS
    return replace(
        found, says=says, allowed=most, patterns=tuple(each.said for each in like) if says == DIFFERS else ()
    )


def _of_numbers(pair: Aligned) -> Iterator[Difference]:
    """Compares the numbers that both logged, the parts of the loss behind the others; of several files those of the same rows."""
    files = pair.files
    common = [
        name
        for name in (files[0][0].logged if files else ())
        if all(name in each.logged for two in files for each in two)
    ]
    for name in sorted(common, key=lambda each: LOSSES.index(each) if each in LOSSES else -1):
        numbers = [(one.logged[name], other.logged[name]) for one, other in files]
        apart = [float(distance(np.asarray(one), np.asarray(other))) for one, other in numbers]
        allowed = [TOLERANCES["float32"] * (1 + abs(one)) for one, _ in numbers]
        wrong = [at for at, each in enumerate(apart) if not each <= allowed[at]]
        says, at = DIFFERS if wrong else ROUNDING if any(apart) else SAME, wrong[0] if wrong else 0
        called = (_logged_as(files[0][0], name), _logged_as(files[0][1], name))
        named = (Path(files[at][0].path).name, Path(files[at][1].path).name) if len(files) > 1 else None
        largest, rms = max(apart), _rms(np.asarray(apart))
        yield Difference(
            name, called, len(files), len(wrong), largest, rms, allowed[at], says, both=numbers[at], files=named
        )


def _logged_as(dump: Dump, name: str) -> str:
    """Returns what a file calls a logged number; a tensor may have the same neutral name."""
    return name if name in dump.tensors else dump.called.get(name, name)
