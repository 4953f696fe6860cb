"""What one watches: how often the chosen response has the higher score, and how high scores are."""

from blueprint.language import Max, Sum, less, maximum, minimum
from blueprint.workbooks.reward_model.definitions.axes import p
from blueprint.workbooks.reward_model.definitions.losses import Compared
from blueprint.workbooks.reward_model.definitions.rankings import Weights
from blueprint.workbooks.reward_model.definitions.steps import Given, Steps

WATCHED = "What one watches"


def watched(of: Compared, by: Weights, counts: Given, s: Steps) -> None:
    """Adds the metrics. A tie is wrong everywhere; margin and centring do not enter. Source: TRL 1.16.0, reward_trainer.py."""
    s.on("Pairs", WATCHED)
    chosen, rejected = of.score
    right = s.pair("right", less(rejected[p], chosen[p]))
    s.one("accuracy", Sum(p, counts[p] * right[p]) / by.divisor)
    good = s.one("rewards.chosen", Sum(p, counts[p] * chosen[p]) / by.divisor)
    bad = s.one("rewards.rejected", Sum(p, counts[p] * rejected[p]) / by.divisor)
    s.one("rewards.margins", Sum(p, counts[p] * of.difference[p]) / by.divisor)
    s.one("rewards.mean", (good + bad) / 2)
    s.one("rewards.max", Max(p, s.pair("rewards.higher", maximum(chosen[p], rejected[p]))[p]))
    s.one("rewards.min", -Max(p, s.pair("rewards.lower", -minimum(chosen[p], rejected[p]))[p]))
