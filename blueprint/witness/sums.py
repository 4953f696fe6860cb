"""Sums over a batch: of all its responses at once, or tile by tile, so that a batch of any size fits into memory.

Whatever the conventions add up over responses goes through one of these. A tile asks for a sum that is known by then
and gets that of the whole batch; a sum that is not known yet is gathered from the tiles of a pass.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import torch
from torch import Tensor

from blueprint.witness.tensors import Named, total, wide


class Whole:
    """How numbers of files, [F], are made of those of their responses [F, N] or words [F, N, T]: all are there at once."""

    def total(self, name: str, values: Tensor) -> Tensor:
        """Returns Σ z of each file."""
        return values.sum(dim=tuple(range(1, values.dim())))

    def largest(self, name: str, values: Tensor) -> Tensor:
        """Returns max z of each file."""
        return values.amax(dim=-1)

    def squares(self, name: str, counted: Tensor, values: Tensor, about: Tensor) -> Tensor:
        """Returns Σ c·(z − about)² of each file."""
        return total(counted * (values - wide(about)).square())


WHOLE = Whole()


@dataclass(frozen=True)
class Spread:
    """How many numbers there are, their mean, and Σ (z − mean)², each [F]."""

    count: Tensor
    mean: Tensor
    squares: Tensor

    @classmethod
    def of(cls, counted: Tensor, values: Tensor) -> Self:
        """Returns the spread of the words of one tile that count."""
        count = total(counted)
        mean = total(counted * values) / count.clamp(min=1)
        return cls(count, mean, WHOLE.squares("", counted, values, mean))

    def joined(self, other: Self) -> Self:
        """Returns the spread of both together.

        Chan, Golub and LeVeque, Updating Formulae and a Pairwise Algorithm for Computing Sample Variances (Stanford
        STAN-CS-79-773, 1979), eq. 2.1: S = S_a + S_b + (m_b − m_a)²·n_a·n_b/(n_a + n_b).
        """
        count = self.count + other.count
        some, apart = count.clamp(min=1), other.mean - self.mean
        mean = self.mean + apart * other.count / some
        return type(self)(count, mean, self.squares + other.squares + apart.square() * self.count * other.count / some)

    def about(self, point: Tensor) -> Tensor:
        """Returns Σ (z − point)²: the mean of libraries is not always the plain one."""
        return self.squares + self.count * (self.mean - point).square()


@dataclass
class Tiled:
    """Sums of a batch that is seen tile by tile.

    `settle` is called when every tile of a pass was seen; it makes what was gathered known, as far as it is wanted.
    """

    known: Named = field(default_factory=dict)
    spreads: dict[str, Spread] = field(default_factory=dict)
    _sums: Named = field(default_factory=dict)
    _spreads: dict[str, Spread] = field(default_factory=dict)

    def total(self, name: str, values: Tensor) -> Tensor:
        """Returns Σ z of the whole batch where it is known, else that of the tile, which is gathered."""
        return self._gathered(name, lambda: WHOLE.total(name, values), torch.add)

    def largest(self, name: str, values: Tensor) -> Tensor:
        """Returns max z of the whole batch where it is known, else that of the tile, which is gathered."""
        return self._gathered(name, lambda: WHOLE.largest(name, values), torch.maximum)

    def squares(self, name: str, counted: Tensor, values: Tensor, about: Tensor) -> Tensor:
        """Returns Σ c·(z − about)² of the whole batch where it is known, else that of the tile, which is gathered."""
        if name not in self.spreads:
            found = Spread.of(counted, values)
            self._spreads[name] = self._spreads[name].joined(found) if name in self._spreads else found
            return found.about(about)
        return self.spreads[name].about(about)

    def settle(self, wanted: Callable[[str], bool]) -> None:
        """Makes known what was gathered under wanted names, and forgets the rest."""
        self.known |= {name: each for name, each in self._sums.items() if wanted(name)}
        self.spreads |= {name: each for name, each in self._spreads.items() if wanted(name)}
        self._sums, self._spreads = {}, {}

    def _gathered(self, name: str, found: Callable[[], Tensor], join: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        if name in self.known:
            return self.known[name]
        here = found()
        self._sums[name] = join(self._sums[name], here) if name in self._sums else here
        return here


Sums = Whole | Tiled
