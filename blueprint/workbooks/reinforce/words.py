"""What stands where: the sheets of REINFORCE with their rows, and the sentences of the first one."""

from blueprint.workbooks.common import Lesson
from blueprint.workbooks.reinforce.definitions import n, s, v

SHEETS = {
    "Policy": ("every token that may be drawn: its gradient, what it earns, and the averages, exactly", v, ("vocabulary",), {
        "The tokens: how likely they are, what they earn": (
            "vocabulary", "policy.logits", "policy.top", "policy.exponentials", "policy.logsumexp", "policy.log_p",
            "policy.p", "reward.scores",
        ),
        "The gradient of a log-prob: one-hot less the policy": (
            "token.column", "token.row", "token.is", "policy.p_down", "slope", "slope.square",
        ),
        "The gradient of the expected reward, exactly: every token counts as often as it is drawn": (
            "expected_reward", "reward.weighted", "gradient", "gradient.square",
        ),
        "A baseline leaves the mean as it is: ∇log π is 0 on average": (
            "slope.average", "baseline.fixed", "baseline.keeps", "advantage", "advantage.weighted", "gradient.with",
        ),
        "The variance of one draw’s estimate is another": (
            "reward.second", "variance.without", "reward.spread", "reward.spread_weighted", "reward.square", "baseline.varies",
            "advantage.second", "variance.with", "variance.share",
        ),
        "The best baseline weighs rewards by |∇log π|²": (
            "slope.square_mean", "slope.square_paid", "baseline.optimal", "least.advantage", "least.weighted", "least.second",
            "least.variance",
        ),
        "Read downwards elsewhere": ("policy.cumulative", "policy.logits_down", "reward.down", "policy.log_p_down"),
    }),
    "Draws": ("one column per draw: the token on which u falls, its reward, and two estimates of the same gradient", n,
              ("draws.word", "draws.reward"), {
        "Which token is drawn, and its gradient": ("draws.uniform", "draws.token", "draws.is", "draws.slope"),
        "No baseline: reward times gradient": (
            "draws.count", "without.estimate", "without.running", "without.mean", "without.mean_square", "without.variance",
        ),
        "With a baseline: reward less baseline, times gradient": (
            "draws.reward_sum", "draws.reward_mean", "draws.others", "draws.baseline", "draws.advantage", "with.estimate",
            "with.running", "with.mean", "with.mean_square", "with.variance",
        ),
        "For the charts": ("chart.id", "chart.draw", "chart.without", "chart.with", "chart.exact"),
    }),
    "Another policy": (
        "one column per policy, so many steps away: its gradient from fresh draws, and from old ones times ρ", s, ("moved.step",), {
        "The policy after these steps": (
            "moved.step", "moved.direction", "moved.logits", "moved.top", "moved.exponentials", "moved.logsumexp",
            "moved.log_p", "moved.p", "moved.reward",
        ),
        "The ratio, and what old draws are worth": (
            "moved.ratio", "moved.ratio_largest", "moved.weighted", "moved.effective", "advantage.down", "moved.p_square",
            "moved.slope_square",
        ),
        "Fresh draws: tokens as likely as this policy has them": (
            "fresh.weight", "fresh.sum", "fresh.gradient", "fresh.second", "fresh.square", "fresh.variance",
        ),
        "Old draws, each times its ratio: the same mean": (
            "moved.gain", "reused.weight", "reused.sum", "reused.gradient", "moved.gap", "reused.second", "reused.square",
            "reused.variance", "reused.adds",
        ),
        "These very draws, each times its ratio": (
            "draws.share", "seen.weight", "seen.sum", "seen.gradient", "seen.second", "seen.square", "seen.variance",
        ),
        "Old draws without the ratio: another gradient": ("bare.weight", "bare.sum", "bare.gradient"),
    }),
}  # fmt: skip
"""Title, lead, columns, rows that stay in view, and sections with the names of their rows."""
LOOKED_FOR = (
    "slope", "gradient", "slope.average", "gradient.with", "variance.without", "variance.with", "baseline.optimal",
    "without.estimate", "with.estimate", "without.mean", "with.mean", "without.variance", "with.variance", "moved.ratio",
    "fresh.gradient", "reused.gradient", "seen.gradient", "fresh.variance", "reused.variance", "expected_reward",
)  # fmt: skip
"""Rows that one looks for; they are marked."""
MINOR = (
    "policy.top", "policy.exponentials", "policy.logsumexp", "token.column", "token.row", "token.is", "policy.p_down",
    "reward.second", "reward.spread", "reward.spread_weighted", "advantage.second", "least.advantage", "least.weighted",
    "least.second", "policy.cumulative", "policy.logits_down", "reward.down", "policy.log_p_down", "draws.is",
    "without.mean_square", "with.mean_square", "chart.id", "chart.draw", "chart.without", "chart.with", "chart.exact",
    "moved.top", "moved.exponentials", "moved.logsumexp", "moved.p_square", "moved.slope_square", "fresh.sum", "fresh.second",
    "fresh.square", "reused.sum", "reused.second", "reused.square", "seen.sum", "seen.second", "seen.square", "bare.sum",
)  # fmt: skip
"""Steps on the way, which may be folded away."""
ALL, ONE, THESE = "exact, over all tokens", "exact, of one draw", "of all draws"
_PIECES = {
    "expected reward": ("expected_reward", ALL),
    "variance, no baseline": ("variance.without", ONE),
    "variance, with the baseline": ("variance.with", ONE),
    "what is left of it": ("variance.share", ONE),
    "best baseline": ("baseline.optimal", ALL),
    "least variance": ("least.variance", ONE),
    "variance seen, no baseline": ("without.variance", THESE),
    "variance seen, with it": ("with.variance", THESE),
    "mean reward seen": ("draws.reward_mean", THESE),
}
"""By title: the number that is shown, and what it is taken over."""
_READING = (
    "A policy picks one token, which earns a reward. REINFORCE pushes every logit along (reward − baseline)·∇log π: on average",
    "that is the gradient of the expected reward, whatever the baseline is. How far one draw is from it, is not.",
    "Policy computes the averages exactly, over all tokens; Draws from a hundred typed draws; Charts shows both.",
    "Another policy: the same draws serve a policy that has moved, each times ρ; the mean is right, the variance grows: PPO clips.",
    "GRPO, RLOO and PPO are this, with other baselines and with ρ. Type into cream cells; everything else follows.",
)
_TRY = (
    "On Policy add 10 to every reward: ∇J stays, the variance without a baseline is 17 times as large, with it the same.",
    "On Inputs choose “typed” and 0: both estimates are one. Then 6: a bad baseline, and still the right mean.",
    "Choose “optimal”: hardly less than “expected”, which a critic can learn; so libraries take that one.",
    "Choose “batch”, then look at “keep” on Policy: the own reward is part of the baseline; “leave_one_out” mends it.",
    "On Another policy type 6 for the last step: the largest ratio, and the share of draws that is left.",
)
_FLOW = (
    (("policy π", "policy.p"), ("a draw", "draws.token"), ("its reward", "draws.reward"), ("less baseline", "draws.advantage"),
     ("times ∇log π", "with.estimate"), ("their mean", "with.mean")),
    (("policy π", "policy.p"), ("expected reward", "expected_reward"), ("∇J, exactly", "gradient"),
     ("with baseline", "gradient.with"), ("its variance", "variance.with"), ("the least", "least.variance")),
    (("a policy that moved", "moved.p"), ("ratio ρ", "moved.ratio"), ("old draws × ρ", "reused.gradient"),
     ("their variance", "reused.variance")),
)  # fmt: skip
"""From draws to the gradient, the same exactly, and the draws used again: the title of each box, and the row to which it leads."""
LESSON = Lesson("REINFORCE by hand", _READING, _TRY, _PIECES, _FLOW)
"""What its first sheet says."""
