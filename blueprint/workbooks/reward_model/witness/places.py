"""Which response each pair speaks of, and of which ranking it is; and the same as rows of 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from blueprint.witness import Held, Named, Nodes, WitnessError

SIDES = ("chosen", "rejected")


@dataclass(frozen=True)
class Places:
    """Of each column the place of its pair, of each pair downwards the places of both responses, from 0; of each ranking its pairs.

    There are as many numbers of rankings as pairs, for a pair that comes from none is a ranking of its own.

    columns: [P]. chosen, rejected: [P], in the order of the pairs' numbers. ranking: [P, P], by column.
    """

    columns: Tensor
    chosen: Tensor
    rejected: Tensor
    ranking: Tensor

    @classmethod
    def of(cls, given: Held) -> Places:
        """Reads the places. Raises WitnessError for a response, or the number of a pair, that there is not."""
        pairs = len(given["chosen.number"])
        columns = given["pair.column"] - 1 if "pair.column" in given else torch.arange(pairs).to(given["pair.margin"])
        if not torch.equal(columns.sort().values, torch.arange(pairs).to(columns)):
            raise WitnessError(f"the pairs have other numbers than 1 to {pairs}: write each once above a column")
        at = columns.long()
        chosen, rejected = (_found(given[f"{side}.number"][at.argsort()], given["response.number"]) for side in SIDES)
        numbers = torch.arange(1, 1 + pairs).to(columns)
        return cls(at, chosen, rejected, (given["pair.ranking"] == numbers[:, None]).to(columns))

    def sides(self, r: Nodes, name: str, x: Tensor) -> None:
        """Adds a number of each response, [N], by pair: downwards, and across."""
        for side in SIDES:
            r[f"{side}.{name}.column"] = x[getattr(self, side)]
            r[f"{side}.{name}"] = r[f"{side}.{name}.column"][self.columns]

    def rows(self, given: Held) -> Named:
        """Returns the rows that say where everything stands."""
        like, pairs = given["pair.margin"], len(self.columns)
        left = self.columns + 1 - torch.arange(pairs + 1)[:, None]
        apart = given["pair.ranking"] - torch.arange(len(self.ranking) + 1)[:, None]
        order = self.columns.argsort()
        found = {f"{side}.number.column": given[f"{side}.number"][order] for side in SIDES}
        found |= {
            f"{side}.is": (found[f"{side}.number.column"][:, None] == given["response.number"]).to(like)
            for side in SIDES
        }
        return found | {
            "pair.left": left.to(like), "pair.same": (left[1:] == 0).to(like), "pair.before": (left[1:] > 0).to(like),
            "ranking.apart": apart, "pair.of_ranking": self.ranking,
        }  # fmt: skip


def _found(numbers: Tensor, responses: Tensor) -> Tensor:
    """Returns the places of numbers among those of the responses. Raises WitnessError for one that is not there."""
    is_there = numbers[:, None] == responses
    if not bool((is_there.sum(1) == 1).all()):
        raise WitnessError(f"a pair names a response that there is not: the responses are 1 to {len(responses)}")
    return is_there.to(torch.int64).argmax(1)
