"""Where responses stand: the two of each pair, pairs downwards by their numbers, and across in the columns of a sheet."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from blueprint.witness import Named, Nodes, WitnessError

SIDES = ("chosen", "rejected")


def per_token(total: Tensor, count: Tensor) -> Tensor:
    """Divides sums of responses by how many tokens they have; without any it is 0, and does not move."""
    return torch.where(count > 0, total / count.clamp(min=1), 0)


@dataclass(frozen=True)
class Places:
    """Of each response its pair and whether it was chosen, [B]; of each column the number of its pair, [P].

    better, worse: by pair the place of either response, from 0. columns: by column its pair, from 0.
    """

    pair: Tensor
    good: Tensor
    columns: Tensor
    better: Tensor
    worse: Tensor

    @classmethod
    def of(cls, pair: Tensor, good: Tensor, column: Tensor | None = None) -> Places:
        """Reads the places. Raises WitnessError where a pair has not one chosen and one rejected response, or no column."""
        own = torch.arange(1, len(pair) // 2 + 1).to(pair)
        numbers = own if column is None else column
        found = [(good == each).nonzero()[:, 0] for each in (1, 0)]
        for numbered in (*(pair[each] for each in found), numbers):
            if not torch.equal(numbered.sort().values, own):
                raise WitnessError(
                    f"the pairs are {pair.tolist()}: write each number of 1 to {len(own)} beside two responses"
                )
        better, worse = (each[pair[each].argsort()] for each in found)
        return cls(pair, good, numbers.long() - 1, better, worse)

    def sides(self, r: Nodes, name: str, x: Tensor) -> None:
        """Adds a number of each response, [B], by pair: downwards, and across."""
        for side, at in zip(SIDES, (self.better, self.worse), strict=True):
            r[f"{side}.{name}.column"] = x[at]
            r[f"{side}.{name}"] = self.across(r[f"{side}.{name}.column"])

    def across(self, x: Tensor) -> Tensor:
        """Takes what stands downwards into the columns."""
        return x[self.columns]

    def down(self, x: Tensor) -> Tensor:
        """Takes what stands in the columns downwards, by the numbers of pairs."""
        return x[self.columns.argsort()]

    def rows(self) -> Named:
        """Returns how far each response and each column is from every pair, and whether it is of that pair."""
        pairs = torch.arange(len(self.columns) + 1).to(self.pair)[:, None]
        apart, left = self.pair - pairs, self.columns + 1 - pairs
        of_pair, same = ((each[1:] == 0).to(self.pair) for each in (apart, left))
        return {
            "count.pairs": self.pair.new_tensor(float(len(self.columns))), "pair.apart": apart, "pair.of_row": of_pair,
            "pair.chosen": of_pair * self.good, "pair.rejected": of_pair * (1 - self.good), "pair.left": left,
            "pair.same": same, "pair.before": (left[1:] > 0).to(self.pair),
        }  # fmt: skip
