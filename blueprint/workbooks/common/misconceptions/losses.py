"""Misconceptions between the log-probs and the loss: KL, reward, GAE, whitening, ratio, clip, value loss, means, and what one
watches while training.
"""

from blueprint.language import Expr, Op, Reduce, Ref, Sum, constant, exp, maximum, minimum, size, sqrt, walk
from blueprint.misconceptions import (
    Names,
    at,
    becomes,
    counting,
    crossed,
    equation,
    halves,
    instead,
    minus_one,
    of,
    operand,
    operation,
    row,
    swapped,
    times,
    turned,
    upside_down,
    whole,
    without,
    zero,
)

V_OLD = "signal.values|values.kept|old_critic.values|values.old"
V_NEW = "critic.values|values.new"
LOGP_OLD, LOGP_NEW, LOGP_REF = "old.logprobs", "policy.logprobs", "reference.logprobs"
NOW = "|".join(f"{name}@0" for name in V_OLD.split("|"))
NEXT = "|".join(f"{name}@1" for name in (*V_OLD.split("|"), "gae.ahead"))
"""The old value in a column, and that of the column after it."""
WORDS = "response.words|window.words|count|advantage.count|reward.count|ev.count"
"""The number by which a mean over tokens divides."""
WEIGHTS = ("policy.E", "policy.W", "policy.Y", "critic.E", "critic.W", "critic.head.w", "critic.head.b")
"""The weights that are trained."""


def over_tokens(p: Ref, x: Ref) -> Expr:
    """Sums p·x over all tokens."""
    return Sum(p.block.axes[-1], p * x)


def unbiased(b: Names) -> Expr:
    """Returns by what a mean of squares is multiplied so that the sum is divided by n − 1."""
    return b("advantage.count") / maximum(b("advantage.count") - 1, 1)


