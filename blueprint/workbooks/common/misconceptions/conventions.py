"""Misconceptions in rows that only live conventions have: clamps, the score's place, weights of a mean, dual clip."""

from blueprint.misconceptions import equation, instead, of, operand, row, turned, without, zero

# fmt: off
CLAMPS = tuple(each for name, free in (
    ("kl.held", "kl.free"), ("kl.clamped", "kl.chosen"), ("kl_new.held", "kl_new.free"), ("kl_new.clamped", "kl_new.chosen"),
    ("log_ratio", "log_ratio.free")) for each in of(name,
    ("not-clamped", "It is not clamped: beyond the limit only the limit counts.", row(free)),
    ("below-not-clamped", "It is not clamped from below: the limit holds on either side of 0.", operand("maximum", 1)),
    ("above-not-clamped", "It is not clamped from above: the limit holds on either side of 0.", operand("minimum", 1))))
SCORE = (
    *of("score.clipped",
        ("not-clamped", "It is not clamped: beyond the limit only the limit counts.", row("score.corrected"))),
    *of("score.subtracted",
        ("penalty-added", "What a missing end token costs is added: it is subtracted.", turned("reward.missing_eos_value")),
        ("penalty-forgotten", "What a missing end token costs is left out.", zero("reward.missing_eos_value"))),
    *of("score.replaced",
        ("set-though-it-ended", "The score is set although the response ended: only one without an end token has it.",
         equation(lambda b: b("reward.missing_eos_value") * 1)),
        ("score-kept", "The score is kept although the response has no end token: then another is set.",
         row("score.given"))),
    *of("score.placed",
        ("score-on-every-token", "The score stands on every token: it is paid once, at one position.", without("score.place"))),
    *of("reward.shifted",
        ("mean-not-put-back", "The mean is not put back: whitened rewards keep their mean.", zero("reward.mean"))),
    *of("advantage.shifted",
        ("mean-not-put-back", "The mean is not put back: these advantages keep it.", zero("advantage.mean"))),
)
LOSS = (
    *of("surrogate.floor",
        ("dual-clip-for-every-token", "It holds for every token: the dual clip is for those whose advantage is below 0.",
         operand("minimum"))),
    *of("surrogate",
        ("dual-clip-forgotten", "The dual clip is forgotten: a loss with Â < 0 is held.", operand("maximum"))),
    *of("policy.weight.seq_mean|value.weight.seq_mean|entropy.weight.seq_mean",
        ("sums-for-means", "The response's length is left out: each response's mean counts, not its sum.",
         without("policy.weight.length|value.weight.length|entropy.weight.length", "loss.seq_eps"))),
    *of("policy.weight.seq_norm|value.weight.seq_norm|entropy.weight.seq_norm",
        ("words-for-positions", "The number of tokens divides: it is the positions of the longest response, for each response.",
         equation(lambda b: 1 / b("response.words")))),
    *of("loss.counted",
        ("cut-responses-counted", "Responses without an end token are counted, too.", without("loss.kept"))),
    *of("vf_coef.used",
        ("coefficient-though-apart", "c1 counts although policy and critic are trained apart.",
         equation(lambda b: b("vf_coef") * 1))),
    *of("kl_loss",
        ("old-for-new-policy", "The KL is that of the old policy: the loss moves the new one.", instead("kl_new.used", "kl.used"))),
    *of("loss.mean_ratio",
        ("sum-for-mean", "The sum is not divided by the number of tokens.", operand("div"))),
)
CONVENTIONS = (*CLAMPS, *SCORE, *LOSS)
# fmt: on
