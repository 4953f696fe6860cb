"""The definitions of a reward model, in the order in which they run: from a score at every position to the loss of all pairs.

Rankings: which pair is of which, which response is the best of each, and what each pair weighs in the loss.
Source: InstructGPT, 2203.02155, eq. 1: all K(K−1)/2 pairs of a ranking, averaged per ranking. OpenAI lm-human-preferences cbfd210,
label_types.py, PickBest.loss: a soft-max over the K answers, the label being the best.

Every position by itself: both responses of a pair compared from the first token in which they differ.
Source: DeepSpeed-Chat 83757d9, reward_model.py, forward; trlX 3340c2f, examples/summarize_rlhf/reward_model/reward_model.py.
Compared are the scores at the same positions, from the first difference to the end of the longer text: behind the end
of the shorter one that is what the model says after pads.
"""

from typing import NamedTuple

from blueprint.language import (
    Axis,
    Block,
    Max,
    Operand,
    Sum,
    at_most,
    equal,
    exp,
    less,
    log,
    maximum,
    minimum,
    number,
    size,
    sqrt,
    where,
)
from blueprint.workbooks.common import Choices, Given, Lined, Rows, labels, n, t, v
from blueprint.workbooks.common.preference_pairs import PairSteps, Sides, o, p

q = Axis("q", "ranking", start=1)
u = t.alias("u")

__all__ = ["LABELS", "Given", "Places", "Row", "Sides", "Steps", "n", "o", "p", "q", "t", "u", "v"]


LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.reward_model"))
"""Nothing to be chosen: along what rows lie, and what they are called."""
Row = Lined


class Places(NamedTuple):
    """Which response is which of a pair, (o, n); which pair stands in which column, (o, p); of which ranking it is, (q, p).

    Each holds 0 or 1.
    """

    chosen: Block
    rejected: Block
    same: Block
    ranking: Block


class Steps(PairSteps):
    """Writes rows by their names, along tokens, responses, pairs and rankings; `sheets` has the titles of sections by sheet."""

    def __init__(self, use: Choices, places: Places):
        super().__init__(use, places)
        self.places, self.sheets = places, dict[str, list[str]]()

    def on(self, sheet: str, title: str) -> None:
        """Begins a section of a sheet, or goes on with it."""
        titles = self.sheets.setdefault(sheet, [])
        titles += [title] * (title not in titles)
        self.under(title)

    def token(self, name: str, value: Operand | None = None) -> Row:
        """Writes a number for each token, (n, t)."""
        return self.along(name, (n, t), value)

    def table(self, name: str, value: Operand | None = None) -> Row:
        """Writes a number for each position of each pair, (o, u)."""
        return self.along(name, (o, u), value)

    def ranked(self, name: str, value: Operand) -> Row:
        """Writes a number for each ranking, (q), in a column."""
        return self.along(name, (q,), value)

    def of_pairs(self, name: str, of: Row) -> Row:
        """Gives each pair, (p), the number of its ranking, (q)."""
        return self.pair(name, Sum(q, self.places.ranking[q, p] * of[q]))


READ = "Where the score is read"
SCALE = "Scale and shift: only differences between responses to one prompt mean something"


def scores(head: Given, text: Given, is_end: Given, s: Steps) -> Row:
    """Makes the score of each response, (n). head: (n, t), after each token; text: 1 on its tokens; is_end: 1 on the end token.

    Source: TRL 1.16.0, reward_trainer.py, and transformers 5.23.0, GenericForSequenceClassification: the rightmost token that is
    not the pad. Where the pad is the end token, that is the one before it.
    """
    s.on("Scores", READ)
    of = s.pick(
        "read.of", (n, t), "score.read", last_token=text[n, t], before_end=text[n, t] * (1 - is_end[n, t]), last_column=1
    )  # fmt: skip
    after = s.token("read.from")
    after[n, t.last + 1] = 0
    after[n, t] = maximum(after[n, t + 1], of[n, t])
    here = s.token("read.here", of[n, t] * (1 - after[n, t + 1]))
    score = s.each("score", Sum(t, here[n, t] * head[n, t]))
    used = s.use.used
    return s.each("score.used", (score[n] - used["score.subtract"]) / used["score.divide"])


