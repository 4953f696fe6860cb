"""The first sheet: the loss and its parts, the pieces with their numbers, the conventions in use, and the map."""

from blueprint.page.outline import Flow, Piece
from blueprint.workbooks.common import DOWN, UP, Rows, Says, adding_up, lines_of_flow, way_back

PARTS = {
    "total loss": ("total_loss", "total_loss"),
    "preference loss": ("preference_loss", "preference_loss"),
    "likelihood of the chosen, weighted": ("adds.nll", "adds.nll"),
}
"""The total loss and the numbers that add up to it."""
PIECES = {
    "chosen rewards": ("rewards.chosen", "chosen.logged"),
    "rejected rewards": ("rewards.rejected", "rejected.logged"),
    "margins": ("rewards.margins", "watch.margin"),
    "accuracy": ("rewards.accuracies", "watch.right"),
    "preference loss": ("preference_loss", "loss.pair"),
    "NLL of the chosen": ("nll", "nll.of_token"),
}
"""The pieces under their usual names: the number that is shown, and the row to which its link leads."""
MEANS = {
    "rewards.chosen": "mean over the pairs", "rewards.rejected": "mean over the pairs", "rewards.margins": "mean over the pairs",
    "rewards.accuracies": "share of the pairs", "preference_loss": "mean over the pairs", "nll": "mean over their tokens",
}  # fmt: skip
"""What a number is a mean of, where its equation does not say so by itself."""
CHOSEN_AMONG = ("chosen.logged", "rejected.logged", "loss.pair")
"""Rows whose equations list all that could be chosen: the first sheet has no room for them, and says what they are."""
SHOWN = {
    "form": "loss.form", "β": "beta", "log-prob of a response": "logp.of", "reference": "reference.used",
    "label smoothing": "loss.label_smoothing",
}  # fmt: skip
"""Conventions that the first sheet shows."""
FLOW = (
    (("log π_θ", "policy.logprobs"), ("of a response", "policy.logp"), ("chosen", "chosen.logp"), ("log-ratio", "chosen.ratio"),
     ("margin h", "margin"), ("βh − γ", "margin.argument")),
    (("log π_ref", "reference.logprobs"), ("of a response", "reference.logp"), ("rejected", "rejected.logp"),
     ("log-ratio", "rejected.ratio")),
    (("log σ(βh − γ)", "margin.right"), ("loss of the pair", "loss.pair"), ("its weight", "loss.weighed"),
     ("mean", "preference_loss"), ("NLL added", "adds.nll"), ("TOTAL LOSS", "total_loss")),
)  # fmt: skip
"""From left to right, from what is given to the loss: the title of each box, and the row to which it leads."""
BACKWARDS = (
    ("gradient into π_θ", "policy.logprobs"), ("both responses", "policy.logp"), ("into h", "margin"),
    ("into log σ", "margin.right"), ("loss of the pair", "loss.pair"), ("TOTAL LOSS", "total_loss"),
)  # fmt: skip
"""Where the gradient flows, from right to left."""
SIGNS = (
    "p: pair · w, l: its chosen and its rejected response · n: response, counted through all pairs · t: position · v: token",
    "start: before position 1 · end: after the last · Σ: one number for the response · all: for all pairs",
    "h: log-ratio of the chosen response less that of the rejected · u = βh − γ · σ(x) = 1/(1 + e^−x)",
    "o: a pair, down a column · [a < b]: 1 if it holds, else 0 · where several words stand in brackets, one of them is in use",
    "The orange number at the head of a sheet is the pair that is chosen on Walk.",
)
SAYS = Says(
    (
        "DPO and its relatives: two responses to a prompt, one preferred; no reward model, no critic, nothing is drawn.",
        "A column is one token, on every sheet but Pairs, where it is one pair. A row is a quantity.",
        "Type into cream cells; everything else follows. The sheet Walk derives one pair; Charts has the pictures.",
        "Steps on the way, and what other losses would make of it, are folded: + in the margin opens them, 2 above it all.",
    ),
    "Beside each value stands what it is a mean of; its link leads to the row. Rewards and margins are watched and not trained: "
    "the loss knows the margin alone.",
    "Pick a library or a paper on Conventions, and everything follows.",
    heading="DPO by hand",
    which="Which DPO this is",
    signs=SIGNS,
)


def pieces_of(some: dict[str, tuple[str, str]], rows: Rows) -> list[Piece]:
    """Lists pieces that the first sheet shows."""
    found = [
        Piece(
            title,
            rows[shown],
            rows[row],
            equation=row not in CHOSEN_AMONG,
            of=MEANS.get(shown, "") if row != shown else "",
        )
        for title, (shown, row) in some.items()
    ]
    return adding_up(found, {"rewards.margins": ("rewards.chosen", "rewards.rejected")}, "−")


def flow(rows: Rows) -> Flow:
    """Draws the way from what is given to the loss."""
    lines = lines_of_flow(FLOW, rows)
    meet, down = ("",) * 7 + (UP,), ("",) * 10 + (DOWN,)
    return Flow((lines[0], meet, lines[1], down, lines[2], way_back(BACKWARDS, rows)))
