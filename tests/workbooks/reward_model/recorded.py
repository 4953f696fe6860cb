"""What 11 libraries computed of four pairs and of two rankings, and the conventions that each recorded run had.

`preference_runs.json` says every run's options in words of its own; `conventions_of` says them in ours.
"""

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tests.workbooks.dpo.recorded import ORDER, Array, recorded_file

FORMS = {
    "log1p_exp": {"loss.form": "log_exp"},
    "per_position": {"loss.form": "per_position"},
    "kwise_mean_per_ranking": {"loss.average": "rankings"},
    "kwise_pairs_pooled": {"loss.average": "pairs"},
    "softmax_best": {"loss.form": "softmax_best", "loss.average": "rankings"},
}
RANKED = ("kwise_mean_per_ranking", "kwise_pairs_pooled", "softmax_best")
"""Forms that were run on the two rankings; all others on the four pairs."""


class Run(NamedTuple):
    """A recorded run: library, variant, conventions by key, which pairs count, whether on rankings, and what came out."""

    library: str
    variant: str
    conventions: dict[str, float | str]
    counts: Array
    ranked: bool
    out: dict[str, Any]


class Batch(NamedTuple):
    """Responses: a score after every token, tokens, text, all [N, T]; of each pair both responses, margin, ranking."""

    head: Array
    ids: Array
    text: Array
    chosen: list[int]
    rejected: list[int]
    margin: Array
    ranking: list[int]


@cache
def pairs() -> Batch:
    """The four pairs, chosen and rejected responses in turn, as in the built-in numbers."""
    given = recorded_file()["batch"]
    head, ids, text = (np.array(given[name], float)[ORDER] for name in ("rm_head", "input_ids", "attention_mask"))
    return Batch(head, ids, text, [0, 2, 4, 6], [1, 3, 5, 7], np.array(given["rm_margin"]), [1, 2, 3, 4])


@cache
def rankings() -> Batch:
    """Two rankings, best first: a score and nothing else is recorded of each response, which here is one token."""
    given = recorded_file()["batch"]["rm_rankings"]
    scores = np.array([score for each in given for score in each])[:, None]
    first = np.cumsum([0, *map(len, given)])
    both = [
        (at + 1, i + first[at], j + first[at])
        for at, each in enumerate(given)
        for i, j in combinations(range(len(each)), 2)
    ]
    ranking, chosen, rejected = ([int(each[k]) for each in both] for k in range(3))
    one = np.ones_like(scores)
    return Batch(scores, 2 * one, one, chosen, rejected, np.zeros(len(both)), ranking)


def runs(ranked: bool) -> Iterator[Run]:
    """Yields every run that has a loss, of pairs or of rankings."""
    given = recorded_file()
    for library, found in given["runs"].items():
        for variant, run in found["runs"].items():
            options = run.get("options", {})
            if options.get("stage") != "reward_model" or "loss" not in run["result"]:
                continue
            asked = {**given["option_defaults"]["reward_model"], **options}
            if (asked["form"] in RANKED) == ranked:
                yield Run(library, variant, conventions_of(asked), _counts(asked, ranked), ranked, run["result"])


def _counts(asked: dict[str, Any], ranked: bool) -> Array:
    """Which pairs a run was on."""
    of = rankings() if ranked else pairs()
    if "ranking" in asked:
        return np.array([float(number == asked["ranking"] + 1) for number in of.ranking])
    kept = range(len(of.chosen)) if asked["pairs"] == "all" else asked["pairs"]
    return np.array([float(at in kept) for at in range(len(of.chosen))])


def conventions_of(o: dict[str, Any]) -> dict[str, float | str]:
    """Returns the conventions of a run by our keys."""
    mean, std = o["normalise"] or (0.0, 1.0)
    return {
        "score.read": o["read"].replace("before_eos", "before_end"), "score.subtract": mean, "score.divide": std,
        "loss.margin": "typed" if o["margin"] else "off",
        "center": o["center"], "l2": o.get("l2", 0.0), "loss.mean_eps": o["mean_eps"], **FORMS.get(o["form"], {}),
    }  # fmt: skip
