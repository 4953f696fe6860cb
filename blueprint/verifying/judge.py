"""Everything that a file logged beside everything that was computed again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from blueprint.dumps import Array, Minibatch
from blueprint.verifying import clip_edges as ties
from blueprint.verifying.compare import Compared, Rows, Tally, compare_number, compare_tiles, compared_cells
from blueprint.verifying.file_inputs import per_word
from blueprint.verifying.logged import ALL, CALLED, NUMBERS, TENSORS, Quantity, before
from blueprint.verifying.recompute import Replay
from blueprint.verifying.tolerances import (
    LOOPED,
    LOOPS,
    SUMS,
    TOLERANCES,
    coarsest,
    held_in,
    last_digit,
    stored,
    widened,
)

FLOATS = ("logprobs_old", "logprobs_ref", "logprobs_new", "entropy", "values_old", "values_new", "scores")
SUPPORT = ("response", "kept", "score.place", "value.counted")


@dataclass(frozen=True)
class Logged:
    """What of a file can be compared: tensors, and numbers by the names of `logged.ALL`, with what the file calls them."""

    tensors: tuple[Quantity, ...]
    numbers: tuple[tuple[Quantity, float, str], ...]


def logged_in(batch: Minibatch, found: Replay) -> Logged:
    """Returns what a file logged that is a result; scores are one where they stand on words, one each response."""
    tensors = [each for each in TENSORS if each.name in batch.tensors and each.name not in found.started]
    placed = "scores" in batch.tensors and batch.tensors["scores"].ndim == 2 and not per_word(batch)
    tensors = [each for each in tensors if each.name != "scores" or placed]
    by_name: dict[str, tuple[float, str]] = {}
    for said, value in batch.logged.items():
        by_name.setdefault(CALLED.get(said, said), (float(value), said))
    numbers = [(each, *by_name[each.name]) for each in NUMBERS if each.name in by_name]
    return Logged(tuple(tensors), tuple(numbers))


class Judge:
    """Compares what a file logged with a replay of it. `factor` multiplies every tolerance.

    measured: by name, how far rounding was seen to move a quantity.
    """

    def __init__(
        self,
        batch: Minibatch,
        found: Replay,
        factor: float = 1.0,
        measured: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """Finds what can be compared."""
        self.batch, self.found, self.factor, self.measured = batch, found, factor, measured
        self.logged, self.dtypes = logged_in(batch, found), held_in(batch)

    def compared(self, names: Sequence[str] | None = None, meant: dict[str, str] | None = None) -> dict[str, Compared]:
        """Returns what the named quantities come to, all that were logged if none are named, in the order of derivation.

        Tensors are taken for the row that `meant` says, or for the preset's. Without that, another row by the same name
        is taken where clearly fewer words deviate from it than from the preset's.
        """
        tallies = [
            Tally(self.batch, each.name, row, means, self.allowed(each, row))
            for each in self.logged.tensors
            if self._asked(each, names)
            for row, means in each.rows
            if meant is None or meant.get(each.name, each.rows[0][0]) == row
        ]
        near = dict.fromkeys(ties.NAMES, 0)
        compare_tiles(tallies, self._counted(near, [each.found.row for each in tallies], names))
        found: dict[str, Compared] = {}
        for each in tallies:
            before_it = found.get(each.found.name)
            if before_it is None or _clearly_nearer(each.found, before_it):
                found[each.found.name] = self._told(each.found)
        for quantity, value, _ in self.logged.numbers:
            if self._asked(quantity, names):
                found[quantity.name] = self._number(quantity, value, near)
        return found

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        said = {quantity.name: said for quantity, _, said in self.logged.numbers}.get(name, name)
        return self.batch.called.get(name) or self.batch.called.get(said, said)

    def cells(self, name: str) -> Array:
        """Returns where a tensor is compared, [B, T]."""
        parts = []
        for start, rows in self.found.tiles(SUPPORT):
            here = slice(start, start + len(rows["response"]))
            theirs = np.asarray(self.batch.tensors[name][here], dtype=np.float64)
            parts.append(compared_cells(name, rows, theirs, self.batch.mask[here]))
        return np.concatenate(parts)

    def allowed(self, quantity: Quantity, row: str) -> float:
        """Returns how far apart the numbers of a tensor may be: tolerance · (1 + largest number of its row)."""
        own = self.tolerance(quantity) * (1 + _finite(self.found.largest.get(row, 0.0))) * self._wider(quantity)
        return max(own, self.measured.get(quantity.name, 0.0))

    def allowed_number(self, quantity: Quantity, logged: float) -> float:
        """Returns how far a number may be off: what it is a weighted sum of may be off as a tensor, in the mean."""
        mean, weights = self.terms(quantity)
        size = abs(logged) if np.isfinite(logged) else 0.0
        own = self.tolerance(quantity) * (size + (1 + mean) * weights * self._wider(quantity))
        return max(own, self.measured.get(quantity.name, 0.0))

    def terms(self, quantity: Quantity) -> tuple[float, float]:
        """Returns the mean size of the words that a number is a weighted sum of, and the sum of the weights."""
        sizes, words = self.found.sizes, max(1.0, self.found.whole["ev.count"])
        return _finite(sizes.get(quantity.spread, 0.0)) / words, sizes.get(quantity.weights) or 1.0

    def tolerance(self, quantity: Quantity) -> float:
        """Returns the tolerance by the coarsest dtype of a quantity and of what it is made of."""
        return self.factor * TOLERANCES[self.dtype(quantity)]

    def dtype(self, quantity: Quantity) -> str:
        """Returns the coarsest dtype of a quantity and of what it is made of; a score is only held against itself."""
        made_of = (quantity.name, *before(quantity.name), *FLOATS)
        return "float64" if quantity.name == "scores" else coarsest(self.dtypes, made_of)

    def _told(self, compared: Compared) -> Compared:
        quantity = ALL[compared.name]
        dtype = self.dtype(quantity)
        arithmetic = self.factor * self._arithmetic(compared, quantity, dtype)
        return replace(compared, measured=self.measured.get(compared.name), dtype=dtype, arithmetic=arithmetic)

    def _arithmetic(self, compared: Compared, quantity: Quantity, dtype: str) -> float:
        """Returns how far off the library's own arithmetic may be."""
        if compared.logged is None:
            return (LOOPS if compared.name in LOOPED else SUMS)[dtype] * self.found.largest.get(compared.row, 0.0)
        mean, weights = self.terms(quantity)
        return SUMS[dtype] * (compared.size + mean * weights)

    def _wider(self, quantity: Quantity) -> float:
        if quantity.name == "ev.used":  # a share of the variance, in which the spread of the returns is squared
            variance = self.found.whole["ev.returns.variance"]
            return max(1.0, (1 + self.found.largest["returns"]) / variance) if variance else 1.0
        return widened(self.found) if quantity.whitened else 1.0

    def _asked(self, quantity: Quantity, names: Sequence[str] | None) -> bool:
        return (names is None or quantity.name in names) and self.found.available(quantity.needs)

    def _number(self, quantity: Quantity, logged: float, near: dict[str, int]) -> Compared:
        known = self.found.whole
        words = max(1.0, known["ev.count"])
        extra = max(last_digit(logged), stored(logged, self.dtype(quantity))) + near.get(quantity.name, 0) / words
        if quantity.name == "total_loss":
            extra += sum(last_digit(value) for each, value, _ in self.logged.numbers if each.name in quantity.after)
        both = [
            compare_number(
                quantity.name, row, means, (logged, known.get(f"computed.{row}", known[row])), allowed + extra
            )
            for row, means in quantity.rows
            for allowed in [self.allowed_number(quantity, logged)]
        ]
        return self._told(replace(next((each for each in both if each.agrees), both[0]), extra=extra))

    def _counted(
        self, near: dict[str, int], rows: list[str], names: Sequence[str] | None
    ) -> Iterator[tuple[int, Rows]]:
        """Yields the tiles with the rows that are compared, and counts the words near a clip on the way."""
        shares = [each for each, _, _ in self.logged.numbers if each.name in ties.NAMES and self._asked(each, names)]
        wanted = {*SUPPORT, *rows, *(ties.READ if shares else ())}
        if not rows and not shares:
            return
        computed = {f"computed.{row}" for row in rows}
        for start, found in self.found.tiles({*wanted, *computed}):
            if shares:
                here = ties.near(found, self.found.options, self.tolerance(shares[0]))
                near.update({name: near[name] + here[name] for name in near})
            yield start, found


def _finite(size: float) -> float:
    """Returns a size, and 0 for one that is infinite or no number: beside it every finite difference would be allowed."""
    return size if np.isfinite(size) else 0.0


def _clearly_nearer(other: Compared, own: Compared) -> bool:
    """Whether at most half as many words deviate from another row as from the preset's own.

    One damaged word must not hide which row a tensor is. A fault in every word does not tell the rows apart, and then a
    few words that agree with the other row by chance must not decide.
    """
    return own.deviating > 0 and 2 * other.deviating <= own.deviating
