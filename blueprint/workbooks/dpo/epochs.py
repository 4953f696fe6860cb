"""Several steps on the same pairs: the first begins at the reference, so that each margin is 0 and the loss ln 2."""

from blueprint.workbooks.common.epochs import Beside, Drawn, repeated
from blueprint.workbooks.dpo.backward import MOVED

WEIGHTS = ("policy.E", "policy.W", "policy.Y")
LOSSES = ("preference_loss", "total_loss")
REWARDS = ("rewards.chosen", "rewards.rejected", "rewards.margins", "rewards.accuracies")
SHOWN = Beside(
    "the same pairs, step by step: from ln 2 on the loss falls while the chosen responses get ahead",
    {"Implicit rewards": REWARDS, "Losses": LOSSES},
    {
        "Implicit rewards": Drawn(
            {"chosen": REWARDS[0], "rejected": REWARDS[1], "margin": REWARDS[2]}, "β · log-ratio",
            "All are 0 in the first step. The loss moves nothing but the margin: the chosen reward itself may fall, too.",
        ),
        "Loss": Drawn(
            {"preference loss": LOSSES[0]}, "loss", "It begins at ln 2 = 0.6931, where both responses are as likely to win.",
        ),
    },
)  # fmt: skip

EPOCHS = repeated(WEIGHTS, ("Policy", "Policy elsewhere", "Log-probs", "Pairs"), MOVED.of, SHOWN)
