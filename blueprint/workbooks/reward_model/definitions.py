"""The definitions of a reward model, in the order in which they run: from a score at every position to the loss of all pairs.

Rankings: which pair is of which, which response is the best of each, and what each pair weighs in the loss.
Source: InstructGPT, 2203.02155, eq. 1: all K(K−1)/2 pairs of a ranking, averaged per ranking. OpenAI lm-human-preferences cbfd210,
label_types.py, PickBest.loss: a soft-max over the K answers, the label being the best.

Every position by itself: both responses of a pair compared from the first token in which they differ.
Source: DeepSpeed-Chat 83757d9, reward_model.py, forward; trlX 3340c2f, examples/summarize_rlhf/reward_model/reward_model.py.
Compared are the scores at the same positions, from the first difference to the end of the longer text: behind the end
of the shorter one that is what the model says after pads.
"""

from blueprint.language import (
    Axis,
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
from blueprint.workbooks.common.preference_pairs import SIDES, PairSteps, Sides, o, p

q = Axis("q", "ranking", start=1)
u = t.alias("u")

__all__ = ["LABELS", "Given", "Row", "Sides", "Steps", "n", "o", "p", "q", "t", "u", "v"]


LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.reward_model"))
"""Nothing to be chosen: along what rows lie, and what they are called."""
Row = Lined


class Steps(PairSteps):
    """Writes rows by their names, along tokens, responses, pairs and rankings; what was written, and what is given, is read by its
    name. `sheets` has the titles of sections by sheet.

    Given are texts, pairs, and under `head` a score after every token; and, 0 or 1, which response is which of a pair, (o, n),
    which pair stands in which column, (o, p), and of which ranking it is, (q, p).
    """

    def __init__(self, use: Choices, given: Rows):
        super().__init__(use, given, ("chosen.is", "rejected.is"))
        self.sheets = dict[str, list[str]]()

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
        return self.pair(name, Sum(q, self["pair.of_ranking"][q, p] * of[q]))


READ = "Where the score is read"
SCALE = "Scale and shift: only differences between responses to one prompt mean something"


def scores(s: Steps) -> None:
    """Makes the score of each response, (n), of those after each token.

    Source: TRL 1.16.0, reward_trainer.py, and transformers 5.23.0, GenericForSequenceClassification: the rightmost token that is
    not the pad. Where the pad is the end token, that is the one before it.
    """
    s.on("Scores", READ)
    head, text, is_end = s["head"], s["text.there"], s["token.is_end"]
    of = s.pick(
        "read.of", (n, t), "score.read", last_token=text[n, t], before_end=text[n, t] * (1 - is_end[n, t]), last_column=1
    )  # fmt: skip
    after = s.token("read.from")
    after[n, t.last + 1] = 0
    after[n, t] = maximum(after[n, t + 1], of[n, t])
    here = s.token("read.here", of[n, t] * (1 - after[n, t + 1]))
    score = s.each("score", Sum(t, here[n, t] * head[n, t]))
    used = s.use.used
    s.each("score.used", (score[n] - used["score.subtract"]) / used["score.divide"])


def scaled(s: Steps) -> None:
    """Shows scores without their mean, and by their standard deviation: the pairs' differences keep their signs."""
    s.on("Scores", SCALE)
    score, count = s["score.used"], s["count.responses"]
    mean = s.one("score.average", Sum(n, score[n]) / count)
    centred = s.each("score.centred", score[n] - mean)
    square = s.one("score.variance", Sum(n, centred[n] * centred[n]) / count)
    spread = s.one("score.deviation", sqrt(square))
    s.each("score.standard", where(less(0, spread), centred[n] / spread, 0))


BEST = "Which response is the best of its ranking"
WEIGHTS = "What each pair weighs"
SOFTMAX = "Each ranking: a soft-max over its responses"


def best(s: Steps) -> None:
    """Marks the pairs, (p), whose chosen response is the best of its ranking: it is rejected in no pair of it."""
    s.on("Rankings", BEST)
    chosen, below, ranking = s["chosen.number"], s["rejected.number.column"], s["pair.ranking"]
    of = s.down("pair.ranking.column", ranking)
    beaten = s.along("ranking.beaten", (o, p), equal(below[o], chosen[p]))
    fellow = s.along("ranking.fellow", (o, p), equal(of[o], ranking[p]))
    times = s.pair("ranking.lost", Sum(o, beaten[o, p] * fellow[o, p]))
    s.pair("ranking.best", 1 - minimum(1, times[p]))


def weights(s: Steps) -> None:
    """Makes the weight of each pair, (p), of those that count."""
    s.on("Rankings", WEIGHTS)
    of, counts = s["pair.of_ranking"], s["pair.counts"]
    pairs = s.one("pairs.counted", Sum(p, counts[p]))
    divisor = s.one("pairs.divisor", maximum(1, pairs) + s.use.used["loss.mean_eps"])
    sizes = s.ranked("ranking.pairs", Sum(p, of[q, p] * counts[p]))
    there = s.ranked("ranking.there", less(0, sizes[q]))
    many = s.one("rankings.counted", Sum(q, there[q]))
    shared = s.of_pairs("ranking.size", sizes)
    each = s.pair("weight.per_ranking", 1 / (maximum(1, shared[p]) * maximum(1, many)))
    s.pick("weight.pair", (p,), "loss.average", pairs=counts[p] / divisor, rankings=counts[p] * each[p])


def softmax(s: Steps) -> None:
    """Makes the loss of a soft-max over the responses of a ranking, with the best for its label, for each of its pairs, (p).

    What is subtracted before e^x is a number: it drops out of the slope.
    """
    s.on("Pairs", SOFTMAX)
    first, difference, of = s["ranking.best"], s["difference"], s["pair.of_ranking"]
    behind = s.pair("softmax.behind", -(first[p] * difference[p]))
    laid = s.along("softmax.laid", (q, p), of[q, p] * behind[p])
    most = s.held("softmax.held", s.ranked("softmax.most", maximum(0, Max(p, laid[q, p]))))
    counts = s.along("softmax.counts", (q, p), of[q, p] * first[p])
    e = s.along("softmax.exponentials", (q, p), exp(laid[q, p] - most[q]))
    own = s.ranked("softmax.own", exp(-most[q]))
    lost = s.ranked("softmax.loss", most[q] + log(own[q] + Sum(p, counts[q, p] * e[q, p])))
    there = s.ranked("softmax.there", where(less(0, Sum(p, counts[q, p])), 1, 0))
    s.of_pairs("loss.softmax_best", s.ranked("softmax.kept", there[q] * lost[q]))


SIDES_APART = "The scores of both responses, and how far they are apart"
MARGIN = "How far they are meant to be apart"
LOSS = "The loss of each pair"
WHOLE = "The loss of the batch"
ONLY = "Only differences count: add a number to every score, or multiply them"


def compared(s: Steps) -> None:
    """Sets the scores of responses side by side. Source: Bradley and Terry 1952: the log-odds are the difference."""
    s.on("Pairs", SIDES_APART)
    sides = s.sides("score", s["score.used"])
    s.sigmoid("probability", s.pair("difference", sides.chosen[p] - sides.rejected[p]))


def losses(s: Steps) -> None:
    """Makes the loss of each pair, (p). Beyond the limit of a sheet there is no e^x."""
    s.on("Pairs", MARGIN)
    difference, limit = s["difference"], s["overflow.sheet"]
    asked = s.pick("margin.used", (p,), "loss.margin", off=0, typed=s["pair.margin"][p])
    x = s.pair("argument", difference[p] - asked[p])
    s.on("Pairs", LOSS)
    right = s.log_sigmoid("argument.right", x)
    stable = s.pair("loss.logsigmoid", -right[p])
    held = s.pair("log_exp.held", minimum(-difference[p], limit))
    plain = s.pair("loss.log_exp", log(1 + exp(held[p])))
    each = s.across("loss.per_position", s["position.mean"])
    best = s["loss.softmax_best"]
    s.pick(
        "loss.pair", (p,), "loss.form", logsigmoid=stable[p], log_exp=plain[p], per_position=each[p], softmax_best=best[p],
    )  # fmt: skip


def total(s: Steps) -> None:
    """Adds up the losses of all pairs, each with its weight, and what scores cost that are far from 0."""
    s.on("Pairs", WHOLE)
    used, w, loss, counts, score = s.use.used, s["weight.pair"], s["loss.pair"], s["pair.counts"], s.of_sides("score")
    kept = s.pair("pair.kept", counts[p] * loss[p])
    s.ranked("ranking.mean", Sum(p, s["pair.of_ranking"][q, p] * kept[p]) / maximum(1, s["ranking.pairs"][q]))
    mean = s.one("preference_loss", Sum(p, w[p] * loss[p]))
    both = s.pair("center.sum", score.chosen[p] + score.rejected[p])
    square = s.pair("center.square", both[p] * both[p])
    centred = s.one("adds.center", used["center"] * s.one("center.mean", Sum(p, w[p] * square[p])))
    size = s.pair("l2.of_pair", (score.chosen[p] * score.chosen[p] + score.rejected[p] * score.rejected[p]) / 2)
    small = s.one("adds.l2", used["l2"] * s.one("l2.mean", Sum(p, w[p] * size[p])))
    s.one("total_loss", mean + centred + small)


def moved(s: Steps) -> None:
    """Adds one number to every score, and multiplies all by another."""
    s.on("Pairs", ONLY)
    chosen, rejected = (
        s.pair(f"shifted.{side}", each[p] + s["shift"]) for side, each in zip(SIDES, s.of_sides("score"), strict=True)
    )
    s.pair("shifted.difference", chosen[p] - rejected[p])
    s.sigmoid("scaled.probability", s.pair("scaled.difference", s["scale"] * s["difference"][p]))


PLACES = "Positions in a column: for losses that compare every position"
POSITIONS_COMPARED = "Which positions are compared"
POSITIONS_SCORED = "The scores at these positions"
LOSS_BY_POSITION = "The loss of each position, and of the pair"


def positions(s: Steps) -> None:
    """Makes the mean loss over the positions of each pair, (o)."""
    s.on("Inputs", PLACES)
    head, ids, text = s["head"], s["token.id"], s["text.there"]
    place = s.along("position.number", (u,))
    place[u.first - 1] = 0
    place[u] = place[u - 1] + 1
    here = s.along("position.here", (u, n, t), equal(place[u], number(t)))
    laid = s.along("position.id", (u, n), Sum(t, here[u, n, t] * ids[n, t]))
    counted = _compared(laid, s.each("text.length", Sum(t, text[n, t])), place, s)
    s.on("Scores", PLACES.replace("Positions", "Scores"))
    column = s.along("position.score", (u, n), Sum(t, here[u, n, t] * head[n, t]))
    s.on("Positions", POSITIONS_SCORED)
    found = _sides("score", column, s)
    gap = s.table("position.gap", found.chosen[o, u] - found.rejected[o, u])
    s.on("Positions", LOSS_BY_POSITION)
    right = s.log_sigmoid("position.right", gap)
    lost = s.table("position.loss", -(counted[o, u] * right[o, u]))
    many = s.along("position.count", (o,), Sum(u, counted[o, u]))
    s.along("position.mean", (o,), Sum(u, lost[o, u]) / many[o])


def _sides(name: str, of: Row, s: Steps) -> Sides:
    """Looks the numbers of both responses of a pair up, (o, u)."""
    return Sides(*(
        s.table(f"position.{side}.{name}", Sum(n, s[place][o, n] * of[u, n])) for side, place in s.places.items()
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
        s.along(f"position.{side}.length", (o,), Sum(n, s[place][o, n] * length[n])) for side, place in s.places.items()
    )
    longer = s.along("position.longer", (o,), maximum(first[o], second[o]))
    inside = s.table("position.inside", at_most(place[u], longer[o]))
    alike = s.along("position.alike", (o,), 1 - Max(u, apart[o, u]))
    last = s.along("position.last", (u,), equal(place[u], s.one("position.columns", size(t))))
    return s.table("position.counted", since[o, u] * inside[o, u] + alike[o] * last[u])


WATCHED = "What one watches"


def watched(s: Steps) -> None:
    """Adds the metrics. A tie is wrong everywhere; margin and centring do not enter. Source: TRL 1.16.0, reward_trainer.py."""
    s.on("Pairs", WATCHED)
    counts, divisor, (chosen, rejected) = s["pair.counts"], s["pairs.divisor"], s.of_sides("score")
    right = s.pair("right", less(rejected[p], chosen[p]))
    s.one("accuracy", Sum(p, counts[p] * right[p]) / divisor)
    good = s.one("rewards.chosen", Sum(p, counts[p] * chosen[p]) / divisor)
    bad = s.one("rewards.rejected", Sum(p, counts[p] * rejected[p]) / divisor)
    s.one("rewards.margins", Sum(p, counts[p] * s["difference"][p]) / divisor)
    s.one("rewards.mean", (good + bad) / 2)
    s.one("rewards.max", Max(p, s.pair("rewards.higher", maximum(chosen[p], rejected[p]))[p]))
    s.one("rewards.min", -Max(p, s.pair("rewards.lower", -minimum(chosen[p], rejected[p]))[p]))


IN_TURN = (best, weights, scores, scaled, positions, compared, softmax, losses, total, watched, moved)


def derived(given: Rows, use: Choices) -> Steps:
    """Runs the definitions, one after the other. given: by name, texts, pairs, and under `head` a score after every token."""
    s = Steps(use, given)
    for define in IN_TURN:
        define(s)
    return s
