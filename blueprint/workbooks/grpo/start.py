"""The first sheet: the loss and its parts, the pieces with their numbers, the conventions in use, and the map."""

from collections.abc import Collection

from blueprint.page.outline import Flow, Piece
from blueprint.workbooks.common import DOWN, Rows, Says, lines_of_flow, way_back

PARTS = {
    "total loss": ("total_loss", "total_loss"),
    "policy loss": ("policy_loss", "policy_loss"),
    "KL to the reference, weighted": ("adds.kl_loss", "adds.kl_loss"),
    "entropy bonus, weighted": ("adds.entropy", "adds.entropy"),
}
"""The total loss and the three numbers that add up to it."""
PIECES = {
    "rewards": ("mean.reward", "reward"),
    "equal rewards": ("group.share_same", "group.share_same"),
    "advantages": ("mean.advantage", "advantages"),
    "ratios": ("mean.ratio", "ratio"),
    "clipped below": ("clip.fraction_low", "clip.low"),
    "clipped above": ("clip.fraction_high", "clip.high"),
    "KL to the reference": ("kl.mean_new", "kl_new.counts"),
    "policy loss": ("policy_loss", "policy.token_loss"),
    "entropy": ("entropy", "policy.entropy"),
}
"""The pieces under their usual names: the number that is shown, and the row to which its link leads."""

SHOWN = {
    "baseline": "group.baseline", "spread": "group.std", "ratio of": "ratio.level", "objective": "loss.objective", "KL": "kl.place",
    "tokens are averaged": "loss.aggregation",
}  # fmt: skip
"""The conventions that the first sheet shows, where they can be chosen, by what it calls them."""

MEANS = {
    "mean.reward": "mean over the responses", "group.share_same": "share of the prompts",
    "mean.advantage": "mean over all tokens", "mean.ratio": "mean over all tokens", "kl.mean_new": "mean over all tokens",
    "clip.fraction_low": "share of all tokens", "clip.fraction_high": "share of all tokens",
}  # fmt: skip
"""What a number is a mean of, where its equation does not say so by itself."""


def pieces_of(some: dict[str, tuple[str, str]], rows: Rows, without: Collection[str] = ()) -> list[Piece]:
    """Lists pieces that the first sheet shows. without: numbers that are not known."""
    return [
        Piece(title, rows[shown], rows[row], of=MEANS.get(shown, ""))
        for title, (shown, row) in some.items()
        if shown not in without
    ]


def flow(rows: Rows) -> Flow:
    """Draws the way from what is given to the loss."""
    lines = lines_of_flow(FLOW, rows)
    down = ("",) * 10 + (DOWN,)
    return Flow((lines[0], down, lines[1], down, lines[2], way_back(BACKWARDS, rows)))


FLOW = (
    (("score", "score"), ("reward r", "reward"), ("in the group", "group.reward"),
     ("less the baseline", "group.less_baseline"), ("advantage A", "group.advantage"), ("of the token Â", "advantages")),
    (("log π_θ", "policy.logprobs"), ("log-ratio d", "log_ratio"), ("ratio ρ", "ratio"), ("clipped surrogate", "surrogate"),
     ("loss of the token", "policy.token_loss"), ("POLICY LOSS", "policy_loss")),
    (("log π_ref", "reference.logprobs"), ("KL of the token", "kl_new.counts"), ("mean KL", "kl_loss"),
     ("what it adds", "adds.kl_loss"), ("TOTAL LOSS", "total_loss")),
)  # fmt: skip
"""From left to right, from what is given to the loss: the title of each box, and the row to which it leads."""
BACKWARDS = (
    ("gradient into π_θ", "policy.logprobs"), ("into d", "log_ratio"), ("into ρ", "ratio"), ("into U_min", "surrogate"),
    ("policy loss", "policy_loss"), ("TOTAL LOSS", "total_loss"),
)  # fmt: skip
"""Where the gradient flows, from right to left."""
SIGNS = (
    "q: prompt · i: response to the prompt · n: response, counted through all prompts · t: position · v: token, by its id",
    "start: before position 1 · end: after the last · Σ: one number for the response, on Groups for the prompt · batch: for all",
    "G: responses to a prompt · B: all responses · N: all their tokens · 1/N, 1/(B·len): weights of a token",
    "[a < b]: 1 if it holds, else 0 · o: a response, down a column · where several words stand in brackets, one of them is in use",
    "The orange number at the head of a sheet is the position that is chosen on Walk.",
)
SAYS = Says(
    (
        "GRPO and its family: several responses to each prompt, rewards compared within the group, no critic.",
        "A column is one token of one response, on every sheet but Groups, where it is one response. A row is a quantity.",
        "Type into cream cells; everything else follows. The sheet Walk derives one token; Charts has the pictures.",
        "Steps on the way, and what other conventions would do, are folded: + in the margin opens them, 2 above it all.",
    ),
    "Beside each value stands what it is a mean of; its link leads to the row. A loss of 0 may learn all the same: a workbook "
    "built with --gradients says above how many tokens a step makes likelier, and how long the gradient is.",
    "Pick a library or a paper on Conventions, and everything follows. blueprint which --numbers grpo-batch ranks them.",
    heading="GRPO by hand",
    which="Which GRPO this is",
    signs=SIGNS,
)
