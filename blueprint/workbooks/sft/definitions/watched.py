"""What is watched while training: NLL and perplexity, token accuracy, entropy, and how many tokens were read."""

from blueprint.language import Sum, at_most, exp, less, where
from blueprint.workbooks.common import Rows
from blueprint.workbooks.sft.definitions.axes import n, t
from blueprint.workbooks.sft.definitions.labels import Labels
from blueprint.workbooks.sft.definitions.steps import Row, Steps

WATCHED = "What one watches"
"""The title under which it stands."""


def watched(given: Rows, of: Labels, s: Steps) -> None:
    """Adds what one watches, as means over the tokens that count, whatever the loss divides by.

    given: log-probs of labels, the logit of each label and the largest, and the entropy, (n, t).
    """
    s.under(WATCHED)
    logp, top, label, entropy = (given[f"policy.{name}"] for name in ("logprobs", "top", "label_logit", "entropy"))
    cost = s.row("watch.nll_of_token", -(of.counts[n, t] * logp[n, t]))
    s.each("watch.logp", Sum(t, of.counts[n, t] * logp[n, t]))
    hit = s.row("watch.hit", of.counts[n, t] * at_most(top[n, t], label[n, t]))
    unsure = s.row("watch.entropy_of_token", of.counts[n, t] * entropy[n, t])
    nll = _mean("nll", cost, of, s)
    s.one("perplexity", exp(nll))
    _mean("token_accuracy", hit, of, s)
    _mean("entropy", unsure, of, s)
    s.one("watch.tokens_read", Sum((n, t), given["text.mask"][n, t]) + given["count.texts"])


def _mean(name: str, row: Row, of: Labels, s: Steps) -> Row:
    return s.one(name, where(less(0, of.total), Sum((n, t), row[n, t]) / of.total, 0))
