"""Everything that a file logged beside everything that was computed again; where a tolerance is in doubt, by how much rounding
moves what was logged is measured: the batch is computed again with its numbers moved as rounding moves them.

Each number is moved at random within half a unit in the last place of its dtype. Through whichever conventions a quantity is made
of such numbers, what it then moves by is what rounding does to it: in a mean of many tokens it nearly cancels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import torch

from blueprint.dumps import Array, Minibatch
from blueprint.verifying import OF_RESPONSES, Axes, Compared, compare_number, distance, first_spot, folded, once_each
from blueprint.verifying.logged import ALL, CALLED, NUMBERS, TENSORS, Quantity, before
from blueprint.verifying.rounding import (
    HALF,
    LARGEST,
    LOOPED,
    LOOPS,
    SHARES,
    SUMS,
    TOLERANCES,
    coarsest,
    half_unit,
    held_in,
    last_digit,
    stored,
)
from blueprint.workbooks.rlhf_ppo.verifying.feeding import SUPPORT, compared_where, per_word
from blueprint.workbooks.rlhf_ppo.verifying.replay import Replay, near_a_clip, replay, widened

PAID = {"value_loss": "vf_coef", "kl_loss": "loss.kl_coef"}
"""Parts of a total loss, each with its coefficient: one of which it is 0 may be infinite."""
FLOATS = ("logprobs_old", "logprobs_ref", "logprobs_new", "entropy", "values_old", "values_new", "scores")


class Judge:
    """Compares what a file logged with a replay of it. `factor` multiplies every tolerance.

    measured: by name, how far rounding was seen to move a quantity.
    tensors, numbers: what of the file can be compared; of each number also its value, and what the file calls it.
    """

    def __init__(
        self,
        batch: Minibatch,
        found: Replay,
        factor: float = 1.0,
        measured: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """Finds what can be compared; scores are a result where they stand on tokens, one each response."""
        self.batch, self.found, self.factor, self.measured = batch, found, factor, measured
        self.dtypes, self._cells = held_in(batch), dict[str, Array]()
        placed = "scores" in batch.tensors and batch.tensors["scores"].ndim == 2 and not per_word(batch)
        inputs = {*found.started, *(() if placed else ("scores",))}
        self.tensors = [each for each in TENSORS if each.name in batch.tensors and each.name not in inputs]
        by_name: dict[str, tuple[float, str]] = {}
        for called, value in batch.logged.items():
            by_name.setdefault(CALLED.get(called, called), (float(value), called))
        self.numbers = [(each, *by_name[each.name]) for each in NUMBERS if each.name in by_name]

    def compared(self, names: Sequence[str] | None = None, meant: dict[str, str] | None = None) -> dict[str, Compared]:
        """Returns what the named quantities come to, all that were logged if none are named, in the order of derivation.

        Tensors are taken for the row that `meant` says, or for the preset's. Without that, another row by the same name
        is taken where clearly fewer tokens deviate from it than from the preset's.
        """

        def compares(quantity: Quantity) -> bool:
            return (names is None or quantity.name in names) and quantity.needs not in self.found.missing

        found: dict[str, Compared] = {}
        for each in filter(compares, self.tensors):
            for row, means in each.rows:
                if meant is not None and meant.get(each.name, each.rows[0][0]) != row:
                    continue
                here = self.row(each, row, means, self.found.row(row))
                own = found.get(each.name)
                # Another row than the preset's own is taken where at most half as many tokens deviate from it. One damaged token
                # must not hide which row a tensor is; and where a fault in every token does not tell the rows apart, a few tokens
                # that agree with the other row by chance must not decide.
                if own is None or (own.deviating > 0 and 2 * here.deviating <= own.deviating):
                    found[each.name] = here
        numbers = [(each, value) for each, value, _ in self.numbers if compares(each)]
        shares = [each for each, _ in numbers if each.name in SHARES]
        near = near_a_clip(self.found, self.tolerance(shares[0]), self._sign_of_advantages(shares[0])) if shares else {}
        return found | {each.name: self._number(each, value, near) for each, value in numbers}

    def row(self, quantity: Quantity, row: str, means: str, ours: Array, allowed: float | None = None) -> Compared:
        """Compares a logged tensor with a row [B, T], where it means something, and the file has a number or should."""
        if allowed is None:
            allowed = self.allowed(quantity, row)
        where, theirs = self.cells(quantity.name), np.asarray(self.batch.tensors[quantity.name], np.float64)
        if quantity.name == "scores":  # they are moved to where the preset has them
            ours = _placed(self.batch, "scores", ours)
        apart = np.where(where, distance(np.where(where, theirs, 0.0), ours), 0.0)
        wrong = ~(apart <= allowed) | np.isinf(apart)
        sizes = np.abs(ours[where])
        compared = Compared(
            quantity.name, row, means, int(where.sum()), int(wrong.sum()), float(apart.max(initial=0.0)), allowed,
            first_spot(self.batch, wrong, theirs, ours, range(len(theirs))),
            size=float(sizes[np.isfinite(sizes)].sum()) / max(1, int(where.sum())),
            axes=OF_RESPONSES if quantity.name in self.batch.of_responses else Axes(),
            ours=folded(np.where(where, ours, 0.0)),
        )  # fmt: skip
        return self._with_arithmetic(compared)

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        logged = {quantity.name: called for quantity, _, called in self.numbers}.get(name, name)
        return self.batch.called.get(name) or self.batch.called.get(logged, logged)

    def cells(self, name: str) -> Array:
        """Returns where a tensor is compared, [B, T]."""
        if name not in self._cells:
            theirs, mask = np.asarray(self.batch.tensors[name]), np.asarray(self.batch.mask, bool)
            read = (
                compared_where(self.found.values(SUPPORT), np.ones(mask.shape))[name] > 0
            )  # scores count in every column
            where = read & (np.isfinite(theirs) | mask)
            self._cells[name] = once_each(where) if name in self.batch.of_responses else where
        return self._cells[name]

    def allowed(self, quantity: Quantity, row: str) -> float:
        """Returns how far apart the numbers of a tensor may be: tolerance · (1 + largest number of its row)."""
        plain = self._allowed(quantity, (1 + _finite(self.found.largest(row))) * self._wider(quantity))
        return max(plain, self.factor * self._of_terms(quantity, row))

    def allowed_number(self, quantity: Quantity, logged: float) -> float:
        """Returns how far a number may be off: what it is a weighted sum of may be off as a tensor, in the mean."""
        mean, weights = self._terms(quantity)
        plain = self._allowed(quantity, _finite(abs(logged)) + (1 + mean) * weights * self._wider(quantity))
        of_advantages = (1 + mean) * weights * self._of_terms(ALL["advantages"], "advantages_used")
        return max(plain, self.factor * of_advantages) if quantity.whitened and self._whitens else plain

    def _allowed(self, quantity: Quantity, size: float) -> float:
        return max(self.tolerance(quantity) * size, self.measured.get(quantity.name, 0.0))

    def _beyond(self, quantity: Quantity) -> bool:
        """Whether what a number is made of comes, added up, to more than a library holds that computes in the dtype of the file."""
        rows = {quantity.spread, *(("ratio",) if quantity.spread == "surrogate" else ())}
        if quantity.name == "total_loss":
            rows |= {ALL[part].spread for part, coef in PAID.items() if float(self.found.options[coef])}
        return any(self.found.size(row) > LARGEST[self._dtype(quantity)] for row in rows if row)

    @property
    def _whitens(self) -> bool:
        """Whether advantages are computed, and whitened, here, and not taken from the file."""
        taken = "advantages" in (*self.found.started, *self.found.given)
        return self.found.options["whiten_advantages"] != "off" and not taken

    def _sign_of_advantages(self, share: Quantity) -> float:
        """Returns how small an advantage is whose sign rounding decides."""
        wider = widened(self.found) if self._whitens else 1.0
        return max(self.tolerance(share) * wider, self.factor * self._of_terms(ALL["advantages"], "advantages_used"))

    def _of_terms(self, quantity: Quantity, row: str) -> float:
        """Returns how far off a library's loop may leave a row that is small beside what it is added up of: rewards and values."""
        if quantity.name not in LOOPED:
            return 0.0
        terms = max(_finite(self.found.largest(each)) for each in ("rewards", "values.kept", "returns"))
        divisor = self.found.whole["advantage.divisor"] if row == "advantages_used" and self._whitens else 1.0
        return LOOPS[self._dtype(quantity)] * terms / divisor if divisor else 0.0

    def _terms(self, quantity: Quantity) -> tuple[float, float]:
        """Returns the mean size of the tokens that a number is a weighted sum of, and the sum of the weights."""
        of, tokens = self.found, max(1.0, float(self.found["response"].sum()))
        return _finite(of.size(quantity.spread)) / tokens, of.size(quantity.weights) or 1.0

    def tolerance(self, quantity: Quantity) -> float:
        """Returns the tolerance by the coarsest dtype of a quantity and of what it is made of."""
        return self.factor * TOLERANCES[self._dtype(quantity)]

    def _dtype(self, quantity: Quantity) -> str:
        """Returns the coarsest dtype of a quantity and of what it is made of; a score is only held against itself."""
        made_of = () if quantity.name == "scores" else (quantity.name, *before(quantity.name), *FLOATS)
        return coarsest(self.dtypes, made_of)

    def _with_arithmetic(self, compared: Compared) -> Compared:
        """Adds how far off the library's own arithmetic may be, in which dtype, and how far rounding was seen to move it."""
        quantity = ALL[compared.name]
        dtype = self._dtype(quantity)
        if compared.logged is None:
            off = (LOOPS if compared.name in LOOPED else SUMS)[dtype] * self.found.largest(compared.row)
            off = max(off, self._of_terms(quantity, compared.row))
        else:
            mean, weights = self._terms(quantity)
            off = SUMS[dtype] * (compared.size + mean * weights)
        return replace(compared, measured=self.measured.get(compared.name), dtype=dtype, arithmetic=self.factor * off)

    def _wider(self, quantity: Quantity) -> float:
        if quantity.name == "ev.used":  # a share of the variance, in which the spread of the returns is squared
            variance = self.found.whole["ev.returns.variance"]
            return max(1.0, (1 + self.found.largest("returns")) / variance) if variance else 1.0
        return widened(self.found) if quantity.whitened else 1.0

    def _number(self, quantity: Quantity, logged: float, near: Mapping[str, int]) -> Compared:
        decimals = self.batch.decimals
        extra = max(last_digit(logged, decimals), stored(logged, self._dtype(quantity)))
        extra += near.get(quantity.name, 0) / max(1.0, float(self.found["response"].sum()))
        if quantity.name == "total_loss":
            extra += sum(last_digit(value, decimals) for each, value, _ in self.numbers if each.name in quantity.after)
        allowed = self.allowed_number(quantity, logged) + extra
        beyond = not np.isfinite(logged) and self._beyond(quantity)
        both = [
            compare_number(quantity.name, row, means, (logged, logged if beyond else self.found.number(row)), allowed)
            for row, means in quantity.rows
        ]
        return self._with_arithmetic(replace(next((each for each in both if each.agrees), both[0]), extra=extra))


