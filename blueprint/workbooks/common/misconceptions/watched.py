"""Misconceptions in what one watches while training: approximate KL, clip fractions, explained variance, means."""

from blueprint.language import size
from blueprint.misconceptions import becomes, instead, of, operand, swapped, turned, whole
from blueprint.workbooks.common.definitions import n, t

WORDS = "response.words|count"

# fmt: off
KL = (
    *of("policy_kl.k1",
        ("kl-turned", "The minus is forgotten: k1 = log π_old − log π_θ, which is −d.", turned()),
        ("k2-for-k1", "This is ½·d², k2: k1 is −d.", whole(lambda x: x * x / 2))),
    *of("policy_kl.k3",
        ("ratio-upside-down", "The ratio is upside down: here k3 = e^d − 1 − d, with ρ = π_θ/π_old.",
         turned("log_ratio|policy_kl.log_ratio")),
        ("linear-term-forgotten", "− d is left out: k3 = e^d − 1 − d, and never negative.", operand("sub"))),
    *of("policy_kl.exact",
        ("divergence-turned", "The sign is turned: KL = Σ p·log p − Σ p·log q, with p = π_old, and never negative.", turned())),
)
FRACTIONS = (
    *of("clip_fraction.outside",
        ("comparison-turned", "It is 1 where the ratio was clipped, not where it was not.", whole(lambda x: 1 - x))),
    *of("clip_fraction.changed",
        ("comparison-turned", "It is 1 where the clip changed the loss: where U_c < U.", whole(lambda x: 1 - x))),
    *of("clip_fraction.loss",
        ("ratios-for-losses", "The ratios outside of the range are counted: here the tokens whose loss the clip changed are.",
         instead("clip_fraction.changed", "clip_fraction.outside"))),
    *of("clip_fraction.ratio",
        ("losses-for-ratios", "The tokens whose loss the clip changed are counted: here the ratios outside of the range are.",
         instead("clip_fraction.outside", "clip_fraction.changed"))),
)
MEANS = tuple(each for name in ("clip_fraction.loss", "clip_fraction.ratio", "approx_kl.k1", "approx_kl.k3", "kl.per_word",
                                "advantage.mean_abs", "returns.mean", "value.residual.mean") for each in of(name,
    ("mean-over-pads", "It is divided by all columns, pads and all: only the response's tokens count.",
     becomes(WORDS, lambda b: size(n) * size(t))),
    ("sum-for-mean", "The sum is not divided by the number of tokens.", operand("div")),
    ("mean-over-responses", "It is divided by the number of responses, not of tokens.", becomes(WORDS, lambda b: size(n)))))
EXPLAINED = tuple(each for name in ("explained_variance", "explained_variance.old", "explained_variance.new", "ev.used")
                  for each in of(name,
    ("unexplained-for-explained", "This is the part that is not explained: 1 − it is asked for.", whole(lambda x: 1 - x)),
    ("variances-exchanged", "The variances are exchanged: that of what is left is divided by that of the returns.",
     swapped("value.residual.variance|residual.old.variance|residual.new.variance", "returns.variance"))))
RESPONSES = (
    *of("kl.per_response",
        ("sum-for-mean", "The sum is not divided by the number of responses.", operand("div")),
        ("mean-over-tokens", "It is divided by the number of tokens: here each response counts once.",
         instead("response.count", "response.words"))),
    *of("score.mean",
        ("sum-for-mean", "The sum is not divided by the number of responses.", operand("div")),
        ("mean-over-tokens", "It is divided by the number of tokens: each response has one score.",
         instead("response.count", "response.words"))),
    *of("non_score_reward",
        ("sum-for-mean", "The sum is not divided by the number of responses.", operand("div")),
        ("mean-over-tokens", "It is divided by the number of tokens: here each response counts once.",
         instead("response.count", "response.words"))),
)
WATCHED = (*KL, *FRACTIONS, *MEANS, *EXPLAINED, *RESPONSES)
# fmt: on
