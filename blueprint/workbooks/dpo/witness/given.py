"""Where a computation starts from log-probs of one's own: what is typed of them, and what is read where nothing is."""

from torch.nn.functional import pad

from blueprint.witness import Batch, Named, Rows
from blueprint.workbooks.dpo.witness.start import Start

RATIO = "mismatched.ratio"
"""What only such a file has typed."""
UNSET: dict[str, float | str] = {
    "loss.weight": "off", "loss.nll_region": "response", "logp.ld_from": "response", "logp.of": "sum", "logp.ld": "off",
    "logp.ld_alpha": 1.0,
}  # fmt: skip
"""What holds in a file that has no such convention, for want of logits and prompts, or of the single tokens of a response."""

UNSEEN = {
    "loss.weight": (
        "logp.after", "logp.column", "logp.cut", "logp.from_row", "nll.all_cells", "nll.cells", "nll.columns", "nll.every",
        "policy.counted.mean_with_pad", "reference.counted.mean_with_pad", "weight.pair", "weight.used",
    ),
    "logp.of": (
        "fixed.1", "logp.beyond", "logp.far", "logp.length", "logp.place", "logp.shared", "logp.shared.column", "logp.shorter",
        "loss.orpo_tokens", "nll.token", "odds.batch", "odds.batch_right", "odds.sum", "odds.token",
        *(f"{model}.{row}" for model in ("policy", "reference") for row in ("added", "count", "mean", "over")),
        "logp.compared", "logp.differs", "logp.differing", "mean.least", "mean.least_of_plain",
        *(f"{side}.{row}{column}" for side in ("chosen", "rejected") for row in ("length", "odds", "odds.length")
          for column in ("", ".column")),
        "odds.chosen", "odds.rejected",
    ),
}  # fmt: skip
"""By the convention that such a file lacks the rows of ways among which it has no choice, and so has no such rows."""


def from_logprobs(batch: Batch, rows: Rows) -> Start:
    """Reads pairs and log-probs of their tokens; for a reference that nobody asked the policy speaks.

    Raises:
        WitnessError: if a mask has anything but 0 and 1.
    """
    names = ("pair.number", "response.chosen", "pair.column", "true.reward", RATIO, "policy.logprobs")
    given = {name: batch.typed(name)[0] for name in names}
    mask = given["mask"] = batch.mask("mask")[0]
    for key in UNSEEN.keys() - batch.settings[0].keys():
        rows.hide(UNSEEN[key])
    found: Named = {"response.tokens": mask, "text.tokens": pad(mask, (1, 0), value=1)}
    if "reference.logprobs" in batch.files[0]:
        given["reference.logprobs"] = batch.typed("reference.logprobs")[0]
    else:
        given["reference.logprobs"] = found["reference.as_policy"] = given["policy.logprobs"].detach()
    rows.know({name: given[name][None] for name in ("policy.logprobs", "reference.logprobs")})
    return Start(given, found, None, None)
