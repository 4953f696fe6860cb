"""The gradient of the loss: at a logit it is w·(p − 1 for the label), and from there back through time to the weights."""

from collections.abc import Mapping

from blueprint.language import Block
from blueprint.language.gradient import Declared
from blueprint.workbooks.common import EVERYWHERE, Backward, Distribution
from blueprint.workbooks.common.definitions import derivatives
from blueprint.workbooks.sft.policy import WEIGHTS

STEPS = ("top", "exponentials", "logsumexp", "log_p", "p", "p_log_p")


def of_policy(rows: Mapping[str, Block]) -> list[Declared]:
    """Lists the derivative that a textbook writes in one line: of the log-prob of the label, 1 − p or −p."""
    policy = Distribution(rows["policy.logits"], *(rows[f"policy.{step}"] for step in STEPS))
    return [derivatives.of_chosen_logprobs(rows["policy.logprobs"], policy, rows["policy.written"], EVERYWHERE)]


MOVED = Backward(policy=(WEIGHTS, ("policy.logits",)), critic=(), constant=("dft.used",), declared=of_policy)
