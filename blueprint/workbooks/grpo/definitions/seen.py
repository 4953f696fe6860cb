"""What a reader wants and the loss does not need: the advantage of a response step by step, what each token adds to the loss."""

from blueprint.language import Block, equal, less, where
from blueprint.workbooks.common import Rows, with_weight
from blueprint.workbooks.grpo.definitions.axes import n, q, t
from blueprint.workbooks.grpo.definitions.steps import Steps

BACK, SHARE = "From the group back to the response", "What each token adds to the loss"
DOTS = "Where the group stands on Charts"
"""Titles of the sections."""
COUNTS, NOT = "counts", "does not count"


def seen(rows: Rows, s: Steps) -> dict[str, tuple[Block, ...]]:
    """Makes the rows, and returns them by the titles of their sections."""
    s.under(BACK)
    left = s.each("seen.left", rows["reward"][n] - rows["advantage.baseline"][n])
    over = s.of_response("seen.over", rows["group.divided_by"])
    plain = s.of_response("seen.plain", rows["group.plain"])
    s.each("seen.scaled", where(less(0, plain[n]), left[n], left[n] / over[n]))
    s.under(SHARE)
    policy = s.row("share.policy", rows["weight.policy.row"][n, t] * rows["policy.counts"][n, t])
    beta = s.use.used["kl.coef"] * rows["kl_loss.counts"]
    kl = s.row("share.kl", with_weight(beta, rows["weight.kl.row"][n, t] * rows["kl_new.counts"][n, t]))
    weighed = rows["weight.entropy.row"][n, t] * rows["policy.entropy"][n, t]
    entropy = s.row("share.entropy", -(s.use.used["loss.ent_coef"] * weighed))
    s.row("share", policy[n, t] + kl[n, t] + entropy[n, t])
    s.row("seen.counts", where(equal(rows["loss.counted"][n, t] * rows["keep"][n, t], 1), COUNTS, NOT))
    s.under(DOTS)
    s.table("seen.mean", rows["group.mean"][q])
    return {title: tuple(made) for title, made in s.sections.items()}
