"""The whole way from a score at every position to the loss of a batch of pairs, for one set of conventions."""

from typing import NamedTuple

from blueprint.language import Block
from blueprint.workbooks.common import Choices, Rows
from blueprint.workbooks.reward_model.definitions.losses import Compared, Total, compared, losses, moved, total
from blueprint.workbooks.reward_model.definitions.positions import positions
from blueprint.workbooks.reward_model.definitions.rankings import best, softmax, weights
from blueprint.workbooks.reward_model.definitions.scores import scaled, scores
from blueprint.workbooks.reward_model.definitions.steps import Places, Row, Steps
from blueprint.workbooks.reward_model.definitions.watched import watched

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
