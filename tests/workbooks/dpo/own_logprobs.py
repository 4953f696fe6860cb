"""Pairs whose log-probs are one's own: two of them with responses of one to four tokens, and the four that were recorded."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.preference_runs import batch

SIDES = ("chosen", "rejected")
WRITTEN = {"chosen": [["it", "is", "=1+1"], ["three"]], "rejected": [["five"], ["a", "🙂", "*", "four"]]}
LOGPROBS: dict[str, dict[str, list[list[float]]]] = {
    "policy": {"chosen": [[-1, -0.5, -0.25], [-0.25]], "rejected": [[-2.0], [-1, -2, -700, 0]]},
    "reference": {"chosen": [[-1, -0.75, -0.25], [-0.5]], "rejected": [[-1.5], [-1, -1, -0.5, -1]]},
}


def given(*models: str, **more: Any) -> dict[str, Any]:
    """Returns two pairs, with responses of one to four tokens, and log-probs of some models."""
    words = {"prompts": ["two plus two", "=1+1"], **WRITTEN}
    return {"level": "pair-logprobs", "text": words, **{name: LOGPROBS[name] for name in models}, **more}


def by_response() -> dict[str, Any]:
    """Returns the same pairs with one number for each response: the sum of those of its tokens."""
    text = {"prompts": ["a", "b"], **{side: [[" ".join(row)] for row in each] for side, each in WRITTEN.items()}}
    sums = {name: {side: [[sum(row)] for row in each] for side, each in of.items()} for name, of in LOGPROBS.items()}
    return {"level": "pair-logprobs", "per": "response", "text": text, **sums}


@cache
def golden() -> dict[str, Any]:
    """The four recorded pairs, their log-probs on the tokens of the responses alone."""
    known, others = batch(), batch("kto_mismatched")
    tokens = known.tokens == 1

    def sides(each: Any) -> dict[str, Any]:
        return {side: [each(row) for row in range(place, len(tokens), 2)] for place, side in enumerate(SIDES)}

    away = (others.tokens * (others.logprobs("policy") - others.logprobs("reference"))).sum(-1)
    return {
        "level": "pair-logprobs",
        "text": {"prompts": list("abcd"), **sides(lambda row: ["?"] * int(tokens[row].sum()))},
        **{name: sides(lambda row, name=name: known.logprobs(name)[row][tokens[row]].tolist()) for name in LOGPROBS},
        "rewards": sides(lambda row: float(known.true_rewards[row])),
        "mismatched": sides(lambda row: float(away[row])),
    }
