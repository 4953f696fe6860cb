"""Misconceptions about the optimum of PPO and DPO."""

from blueprint.language import constant
from blueprint.misconceptions import equation, instead, of, operand, operation, row, turned, without
from blueprint.workbooks.optimum.definitions import q, y

# fmt: off
MISCONCEPTIONS = (
    *of("optimum.logits",
        ("reward-forgotten", "The reward is forgotten: this is the reference.", operand("add")),
        ("reference-forgotten", "The reference is forgotten: this is the soft-max of the rewards.", operand("add", 1)),
        ("beta-multiplies", "β multiplies the reward: it divides it.",
         equation(lambda b: b["reference.logp"][y] + b["reward.scores"][y] * b("beta"))),
        ("beta-forgotten", "β is forgotten: the reward is divided by it.", without("beta"))),
    *of("objective.best",
        ("beta-forgotten", "β is forgotten: the best is β·log Z.", without("beta"))),
    *of("policy.log_ratio",
        ("reference-forgotten", "The reference is forgotten: this is a log-prob.", operand("sub")),
        ("sign-turned", "The sign is turned: the policy stands above, the reference below.", turned())),
    *of("reward.penalised",
        ("penalty-added", "The KL is paid for, not earned: it is subtracted.", operation("sub", "add")),
        ("beta-forgotten", "β is forgotten.", without("beta")),
        ("kl-forgotten", "The penalty is forgotten: this is the reward alone.", operand("sub"))),
    *of("objective.gradient",
        ("mean-forgotten", "J is not subtracted.", operand("sub")),
        ("probability-forgotten", "π is forgotten: it multiplies.",
         equation(lambda b: b["reward.penalised"][y] - b("objective")))),
    *of("implicit.reward",
        ("beta-forgotten", "β is forgotten: this is the log-ratio.", without("beta")),
        ("reference-forgotten", "The reference is forgotten.",
         equation(lambda b: b("beta") * b["policy.log_p"][y]))),
    *of("pair.difference",
        ("sides-swapped", "The sides are swapped: left less right.", turned())),
    *of("prefers.log_odds",
        ("odds-for-probability", "This is the probability: its log-odds are asked for.", row("prefers.p"))),
    *of("pair.margin",
        ("sides-swapped", "The sides are swapped: left less right.", turned()),
        ("sum-for-difference", "The implicit rewards are added: their difference is the margin.", operation("sub", "add"))),
    *of("pair.loss",
        ("one-answer-only", "Only the answer “left” counts: the other one is given, too, 1 − P of the time.",
         equation(lambda b: -(b["prefers.p"][q] * b["says.log_p"][q]))),
        ("sign-forgotten", "The minus is forgotten: a loss is made small.", turned())),
    *of("pair.pull",
        ("preference-forgotten", "P is not subtracted.", operand("sub")),
        ("label-for-preference", "1 stands for P: as if the left one were always preferred.",
         equation(lambda b: b["says.p"][q] - constant(1)))),
    *of("dpo.gradient_down",
        ("beta-forgotten", "β is forgotten: the margin holds it.", without("beta")),
        ("pull-of-the-policy", "σ(h) stands for σ(h) − P.", instead("pair.pull", "says.p"))),
)
# fmt: on
