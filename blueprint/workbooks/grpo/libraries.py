"""Libraries: the same responses by the conventions of several libraries, a row for each under every quantity."""

from blueprint.workbooks.common.libraries import SideBySide
from blueprint.workbooks.grpo.definitions import derived
from blueprint.workbooks.grpo.definitions.rewards_and_group_advantages import LABELS, i, q
from blueprint.workbooks.grpo.schema import completed

LEAD = "the same responses, log-probs and scores by the conventions of several libraries: find the row where they part"
IN_GROUPS = (
    "each response against the others to its prompt, by the conventions of several libraries: a column per response"
)
WHICH_TITLE = "Which GRPO"
FIXED = "Tokens, scores and log-probs are those of this workbook; what a library samples anew is not shown."
START = {
    "score": "score",
    "old.logprobs": "logp_old",
    "reference.logprobs": "logp_ref",
    "engine.logprobs": "logp_engine",
    "policy.logprobs": "logp_new",
    "policy.entropy": "entropy",
}
"""What every library starts from, and what it is called where it is repeated."""
MARKED = ("total_loss", "policy_loss", "adds.kl_loss")
RESULTS = (
    *MARKED, "mean.reward", "mean.advantage", "mean.ratio", "clip.fraction_low", "clip.fraction_high", "clip.fraction_dual",
    "kl.mean_new",
)  # fmt: skip
"""What comes of it: the loss and its parts, and what is watched."""
OPEN = (
    "group.reward", "group.baseline_used", "group.spread_used", "group.advantage", "advantages", "ratio", "policy.token_loss",
    "kl_new.counts", *RESULTS,
)  # fmt: skip
"""Rows that one looks for."""


COMPARED = SideBySide(
    run=lambda given, use: derived(given, completed(use)),
    labels=LABELS.labels,
    start=START,
    results=RESULTS,
    marked=MARKED,
    looked_for=OPEN,
    fixed=FIXED,
    lead=LEAD,
    which=WHICH_TITLE,
    apart=("Library groups", IN_GROUPS, (q, i)),
    holds=lambda row, beside: any(i in each.axes for each in beside),  # a section stands as a whole
    closed=True,
)
