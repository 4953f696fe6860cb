"""Libraries: the same pairs by the conventions of several libraries, a row for each under every quantity."""

from blueprint.workbooks.common.libraries import SideBySide
from blueprint.workbooks.dpo.definitions import derived
from blueprint.workbooks.dpo.definitions.logprobs import LABELS, p
from blueprint.workbooks.dpo.sheets import of_pairs

LEAD = "the same texts and log-probs by the conventions of several libraries: find the row where they part"
OF_PAIRS = "both responses of each pair, by the conventions of several libraries: a column per pair"
WHICH_TITLE = "Which DPO"
FIXED = "Texts and log-probs are those of this workbook, and so is who was chosen."
START = {
    "policy.logprobs": "logp",
    "reference.logprobs": "logp_ref",
    "policy.square": "square",
    "mismatched.policy.logprobs": "logp_else",
    "mismatched.reference.logprobs": "logp_ref_else",
}
"""What every library starts from, and what it is called where it is repeated."""
MARKED = ("total_loss", "preference_loss", "adds.nll")
RESULTS = (*MARKED, "rewards.chosen", "rewards.rejected", "rewards.margins", "rewards.accuracies")
"""What comes of it: the loss and its parts, and what is watched."""
OPEN = ("policy.logp", "chosen.logp", "rejected.logp", "chosen.ratio", "rejected.ratio", "margin", "margin.argument", "loss.pair",
        "kto.z", "nll", *RESULTS)  # fmt: skip
"""Rows that one looks for."""


COMPARED = SideBySide(
    run=lambda given, use: derived(given, use).steps,
    labels=LABELS.labels,
    start=START,
    results=RESULTS,
    marked=MARKED,
    looked_for=OPEN,
    fixed=FIXED,
    lead=LEAD,
    which=WHICH_TITLE,
    apart=("Library pairs", OF_PAIRS, (p,)),
    holds=of_pairs,
)
