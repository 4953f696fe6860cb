"""Steps of an optimiser, until the order of the scores is that of the rankings."""

from blueprint.workbooks.common.epochs import Beside, Drawn, repeated
from blueprint.workbooks.reward_model.backward import MOVED, WEIGHTS

SHOWN = Beside(
    "the same pairs, step by step: the loss falls, and pair by pair the chosen response overtakes the rejected one",
    {
        "What is made smaller": ("total_loss",),
        "How many pairs are in the right order": ("accuracy",),
        "How far chosen and rejected responses are apart": ("rewards.chosen", "rewards.rejected", "rewards.margins"),
    },
    {
        "Loss": Drawn({"loss": "total_loss"}, "loss", "At .693 the model knows nothing: σ(0) is ½. Above, it is worse."),
        "Accuracy": Drawn({"accuracy": "accuracy"}, "share of pairs", "Leaps, a pair at a time; at 1 the ranking is right."),
        "Scores": Drawn(
            {"chosen": "rewards.chosen", "rejected": "rewards.rejected", "margin": "rewards.margins"}, "mean score",
            "Only the margin is trained: where the two lines lie, nothing says, unless centring is on.",
        ),
    },
)  # fmt: skip

EPOCHS = repeated(WEIGHTS, ("Reward model", "Scores", "Positions", "Pairs"), MOVED.of, SHOWN)
