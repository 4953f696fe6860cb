"""Rankings: which pair is of which, which response is the best of each, and what each pair weighs in the loss.

Source: InstructGPT, 2203.02155, eq. 1: all K(K−1)/2 pairs of a ranking, averaged per ranking. OpenAI lm-human-preferences cbfd210,
label_types.py, PickBest.loss: a soft-max over the K answers, the label being the best.
"""

from typing import NamedTuple

from blueprint.language import Max, Sum, equal, exp, less, log, maximum, minimum, where
from blueprint.workbooks.reward_model.definitions.axes import o, p, q
from blueprint.workbooks.reward_model.definitions.steps import Given, Row, Steps

BEST = "Which response is the best of its ranking"
WEIGHTS = "What each pair weighs"
SOFTMAX = "Each ranking: a soft-max over its responses"


class Weights(NamedTuple):
    """What each pair weighs, (p); by what a mean over pairs is divided; and the pairs of each ranking that count, (q)."""

    pair: Row
    divisor: Row
    sizes: Row


def best(chosen: Given, below: Given, ranking: Given, s: Steps) -> Row:
    """Marks the pairs, (p), whose chosen response is the best of its ranking: it is rejected in no pair of it.

    chosen, ranking: the numbers of the chosen response, and of the ranking of the pair, (p). below: the number of the rejected
    response, in a column, (o).
    """
    s.on("Rankings", BEST)
    of = s.down("pair.ranking.column", ranking)
    beaten = s.along("ranking.beaten", (o, p), equal(below[o], chosen[p]))
    fellow = s.along("ranking.fellow", (o, p), equal(of[o], ranking[p]))
    times = s.pair("ranking.lost", Sum(o, beaten[o, p] * fellow[o, p]))
    return s.pair("ranking.best", 1 - minimum(1, times[p]))


def weights(counts: Given, s: Steps) -> Weights:
    """Makes the weight of each pair, (p). counts: 1 on pairs that count."""
    s.on("Rankings", WEIGHTS)
    of = s.places.ranking
    pairs = s.one("pairs.counted", Sum(p, counts[p]))
    divisor = s.one("pairs.divisor", maximum(1, pairs) + s.use.used["loss.mean_eps"])
    sizes = s.ranked("ranking.pairs", Sum(p, of[q, p] * counts[p]))
    there = s.ranked("ranking.there", less(0, sizes[q]))
    many = s.one("rankings.counted", Sum(q, there[q]))
    shared = s.of_pairs("ranking.size", sizes)
    each = s.pair("weight.per_ranking", 1 / (maximum(1, shared[p]) * maximum(1, many)))
    pair = s.pick(
        "weight.pair", (p,), "loss.average", pairs=counts[p] / divisor, rankings=counts[p] * each[p]
    )  # fmt: skip
    return Weights(pair, divisor, sizes)


def softmax(first: Row, difference: Row, s: Steps) -> Row:
    """Makes the loss of a soft-max over the responses of a ranking, with the best for its label, for each of its pairs, (p).

    first: 1 on pairs of the best response. difference: (p). What is subtracted before e^x is a number: it drops out of the slope.
    """
    s.on("Pairs", SOFTMAX)
    behind = s.pair("softmax.behind", -(first[p] * difference[p]))
    laid = s.along("softmax.laid", (q, p), s.places.ranking[q, p] * behind[p])
    most = s.held("softmax.held", s.ranked("softmax.most", maximum(0, Max(p, laid[q, p]))))
    counts = s.along("softmax.counts", (q, p), s.places.ranking[q, p] * first[p])
    e = s.along("softmax.exponentials", (q, p), exp(laid[q, p] - most[q]))
    own = s.ranked("softmax.own", exp(-most[q]))
    lost = s.ranked("softmax.loss", most[q] + log(own[q] + Sum(p, counts[q, p] * e[q, p])))
    there = s.ranked("softmax.there", where(less(0, Sum(p, counts[q, p])), 1, 0))
    return s.of_pairs("loss.softmax_best", s.ranked("softmax.kept", there[q] * lost[q]))
