"""How much may be tried: a few times what the recomputation took, counted in words so that it is the same on any machine."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.verifying.passes import passes
from blueprint.verifying.question import Question

TIMES = 4
"""Recomputations of the whole file that are spent on causes which ask for one each, at most …"""

FLOOR, OVERHEAD = 1 << 20, 1 << 14
"""… or so many words, a second or two; a file of few words takes as long as one of so many."""


@dataclass
class Budget:
    """Words that may still be gone through."""

    words: int

    @classmethod
    def of(cls, question: Question) -> Budget:
        """Returns what may be spent on a file."""
        return cls(max(TIMES * _cost(question), FLOOR))

    def allows(self, question: Question) -> bool:
        """Tells whether one more recomputation is within the budget, and takes it off."""
        self.words -= _cost(question)
        return self.words >= 0


def _cost(question: Question) -> int:
    return max(OVERHEAD, passes(question.settings) * int(question.batch.mask.size))
