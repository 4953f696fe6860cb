"""Misconceptions in supervised fine-tuning: the shift, the mask, what a token weighs, and what one watches; those of soft-max and
of the way back are common to all kinds."""

from blueprint.language import Sum, size
from blueprint.misconceptions import equation, instead, of, row, whole, without, zero
from blueprint.workbooks.common.misconceptions import MISCONCEPTIONS as COMMON
from blueprint.workbooks.sft.definitions import n, t

# fmt: off
OWN = (
    *of("label.id",
        ("shift-forgotten", "The shift is forgotten: this is the token that was just read, not the one that comes next.",
         row("rollout.read"))),
    *of("label.counts",
        ("prompt-counted", "The prompt counts: only the response is to be learned.", row("label.of_text")),
        ("end-token-out", "The end token is left out: the policy does not learn to stop.", row("label.without_end")),
        ("everything-counts", "Everything counts, pads and all.", equation(lambda b: 1 + 0 * b("label.counts")))),
    *of("label.is_end",
        ("end-token-read", "It says where the end token is read: the position before it predicts it.",
         instead("label.id", "rollout.read"))),
    *of("label.before_shift",
        ("first-tokens-forgotten", "First tokens are not counted: before the shift they have a label.",
         zero("label.unpredicted"))),
    *of("loss.share",
        ("mean-of-means", "It is a mean of the means of microbatches: each token of the step is to count the same.",
         row("loss.share.microbatches")),
        ("texts-alike", "Each text counts the same, and so its tokens less, the longer it is.", row("loss.share.row_means")),
        ("texts-for-tokens", "It is divided by the number of texts, not of tokens.", row("share.sums")),
        ("all-positions", "It is divided by all positions, pads and all.",
         equation(lambda b: 1 / (size(n) * size(t)) + 0 * b("label.length")))),
    *of("loss.share.microbatches",
        ("microbatches-forgotten", "It is not divided by the number of microbatches: their losses add up.", row("share.part"))),
    *of("label.weight",
        ("not-masked", "The mask is forgotten: every position weighs.", without("label.counts")),
        ("share-forgotten", "The share is forgotten: it is a sum, not a mean.", without("share.used"))),
    *of("loss.of_token",
        ("probability-for-log-prob", "π stands for log π: the loss is its logarithm.",
         instead("policy.logprobs", "dft.probability"))),
    *of("watch.hit",
        ("not-masked", "The mask is forgotten: what is right outside of the response counts.", without("label.counts"))),
    *of("nll",
        ("mean-over-texts", "It is divided by the number of texts, not of tokens.",
         equation(lambda b: Sum((n, t), b["watch.nll_of_token"][n, t]) / b("count.texts"))),
        ("pads-counted", "It is divided by all positions, pads and all.",
         equation(lambda b: Sum((n, t), b["watch.nll_of_token"][n, t]) / (size(n) * size(t))))),
    *of("token_accuracy",
        ("pads-counted", "It is divided by all positions, pads and all.",
         equation(lambda b: Sum((n, t), b["watch.hit"][n, t]) / (size(n) * size(t))))),
    *of("perplexity",
        ("exp-forgotten", "exp is forgotten: this is the mean NLL.", row("nll")),
        ("upside-down", "It is upside down: this is the mean probability of a label, the geometric one.",
         whole(lambda right: 1 / right))),
)
# fmt: on
MISCONCEPTIONS = (*OWN, *COMMON)
