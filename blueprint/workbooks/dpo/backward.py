"""The gradient of the loss: to the log-prob of every token, and on to the policy's logits where they are known."""

from collections.abc import Mapping

from blueprint.language import Block, needs
from blueprint.language.gradient import Declared
from blueprint.page.outline import Blueprint
from blueprint.workbooks.common import EVERYWHERE, Apart, Backward, Distribution, with_library_gradients
from blueprint.workbooks.common.definitions import derivatives
from blueprint.workbooks.dpo.definitions.axes import p
from blueprint.workbooks.dpo.libraries import WHICH_TITLE
from blueprint.workbooks.dpo.sheets import of_pairs

GIVEN = (
    "reference.logprobs",
    "reference.as_policy",
    "mismatched.policy.logprobs",
    "mismatched.reference.logprobs",
    "policy.square",
)
"""What other models say, and what only weighs: no gradient flows there."""
HELD = ("loss.bco_held", "kto.held", "weight.used")
"""Rows that the steps repeat as numbers (`Ordered.held`)."""
STEPS = ("top", "exponentials", "logsumexp", "log_p", "p", "p_log_p")


LOG_SIGMOIDS = (
    "margin.right", "margin.wrong", "own.right", "own.wrong", "chosen.log_sigmoid", "rejected.log_sigmoid", "chosen.good",
    "chosen.not_good", "rejected.not_good", "loss.bco_chosen", "loss.bco_rejected", "aot.right", "aot.wrong",
    "aot_unpaired.right", "aot_unpaired.wrong", "odds.right", "odds.batch_right", "loss.discopop_log",
)  # fmt: skip
SIGMOIDS = ("loss.sure", "loss.discopop_weight", "chosen.likely", "rejected.likely", "margin.likely", "own.likely",
            "kto.against.likely", "kto.zero.likely")  # fmt: skip
"""Rows that are log σ, or σ, of the one row that they read, and through which the loss flows back."""


def of_policy(rows: Mapping[str, Block]) -> list[Declared]:
    """Lists the derivatives that a textbook writes in one line: of log σ and σ, and of the log-prob of the token written, where the
    logits below it are known."""
    found = [
        declare(rows[name], next(needs(rows[name])).read)
        for declare, names in ((derivatives.of_log_sigmoid, LOG_SIGMOIDS), (derivatives.of_sigmoid, SIGMOIDS))
        for name in names
        if name in rows
    ]
    return [*found, *_of_logits(rows)] if "policy.logits" in rows else found


def _of_logits(rows: Mapping[str, Block]) -> list[Declared]:
    policy = Distribution(rows["policy.logits"], *(rows[f"policy.{step}"] for step in STEPS))
    return [derivatives.of_chosen_logprobs(rows["policy.logprobs"], policy, rows["policy.written"], EVERYWHERE)]


MOVED = Backward(
    policy=(("policy.E", "policy.W", "policy.Y"), ("policy.logits",), ("policy.logprobs",)),
    critic=(),
    constant=(*GIVEN, *HELD),
    declared=of_policy,
)
OF_PAIRS = Apart(
    "Library pair gradients",
    "from each library's loss back to both responses of each pair",
    (p,),
    lambda row: of_pairs(row, []),
)


def with_gradients(outline: Blueprint) -> Blueprint:
    """Adds the gradients of the loss, unless they are there, and of each library's loss where several stand side by side."""
    made = MOVED(outline)
    compared = any(block.name == "library.total_loss" for block in outline.blocks())
    return with_library_gradients(made, MOVED, WHICH_TITLE, OF_PAIRS) if compared else made
