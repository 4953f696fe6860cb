"""Misconceptions from the score of a response to its advantage: reward, baseline, spread."""

from blueprint.language import Expr, constant, maximum, sqrt
from blueprint.misconceptions import (
    Names,
    becomes,
    equation,
    instead,
    of,
    operand,
    operation,
    row,
    turned,
    without,
    zero,
)


def over_length(expr: Expr, b: Names) -> Expr:
    """Divides by the tokens of the response."""
    return expr / b("response.length")


# fmt: off
REWARD = (
    *of("overlong.beyond",
        ("begins-at-the-limit", "The penalty begins at L_max: it begins L_cache tokens before.",
         equation(lambda b: (b("response.length") - b("reward.max_tokens")) / b("reward.buffer"))),
        ("begins-at-the-buffer", "The penalty begins after L_cache tokens: it begins L_cache tokens before L_max.",
         equation(lambda b: (b("response.length") - b("reward.buffer")) / b("reward.buffer"))),
        ("not-per-buffer", "The tokens beyond are not divided by L_cache: over that many the penalty grows to 1.", operand("div"))),
    *of("overlong.penalty",
        ("short-is-rewarded", "A short response is rewarded: the penalty is never below 0.", operand("maximum", 1)),
        ("factor-forgotten", "The factor of the penalty is forgotten.", without("reward.overlong_factor"))),
    *of("reward.kept",
        ("length-rewarded", "The penalty is added: a long response costs.", turned("overlong.penalty"))),
    *of("kl_old.free",
        ("kl-turned", "The difference is the wrong way round: x = log π_old − log π_ref.", turned()),
        ("new-for-old-policy", "The KL is that of the new policy: a reward is of the policy that wrote the tokens.",
         instead("old.logprobs", "policy.logprobs"))),
    *of("kl_{of}.chosen", *(
        (f"{k}-for-the-estimator", f"{k} is taken; which estimator is in use is said on Conventions.", row(f"kl_{{of}}.{k}"))
        for k in ("k1", "k2", "k3"))),
    *of("kl_old.paid",
        ("beta-forgotten", "β is forgotten: each token pays β·KL.", without("kl.coef"))),
    *of("kl_old.sum",
        ("mean-for-sum", "The KL of a response is divided by its length: a reward pays the sum over its tokens.", over_length)),
    *of("reward",
        ("kl-rewarded", "The KL is added: drifting from the reference costs.", turned("kl_old.sum")),
        ("kl-not-paid", "The KL is left out: here it is paid out of the reward.", row("reward.shaped"))),
)
BASELINE = (
    *of("group.mean",
        ("sum-for-mean", "The sum is not divided by the number of responses to the prompt.", operand("div")),
        ("batch-for-group", "This is the mean of all rewards: that of the responses to one prompt is asked for.",
         row("group.batch_mean")),
        ("others-counted", "It is divided by G − 1: that is for the mean of the others, of which the own reward is left out.",
         equation(lambda b: b("group.total") / (b("count.group") - 1)))),
    *of("group.others",
        ("own-included", "The own reward is in it: leave-one-out is the mean of the others.", row("group.mean")),
        ("divided-by-all", "It is divided by G: there are G − 1 others.",
         equation(lambda b: (b("group.total") - b("group.reward")) / b("count.group")))),
    *of("group.by_length",
        ("weights-forgotten", "This is the plain mean: rewards count by the lengths of their responses.", row("group.mean"))),
    *of("group.baseline_of|group.baseline_used",
        ("own-excluded", "The own reward is left out: the baseline in use is the mean of the whole group.", row("group.others")),
        ("own-included", "The mean of the whole group stands there; which baseline is in use is said on Conventions.",
         row("group.mean")),
        ("batch-for-group", "The mean of the whole batch stands there: a response is compared with the others to its prompt.",
         row("group.batch_mean")),
        ("no-baseline", "There is no baseline; which one is in use is said on Conventions.", equation(lambda b: constant(0)))),
    *of("group.less_baseline",
        ("baseline-forgotten", "The baseline is not subtracted.", zero("group.baseline_used")),
        ("baseline-added", "The baseline is added: it is subtracted.", turned("group.baseline_used")),
        ("difference-turned", "The difference is the wrong way round: R − b.", turned())),
)
SPREAD = (
    *of("group.deviation|group.batch_std|group.left_std|group.left_batch_std",
        ("n-for-n-minus-one", "It is divided by n: here the deviation is that of a sample, by n − 1.", zero("group.ddof")),
        ("n-minus-one-for-n", "It is divided by n − 1: the convention in use divides by n.",
         becomes("group.ddof", lambda b: constant(1))),
        ("variance-for-deviation", "The root is forgotten: this is the variance.", operand("sqrt"))),
    *of("group.deviation",
        ("mean-not-subtracted", "The mean is not subtracted before squaring.", instead("group.centred", "group.reward")),
        ("batch-for-group", "This is the deviation of all rewards: that of the responses to one prompt is asked for.",
         row("group.batch_std"))),
    *of("group.std_of_others",
        ("own-included", "The own reward is in it: this is the deviation of the others.", row("group.deviation")),
        ("n-for-n-minus-one", "It is divided by the number of the others: it is one less.",
         becomes("count.group", lambda b: b("count.group") + 1))),
    *of("group.residual_std",
        ("around-the-batch", "The rewards are taken around the mean of the batch: each is around that of its group.",
         row("group.batch_std"))),
    *of("group.spread|group.spread_used",
        ("batch-for-group", "The deviation of the whole batch stands there; which spread is in use is said on Conventions.",
         row("group.batch_std")),
        ("group-deviation", "The deviation of the group stands there; which spread is in use is said on Conventions.",
         row("group.deviation")),
        ("others-deviation", "The deviation of the others stands there; which spread is in use is said on Conventions.",
         row("group.std_of_others")),
        ("no-spread", "Nothing is divided by; which spread is in use is said on Conventions.", equation(lambda b: constant(1)))),
    *of("group.divided_by",
        ("eps-forgotten", "ε is left out: it is added to the deviation.", zero("group.eps")),
        ("eps-inside", "ε stands inside of the root, √(σ² + ε): it is added to the deviation, σ + ε.",
         equation(lambda b: sqrt(b("group.spread_used") * b("group.spread_used") + b("group.eps")))),
        ("eps-as-floor", "ε is taken for the least deviation: it is added.",
         equation(lambda b: maximum(b("group.spread_used"), b("group.eps"))))),
    *of("group.scaled",
        ("not-divided", "It is not divided by the spread.", row("group.less_baseline")),
        ("divided-though-not-asked", "It is divided by the deviation: the convention in use leaves it (Dr. GRPO).",
         equation(lambda b: b("group.less_baseline") / b("group.deviation"))),
        ("multiplied", "It is multiplied by the spread.", operation("div", "mul")),
        ("divided-by-variance", "It is divided by the variance: its root is asked for.",
         becomes("group.divided_by", lambda b: b("group.divided_by") * b("group.divided_by")))),
    *of("group.advantage",
        ("reward-for-advantage", "This is the reward: an advantage is what is left of it in comparison.", row("group.reward"))),
)
GROUPS = (*REWARD, *BASELINE, *SPREAD)
# fmt: on
