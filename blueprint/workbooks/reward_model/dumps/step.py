"""What a dump of a step of a reward model is to us: pairs of a chosen and a rejected response, with their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from blueprint.dumps import SIDES, Array, Dump


@dataclass(frozen=True)
class ScoredPairs(Dump):
    """A dump of a step of a reward model, or of a part of one: rows are pairs.

    tensors: `chosen.score`, `rejected.score` ([P]) and, as far as the file has them, of both sides
        `chosen.position_scores` ([P, S]), `chosen.text` (bool, [P, S]) and `chosen.tokens` (whole numbers, [P, S]);
        `pair.margin`, `loss.pair` ([P]).
    forward_dtype: in which dtype the model computed, as the file says, else None.
    end: the token that ends texts: the pad, where some text ends in it, else that of most texts; None where no tokens are known.
    """

    forward_dtype: str | None = None
    end: int | None = None

    kind: ClassVar[str] = "reward_model"

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return len(self.tensors["chosen.score"])

    @property
    def mask(self) -> Array:
        """1 on the tokens of the texts, chosen ones first, [2P, S]: all where no mask is known; one each where no positions are."""
        if "chosen.text" in self.tensors:
            return np.concatenate([self.tensors[f"{side}.text"] for side in SIDES])
        positions = self.tensors.get("chosen.position_scores", np.ones((1, 1))).shape[1]
        return np.ones((2 * self.pairs, positions), np.bool_)

    @property
    def head(self) -> str:
        """Says how many pairs there are."""
        known = (
            "" if "chosen.position_scores" in self.tensors else "; of the scores of other positions nothing is known"
        )
        return f"A step of a reward model: {self.pairs} pair{'s' * (self.pairs > 1)} of a chosen and a rejected response{known}."

    @property
    def facts(self) -> Mapping[str, Any]:
        """Says the same for programs."""
        return {"pairs": self.pairs}
