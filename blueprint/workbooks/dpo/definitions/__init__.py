"""The definitions of DPO and its relatives, in order: the whole way from the log-probs of two responses to the loss."""

from typing import NamedTuple

from blueprint.language import Block
from blueprint.workbooks.common import Choices, Rows
from blueprint.workbooks.dpo.definitions.logprobs import (
    Given,
    Margins,
    Places,
    Row,
    Sequences,
    Steps,
    margins,
    sequences,
)
from blueprint.workbooks.dpo.definitions.losses import (
    Total,
    elsewhere,
    forms,
    likelihood,
    total,
    unpaired,
    watched,
    weights,
)


class Derived(NamedTuple):
    """Every row in order, and those that one looks for."""

    steps: Steps
    sequences: Sequences
    margins: Margins
    pairs: Row
    total: Total

    @property
    def rows(self) -> dict[str, Block]:
        """The rows by the names that they have without a library."""
        return self.steps.rows


def derived(given: Rows, use: Choices) -> Derived:
    """Runs the definitions, one after the other. given: by name, what the responses are and what models say of them."""
    s = Steps(use, given["count.pairs"], Places(*(given[f"pair.{of}"] for of in Places._fields)))
    logp, logp_ref, m, text, good = (
        given[name]
        for name in ("policy.logprobs", "reference.logprobs", "response.tokens", "text.tokens", "response.chosen")
    )
    seen = sequences(logp, logp_ref, m, text, s)
    compared = margins(seen, s)
    meant = s.sides("true", given["true.reward"])
    each = forms(compared, seen, logp, m, meant, s)
    kto = unpaired(logp, logp_ref, m, _elsewhere(given, s), good, s)
    by = weights(logp, given["policy.square"], m, seen.length, s) if "policy.square" in given else None
    nll = likelihood(logp, m, text, good, s)
    whole = total(each.used, kto, each.binary, by, nll, s)
    sums = s.known("policy.sum"), s.known("reference.sum")
    watched(compared, seen, sums, s)
    return Derived(s, seen, compared, each.used, whole)


def _elsewhere(given: Rows, s: Steps) -> Given:
    """Returns the log-ratio of each mismatched response, (n): given, or that of the models' log-probs of its tokens."""
    if "mismatched.ratio" in given:
        return given["mismatched.ratio"]
    other, other_ref = (given[f"mismatched.{model}.logprobs"] for model in ("policy", "reference"))
    return elsewhere(other, other_ref, given["mismatched.tokens"], s)
