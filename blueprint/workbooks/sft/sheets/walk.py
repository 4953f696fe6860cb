"""What Walk derives of one label: from the shift to what it adds to the loss."""

from blueprint.language import Block
from blueprint.page.outline import Choice, Sheet
from blueprint.workbooks.common import InView, Rows, titled_sections, walk

LEAD = "one label, derived from top to bottom: pick a text and a position; every line follows"
STEPS = {
    "Which token is to be predicted, and does it count?": ("label.id", "label.region", "label.is_end", "label.counts"),
    "How likely does the policy find it?": (
        "policy.label_logit", "policy.top", "policy.logsumexp", "policy.logprobs", "dft.probability", "watch.hit",
    ),
    "Its share of the loss": (
        "label.length", "label.total", "share.step", "share.row", "share.part", "loss.share", "share.used", "dft.used",
        "label.weight",
    ),
    "What it costs": ("loss.of_token", "loss.of_text", "total_loss", "nll", "perplexity"),
}  # fmt: skip
"""The rows of each section, in the order of computation."""


def walk_of(
    rows: Rows, head: InView, counts: Block, first: tuple[int, int]
) -> tuple[Sheet, Choice, dict[Block, object]]:
    """Outlines the sheet. counts: says whether a label counts. first: text and position that are shown at first.

    Returns the sheet, the choice, and what is typed into it.
    """
    picked, typed = walk.choice(*first, text="text")
    sections = titled_sections(*((title, tuple(rows[name] for name in names)) for title, names in STEPS.items()))
    return walk.walk_sheet(picked, (*head.rows[:-1], counts), sections, LEAD), picked, typed