# fmt: off
KL = (
    *of("kl.k1|kl.free|kl_new.free",
        ("kl-turned", "The difference is the wrong way round: k1 = log π_old − log π_ref, since the old policy wrote the tokens.",
         turned()),
        ("log-probs-divided", "The log-probs are divided: the logarithm of a ratio is a difference of logarithms.",
         equation(lambda b: b(LOGP_OLD) / b(LOGP_REF))),
        ("ratio-for-its-logarithm", "This is the ratio π_old/π_ref of the probabilities; k1 is its logarithm.",
         equation(lambda b: exp(b(LOGP_OLD) - b(LOGP_REF))))),
    *of("kl.k2|kl_new.k2|policy_kl.k2",
        ("half-forgotten", "The ½ is forgotten: k2 = ½·k1².", halves),
        ("square-forgotten", "k1 is not squared: k2 = ½·k1².", operand("mul"))),
    *of("kl.k3|kl_new.k3",
        ("ratio-upside-down", "The ratio is upside down: k3 = e^(−k1) − 1 + k1, with π_ref/π_old in it, not π_old/π_ref.",
         turned("kl.k1|kl.held|kl_new.k1|kl_new.held")),
        ("exponent-sign", "The sign in the exponent is turned: it is e^(−k1), which is π_ref/π_old.", operand("neg"))),
    *of("kl.exact|policy_kl.exact|kl_new.exact",
        ("divergence-turned", "The sign is turned: KL = Σ p·log p − Σ p·log q, which is never negative.", turned()),
        ("cross-forgotten", "This is minus the entropy alone: the cross term Σ p·log q is left out.",
         zero("kl.cross|policy_kl.cross|kl_new.cross"))),
    *of("kl.exact",
        ("divergence-of-the-other", "This is the KL of the reference from π_old: the policy that wrote the tokens stands first.",
         equation(lambda b: b("mask") * (b("reference.p_log_p") - over_tokens(b("reference.p"), b("old.log_p")))))),
    *of("policy_kl.exact",
        ("divergence-of-the-other", "This is the KL of π_θ from π_old: the policy that wrote the tokens stands first.",
         equation(lambda b: b("mask") * (b("policy.p_log_p") - over_tokens(b("policy.p"), b("old.log_p")))))),
    *of("kl.cross|policy_kl.cross",
        ("log-of-its-own", "Σ p·log q is asked for: the probabilities of π_old with the log-probs of the other policy.",
         row("old.p_log_p"))),
)
REWARD = (
    *of("reward.penalty",
        ("kl-rewarded", "The sign of the KL is turned: drifting from the reference is penalised, pen = −β·KL.", turned()),
        ("beta-forgotten", "β is forgotten: pen = −β·KL.", without("kl_coef|kl_coef.reward")),
        *((f"{wrong}-for-the-estimator", f"{said} is priced; which estimator is in use is said on Inputs.",
           instead("kl.used", f"kl.{wrong}"))
          for wrong, said in (("k1", "k1"), ("k2", "k2"), ("k3", "k3"), ("exact", "The exact KL")))),
    *of("reward.score",
        ("score-a-column-off", "The score is read a column off: what the reward model says of the last token stands where that is "
         "read, one column later.", at("reward_model.out", 0)),
        ("score-on-every-token", "The score stands on every token: it is paid once, on the last one.",
         equation(lambda b: b("mask") * b("reward_model.out", 1))),
        ("score-not-paid", "The score is left out: the last token gets the reward model's number.",
         equation(lambda b: constant(0)))),
    *of("rewards|rewards.raw",
        ("score-forgotten", "The score is left out: on the last token it is added to the KL penalty.",
         without("reward.score|score.placed")),
        ("penalty-forgotten", "The KL penalty is left out: every token pays it.", without("reward.penalty")),
        ("kl-rewarded", "The KL penalty is subtracted: its minus stands in it already.", turned("reward.penalty"))),
)
GAE = (
    *of("td_errors",
        ("value-of-now-for-next", "V_t stands where V_{t+1} should: δ = r + γ·V_{t+1} − V_t.", at(NEXT, 0)),
        ("values-exchanged", "V_t and V_{t+1} are exchanged: δ = r + γ·V_{t+1} − V_t.", crossed(V_OLD, 1)),
        ("gamma-forgotten", "γ is forgotten: δ = r + γ·V_{t+1} − V_t.", without("gamma")),
        ("lambda-for-gamma", "λ stands where γ should: δ has γ alone, λ comes in with the advantage.",
         instead("gamma", "gae_lambda")),
        ("lambda-too-early", "γ·λ stands where γ should: λ comes in with the advantage.",
         becomes("gamma", lambda b: b("gamma") * b("gae_lambda"))),
        ("gamma-on-both", "γ discounts V_t, too: only what comes later is discounted.",
         times(NOW, "gamma")),
        ("baseline-forgotten", "V_t is not subtracted: δ is what came, less what the critic expected.",
         zero(NOW)),
        ("bootstrap-forgotten", "γ·V_{t+1} is left out: what the critic expects of the rest is a part of what came.", zero(NEXT)),
        ("reward-forgotten", "The reward is left out: δ = r + γ·V_{t+1} − V_t.", zero("rewards")),
        ("delta-turned", "The sign is turned: δ is what came less what was expected.", turned()),
        ("bootstrap-past-the-end", "It looks past the end: where an episode is over, no value follows.",
         zero("stop"))),
    *of("advantages",
        ("lambda-forgotten", "λ is forgotten: A_t = δ_t + γ·λ·A_{t+1}.", without("gae_lambda")),
        ("gamma-forgotten", "γ is forgotten: A_t = δ_t + γ·λ·A_{t+1}.", without("gamma")),
        ("discount-forgotten", "γ·λ is forgotten: A_t = δ_t + γ·λ·A_{t+1}.", without("gamma", "gae_lambda")),
        ("gamma-twice", "γ is applied twice: it discounts A_{t+1} once.", times("gamma", "gamma")),
        ("lambda-twice", "λ is applied twice: A_t = δ_t + γ·λ·A_{t+1}.", times("gae_lambda", "gae_lambda")),
        ("recursion-forgotten", "This is δ alone: A_t is δ_t and γ·λ times the advantage after it.", zero("advantages@1")),
        ("sum-forgotten", "δ_t is left out: A_t = δ_t + γ·λ·A_{t+1}.", zero("td_errors")),
        ("next-subtracted", "A_{t+1} is subtracted: A_t = δ_t + γ·λ·A_{t+1}.", turned("advantages@1")),
        ("past-done", "The advantage reaches back over the end of an episode: (1 − done) stops it.", zero("done"))),
    *of("returns",
        ("whitened-for-raw", "The whitened advantage stands where the raw one should: a return is in the units of the reward.",
         instead("advantages", "advantage.whitened")),
        ("value-subtracted", "V is subtracted: R = A + V.", turned(V_OLD)),
        ("value-forgotten", "This is the advantage alone: R = A + V.", zero(V_OLD)),
        ("advantage-forgotten", "This is the old value: R = A + V.", zero("advantages")),
        ("delta-for-advantage", "δ stands where A should: this is the target of one step, r + γ·V_{t+1}.",
         instead("advantages", "td_errors")),
        ("new-for-old-value", "The new value stands where the old one should: A was estimated with V_old.",
         instead(V_OLD, V_NEW)),
        ("value-of-next", "V_{t+1} stands where V_t should: R = A + V of the same column.", at(V_OLD, 1))),
)
WHITENING = (
    *of("advantage.mean|reward.mean",
        ("mean-over-pads", "It is divided by all columns, pads and all: only the response's tokens count.",
         counting(WORDS, all_columns=True)),
        ("sum-for-mean", "The sum is not divided by the number of tokens.", operand("div")),
        ("mean-of-n-minus-one", "It is divided by N − 1: that is for the variance.",
         becomes(WORDS, lambda b: b(WORDS) - 1)),
        ("returns-for-advantages", "The returns are averaged: it is the advantages that are whitened.",
         instead("advantages", "returns")),
        ("deltas-for-advantages", "The TD errors are averaged: it is the advantages that are whitened.",
         instead("advantages", "td_errors"))),
    *of("advantage.centred|reward.centred",
        ("mean-not-subtracted", "The mean is not subtracted.", zero("advantage.mean|reward.mean")),
        ("mean-added", "The mean is added: it is subtracted.", turned("advantage.mean|reward.mean")),
        ("difference-turned", "The difference is the wrong way round: the mean is subtracted.", turned()),
        ("divided-by-mean", "It is divided by the mean, which is to be subtracted.",
         equation(lambda b: b("advantages") / b("advantage.mean")))),
    *of("advantage.variance|reward.variance",
        ("n-for-n-minus-one", "It is divided by n: here the variance is that of a sample, by n − 1.", minus_one),
        ("n-for-n-minus-one", "It is divided by n: here the variance is that of a sample, by n − 1.",
         without("advantage.bessel|reward.bessel")),
        ("n-minus-one-for-n", "It is divided by n − 1: the convention in use divides by n.",
         becomes("advantage.bessel|reward.bessel", lambda b: unbiased(b))),
        ("sum-for-mean", "The sum of squares is not divided.", operand("div")),
        ("variance-over-pads", "It is divided by all columns, pads and all: only the response's tokens count.",
         counting(WORDS, all_columns=True)),
        ("not-centred", "The mean is not subtracted before squaring.", instead("advantage.centred", "advantages")),
        ("deviation-for-variance", "The root is taken too early: this is σ, and σ² is asked for.", whole(sqrt))),
    *of("advantage.bessel|reward.bessel",
        ("n-for-n-minus-one", "It is divided by n: here the variance is that of a sample, by n − 1.",
         equation(lambda b: constant(1))),
        ("n-minus-one-for-n", "It is divided by n − 1: the convention in use divides by n.",
         equation(lambda b: unbiased(b)))),
    *of("advantage.whitened|reward.whitened",
        ("divided-by-variance", "It is divided by the variance: Â = A_c/√(σ² + ε_w), so that the variance becomes 1.",
         operand("sqrt")),
        ("divided-by-variance", "It is divided by the variance: Â = A_c/√(σ² + ε_w), so that the variance becomes 1.",
         swapped("advantage.divisor|reward.divisor", "advantage.variance|reward.variance")),
        ("not-divided", "It is not divided by the standard deviation: this is the centred advantage.", operand("div")),
        ("multiplied", "It is multiplied by the standard deviation.", operation("div", "mul")),
        ("mean-not-subtracted", "The mean is not subtracted: whitening is of A − μ.", instead("advantage.centred", "advantages")),
        ("returns-for-advantages", "The returns are whitened: it is the advantages.", instead("advantage.centred", "returns"))),
    *of("advantages_used",
        ("raw-for-whitened", "The raw advantage stands where the whitened one should; Inputs say which the loss uses.",
         row("advantages")),
        ("whitened-for-raw", "The whitened advantage stands where the raw one should; Inputs say which the loss uses.",
         row("advantage.whitened")),
        ("centred-for-whitened", "The mean is subtracted, but it is not divided by the standard deviation.",
         row("advantage.centred")),
        ("return-for-advantage", "The return stands where the advantage should: it has the baseline in it.",
         row("returns"))),
)
SIGNAL = (*KL, *REWARD, *GAE, *WHITENING)
# fmt: on


