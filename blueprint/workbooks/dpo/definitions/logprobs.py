"""From the log-prob of each token to the margin of a pair: responses, log-ratios, margins; and along what rows lie.

From the log-prob of each token to that of a whole response: a sum, or one of several means.
Sources: DPO, 2305.18290, eq. 7 (the sum); SimPO, 2405.14734, eq. 3 (the mean); LD-DPO, 2409.06411, eq. 8 (tokens beyond the length
of the shorter response count less); AlphaPO, 2501.03884.

How much more the policy prefers a response than the reference does, and by how much more the chosen one than the rejected.
Sources: DPO, 2305.18290, eq. 5 and 7 (β times the log-ratio is the implicit reward); SimPO, 2405.14734, eq. 5 (the margin γ);
f-DPO, 2309.16240 (other divergences).
"""

from blueprint.language import Expr, Operand, Sum, at_most, equal, exp, less, log, maximum, minimum, number, where
from blueprint.workbooks.common import Choices, Given, Lined, Rows, labels, limited, n, t, v
from blueprint.workbooks.common.preference_pairs import SIDES, PairSteps, Sides, o, p

__all__ = ["LABELS", "SIDES", "Given", "Row", "Sides", "Steps", "n", "o", "p", "t", "v"]

LABELS = Choices({}, {}, labels=labels("live", "blueprint.workbooks.dpo"))
"""Nothing to be chosen: along what rows lie, and what they are called."""
Row = Lined


class Steps(PairSteps):
    """Writes rows by their names, along tokens, responses and pairs; what was written, and what is given, is read by its name.

    Given are log-probs of both models and the masks of tokens, (n, t); which response is whose, (o, n); and what pairs there are.
    """

    def __init__(self, use: Choices, given: Rows):
        super().__init__(use, given, ("pair.chosen", "pair.rejected"))

    def row(self, name: str, value: Operand | None = None) -> Row:
        """Writes a number for each token."""
        return self.along(name, (n, t), value)

    def of_responses(self, name: str, of: Row) -> Row:
        """Takes a number of each pair, (p), back to both of its responses, (n)."""
        return self.each(name, Sum(o, self.down(f"{name}.column", of)[o] * self["pair.either"][o, n]))


def sequences(s: Steps) -> None:
    """Adds up log-probs of tokens; `text.tokens` is 1 on prompt and response, and before the first column."""
    m, text = s["response.tokens"], s["text.tokens"]
    s.under("Which tokens count")
    length = s.each("logp.length", Sum(t, m[n, t]))
    s.row("logp.after", text[n, t - 1] * (1 - text[n, t]))
    _differing(s)
    _weights(length, s)
    s.under("The log-prob of a whole response")
    # A sum of no token is divided by 0, which gives no number, but in TRL's DPO, whose means divide by 1 at least.
    alone = s.pick("mean.least_of_plain", (), "reference.used", on=1, off=0)
    s.pick("mean.least", (), "logp.of", sum=1, mean=alone, mean_nonzero=0, mean_with_pad=0)
    policy, reference = _summed("policy", s), _summed("reference", s)
    curved = s.each(
        "policy.curved",
        limited(s.use.used["logp.alpha"], policy[n], lambda a: (1 - exp(-(a * policy[n]))) / a),
    )
    s.under("Side by side")
    s.sides("logp", curved)
    s.sides("logp_ref", reference)


def _differing(s: Steps) -> None:
    """Counts the tokens by which HALOs divides: those on which the policy differs from the reference, or, without one, from 1."""
    logp, logp_ref, m = s["policy.logprobs"], s["reference.logprobs"], s["response.tokens"]
    other = s.pick("logp.compared", (n, t), "reference.used", on=logp_ref[n, t], off=0)
    differs = s.row("logp.differs", where(equal(logp[n, t], other[n, t]), 0, m[n, t]))
    s.each("logp.differing", Sum(t, differs[n, t]))


