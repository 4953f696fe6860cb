"""Start: the loss and its parts, the map, and every piece with its number, by the names of their blocks."""

from dataclasses import replace

from blueprint.language import Block
from blueprint.page.outline import Box, Flow, Piece, Sample, Sheet
from blueprint.workbooks.classic_ppo.rollout import Blocks
from blueprint.workbooks.common import CHECKING, DASH, DOWN, LEGEND, LINE, ON, TOTAL, UP, Made, Says, start_sheet, with_

NOT_HERE = ("weights", "memory", "probability")
"""Roles of cells that this workbook has not, or for something else than words."""
SAYS = Says(
    (
        "PPO as in games and control: several environments run side by side, rewards are given, and an episode may end anywhere.",
        "A column is one step of one environment, on every sheet. A row is a quantity with one formula from end to end.",
        "Type into cream cells; everything else follows. On Inputs one picks a library: CleanRL, Stable-Baselines3, TorchRL, rlax.",
    ),
    "Beside each value stands what it is a mean or a sum of, over all steps of all environments; its link leads to the row.",
    heading="Classic PPO by hand",
    legend=(
        *(sample for sample in LEGEND if sample.role not in NOT_HERE and not sample.faded),
        Sample("0.4321", "formula", "probability", "lilac: probabilities of the actions"),
    ),
    signs=(
        "end: after the last step · Σ: one number for the environment · batch: one number for all environments",
        "n: environment · t: step · a: action, by its id from 0 · [t + 1]: the next column · Σ_n,t: sum over all steps",
    ),
    checking=tuple(text for text in CHECKING if "blueprint explain" not in text),
)
PARTS = {
    "total loss": "total_loss",
    "policy loss": "policy_loss",
    "value loss, weighted": "adds.value_loss",
    "entropy bonus, weighted": "adds.entropy",
}
"""The total loss and the three numbers that add up to it."""
PIECES = {
    "rewards": ("mean.rewards", "rewards"),
    "TD errors": ("mean.td_errors", "td_errors"),
    "GAE advantage estimation": ("advantage.mean", "advantages"),
    "value targets (from the old critic)": ("returns.mean", "returns"),
    "advantage whitening": ("advantage.divisor", "advantages_used"),
    "importance-sampling ratios": ("ratio.mean", "ratio"),
    "clipped surrogate (PPO clip)": ("policy_loss", "surrogate"),
    "value loss": ("value_loss", "value.step_loss"),
    "entropy bonus": ("entropy", "policy.entropy"),
    "approximate KL, k1": ("approx_kl.k1", "approx_kl.k1"),
    "approximate KL, k3": ("approx_kl.k3", "approx_kl.k3"),
    "clip fraction": ("clip_fraction", "clip_fraction.outside"),
    "effective sample size": ("ratio.effective", "ratio.effective"),
    "explained variance, old critic": ("explained_variance.old", "explained_variance.old"),
    "explained variance, new critic": ("explained_variance.new", "explained_variance.new"),
}
"""The pieces of PPO under their usual names: the number that is shown, and the row to which its link leads."""
ORIGINS = {"total loss": TOTAL, "advantage whitening": "what is divided by"}
"""What a number is, where it is no mean of its row."""


def start(title: str, about: str, facts: dict[str, str], blocks: Blocks, verdict: Block) -> Sheet:
    """Outlines the first sheet."""
    parts, pieces = ([replace(each, of=ORIGINS.get(each.title, each.of)) for each in some] for some in shown(blocks))
    return start_sheet(Made(title, about, facts, SAYS), parts, pieces, _flow(blocks), verdict)


def shown(blocks: Blocks) -> tuple[list[Piece], list[Piece]]:
    """Returns the parts of the loss, and the pieces, that the first sheet shows."""
    return (
        [Piece(title, blocks[name], blocks[name]) for title, name in PARTS.items()],
        [Piece(title, blocks[name], blocks[row]) for title, (name, row) in PIECES.items()],
    )


def _flow(blocks: Blocks) -> Flow:
    """Draws the way from what is given to the total loss; what enters from elsewhere is named below its box."""

    def box(title: str, name: str) -> Box:
        return Box(title, blocks[name])

    return Flow((
        (box("reward r (given)", "rewards"), ON, box("TD error δ", "td_errors"), ON, box("advantage A", "advantages"), ON,
         box("whitened Â", "advantages_used")),
        (box("value V_old, V(next) (given)", "values.old"), UP, with_("stop", blocks["stop"]), "",
         with_("done", blocks["done"]), DOWN, box("return R", "returns")),
        (box("scores of π_old (given)", "old.logits"), ON, box("log π_old", "old.logprobs"), DOWN),
        (box("scores of π_θ (given)", "policy.logits"), ON, box("log π_θ", "policy.logprobs"), ON, box("ratio ρ", "ratio"), ON,
         box("clipped surrogate", "surrogate"), ON, box("policy loss", "policy_loss"), DOWN),
        ("", DOWN, "", "", "", "", with_("Â", blocks["advantages_used"])),
        ("", "", box("entropy H", "policy.entropy"), DASH, LINE, DASH, LINE, ON, box("mean entropy", "entropy"), ON,
         box("TOTAL LOSS", "total_loss")),
        (box("value V (given)", "values.new"), ON, box("value clipped", "value.clipped"), ON,
         box("larger distance", "value.larger"), ON, box("loss of the step", "value.step_loss"), ON,
         box("value loss", "value_loss"), UP),
        ("", "", with_("V_old", blocks["values.old"]), "", with_("return R", blocks["returns"])),
    ))  # fmt: skip