def as_given(rows: Mapping[str, str]) -> tuple[str, ...]:
    """Returns tensors of a file, by the rows that they are, under the names of `feeding.PLACES`."""
    return tuple(name if row == ALL[name].rows[0][0] else f"{name}.raw" for name, row in rows.items())


def _finite(size: float) -> float:
    """Returns a size, and 0 for one that is infinite or no number: beside it every finite difference would be allowed."""
    return size if np.isfinite(size) else 0.0


SAMPLES = 6
DEVIATIONS, PEAKS = 5.0, 2.0
"""A number may be so many standard deviations off, a token of a tensor so many times the largest that was seen."""

TOKENS = 1 << 17
"""Of a larger batch, so many tokens are enough: what rounding does to a mean only shrinks with more."""


def judged(batch: Minibatch, found: Replay, factor: float) -> tuple[Judge, dict[str, Compared]]:
    """Compares everything; what the dtype alone cannot tell is compared again, with what rounding was seen to do to it."""
    judge = Judge(batch, found, factor)
    straight = judge.compared()
    doubts = [each for each in straight.values() if in_doubt(each)]
    if not doubts:
        return judge, straight
    finer = Judge(batch, found, factor, measured(judge, doubts))
    return finer, straight | finer.compared([each.name for each in doubts])