def _weights(length: Row, s: Steps) -> None:
    """Weighs the tokens beyond the length of the shorter response of the pair: of the policy, and of the reference."""
    m, alpha, both = s["response.tokens"], s.use.used["logp.ld_alpha"], s.sides("length", length)
    shorter = s.pair("logp.shorter", minimum(both.chosen[p], both.rejected[p]))
    shared = s.of_responses("logp.shared", shorter)
    place = s.row("logp.place")
    place[n, t.first - 1] = 0
    place[n, t] = place[n, t - 1] + m[n, t]
    beyond = s.row("logp.beyond", where(at_most(place[n, t], shared[n]), 1, alpha))
    at = s.row("logp.column", number(t))
    cut = s.row("logp.cut", where(less(at[n, t], length[n]), alpha, 0))
    from_row = s.row("logp.from_row", where(less(at[n, t], shared[n]), 1, cut[n, t]))
    x = s.pick("logp.far", (n, t), "logp.ld_from", response=beyond[n, t], row=from_row[n, t])[n, t]
    s.pick("policy.ld", (n, t), "logp.ld", off=1, policy=x, both=x)
    s.pick("reference.ld", (n, t), "logp.ld", off=1, policy=1, both=x)


def _summed(name: str, s: Steps) -> Row:
    """Adds up what a model says of the tokens that count, and divides by these where a mean is asked for.

    The first ORPO adds the pad behind a text.
    """
    logp, m, by = s[f"{name}.logprobs"], s["response.tokens"], s[f"{name}.ld"]
    x, with_pad = m[n, t], m[n, t] + s["logp.after"][n, t]
    counted = s.pick(f"{name}.counted", (n, t), "logp.of", sum=x, mean=x, mean_nonzero=x, mean_with_pad=with_pad)
    weighed = s.row(f"{name}.weighed", counted[n, t] * by[n, t])
    total = s.each(f"{name}.sum", Sum(t, weighed[n, t] * logp[n, t]))
    x, differing = s.each(f"{name}.added", Sum(t, counted[n, t]))[n], s["logp.differing"]
    count = s.pick(f"{name}.count", (n,), "logp.of", sum=x, mean=x, mean_nonzero=differing[n], mean_with_pad=x)
    mean = s.each(f"{name}.mean", total[n] / s.each(f"{name}.over", maximum(count[n], s["mean.least"]))[n])
    x = mean[n]
    return s.pick(f"{name}.logp", (n,), "logp.of", sum=total[n], mean=x, mean_nonzero=x, mean_with_pad=x)


def margins(s: Steps) -> None:
    """Compares the chosen response with the rejected one: log-ratios, their difference h, u = βh − γ; and reads true rewards."""
    s.under("The margin of a pair")
    used, words = s.use.used, ("logp", "logp_ref")
    for side, policy, reference in zip(SIDES, *map(s.of_sides, words), strict=True):
        against = s.pair(f"{side}.against", policy[p] - reference[p])
        # Without a reference the log-ratio is the log-prob itself.
        s.pick(f"{side}.ratio", (p,), "reference.used", on=against[p], off=policy[p])
    chosen, rejected = (_shaped(side, s) for side in SIDES)
    h = s.pair("margin", chosen[p] - rejected[p])
    u = s.pair("margin.argument", s.pair("margin.scaled", used["beta"] * h[p])[p] - used["loss.gamma"])
    turned = s.pair("margin.turned", -u[p])
    s.log_sigmoid("margin.right", u)
    s.log_sigmoid("margin.wrong", turned)
    s.sides("true", s["true.reward"])


def _shaped(side: str, s: Steps) -> Row:
    """Shapes a log-ratio by the divergence in use: 1 − e^−x, which is beyond every number for x < −709, or log 2 + log σ(x)."""
    x, asked = s[f"{side}.ratio"], s.use.switch["margin.divergence"].says("forward_kl")
    moved = 1 - exp(-x[p])
    # Where libraries stand side by side and none has the word, it is the number 0, and no condition.
    forward = s.pair(f"{side}.forward", where(asked, moved, 0) if isinstance(asked, Expr) else asked * moved)
    mixed = s.pair(f"{side}.mixed", log(2) + s.log_sigmoid(f"{side}.log_sigmoid", x)[p])
    return s.pick(f"{side}.shaped", (p,), "margin.divergence", reverse_kl=x[p], forward_kl=forward[p], js=mixed[p])