def scaled(score: Row, count: Given, s: Steps) -> None:
    """Shows scores without their mean, and by their standard deviation: the pairs' differences keep their signs. score: (n)."""
    s.on("Scores", SCALE)
    mean = s.one("score.average", Sum(n, score[n]) / count)
    centred = s.each("score.centred", score[n] - mean)
    square = s.one("score.variance", Sum(n, centred[n] * centred[n]) / count)
    spread = s.one("score.deviation", sqrt(square))
    s.each("score.standard", where(less(0, spread), centred[n] / spread, 0))


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


SIDES = "The scores of both responses, and how far they are apart"
MARGIN = "How far they are meant to be apart"
LOSS = "The loss of each pair"
WHOLE = "The loss of the batch"
ONLY = "Only differences count: add a number to every score, or multiply them"


class Compared(NamedTuple):
    """The scores of both sides of each pair, and their difference, (p)."""

    score: Sides
    difference: Row


class Total(NamedTuple):
    """The loss, and the parts that add up to it."""

    total: Row
    parts: tuple[Row, ...]


def compared(score: Row, s: Steps) -> Compared:
    """Sets the scores of responses, (n), side by side. Source: Bradley and Terry 1952: the log-odds are the difference."""
    s.on("Pairs", SIDES)
    sides = s.sides("score", score)
    apart = s.pair("difference", sides.chosen[p] - sides.rejected[p])
    s.sigmoid("probability", apart)
    return Compared(sides, apart)


def losses(of: Compared, margin: Given, limit: Given, by_position: Row, best: Row, s: Steps) -> Row:
    """Makes the loss of each pair, (p). limit: beyond it a sheet has no e^x. by_position: (o), the mean over positions.

    best: the loss of the soft-max over the ranking of the pair.
    """
    s.on("Pairs", MARGIN)
    asked = s.pick("margin.used", (p,), "loss.margin", off=0, typed=margin[p])
    x = s.pair("argument", of.difference[p] - asked[p])
    s.on("Pairs", LOSS)
    right = s.log_sigmoid("argument.right", x)
    stable = s.pair("loss.logsigmoid", -right[p])
    held = s.pair("log_exp.held", minimum(-of.difference[p], limit))
    plain = s.pair("loss.log_exp", log(1 + exp(held[p])))
    each = s.across("loss.per_position", by_position)
    return s.pick(
        "loss.pair", (p,), "loss.form", logsigmoid=stable[p], log_exp=plain[p], per_position=each[p], softmax_best=best[p],
    )  # fmt: skip


def total(loss: Row, of: Compared, by: Weights, counts: Given, s: Steps) -> Total:
    """Adds up the losses of all pairs, each with its weight, and what scores cost that are far from 0."""
    s.on("Pairs", WHOLE)
    used, w = s.use.used, by.pair
    kept = s.pair("pair.kept", counts[p] * loss[p])
    s.ranked("ranking.mean", Sum(p, s.places.ranking[q, p] * kept[p]) / maximum(1, by.sizes[q]))
    mean = s.one("preference_loss", Sum(p, w[p] * loss[p]))
    both = s.pair("center.sum", of.score.chosen[p] + of.score.rejected[p])
    square = s.pair("center.square", both[p] * both[p])
    centred = s.one("adds.center", used["center"] * s.one("center.mean", Sum(p, w[p] * square[p])))
    size = s.pair(
        "l2.of_pair",
        (of.score.chosen[p] * of.score.chosen[p] + of.score.rejected[p] * of.score.rejected[p]) / 2,
    )
    small = s.one("adds.l2", used["l2"] * s.one("l2.mean", Sum(p, w[p] * size[p])))
    return Total(s.one("total_loss", mean + centred + small), (mean, centred, small))


def moved(of: Compared, shift: Given, scale: Given, s: Steps) -> Row:
    """Adds one number to every score, and multiplies all by another: returns the difference after the shift, (p)."""
    s.on("Pairs", ONLY)
    chosen, rejected = (
        s.pair(f"shifted.{side}", each[p] + shift) for side, each in zip(Sides._fields, of.score, strict=True)
    )
    shifted = s.pair("shifted.difference", chosen[p] - rejected[p])
    s.sigmoid("scaled.probability", s.pair("scaled.difference", scale * of.difference[p]))
    return shifted


PLACES = "Positions in a column: for losses that compare every position"
POSITIONS_COMPARED = "Which positions are compared"
POSITIONS_SCORED = "The scores at these positions"
LOSS_BY_POSITION = "The loss of each position, and of the pair"


