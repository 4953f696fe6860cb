"""The definitions of supervised fine-tuning, in the order in which they run: from demonstrations to the loss.

The shift, and the mask: which token each position has to predict, and which of them count.
Sources: HF transformers 5.10, loss_utils.py: ForCausalLMLoss (labels are shifted inside); TRL 1.16.0, sft_trainer.py:
DataCollatorForLanguageModeling (completion_mask; with packing bfd the first label of each text is −100).

From the log-prob of each label to the loss: L = −Σ m·w·log π, where w is the share of a token.
Every denominator is a share: 1/N of the tokens of the step, 1/(M·n) of those of a microbatch, 1/(B·n) of those of a text, 1/B.
Sources: InstructGPT, 2203.02155, section 3.5; DFT, 2508.05629, eq. 8; libraries by version in `conventions.toml`.
"""

from collections.abc import Callable

from blueprint.language import Axis, Block, Operand, Sum, at_most, equal, exp, less, where
from blueprint.workbooks.common import Choices, Given, Lined, Rows, labels, n, t, v
from blueprint.workbooks.common.definitions.writing_rows import ByName

o = Axis("o", "text", start=1)
b = Axis("b", "microbatch", start=1)

__all__ = ["LABELS", "Given", "Row", "Steps", "b", "n", "o", "t", "v"]


LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.sft"))
"""Nothing to be chosen: along what rows lie, and what they are called."""
Row = Lined


class Steps(ByName):
    """Writes rows by their names, along tokens and texts; what was written, and what is given, is read by its name.

    before: titles of the sections that stand before the policy.
    """

    before: tuple[str, ...] = ()

    def sheet(self, section: str) -> str:
        """Returns the title of the sheet on which a section stands."""
        return "Labels" if section in self.before else "Diagnostics" if section == WATCHED else "Loss"

    def row(self, name: str, value: Operand | None = None) -> Row:
        """Writes a number for each token."""
        return self.along(name, (n, t), value)

    def each(self, name: str, value: Operand) -> Row:
        """Writes a number for each text."""
        return self.along(name, (n,), value)

    def share(self, name: str, count: Given) -> Row:
        """Divides 1 by a count, to which the library adds what keeps it from 0; of nothing counted 0, which no loss reads."""
        over = count[count.axes] + self.use.used["loss.mean_eps"]
        return self.along(name, count.axes, where(less(0, count[count.axes]), 1 / over, 0))


def labelled(s: Steps) -> None:
    """Shifts the texts: position t, which has read up to token t, predicts token t + 1."""
    written, m, text, end = (s[name] for name in ("rollout.written", "response.tokens", "text.tokens", "end.id"))
    s.under("Packed end to end: where the next text begins")
    following, seam = _seams(s)
    s.under("Which token each position predicts")
    label = s.row("label.id", where(less(0, seam[n, t]), following[n], written[n, t]))
    s.under("Which of them count")
    whole = s.row("label.of_text", text[n, t] + seam[n, t])
    region = s.pick("label.region", (n, t), "region", response=m[n, t], text=whole[n, t])
    is_end = s.row("label.is_end", equal(label[n, t], end))
    beyond = s.row("label.without_end", region[n, t] * (1 - is_end[n, t]))
    counts = s.pick("label.counts", (n, t), "end_token", **{"in": region[n, t], "out": beyond[n, t]})
    length = s.each("label.length", Sum(t, counts[n, t]))
    s.one("label.total", Sum(n, length[n]))
    # The first token of each text, or of the one long text into which all went, is a label that no position predicts.
    firsts = s.pick("label.firsts", (), "packing", none=s["count.texts"], bfd=0, wrapped=1)
    s.pick("label.unpredicted", (), "region", response=0, text=firsts)


def _seams(s: Steps) -> tuple[Row, Row]:
    """Finds the token with which the next text begins, (n), and where it is to be predicted: right behind a text, (n, t).

    Only plain concatenation predicts it, from a text that has nothing to do with it.
    """
    text, first, place = s["text.tokens"], s["text.first"], s["text.number"]
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


def loss(s: Steps) -> None:
    """Adds up what each label costs, by its log-prob."""
    _microbatches(s)
    _shares(s)
    logp, share = s["policy.logprobs"], s["share.used"]
    s.under("What each token costs")
    likely = s.row("dft.probability", exp(logp[n, t]))
    weight = s.held("dft.used", s.pick("dft.weight", (n, t), "loss.dft", off=1, on=likely[n, t]))
    w = s.row("label.weight", s["label.counts"][n, t] * share[n] * weight[n, t])
    each = s.row("loss.of_token", -(w[n, t] * logp[n, t]))
    s.under("The loss")
    rows = s.each("loss.of_text", Sum(t, each[n, t]))
    s.along("microbatch.loss", (b,), Sum(n, s["microbatch.inside"][b, n] * rows[n]))
    s.one("total_loss", Sum(n, rows[n]))


