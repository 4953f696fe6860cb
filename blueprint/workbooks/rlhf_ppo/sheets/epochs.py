"""What epochs of PPO set side by side: all steps, and each token in every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from blueprint.language import Block, Max, block, exp, link
from blueprint.page.outline import Section, Sheet
from blueprint.workbooks.common import n, t
from blueprint.workbooks.common.definitions.rates import of_step
from blueprint.workbooks.common.epochs import Beside, Drawn, Epoch, side_by_side

Rows = Mapping[str, Block]
LEAD = "the same rollout, step by step: the ratio leaves 1, clipping begins to bite, the policy moves away"
LEAD_TOKENS = "each token in every step: its ratio, whether the clip holds it, and how much it pulls"
BY_TOKEN = {
    "ratio": "Ratio of each token: 1 in the first step, and then it leaves 1 by itself",
    "clip_fraction.changed": "Tokens whose loss the clip changed (1): their surrogate has no slope",
    "policy.logprobs.grad": "How much each token pulls: ∂L/∂log π_θ, 0 where the clip holds it",
}
"""What is shown of each token in every step."""


FAR = {
    "ratio.largest": ("ρ_max", "largest ratio of a token (1 if none is above)", "log_ratio", 1),
    "ratio.smallest": ("ρ_min", "smallest ratio of a token (1 if none is below)", "policy_kl.k1", -1),
}
"""How far the ratios have gone: symbol, meaning, and the row by whose largest number it is told, of ρ or of 1/ρ."""
LOSSES = ("policy_loss", "value_loss", "entropy", "total_loss")
CLIP = ("clip_fraction.loss", "clip_fraction.ratio")
SHOWN = Beside(
    LEAD,
    {
        "How far the policy has gone": (*FAR, "mean.ratio", "policy_kl"),
        "What the clip holds": CLIP,
        "Losses": LOSSES,
    },
    {
        "Ratio: it leaves 1 by itself": Drawn(
            {"largest": "ratio.largest", "mean": "mean.ratio", "smallest": "ratio.smallest"}, "ratio ρ",
            "All ratios are 1 in the first step, and the lines part from there on.",
        ),
        "Clip fraction and policy KL": Drawn(
            {"loss changed by the clip": CLIP[0], "ratio outside of 1 ± ε": CLIP[1], "KL(π_old‖π_θ)": "policy_kl"},
            "share of tokens; KL", "Clipping begins to bite as the policy moves away from the one that wrote the responses.",
        ),
        "Losses": Drawn(
            {"policy loss": "policy_loss", "value loss": "value_loss", "total loss": "total_loss"},
            "loss", "Of the responses that a step takes: other ones in each minibatch. A loss of 0 may well have a gradient.",
        ),
    },
    ("number", "epoch", "minibatch"),
)  # fmt: skip
MARKED = frozenset({"mean.ratio", "policy_kl", *CLIP, *LOSSES})
"""What stands side by side, and therefore says in its symbol of which step it is."""


def beside(epochs: Sequence[Epoch], like: Sheet) -> tuple[list[Sheet], dict[Block, object]]:
    """Outlines both sheets, and returns what is typed there. like: a sheet with a column for each token."""
    far = [_far(epoch) for epoch in epochs]
    summary, given = side_by_side(epochs, SHOWN, far)
    return [summary, _tokens(epochs, far, like)], given


def _far(epoch: Epoch) -> dict[str, Block]:
    """Measures how far above and below 1 the ratios of all tokens are, from their log-ratios, which are 0 elsewhere."""
    made = {}
    for name, (symbol, meaning, of, sign) in FAR.items():
        made[name] = block(f"tokens.{name}.{epoch.number}", (), of_step(symbol, epoch.number), meaning)
        furthest = Max((n, t), epoch.rows[of][n, t])
        made[name][()] = exp(furthest if sign > 0 else -furthest)
    return made


def _tokens(epochs: Sequence[Epoch], far: Sequence[Rows], like: Sheet) -> Sheet:
    """Outlines what each token is in every step, a row for each step. like: a sheet with a column for each token."""
    head = tuple(link(f"tokens.{each.name.rpartition('.')[2]}", each) for each in like.head)
    ratios, *others = (
        Section(title, tuple(_of_step(name, epoch) for epoch in epochs)) for name, title in BY_TOKEN.items()
    )
    furthest = Section(
        "The largest and the smallest of these ratios", tuple(each[name] for name in FAR for each in far)
    )
    return Sheet("Tokens", LEAD_TOKENS, (ratios, furthest, *others), like.across, head, head[-1])


def _of_step(name: str, epoch: Epoch) -> Block:
    row = epoch.rows[name]
    return link(f"tokens.{name}.{epoch.number}", row, symbol=of_step(row.symbol, epoch.number))
