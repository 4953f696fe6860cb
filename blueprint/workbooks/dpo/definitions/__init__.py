"""The definitions of DPO and its relatives, in order: the whole way from the log-probs of two responses to the loss."""

from blueprint.workbooks.common import Choices, Rows
from blueprint.workbooks.dpo.definitions.logprobs import Steps, margins, sequences
from blueprint.workbooks.dpo.definitions.losses import forms, likelihood, total, unpaired, watched, weights

IN_TURN = (sequences, margins, forms, unpaired, weights, likelihood, total, watched)


def derived(given: Rows, use: Choices) -> Steps:
    """Runs the definitions, one after the other. given: by name, what the responses are and what models say of them."""
    s = Steps(use, given)
    for define in IN_TURN:
        define(s)
    return s
