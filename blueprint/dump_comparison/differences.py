"""Every tensor and logged number that two dumps have, side by side, in the order of the computation: by how much they differ, and
where; and whether rounding explains it, or that two forwards of one model are never the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from blueprint.dump_comparison.aligned import Aligned
from blueprint.dumps import Array, Dump, Minibatch
from blueprint.verifying import TOLERANCES, coarsest, distance, held_in
from blueprint.verifying.gap import forward, gap, limits, patterns

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

SAME, ROUNDING, FORWARDS, FOLLOWS, DIFFERS = "same", "rounding", "as two forwards", "follows", "DIFFERS"


@dataclass(frozen=True)
class Place:
    """A number that both dumps have. row, column: in the first one's file; other_row: in the second's. one, other: the numbers."""

    row: int
    other_row: int
    column: int | None
    one: float
    other: float


@dataclass(frozen=True)
class Difference:
    """A quantity of both dumps.

    called: what each of them calls it. cells, differing: how many numbers were compared, and how many are further apart than
    `allowed`. largest: the largest difference, and `rms` their root mean square. first, worst: where it first differs, and where
    most; None of a single number. response, position: the row and the column with the largest mean difference, and that mean.
    patterns: what the difference of a forward's numbers is like. says: same, rounding, as two forwards, follows, or DIFFERS.
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
    response: tuple[int, float] | None = None
    position: tuple[int, float] | None = None
    patterns: tuple[str, ...] = ()
    both: tuple[float, float] | None = None


def differences(pair: Aligned) -> list[Difference]:
    """Returns what both dumps have, in the order of the computation."""
    common = [name for name in pair.one.tensors if name in pair.other.tensors and name not in NOT_COMPARED]
    order = [name for name in ORDER if name in common] + [name for name in common if name not in ORDER]
    found = [each for name in order if (each := _of_tensor(pair, name)) is not None]
    return [*found, *(_of_numbers(pair) if pair.whole else ())]


def _of_tensor(pair: Aligned, name: str) -> Difference | None:
    """Compares a tensor of the responses that both dumps have; None where no number is in both."""
    one, other = (
        np.asarray(dump.tensors[name], np.float64)[pair.rows[:, side]]
        for side, dump in enumerate((pair.one, pair.other))
    )
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
    dtypes = [held_in(dump) if isinstance(dump, Minibatch) else dict(dump.dtypes) for dump in (pair.one, pair.other)]
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
    file_row, moved = pair.one.position(int(pair.rows[row, 0]))
    return replace(
        found,
        first=_place(pair, int(first[0]), int(first[1]), both, single),
        worst=_place(pair, int(worst[0]), int(worst[1]), both, single),
        response=(file_row, float(rows[row])),
        position=None if single else (column + moved, float(columns[column])),
    )


def _place(pair: Aligned, at: int, column: int, both: tuple[Array, Array], single: bool) -> Place:
    row, moved = pair.one.position(int(pair.rows[at, 0]))
    other_row, _ = pair.other.position(int(pair.rows[at, 1]))
    one, other = (float(each[at, column]) for each in both)
    return Place(row, other_row, None if single else column + moved, one, other)


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
    """Compares the numbers that both logged, the parts of the loss behind the others."""
    common = [name for name in pair.one.logged if name in pair.other.logged]
    for name in sorted(common, key=lambda each: LOSSES.index(each) if each in LOSSES else -1):
        one, other = pair.one.logged[name], pair.other.logged[name]
        apart = float(distance(np.asarray(one), np.asarray(other)))
        allowed = TOLERANCES["float32"] * (1 + abs(one))
        says = SAME if apart == 0 else ROUNDING if apart <= allowed else DIFFERS
        called = (_logged_as(pair.one, name), _logged_as(pair.other, name))
        yield Difference(name, called, 1, int(says == DIFFERS), apart, apart, allowed, says, both=(one, other))


def _logged_as(dump: Dump, name: str) -> str:
    """Returns what a file calls a logged number; a tensor may have the same neutral name."""
    return name if name in dump.tensors else dump.called.get(name, name)
