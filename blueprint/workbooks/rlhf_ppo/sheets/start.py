"""What the first sheet shows: the parts of the loss, the pieces of RLHF PPO under their usual names, and the map of the flow."""

from dataclasses import replace

from blueprint.language import Block
from blueprint.page.outline import Blueprint, Box, Entry, Flow, Piece, Section
from blueprint.workbooks.common import ABOUT, DASH, DOWN, LINE, ON, TOTAL, UP, Rows, Total, adding_up, way_back, with_

ADDS = ("value loss, weighted", "entropy bonus, weighted", "policy KL, weighted", "KL to the reference, weighted")
"""What is added to the policy loss; the last one only where conventions are live."""
PIECES = {
    "masks and EOS": ("response.words", "mask"),
    "proximity model θ_old": ("mean.old.logprobs", "old.logprobs"),
    "reference model θ_ref": ("mean.reference.logprobs", "reference.logprobs"),
    "per-token log-probs": ("mean.policy.logprobs", "policy.logprobs"),
    "reference KL": ("kl.per_word", "kl.used"),
    "KL penalty": ("mean.reward.penalty", "reward.penalty"),
    "reward-model coupling": ("mean.reward.score", "reward.score"),
    "sequence-level credit assignment": ("score.mean", "score.response"),
    "augmented reward": ("mean.rewards", "rewards"),
    "values of the old critic": ("mean.old_critic.values", "old_critic.values"),
    "TD errors": ("mean.td_errors", "td_errors"),
    "GAE advantage estimation": ("advantage.mean", "advantages"),
    "value targets (from the old critic)": ("returns.mean", "returns"),
    "advantage whitening": ("mean.advantages_used", "advantages_used"),
    "importance-sampling ratios": ("mean.ratio", "ratio"),
    "token-level advantage weighting": ("mean.surrogate.unclipped", "surrogate.unclipped"),
    "clipped surrogate (PPO clip)": ("mean.surrogate", "surrogate"),
    "value loss": ("value_loss", "value.word_loss"),
    "entropy bonus": ("entropy", "policy.entropy"),
    "policy KL": ("policy_kl", "policy_kl"),
    "clip fraction": ("clip_fraction.loss", "clip_fraction.changed"),
    "approximate KL": ("approx_kl.k3", "approx_kl.k3"),
    "explained variance": ("explained_variance", "explained_variance"),
}
"""The pieces, in the order in which they are computed: the number that is shown, and the row of which it speaks."""
SUMS = {
    "mean.rewards": ("mean.reward.penalty", "mean.reward.score"),
    "returns.mean": ("advantage.mean", "mean.old_critic.values"),
}
"""Pieces that are the sum of two others."""
LIVE = {
    "reward-model coupling": ("mean.score.placed", "score.placed"),
    "clip fraction": ("clip_fraction.used", "clip_fraction.used"),
    "approximate KL": ("approx_kl.used", "approx_kl.used"),
    "explained variance": ("ev.used", "ev.used"),
}
"""What is shown instead where conventions are live: what is logged is counted as they say."""
SAYS = {
    "old.logprobs": "θ_old, the policy that wrote the responses: its log-prob of each token",
    "reward.score": "the score, added to the reward at the response's last token",
    "score.placed": "the score, added to the reward at the position where it lands",
}
"""Sentences in place of a row's meaning."""


def _pieces(rows: Rows) -> dict[str, tuple[str, str]]:
    return PIECES | LIVE if "score.placed" in rows else PIECES


def averaged_rows(rows: Rows) -> list[Block]:
    """Lists the rows whose mean over the response the first sheet shows, as far as there is none yet."""
    return [rows[row] for shown, row in _pieces(rows).values() if shown == f"mean.{row}"]


def parts_of(total: Total) -> list[Piece]:
    """Lists the total loss and the numbers that add up to it."""
    policy = total.means["policy_loss"]
    adds = (Piece(name, block, block) for name, block in zip(ADDS, total.adds, strict=False))
    return [Piece("total loss", total.total, total.total, of=TOTAL), Piece("policy loss", policy, policy), *adds]


def pieces_of(rows: Rows) -> list[Piece]:
    """Lists the pieces of RLHF PPO under their usual names."""
    pieces = _pieces(rows).items()
    told = [Piece(title, rows[shown], rows[row], says=SAYS.get(row, "")) for title, (shown, row) in pieces]
    return adding_up(told, SUMS)


def flow_of_signal(x: Rows) -> Flow:
    """Draws the way from given log-probs, scores and values to the advantage."""
    V, score, r = x["values"], x["score"], Box("reward r", x["rewards"])
    delta, A = Box("TD error δ", x["td_errors"]), Box("advantage A", x["advantages"])
    return Flow((
        (Box("log π_old (given)", x["old.logprobs"]), ON, Box("reference KL", x["kl.used"]), ON, r, ON, delta, ON, A, ON,
         Box("whitened Â", x["advantages_used"])),
        (Box("log π_ref (given)", x["reference.logprobs"]), UP, "", "", with_("score", score), "", with_("V_old", V), "", "", DOWN,
         Box("return R", x["returns"])),
        (Box("score (given)", score), "", "", "", "", "", "", "", "", "", with_("V_old", V)),
        (Box("value V_old (given)", V),),
    ))  # fmt: skip


