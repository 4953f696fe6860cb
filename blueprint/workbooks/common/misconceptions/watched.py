"""Misconceptions in what one watches while training: approximate KL, clip fractions, explained variance, means."""

from blueprint.language import sqrt
from blueprint.misconceptions import becomes, counting, instead, of, operand, turned, upside_down, whole, zero
from blueprint.workbooks.common.misconceptions.rows import V_NEW, V_OLD, WORDS

# fmt: off
KL = (
    *of("policy_kl.k1",
        ("kl-turned", "The minus is forgotten: k1 = log π_old − log π_θ, which is −d.", turned()),
        ("k2-for-k1", "This is ½·d², k2: k1 is −d.", whole(lambda x: x * x / 2))),
    *of("policy_kl.k3",
        ("ratio-upside-down", "The ratio is upside down: here k3 = e^d − 1 − d, with ρ = π_θ/π_old.",
         turned("log_ratio|policy_kl.log_ratio")),
        ("linear-term-forgotten", "− d is left out: k3 = e^d − 1 − d, and never negative.", operand("sub"))),
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
MEANS = of("clip_fraction.loss|clip_fraction.ratio|clip_fraction|value_fraction|approx_kl.k1|approx_kl.k3|kl.per_word|"
           "advantage.mean_abs|returns.mean|value.residual.mean|residual.old.mean|residual.new.mean|ev.returns.mean|"
           "ev.residual_old.mean|ev.residual_new.mean|ev.mse|ratio.mean|mean.{row}",
    ("mean-over-pads", "It is divided by all columns, pads and all: only the response's tokens count.",
     counting(WORDS, all_columns=True)),
    ("sum-for-mean", "The sum is not divided by the number of tokens.", operand("div")),
    ("mean-over-responses", "It is divided by the number of responses, not of tokens.", counting(WORDS, all_columns=False)))
VARIANCES = (
    *of("returns.centred|value.residual.centred|residual.old.centred|residual.new.centred|ev.{of}.centred",
        ("mean-not-subtracted", "The mean is not subtracted.",
         zero("returns.mean|value.residual.mean|residual.old.mean|residual.new.mean|ev.{of}.mean"))),
    *of("returns.variance|value.residual.variance|residual.old.variance|residual.new.variance|ev.{of}.variance",
        ("sum-for-mean", "The sum of squares is not divided.", operand("div")),
        ("n-minus-one-for-n", "It is divided by n − 1: here the variance is the mean of the squares, by n.",
         becomes(WORDS, lambda b: b(WORDS) - 1)),
        ("deviation-for-variance", "The root is taken too early: this is σ, and σ² is asked for.", whole(sqrt)),
        ("variance-over-pads", "It is divided by all columns, pads and all: only the response's tokens count.",
         counting(WORDS, all_columns=True))),
    *of("value.residual|residual.old|residual.new|ev.residual_old|ev.residual_new",
        ("residual-turned", "The difference is the wrong way round: what is left is R − V.", turned()),
        ("advantage-for-return", "The advantage stands where the return should.", instead("returns", "advantages"))),
    *of("value.residual|residual.old|ev.residual_old",
        ("new-for-old-value", "The new value stands where the old one should.",
         instead(V_OLD, V_NEW))),
    *of("residual.new|ev.residual_new",
        ("old-for-new-value", "The old value stands where the new one should.", instead(V_NEW, V_OLD))),
)
EXPLAINED = of("explained_variance|explained_variance.old|explained_variance.new|ev.used",
    ("unexplained-for-explained", "This is the part that is not explained: 1 minus it is asked for.", whole(lambda x: 1 - x)),
    ("variances-exchanged", "The variances are exchanged: that of what is left is divided by that of the returns.",
     upside_down))
RESPONSES = (
    *of("kl.per_response|score.mean|non_score_reward|response.mean_length|kl.statistic",
        ("sum-for-mean", "The sum is not divided by the number of responses.", operand("div")),
        ("mean-over-tokens", "It is divided by the number of tokens: here each response counts once.",
         instead("response.count", "response.words"))),
)
WATCHED = (*KL, *FRACTIONS, *MEANS, *VARIANCES, *EXPLAINED, *RESPONSES)
# fmt: on
