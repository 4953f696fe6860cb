"""The definitions of supervised fine-tuning, in the order in which they run: from demonstrations to the loss.

The shift, and the mask: which token each position has to predict, and which of them count.
Sources: HF transformers 5.10, loss_utils.py: ForCausalLMLoss (labels are shifted inside); TRL 1.16.0, sft_trainer.py:
DataCollatorForLanguageModeling (completion_mask; with packing bfd the first label of each text is −100).

From the log-prob of each label to the loss: L = −Σ m·w·log π, where w is the share of a token.
Every denominator is a share: 1/N of the tokens of the step, 1/(M·n) of those of a microbatch, 1/(B·n) of those of a text, 1/B.
Sources: InstructGPT, 2203.02155, section 3.5; DFT, 2508.05629, eq. 8; libraries by version in `conventions.toml`.
"""

from collections.abc import Callable
from typing import NamedTuple

from blueprint.language import Axis, Block, Operand, Sum, at_most, equal, exp, less, where
from blueprint.workbooks.common import Choices, Given, Lined, Ordered, Rows, labels, n, t, v

o = Axis("o", "text", start=1)
b = Axis("b", "microbatch", start=1)

__all__ = ["LABELS", "Given", "Row", "Steps", "b", "n", "o", "t", "v"]


LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.sft"))
"""Nothing to be chosen: along what rows lie, and what they are called."""
Row = Lined


class Steps(Ordered):
    """Writes rows by their names, along tokens and texts."""

    def row(self, name: str, value: Operand | None = None) -> Row:
        """Writes a number for each token."""
        return self.along(name, (n, t), value)

    def each(self, name: str, value: Operand) -> Row:
        """Writes a number for each text."""
        return self.along(name, (n,), value)

    def share(self, name: str, count: Row) -> Row:
        """Divides 1 by a count, to which the library adds what keeps it from 0; of nothing counted 0, which no loss reads."""
        over = count[count.axes] + self.use.used["loss.mean_eps"]
        return self.along(name, count.axes, where(less(0, count[count.axes]), 1 / over, 0))


class Labels(NamedTuple):
    """What each position predicts and whether it counts, (n, t); how many of each text do, (n), and of all.

    left: by how much the number of a text is above that of a place in a column, (o, n).
    """

    id: Row
    counts: Row
    length: Row
    total: Row
    first: Row


def labelled(given: Rows, s: Steps) -> Labels:
    """Shifts the texts: position t, which has read up to token t, predicts token t + 1. given: what is typed of texts."""
    written, m, text, end = (given[name] for name in ("rollout.written", "response.tokens", "text.tokens", "end.id"))
    s.under("Packed end to end: where the next text begins")
    following, seam = _seams(given, s)
    s.under("Which token each position predicts")
    label = s.row("label.id", where(less(0, seam[n, t]), following[n], written[n, t]))
    s.under("Which of them count")
    whole = s.row("label.of_text", text[n, t] + seam[n, t])
    region = s.pick("label.region", (n, t), "region", response=m[n, t], text=whole[n, t])
    is_end = s.row("label.is_end", equal(label[n, t], end))
    beyond = s.row("label.without_end", region[n, t] * (1 - is_end[n, t]))
    counts = s.pick("label.counts", (n, t), "end_token", **{"in": region[n, t], "out": beyond[n, t]})
    length = s.each("label.length", Sum(t, counts[n, t]))
    total = s.one("label.total", Sum(n, length[n]))
    return Labels(label, counts, length, total, _before_the_shift(given["count.texts"], s))


def _seams(given: Rows, s: Steps) -> tuple[Row, Row]:
    """Finds the token with which the next text begins, (n), and where it is to be predicted: right behind a text, (n, t).

    Only plain concatenation predicts it, from a text that has nothing to do with it.
    """
    text, first, place = given["text.tokens"], given["text.first"], given["text.number"]
    left = s.along("text.left", (o, n))
    left[o.first - 1, n] = place[n]
    left[o, n] = left[o - 1, n] - 1
    here = s.along("text.here", (o, n), equal(left[o, n], 0))
    follows = s.along("text.follows", (o, n), equal(left[o, n] + 1, 0))
    column = s.along("text.first_column", (o,), Sum(n, here[o, n] * first[n]))
    following = s.each("text.following", Sum(o, follows[o, n] * column[o]))
    another = s.each("text.another", Sum(o, follows[o, n]))
    behind = s.row("label.behind", text[n, t - 1] * (1 - text[n, t]))
    wrapped = s.row("label.wrapped", behind[n, t] * another[n])
    return following, s.pick("label.seam", (n, t), "packing", none=0, bfd=0, wrapped=wrapped[n, t])


def _before_the_shift(texts: Block, s: Steps) -> Row:
    """Counts labels that no position predicts: the first token of each text, or of the one long text into which all went."""
    firsts = s.pick("label.firsts", (), "packing", none=texts, bfd=0, wrapped=1)
    return s.pick("label.unpredicted", (), "region", response=0, text=firsts)


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


Reads = Callable[[Labels], Rows]
"""Makes what the policy says, by name, from what it has to predict."""


class Derived(NamedTuple):
    """Every row in order, and those that one looks for. before: titles of the sections that stand before the policy."""

    steps: Steps
    labels: Labels
    loss: Loss
    said: Rows
    before: tuple[str, ...]

    def sheet(self, section: str) -> str:
        """Returns the title of the sheet on which a section stands."""
        return "Labels" if section in self.before else "Diagnostics" if section == WATCHED else "Loss"

    @property
    def rows(self) -> dict[str, Block]:
        """The rows by the names that they have without a library."""
        return self.steps.rows


def derived(given: Rows, policy: Reads, use: Choices) -> Derived:
    """Runs the definitions, one after the other. given: by name, what the texts are; policy: what it says of the labels."""
    s = Steps(use)
    of = labelled(given, s)
    before = tuple(s.sections)
    said = policy(of)
    costs = loss(said["policy.logprobs"], of, given, s)
    watched({**given, **said}, of, s)
    return Derived(s, of, costs, said, before)
