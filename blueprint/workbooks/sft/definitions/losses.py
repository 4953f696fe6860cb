"""From the log-prob of each label to the loss: L = −Σ m·w·log π, where w is the share of a token.

Every denominator is a share: 1/N of the tokens of the step, 1/(M·n) of those of a microbatch, 1/(B·n) of those of a text, 1/B.
Sources: InstructGPT, 2203.02155, section 3.5; DFT, 2508.05629, eq. 8; libraries by version in `conventions.toml`.
"""

from typing import NamedTuple

from blueprint.language import Block, Sum, at_most, equal, exp, less, where
from blueprint.workbooks.common import Rows
from blueprint.workbooks.sft.definitions.axes import b, n, t
from blueprint.workbooks.sft.definitions.labels import Labels
from blueprint.workbooks.sft.definitions.steps import Given, Row, Steps


class Loss(NamedTuple):
    """Which text is in which microbatch, (b, n); the loss of each token, and of all."""

    inside: Row
    of_token: Row
    total: Row


def loss(logp: Given, of: Labels, given: Rows, s: Steps) -> Loss:
    """Adds up what each label costs. logp: the log-prob of every label, (n, t)."""
    inside = _microbatches(given["text.number"], given["count.texts"], s)
    share = _shares(logp, of, inside, given["count.texts"], s)
    s.under("What each token costs")
    likely = s.row("dft.probability", exp(logp[n, t]))
    weight = s.held("dft.used", s.pick("dft.weight", (n, t), "loss.dft", off=1, on=likely[n, t]))
    w = s.row("label.weight", of.counts[n, t] * share[n] * weight[n, t])
    each = s.row("loss.of_token", -(w[n, t] * logp[n, t]))
    s.under("The loss")
    rows = s.each("loss.of_text", Sum(t, each[n, t]))
    s.along("microbatch.loss", (b,), Sum(n, inside[b, n] * rows[n]))
    return Loss(inside, each, s.one("total_loss", Sum(n, rows[n])))


def _microbatches(place: Block, texts: Block, s: Steps) -> Row:
    """Deals the texts out, in their order, to M microbatches: the one of number n goes to number ⌈n·M/B⌉."""
    s.under("Which text is in which microbatch")
    rest = s.along("microbatch.rest", (b, n))
    rest[b.first - 1, n] = place[n] * s.use.used["microbatches"]
    rest[b, n] = rest[b - 1, n] - texts
    reached = s.along("microbatch.reached", (b, n), at_most(rest[b, n], 0))
    begun = s.along("microbatch.begun", (b, n), less(-texts, rest[b, n]))
    return s.along("microbatch.inside", (b, n), reached[b, n] * begun[b, n])


def _shares(logp: Given, of: Labels, inside: Row, texts: Block, s: Steps) -> Row:
    """Makes the share of each token of a text, (n), one for each denominator, and takes that of the library."""
    s.under("What each token weighs")
    count = s.along("microbatch.tokens", (b,), Sum(n, inside[b, n] * of.length[n]))
    of_part = s.share("microbatch.share", count)
    own = s.each("share.part", Sum(b, inside[b, n] * of_part[b]))
    before = s.one("label.before_shift", of.total + of.first)
    uncertain = s.row("label.uncertain", where(equal(logp[n, t], 0), 0, of.counts[n, t]))
    nonzero = s.one("label.nonzero", Sum((n, t), uncertain[n, t]))
    row = s.share("share.row", of.length)
    sums = s.share("share.sums", s.one("text.texts", 1 * texts))
    share = s.pick(
        "loss.share", (n,), "loss.normaliser",
        tokens=s.share("share.step", of.total), labels=s.share("share.labels", before), row_sums=sums,
        microbatches=own[n] / s.use.used["microbatches"], row_means=row[n] * sums, nonzero=s.share("share.uncertain", nonzero),
    )  # fmt: skip
    in_part = s.each("share.part_tokens", Sum(b, inside[b, n] * count[b]))
    counted = s.pick(
        "loss.counted", (n,), "loss.normaliser", tokens=of.total, labels=before, row_sums=texts, microbatches=in_part[n],
        row_means=of.length[n], nonzero=nonzero,
    )  # fmt: skip
    # A library divides by the count all the same: of no label it has no loss, unless it adds something to the count.
    none = 1 / s.each("loss.over", counted[n] + s.use.used["loss.mean_eps"])[n]
    return s.each("share.used", where(less(0, counted[n]), share[n], none))
