"""What a dump of a step of DPO is to us: pairs of a chosen and a rejected response, and what the library said about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from blueprint.dumps import SIDES, Array, Dump


@dataclass(frozen=True)
class PairStep(Dump):
    """A dump of a step of DPO or a relative, or of a part of one: rows are pairs.

    tensors: as far as the file has them, of each of SIDES `chosen.mask`, `chosen.text` (bool), `chosen.logprobs`,
        `chosen.logprobs_ref`, `chosen.log_squares` ([P, T]), `chosen.tokens` (whole numbers, [P, S]), `chosen.logp`,
        `chosen.logp_ref`, `chosen.reward` ([P]); `margin`, `loss.pair` ([P]). Both sides of a name are there, or none; and
        log-probs of tokens, with their mask, or of whole responses. Outside the mask anything may stand.
    terms: where the loss is a sum of several, the weight of each and the conventions that are its own.
    """

    terms: tuple[tuple[float, Mapping[str, float | str]], ...] = ()
    kind: ClassVar[str] = "dpo"

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return len(self.tensors["chosen.logprobs" if "chosen.logprobs" in self.tensors else "chosen.logp"])

    @property
    def mask(self) -> Array:
        """1 on the tokens of the responses, chosen ones first, [2P, T]; one token each where only whole responses are known."""
        if "chosen.mask" not in self.tensors:
            return np.ones((2 * self.pairs, 1), np.bool_)
        return np.concatenate([self.tensors[f"{side}.mask"] for side in SIDES])

    @property
    def head(self) -> str:
        """Says how many pairs and tokens there are."""
        known = "" if "chosen.mask" in self.tensors else ", of which log-probs of whole responses alone are known"
        return f"A step of DPO: {self.pairs} pair{'s' * (self.pairs > 1)} of a chosen and a rejected response{known}."

    @property
    def losses(self) -> list[str]:
        """Names the losses of which the loss is the sum."""
        return [f"{own['loss.form']}{' of means' * (own.get('logp.of') == 'mean')}" for _, own in self.terms]

    @property
    def mixture(self) -> str:
        """Says the sum that the loss is: `0.8 · sigmoid + 0.2 · bco`."""
        return " + ".join(f"{share:g} · {name}" for (share, _), name in zip(self.terms, self.losses, strict=True))

    @property
    def facts(self) -> Mapping[str, Any]:
        """Says the same for programs."""
        return {"pairs": self.pairs}
