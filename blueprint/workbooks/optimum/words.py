"""What stands where: the sheets of the optimum with their rows, and the sentences of the first one."""

from blueprint.workbooks.common import Lesson
from blueprint.workbooks.optimum.definitions import q, s, y

SHEETS = {
    "Reference": ("one column per response: how likely π_ref finds it, token by token", y, ("word.first", "word.second"), {
        "Every response of two tokens": ("word.first", "word.second", "response", "id.first", "id.second"),
        "The first token: soft-max of its logits": (
            "reference.first", "first.top", "first.exponentials", "first.logsumexp", "first.log_p", "first.p",
        ),
        "The second token, after the first one": (
            "reference.second", "second.logits", "second.top", "second.exponentials", "second.logsumexp", "second.log_p",
            "second.p",
        ),
        "The whole response: the sum of both log-probs": ("first.logprobs", "second.logprobs", "reference.logp", "response.p"),
    }),
    "Optimum": ("one column per response, all of them: the optimum, the policy, PPO’s objective, and the DPO loss", y,
                ("response",), {
        "The optimum: the reference, tilted by the reward": (
            "reward.scores", "optimum.logits", "optimum.top", "optimum.exponentials", "optimum.logsumexp", "optimum.log_p",
            "optimum.p", "objective.best",
        ),
        "A policy on the way there, or beside it": (
            "policy.beside", "policy.theta", "policy.top", "policy.exponentials", "policy.logsumexp", "policy.log_p", "policy.p",
        ),
        "What PPO climbs: reward less β·KL to the reference": (
            "policy.log_ratio", "reward.penalised", "mean_reward", "kl.reference", "objective", "objective.gradient",
        ),
        "How far it is from the best: β·KL to the optimum": ("policy.away", "kl.optimum", "objective.below"),
        "What DPO makes small: its reward is β·log(π/π_ref)": (
            "implicit.reward", "implicit.left", "dpo_loss", "dpo_loss.best", "dpo_loss.above", "response.place", "dpo.gradient",
        ),
        "Read downwards elsewhere": ("response.down", "reference.logp_down", "reward.scores_down", "optimum.log_p_down"),
    }),
    "Pairs": ("one column per pair of responses: who is preferred, and what the policy says of it", q,
              ("pair.left", "pair.right"), {
        "Who is preferred: the log-odds are the difference of the rewards": (
            "pair.left", "pair.right", "pair.place.left", "pair.place.right",
            "pair.reward.left", "pair.reward.right", "pair.difference", "prefers.p",
            "prefers.rest", "prefers.log_p", "prefers.log_not", "prefers.not", "prefers.log_odds", "prefers.gap",
        ),
        "What the policy says: the margin of its implicit rewards": (
            "pair.implicit.left", "pair.implicit.right", "pair.margin", "says.p", "says.rest", "says.log_p", "says.log_not",
        ),
        "The DPO loss, each answer as often as it is given": ("count.pairs", "pair.loss", "pair.least", "pair.pull"),
        "What pulls on each response": ("pair.side", "dpo.gradient_down"),
        "Read downwards elsewhere": ("pair.down", "pair.difference_down", "prefers.p_down", "prefers.not_down"),
    }),
    "The way": ("one column per policy on the way from the reference (0) through the optimum (1) and beyond", s, ("way.step",), {
        "The policies": ("way.step", "way.logits", "way.top", "way.exponentials", "way.logsumexp", "way.log_p", "way.p"),
        "PPO’s objective: how far below the best": ("way.away", "way.below"),
        "The DPO loss: how far above the least": (
            "way.margin", "way.says.rest", "way.says.log_p", "way.says.log_not", "way.loss", "way.above",
        ),
    }),
}  # fmt: skip
"""Title, lead, columns, rows that stay in view, and sections with the names of their rows."""
LOOKED_FOR = (
    "response.p", "optimum.logsumexp", "optimum.p", "objective.best", "policy.p", "objective", "objective.gradient", "kl.optimum",
    "objective.below", "implicit.reward", "implicit.left", "dpo_loss", "dpo_loss.above", "dpo.gradient", "prefers.p",
    "prefers.log_odds", "pair.margin", "pair.loss", "way.below", "way.above",
)  # fmt: skip
"""Rows that one looks for; they are marked."""
MINOR = (
    "first.top", "first.exponentials", "first.logsumexp", "first.log_p", "id.first", "id.second", "second.top",
    "second.exponentials",
    "second.logsumexp", "second.log_p", "optimum.top", "optimum.exponentials", "policy.top", "policy.exponentials",
    "policy.logsumexp", "response.place", "response.down", "reference.logp_down", "reward.scores_down", "optimum.log_p_down",
    "pair.place.left", "pair.place.right", "prefers.rest", "prefers.gap", "says.rest", "pair.side", "dpo.gradient_down",
    "pair.down",
    "pair.difference_down", "prefers.p_down", "prefers.not_down", "way.top", "way.exponentials", "way.logsumexp", "way.away",
    "way.logits", "way.log_p", "way.margin", "way.says.rest", "way.says.log_p", "way.says.log_not", "way.loss",
)  # fmt: skip
"""Steps on the way, which may be folded away."""
EXACT, PAIRS = "exact, over all responses", "mean of all pairs"
_PIECES = {
    "PPO’s objective J": ("objective", EXACT),
    "the best it can be, β·log Z": ("objective.best", EXACT),
    "short by β·KL to π*": ("objective.below", EXACT),
    "DPO loss": ("dpo_loss", PAIRS),
    "the least it can be": ("dpo_loss.best", PAIRS),
    "above it": ("dpo_loss.above", PAIRS),
    "expected reward": ("mean_reward", EXACT),
    "KL to the reference": ("kl.reference", EXACT),
    "KL to the optimum": ("kl.optimum", EXACT),
}
"""By title: the number that is shown, and what it is taken over."""
_READING = (
    "Of all policies one is best for reward less β·KL to the reference: π* = π_ref·exp(r/β)/Z. Here every response is a column,",
    "so that Z is a sum one can see. PPO climbs to π* by draws; DPO fits π* to preferences, and never needs Z: in the",
    "difference of two responses it cancels. Optimum has both gradients, by the same logits: at step 1 both are 0.",
    "Pairs asks of every two responses which is preferred: the log-odds of that, not the probability, are Δr.",
    "Type into cream cells; everything else follows.",
)
_TRY = (
    "On Inputs type 1 for step, and 0 in both cream cells of δ that are not: J = J*, the DPO loss is least, all gradients are 0.",
    "Then 0: the policy is the reference, h = 0 and the DPO loss ln 2 = 0.693, whatever the rewards are.",
    "Type β = 0.05: π* takes the best response nearly always; β = 5: π* hardly leaves the reference.",
    "Add 3 to every reward: π*, P and the DPO loss stay, β·log Z grows by 3. Only differences of rewards are identified.",
    "On Charts: both curves touch 0 at step 1, the one that PPO sees and the one that DPO sees.",
)
_FLOW = (
    (("reference π_ref", "reference.logp"), ("plus r/β", "optimum.logits"), ("optimum π*", "optimum.p"),
     ("best J*", "objective.best")),
    (("policy on its way", "policy.p"), ("KL to π_ref", "kl.reference"), ("PPO climbs J", "objective"),
     ("below J*", "objective.below")),
    (("implicit reward h", "implicit.reward"), ("margin of a pair", "pair.margin"), ("DPO loss", "dpo_loss"),
     ("above the least", "dpo_loss.above")),
)  # fmt: skip
"""The optimum, and the two ways to it: the title of each box, and the row to which it leads."""
_DIFFERENCES = {
    "objective.below": ("objective.best", "objective"),
    "dpo_loss.above": ("dpo_loss", "dpo_loss.best"),
}
LESSON = Lesson("The optimum by hand", _READING, _TRY, _PIECES, _FLOW, _DIFFERENCES)
"""What its first sheet says."""