def mean_of_means(expr: Expr, b: Names) -> Expr:
    """Averages the means of the responses, where a mean over tokens is asked for."""
    found = next((node for node in walk(expr) if isinstance(node, Reduce)), None)
    if found is None or len(found.axes) != 2 or not any(b.means(node, WORDS) for node in walk(expr)):
        return expr
    n, t = found.axes
    means = Reduce("sum", (t,), found.body) / maximum(b("response.length"), 1)
    mean = Reduce("sum", (n,), means) / size(n)
    return -mean if isinstance(expr, Op) and expr.name == "neg" else mean


# fmt: off
RATIO = (
    *of("log_ratio|log_ratio.free",
        ("ratio-upside-down", "The ratio is upside down: ρ = π_θ/π_old, so d = log π_θ − log π_old.", turned()),
        ("reference-for-old", "The reference stands where the old policy should: ρ compares with the policy that wrote the tokens.",
         equation(lambda b: b(LOGP_NEW) - b(LOGP_REF))),
        ("log-probs-divided", "The log-probs are divided: the logarithm of a ratio is a difference of logarithms.",
         equation(lambda b: b(LOGP_NEW) / b(LOGP_OLD))),
        ("ratio-for-its-logarithm", "This is the ratio itself: d is its logarithm.", whole(exp))),
    *of("ratio",
        ("exp-forgotten", "exp is forgotten: this is the logarithm of the ratio.", operand("exp")),
        ("ratio-upside-down", "The ratio is upside down: it is π_θ/π_old, the new policy over the old one.", turned("log_ratio")),
        ("first-order", "This is 1 + d: near 1 that is close to e^d, but not equal.", equation(lambda b: 1 + b("log_ratio"))),
        ("log-probs-divided", "The log-probs are divided: ρ is the ratio of the probabilities, e^d.",
         equation(lambda b: b(LOGP_NEW) / b(LOGP_OLD)))),
    *of("ratio.clipped",
        ("not-clipped", "The ratio is not clipped: it is outside of its range.", row("ratio")),
        ("clipped-around-0", "It is clipped to ±ε: the range is 1 − ε to 1 + ε.",
         equation(lambda b: maximum(-b("clip_range"), minimum(b("clip_range"), b("ratio"))))),
        ("below-not-clipped", "It is not clipped from below: 1 − ε is the lowest.",
         equation(lambda b: minimum(1 + b("clip_range"), b("ratio")))),
        ("above-not-clipped", "It is not clipped from above: 1 + ε is the highest.",
         equation(lambda b: maximum(1 - b("clip_range"), b("ratio")))),
        ("wrong-end", "The ends are exchanged: min and max stand the other way round.",
         equation(lambda b: minimum(1 - b("clip_range"), maximum(1 + b("clip_range"), b("ratio"))))),
        ("value-clip-range", "The range of the value clip stands where that of the ratio should.",
         instead("clip_range", "value_clip_range"))),
    *of("surrogate.unclipped",
        ("log-ratio-for-ratio", "The logarithm of the ratio stands where the ratio should: U = ρ·Â.",
         instead("ratio", "log_ratio")),
        ("clipped-for-unclipped", "The clipped ratio stands where the ratio itself should.", instead("ratio", "ratio.clipped")),
        ("ratio-forgotten", "The ratio is forgotten: U = ρ·Â.", without("ratio")),
        ("advantage-forgotten", "The advantage is forgotten: U = ρ·Â.", without("advantages_used")),
        ("raw-for-whitened", "The raw advantage stands where the one in use should.", instead("advantages_used", "advantages")),
        ("whitened-for-raw", "The whitened advantage stands where the one in use should.",
         instead("advantages_used", "advantage.whitened")),
        ("returns-for-advantages", "The return stands where the advantage should.", instead("advantages_used", "returns"))),
    *of("surrogate.clipped",
        ("unclipped-for-clipped", "The ratio itself stands where the clipped one should.", instead("ratio.clipped", "ratio")),
        ("ratio-forgotten", "The ratio is forgotten: U_c = ρ_c·Â.", without("ratio.clipped")),
        ("advantage-forgotten", "The advantage is forgotten: U_c = ρ_c·Â.", without("advantages_used")),
        ("raw-for-whitened", "The raw advantage stands where the one in use should.", instead("advantages_used", "advantages")),
        ("whitened-for-raw", "The whitened advantage stands where the one in use should.",
         instead("advantages_used", "advantage.whitened"))),
    *of("surrogate|surrogate.pessimistic",
        ("max-for-min", "max stands where min should: the worse outcome counts.", operation("minimum", "maximum")),
        ("always-clipped", "The clipped one is taken: the smaller of both counts.",
         row("surrogate.clipped")),
        ("never-clipped", "The unclipped one is taken: the smaller of both counts.",
         row("surrogate.unclipped")),
        ("surrogate-turned", "The sign is turned: the minus comes with the mean, in the policy loss.", turned())),
)
VALUE = (
    *of("value.error",
        ("error-turned", "The difference is the wrong way round: e = V − R.", turned()),
        ("old-for-new-value", "The old value stands where the new one should: it is the new one that is trained.",
         instead(V_NEW, V_OLD)),
        ("advantage-for-return", "The advantage stands where the return should: the critic learns returns.",
         instead("returns", "advantages")),
        ("reward-for-return", "The reward stands where the return should.", instead("returns", "rewards"))),
    *of("value.square|value.square_clipped|value.distance|value.clipped.distance",
        ("not-squared", "The error is not squared.", operand("mul")),
        ("half-too-early", "The ½ comes later, with the larger of both.", whole(lambda x: x / 2))),
    *of("value.clipped",
        ("clipped-around-0", "It is clipped to ±ε_V: the range is around the old value.",
         zero(V_OLD)),
        ("clipped-around-return", "It is clipped around the return: the range is around the old value.",
         instead(V_OLD, "returns")),
        ("ratio-clip-range", "The range of the ratio's clip stands where that of the value should.",
         instead("value_clip_range", "clip_range")),
        ("below-not-clipped", "A value that falls is not held.",
         equation(lambda b: minimum(b(V_OLD) + b("value_clip_range"), b(V_NEW)))),
        ("above-not-clipped", "A value that rises is not held.",
         equation(lambda b: maximum(b(V_OLD) - b("value_clip_range"), b(V_NEW)))),
        ("never-clipped", "The value is not held near the old one: V_c is within ±ε_V of V_old.", row(V_NEW)),
        ("old-value", "This is the old value: V_c is the new one, held within ±ε_V of it.", row(V_OLD))),
    *of("value.error_clipped|value.clipped.error",
        ("error-turned", "The difference is the wrong way round: e_c = V_c − R.", turned()),
        ("unclipped-for-clipped", "The value itself stands where the clipped one should.", instead("value.clipped", V_NEW)),
        ("advantage-for-return", "The advantage stands where the return should: the critic learns returns.",
         instead("returns", "advantages"))),
    *of("value.word_loss|value.larger|value.step_loss",
        ("min-for-max", "min stands where max should: of both squares the larger counts.", operation("maximum", "minimum")),
        ("half-forgotten", "The ½ is forgotten.", halves),
        ("half-forgotten", "The ½ is forgotten.", without("value.factor|value_factor")),
        ("always-clipped", "The clipped square is taken: of both the larger counts.", operand("maximum", 1)),
        ("never-clipped", "The unclipped square is taken: of both the larger counts.", operand("maximum", 0))),
)
MEANS = of("policy_loss|value_loss|entropy|policy_kl|kl_loss",
    ("mean-over-pads", "It is divided by all columns, pads and all: only the response's tokens count.",
     counting(WORDS, all_columns=True)),
    ("sum-for-mean", "The sum is not divided by the number of tokens.", operand("div")),
    ("sum-for-mean", "The tokens are added up without their weights: a mean is asked for.",
     without("policy.weight.row|value.weight.row|entropy.weight.row")),
    ("mean-turned", "The sign is turned.", turned()),
    ("mean-over-responses", "It is divided by the number of responses, not of tokens.", counting(WORDS, all_columns=False)),
    ("mean-of-means", "The responses' means are averaged: here every token counts alike.", mean_of_means))