def _microbatches(s: Steps) -> None:
    """Deals the texts out, in their order, to M microbatches: the one of number n goes to number ⌈n·M/B⌉."""
    s.under("Which text is in which microbatch")
    place, texts = s["text.number"], s["count.texts"]
    rest = s.along("microbatch.rest", (b, n))
    rest[b.first - 1, n] = place[n] * s.use.used["microbatches"]
    rest[b, n] = rest[b - 1, n] - texts
    reached = s.along("microbatch.reached", (b, n), at_most(rest[b, n], 0))
    begun = s.along("microbatch.begun", (b, n), less(-texts, rest[b, n]))
    s.along("microbatch.inside", (b, n), reached[b, n] * begun[b, n])


def _shares(s: Steps) -> None:
    """Makes the share of each token of a text, (n), one for each denominator, and takes that of the library."""
    s.under("What each token weighs")
    length, total, inside, texts, logp = (
        s[of] for of in ("label.length", "label.total", "microbatch.inside", "count.texts", "policy.logprobs")
    )
    count = s.along("microbatch.tokens", (b,), Sum(n, inside[b, n] * length[n]))
    of_part = s.share("microbatch.share", count)
    own = s.each("share.part", Sum(b, inside[b, n] * of_part[b]))
    before = s.one("label.before_shift", total + s["label.unpredicted"])
    uncertain = s.row("label.uncertain", where(equal(logp[n, t], 0), 0, s["label.counts"][n, t]))
    nonzero = s.one("label.nonzero", Sum((n, t), uncertain[n, t]))
    row = s.share("share.row", length)
    sums = s.share("share.sums", s.one("text.texts", 1 * texts))
    share = s.pick(
        "loss.share", (n,), "loss.normaliser",
        tokens=s.share("share.step", total), labels=s.share("share.labels", before), row_sums=sums,
        microbatches=own[n] / s.use.used["microbatches"], row_means=row[n] * sums, nonzero=s.share("share.uncertain", nonzero),
    )  # fmt: skip
    in_part = s.each("share.part_tokens", Sum(b, inside[b, n] * count[b]))
    counted = s.pick(
        "loss.counted", (n,), "loss.normaliser", tokens=total, labels=before, row_sums=texts, microbatches=in_part[n],
        row_means=length[n], nonzero=nonzero,
    )  # fmt: skip
    # A library divides by the count all the same: of no label it has no loss, unless it adds something to the count.
    none = 1 / s.each("loss.over", counted[n] + s.use.used["loss.mean_eps"])[n]
    s.each("share.used", where(less(0, counted[n]), share[n], none))


WATCHED = "What one watches"
"""The title under which it stands."""


def watched(s: Steps) -> None:
    """Adds what one watches, as means over the tokens that count, whatever the loss divides by."""
    s.under(WATCHED)
    logp, top, label, entropy = (s[f"policy.{name}"] for name in ("logprobs", "top", "label_logit", "entropy"))
    counts = s["label.counts"]
    cost = s.row("watch.nll_of_token", -(counts[n, t] * logp[n, t]))
    s.each("watch.logp", Sum(t, counts[n, t] * logp[n, t]))
    hit = s.row("watch.hit", counts[n, t] * at_most(top[n, t], label[n, t]))
    unsure = s.row("watch.entropy_of_token", counts[n, t] * entropy[n, t])
    nll = _mean("nll", cost, s)
    s.one("perplexity", exp(nll))
    _mean("token_accuracy", hit, s)
    _mean("entropy", unsure, s)
    s.one("watch.tokens_read", Sum((n, t), s["text.mask"][n, t]) + s["count.texts"])


def _mean(name: str, row: Row, s: Steps) -> Row:
    total = s["label.total"]
    return s.one(name, where(less(0, total), Sum((n, t), row[n, t]) / total, 0))


def derived(given: Rows, policy: Callable[[Block], Rows], use: Choices) -> Steps:
    """Runs the definitions, one after the other. given: by name, what the texts are.

    policy: makes what the policy says, by name, of the ids that it has to predict, (n, t).
    """
    s = Steps(use, given)
    labelled(s)
    s.before = tuple(s.sections)
    s.given = {**given, **policy(s.rows["label.id"])}
    loss(s)
    watched(s)
    return s
