"""What Walk derives of one token: from the score of its response to its share of the loss."""

from blueprint.language import Block
from blueprint.page.outline import Choice, Sheet
from blueprint.workbooks.common import InView, Rows, titled_sections, walk

LEAD = "one token, derived from top to bottom: pick a response and a position; every line follows; options not in use are folded"
STEPS = {
    "The response, and its reward": ("response.length", "score", "overlong.penalty", "reward.shaped", "kl_old.sum", "reward"),
    "Its group: less the baseline, over the spread": (
        "advantage.baseline", "seen.left", "seen.over", "seen.scaled", "advantage.response",
    ),
    "The advantage of the token": ("advantage.credited", "advantage.token", "advantages"),
    "How likely was the token, and how likely is it now?": (
        "rollout.written", "policy.logprobs", "ratio.old_logprobs", "log_ratio.free", "log_ratio", "ratio.level_of", "ratio",
    ),
    "Ratio times advantage, clipped": (
        "ratio.clipped.raised", "ratio.clipped", "surrogate.unclipped", "surrogate.clipped", "surrogate.pessimistic", "surrogate",
        "clip.low", "clip.high", "policy.objective", "policy.token_loss",
    ),
    "Its weight": (
        "rollout.counts", "keep", "policy.counts", "loss.counted", "average.length", "weight.policy", "weight.policy.row",
    ),
    "The KL to the reference": ("reference.logprobs", "kl_new.k1", "kl_new.k3", "kl_new.used", "kl_new.counts", "weight.kl.row"),
    "What it adds to the loss": ("share.policy", "share.kl", "share.entropy", "share", "total_loss"),
}  # fmt: skip
"""The rows of each section, in the order of computation; what a workbook does not have is left out."""


def walk_of(
    rows: Rows, head: InView, counts: Block, first: tuple[int, int]
) -> tuple[Sheet, Choice, dict[Block, object]]:
    """Outlines the sheet. counts: says whether a token counts. first: response and position that are shown at first.

    Returns the sheet, the choice, and what is typed into it.
    """
    picked, typed = walk.choice(*first, text="response")
    there = {title: tuple(rows[name] for name in names if name in rows) for title, names in STEPS.items()}
    sections = titled_sections(*there.items())
    return walk.walk_sheet(picked, (*head.rows[:-1], counts), sections, LEAD, walk.MANY_OPTIONS), picked, typed
