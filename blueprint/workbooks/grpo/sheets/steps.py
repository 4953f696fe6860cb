"""The sheets of steps: which section stands where, what one looks for, and what is folded until it is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from blueprint.language import Block
from blueprint.page.outline import Row, Section, Sheet, key, minor
from blueprint.workbooks.common import InView, Rows
from blueprint.workbooks.grpo.definitions.axes import i, n, o, q, t
from blueprint.workbooks.grpo.definitions.seen import BACK, DOTS, SHARE
from blueprint.workbooks.grpo.definitions.steps import FIXED

SHEETS = {
    "Rewards": ("from the score of a response to the reward that its group sees", (n, t),
                ("The reward of a response", FIXED, "The KL to the reference, paid as reward")),
    "Groups": ("each response is compared with the others to its prompt: a column per response, prompts side by side", (q, i),
               ("The rewards of each group", "What is subtracted: the baseline", "What is divided by: the spread",
                "The advantage of each response", "Which responses are left", DOTS, "Tokens that count, by prompt")),
    "Advantages": ("from the advantage of a response to that of each of its tokens", (n, t), (BACK, "The advantage of each token")),
    "Ratio": ("how the policy in training compares with the one that wrote, and what becomes of the advantage", (n, t),
              ("The ratio", "Ratio times advantage, clipped", "Other objectives")),
    "Rollout": ("how much a token counts whose probability differs between trainer and generation engine", (n, t),
                ("Rollout correction",)),
    "Loss": ("which tokens count, with which weight, and what the loss is made of", (n, t),
             ("What the policy loss leaves out", "What counts", "How tokens are averaged", "The KL to the reference, in the loss",
              "The loss", SHARE)),
    "Diagnostics": ("what one watches while training; none of it enters the loss", (n, t), ("What one watches",)),
}  # fmt: skip
"""Title, lead, columns and sections of each sheet of steps."""
LOOKED_FOR = (
    "reward.shaped", "kl_old.used", "reward", "group.reward", "group.baseline_used", "group.spread_used", "group.advantage",
    "advantages", "log_ratio", "ratio", "surrogate", "policy.token_loss", "rollout.counts", "loss.counted", "weight.policy.row",
    "kl_new.counts", "share", "policy_loss", "adds.kl_loss", "adds.entropy", "total_loss", "group.share_same",
)  # fmt: skip
"""Rows that one looks for; they are marked."""
PLAIN = ("seen.left", "seen.over", "advantage.baseline", "group.length", "group.divided_by", "kl_new.k1", "kl_new.k3",
         "rollout.token", "seen.counts", "seen.mean", "advantage.token", "advantage.whitened", "kl_loss",
         "entropy", "share.policy", "share.kl", "share.entropy", "weight.policy",
         "group.mean", "group.deviation", "group.less_baseline", "surrogate.unclipped", "surrogate.clipped", "ratio.clipped",
         "advantage.response", "policy.counts", "average.length")  # fmt: skip
"""Rows on the way that are not folded; a folded row would not be drawn on Charts either."""


def step_sheets(
    made: Mapping[str, Sequence[Block]], given: Rows, head: InView, placed: tuple[Block, ...]
) -> list[Sheet]:
    """Outlines the sheets of steps: rows that one looks for are marked, and those that few ask for folded.

    made: all rows by the titles of their sections. placed: what else says, in the columns of groups, which response stands where.
    """
    sheets = []
    for title, (lead, across, titles) in SHEETS.items():
        sections = [Section(each, tuple(_row(row, title) for row in made[each] if row.axes != (o,))) for each in titles]
        if title == "Groups":
            columns = [row for each in titles for row in made[each] if row.axes == (o,)]
            below = (given["response.left"], given["response.is"], *placed, *columns)
            sections[0] = replace(sections[0], items=(Row(given["group.response"]), *sections[0].items))
            sections.append(Section("Which response stands where", tuple(map(minor, below))))
        here = head.on(f"on_{title.lower()}") if across == (n, t) else None
        sheet = Sheet(title, lead, tuple(sections), across, closed=title != "Diagnostics")
        sheets.append(replace(sheet, head=here.rows, grey=here.mask) if here else sheet)
    return sheets


def _row(row: Block, sheet: str) -> Row:
    if row.name in LOOKED_FOR:
        return key(row)
    return Row(row) if row.name in PLAIN or sheet == "Diagnostics" else minor(row)
