"""Several steps on the same pairs: the first begins at the reference, so that each margin is 0 and the loss ln 2."""

from collections.abc import Sequence

from blueprint.inputs import Numbers
from blueprint.page.outline import Blueprint, Sheet
from blueprint.workbooks.common.epochs import TYPED, Beside, Drawn, Epoch, Repeated, side_by_side
from blueprint.workbooks.common.epochs import with_epochs as with_steps
from blueprint.workbooks.common.epochs.steps import Shown
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


def beside(epochs: Sequence[Epoch], last: Sheet) -> Shown:
    """Outlines the sheet that sets all steps side by side, and returns what is typed there."""
    sheet, given = side_by_side(epochs, SHOWN)
    return [sheet], given


EPOCHS = Repeated(
    WEIGHTS,
    ("Policy", "Policy elsewhere", "Log-probs", "Pairs"),
    MOVED.of,
    beside,
    frozenset((*REWARDS, *LOSSES)),
)


def with_epochs(outline: Blueprint, numbers: Numbers) -> Blueprint:
    """Adds the steps of an optimiser, where one moves the weights."""
    update = numbers["update"]
    return outline if update.by == TYPED else with_steps(outline, update, EPOCHS)
