"""From a score at every position to the score of a response: where it is read, and what is subtracted and divided by."""

from blueprint.language import Sum, less, maximum, sqrt, where
from blueprint.workbooks.reward_model.definitions.axes import n, t
from blueprint.workbooks.reward_model.definitions.steps import Given, Row, Steps

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