def positions(head: Given, ids: Given, text: Given, s: Steps) -> Row:
    """Makes the mean loss over the positions of each pair, (o). head, ids, text: (n, t), scores, tokens, and 1 on the text."""
    s.on("Inputs", PLACES)
    place = s.along("position.number", (u,))
    place[u.first - 1] = 0
    place[u] = place[u - 1] + 1
    here = s.along("position.here", (u, n, t), equal(place[u], number(t)))
    counted = _compared(_laid("id", ids, here, s), s.each("text.length", Sum(t, text[n, t])), place, s)
    s.on("Scores", PLACES.replace("Positions", "Scores"))
    column = s.along("position.score", (u, n), Sum(t, here[u, n, t] * head[n, t]))
    s.on("Positions", POSITIONS_SCORED)
    found = _sides("score", column, s)
    gap = s.table("position.gap", found.chosen[o, u] - found.rejected[o, u])
    s.on("Positions", LOSS_BY_POSITION)
    right = s.log_sigmoid("position.right", gap)
    lost = s.table("position.loss", -(counted[o, u] * right[o, u]))
    many = s.along("position.count", (o,), Sum(u, counted[o, u]))
    return s.along("position.mean", (o,), Sum(u, lost[o, u]) / many[o])


def _laid(name: str, of: Given, here: Row, s: Steps) -> Row:
    """Lays a number of each token, (n, t), out with the positions in a column, (u, n)."""
    return s.along(f"position.{name}", (u, n), Sum(t, here[u, n, t] * of[n, t]))


def _sides(name: str, of: Row, s: Steps) -> Sides:
    """Looks the numbers of both responses of a pair up, (o, u)."""
    return Sides(*(
        s.table(f"position.{side}.{name}", Sum(n, place[o, n] * of[u, n]))
        for side, place in (("chosen", s.places.chosen), ("rejected", s.places.rejected))
    ))  # fmt: skip


def _compared(ids: Row, length: Row, place: Row, s: Steps) -> Row:
    """Marks the positions that count, (o, u): of a pair of equal texts only the last column, as DeepSpeed-Chat does."""
    s.on("Positions", POSITIONS_COMPARED)
    both = _sides("id", ids, s)
    apart = s.table("position.apart", where(equal(both.chosen[o, u], both.rejected[o, u]), 0, 1))
    since = s.table("position.since")
    since[o, u.first - 1] = 0
    since[o, u] = maximum(since[o, u - 1], apart[o, u])
    first, second = (
        s.along(f"position.{side}.length", (o,), Sum(n, at[o, n] * length[n]))
        for side, at in (("chosen", s.places.chosen), ("rejected", s.places.rejected))
    )
    longer = s.along("position.longer", (o,), maximum(first[o], second[o]))
    inside = s.table("position.inside", at_most(place[u], longer[o]))
    alike = s.along("position.alike", (o,), 1 - Max(u, apart[o, u]))
    last = s.along("position.last", (u,), equal(place[u], s.one("position.columns", size(t))))
    return s.table("position.counted", since[o, u] * inside[o, u] + alike[o] * last[u])


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


PAIRS = ("chosen.number", "rejected.number.column", "pair.margin", "pair.ranking", "pair.counts")
"""What is read of pairs."""


class Derived(NamedTuple):
    """Every row in order, and those that one looks for. shifted: the difference of scores to which one number was added."""

    steps: Steps
    score: Row
    compared: Compared
    shifted: Row
    total: Total

    @property
    def rows(self) -> dict[str, Block]:
        """The rows by the names that they have without a library."""
        return self.steps.rows


def derived(given: Rows, use: Choices) -> Derived:
    """Runs the definitions, one after the other. given: by name, texts, pairs, and under `head` a score after every token."""
    s = Steps(use, Places(*(given[name] for name in ("chosen.is", "rejected.is", "pair.same", "pair.of_ranking"))))
    chosen, below, margin, ranking, counts = (given[name] for name in PAIRS)
    head, text = given["head"], given["text.there"]
    first, by = best(chosen, below, ranking, s), weights(counts, s)
    score = scores(head, text, given["token.is_end"], s)
    scaled(score, given["count.responses"], s)
    each = positions(head, given["token.id"], text, s)
    of = compared(score, s)
    lost = losses(of, margin, given["overflow.sheet"], each, softmax(first, of.difference, s), s)
    whole = total(lost, of, by, counts, s)
    watched(of, by, counts, s)
    return Derived(s, score, of, moved(of, given["shift"], given["scale"], s), whole)