TOTAL = (
    *of("policy_loss",
        ("always-clipped", "The clipped surrogate is averaged: the smaller of both counts.",
         instead("surrogate", "surrogate.clipped")),
        ("never-clipped", "The unclipped surrogate is averaged: the smaller of both counts.",
         instead("surrogate", "surrogate.unclipped"))),
    *of("value_loss",
        ("square-for-loss", "The squares are averaged: the larger of both, and half of it, is the loss.",
         instead("value.word_loss|value.step_loss", "value.square"))),
    *of("total_loss",
        ("entropy-turned", "The entropy is added: more of it is better, so it is subtracted from a loss.", turned("entropy")),
        ("value-loss-turned", "The value loss is subtracted: less of it is better.", turned("value_loss")),
        ("policy-loss-turned", "The policy loss is subtracted: its minus stands in it already.", turned("policy_loss")),
        ("policy-kl-turned", "The policy KL is subtracted: less of it is better.", turned("policy_kl")),
        ("vf-coef-forgotten", "The coefficient of the value loss, c1, is forgotten.", without("vf_coef|vf_coef.used")),
        ("ent-coef-forgotten", "The coefficient of the entropy, c2, is forgotten.", without("ent_coef")),
        ("coefficients-swapped", "The coefficients of value loss and entropy are exchanged.", swapped("vf_coef", "ent_coef")),
        ("entropy-forgotten", "The entropy is left out.", zero("entropy")),
        ("value-loss-forgotten", "The value loss is left out.", zero("value_loss"))),
    *of("adds.policy_kl",
        ("policy-kl-turned", "The sign is turned: less of it is better.", turned()),
        ("kl-coef-forgotten", "The coefficient of the policy KL, c3, is forgotten.", without("policy_kl_coef"))),
    *of("adds.value_loss",
        ("value-loss-turned", "The sign is turned: less of it is better.", turned()),
        ("vf-coef-forgotten", "The coefficient of the value loss, c1, is forgotten.", without("vf_coef|vf_coef.used"))),
    *of("adds.entropy",
        ("entropy-turned", "The sign is turned: more entropy is better, so it is subtracted from a loss.", turned()),
        ("ent-coef-forgotten", "The coefficient of the entropy, c2, is forgotten.", without("ent_coef"))),
)
LOSSES = (*RATIO, *VALUE, *MEANS, *TOTAL)
# fmt: on


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
    *of("score.beyond",
        ("short-earns", "A short response earns what a long one pays: below the free tokens nothing is paid.",
         operand("maximum", 0))),
    *of("score.shortened",
        ("length-earns", "What the length costs is added: it is subtracted.", turned("reward.length_penalty")),
        ("length-free", "The price of a token is left out: every token costs 1.", without("reward.length_penalty"))),
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
LIVE_LOSS = (
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
CONVENTIONS = (*CLAMPS, *SCORE, *LIVE_LOSS)
# fmt: on


# fmt: off
KL_WATCHED = (
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
MEANS_WATCHED = of("clip_fraction.loss|clip_fraction.ratio|clip_fraction|value_fraction|approx_kl.k1|approx_kl.k3|kl.per_word|"
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
WATCHED = (*KL_WATCHED, *FRACTIONS, *MEANS_WATCHED, *VARIANCES, *EXPLAINED, *RESPONSES)
# fmt: on