def flow_of_loss(x: Rows) -> Flow:
    """Draws the way from the six models to the total loss; what enters from elsewhere is named below its box."""
    log_old, V_old, score = x["old.logprobs"], x["old_critic.values"], x["score"]
    scored = x["reward.score"] if "reward.score" in x else x["reward_model.score"]
    r, delta, A = Box("reward r", x["rewards"]), Box("TD error δ", x["td_errors"]), Box("advantage A", x["advantages"])
    R, writes = x["returns"], x["word_written"] if "rollout.drawn" in x else x["old.p"]
    return Flow((
        (Box("Old policy π_old writes the tokens", writes), ON, Box("log π_old", log_old), ON,
         Box("reference KL", x["kl.used"]), ON, r, ON, delta, ON, A),
        (Box("Reference π_ref reads them", x["reference.p"]), ON, Box("log π_ref", x["reference.logprobs"]), UP, "", "",
         with_("score", score), "", with_("V_old", V_old), "", "↓"),
        (Box("Reward model reads them", x.get("reward_model.out", scored)), ON, Box("score", scored), "", "", "", "", "", "", "",
         Box("return R", R)),
        (Box("Old critic reads them", V_old), ON, Box("value V_old", V_old), "", "", "", "", "", "", "", with_("V_old", V_old)),
        ("", "", "", "", "", "", "", "", "", "", Box("whitened Â", x["advantages_used"])),
        ("", "", "", "", "", "", "", "", "", "", with_("A", x["advantages"])),
        (Box("Policy π_θ reads them", x["policy.p"]), ON, Box("log π_θ", x["policy.logprobs"]), ON, Box("ratio ρ", x["ratio"]), ON,
         Box("clipped surrogate", x["surrogate"]), ON, Box("policy loss", x["policy_loss"]), DOWN),
        ("", "", "", "", with_("log π_old", log_old), "", with_("Â", x["advantages_used"])),
        ("", DOWN, Box("entropy H", x["policy.entropy"]), DASH, LINE, DASH, LINE, ON, Box("mean entropy", x["entropy"]), ON,
         Box("TOTAL LOSS", x["total_loss"])),
        ("", DOWN, Box("KL from π_old", x["policy_kl.exact"]), DASH, LINE, DASH, LINE, ON, Box("policy KL", x["policy_kl"]), UP),
        ("", "", with_("p of π_old", x["old.p"])),
        (Box("Critic reads them", x["critic.values"]), ON, Box("value V", x["critic.values"]), ON,
         Box("value clipped", x["value.clipped"]), ON, Box("larger square", x["value.word_loss"]), ON,
         Box("value loss", x["value_loss"]), UP),
        ("", "", "", "", with_("V_old", V_old), "", with_("return R", R)),
        *(way_back(line, x) for line in BACKWARDS),
    ))  # fmt: skip


BACKWARDS = (
    (("gradient into the policy", "policy.p"), ("into log π_θ", "policy.logprobs"), ("into ρ", "ratio"),
     ("into U_min", "surrogate"), ("policy loss", "policy_loss"), ("TOTAL LOSS", "total_loss")),
    (("gradient into the critic", "critic.values"), ("into V", "critic.values"), ("into V_c unless held", "value.clipped"),
     ("into the square", "value.word_loss"), ("value loss", "value_loss"), ("TOTAL LOSS", "total_loss")),
)  # fmt: skip
"""Where the gradient flows, from right to left: into policy and critic alone."""


ORDER = "In which order to read the epochs"
STEPS = (
    ("epoch 1: the loss", ("policy_loss",), "θ is still θ_old: every ratio is 1 and the policy loss 0, but its gradient is not"),
    ("who pulls", ("policy.logprobs.grad",), "which token pulls; from there back through soft-max and time to the weights"),
    ("the step", ("update1.norm", "update1.1.norm"), "its norm is held to the largest, and the optimiser makes new weights"),
    ("epoch 2, and so on", ("epoch2.ratio", "epoch1.2.ratio"), "the same sheets with these: the ratio leaves 1, clipping begins"),
    ("side by side", ("epochs.policy_loss",), "all steps, a column for each"),
    ("a check", ("slope.verdict",), "does the loss change as its gradients promise?"),
)  # fmt: skip
"""Where to go: what one looks at, the first row of these that there is, and what is to be seen."""


def with_order(made: Blueprint) -> Blueprint:
    """Says on the first sheet in which order the sheets of epochs are read."""
    rows = {each.name: each for each in made.blocks()}
    found = [(title, rows[name], seen) for title, names, seen in STEPS for name in names if name in rows]
    entries = (
        Entry((str(number), title, "", Box("{sheet}", row), "", seen))
        for number, (title, row, seen) in enumerate(found, 1)
    )
    start, *others = made.sheets
    at = 1 + [section.title for section in start.sections].index(ABOUT)
    sections = (*start.sections[:at], Section(ORDER, tuple(entries)), *start.sections[at:])
    return replace(made, sheets=(replace(start, sections=sections), *others))