def in_doubt(compared: Compared) -> bool:
    """Tells whether it must be measured: by the dtype alone nothing could be told, or a clean quantity might be accused."""
    return (compared.doubtful and (compared.largest != 0 or compared.size != 0)) or (
        not compared.agrees and compared.dtype in HALF
    )


def measured(judge: Judge, doubts: Sequence[Compared]) -> dict[str, float]:
    """Returns by name how far rounding moves some quantities, times the factor of the judge."""
    moved = _moved(judge, [each for each in doubts if each.name not in SHARES])
    return {each.name: _width(judge, each, moved.get(each.name, 0.0)) for each in doubts}


def _width(judge: Judge, compared: Compared, moved: float) -> float:
    """Returns what its tokens' rounding does to a quantity, what it was itself rounded by, and what the arithmetic may do."""
    if compared.logged is not None:
        return judge.factor * DEVIATIONS * float((moved / SAMPLES) ** 0.5) + compared.arithmetic
    largest = judge.found.largest(compared.row)
    own = half_unit(largest, judge.dtypes.get(compared.name, compared.dtype)) if compared.name != "scores" else 0.0
    return judge.factor * (PEAKS * moved + own) + compared.arithmetic


def _moved(judge: Judge, doubts: Sequence[Compared]) -> dict[str, float]:
    """Computes a batch again and again; returns by how much a number was moved, the squares added up, a tensor at most."""
    part, settings, drawn = _part_of(judge.batch), judge.found.options, np.random.default_rng(0)
    moved = dict.fromkeys((each.name for each in doubts), 0.0)
    if not moved:
        return moved
    base = judge.found if part is judge.batch else replay(part, settings)
    cells = Judge(part, base).cells
    for _ in range(SAMPLES):
        other = replay(_jittered(part, judge.dtypes, drawn), settings)
        for each in doubts:
            if each.logged is not None:
                moved[each.name] += (other.number(each.row) - base.number(each.row)) ** 2
            else:
                ours = [_placed(part, each.name, of.row(each.row)) for of in (base, other)]
                apart = np.nan_to_num(np.abs(ours[0] - ours[1])[cells(each.name)], nan=0.0)
                moved[each.name] = max(moved[each.name], float(apart.max(initial=0.0)))
    return moved


def _placed(batch: Minibatch, name: str, row: Array) -> Array:
    """Returns a row as a tensor is compared with it: scores stand on the slots that the row says."""
    if name != "scores":
        return row
    return np.asarray(row * np.nan_to_num(np.asarray(batch.tensors[name], np.float64)).sum(axis=1, keepdims=True))


def cut(batch: Minibatch, rows: slice | Array) -> Minibatch:
    """Returns some responses of a minibatch."""
    return replace(
        batch,
        tensors={name: each[rows] for name, each in batch.tensors.items()},
        slots=batch.slots[rows],
        first=batch.first[rows],
        rows=None,
    )


def _part_of(batch: Minibatch) -> Minibatch:
    responses, slots = batch.mask.shape
    height = max(1, TOKENS // slots)
    return batch if responses <= height else cut(batch, np.linspace(0, responses - 1, height).astype(int))


def _jittered(batch: Minibatch, dtypes: Mapping[str, str], drawn: np.random.Generator) -> Minibatch:
    """Returns a batch whose numbers are moved at random within half a unit in their last place; 0, exact everywhere, stays."""

    def moved(values: Array, dtype: str) -> Array:
        wide = np.asarray(values, dtype=np.float64)
        known = np.where(np.isfinite(wide), wide, 0.0)
        half = np.where(known == 0, 0.0, 2.0 ** (np.frexp(known)[1] - 2)) * torch.finfo(getattr(torch, dtype)).eps
        return np.asarray(wide + half * drawn.uniform(-1, 1, wide.shape))

    narrow = {name: moved(batch.tensors[name], dtype) for name, dtype in dtypes.items() if dtype != "float64"}
    return replace(batch, tensors={**batch.tensors, **narrow})
