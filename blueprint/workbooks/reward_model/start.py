"""The first sheet: the loss and its parts, the pieces with their numbers, the conventions in use, and the map."""

from blueprint.page.outline import Flow, Piece
from blueprint.workbooks.common import DOWN, Rows, Says, lines_of_flow, way_back

PARTS = {
    "total loss": ("total_loss", "total_loss"),
    "preference loss": ("preference_loss", "preference_loss"),
    "centring": ("adds.center", "adds.center"),
    "L2 of the scores": ("adds.l2", "adds.l2"),
}
"""The total loss and the numbers that add up to it."""
PIECES = {
    "chosen scores": ("rewards.chosen", "chosen.score"),
    "rejected scores": ("rewards.rejected", "rejected.score"),
    "margins": ("rewards.margins", "difference"),
    "accuracy": ("accuracy", "right"),
    "preference loss": ("preference_loss", "loss.pair"),
    "lowest score": ("rewards.min", "rewards.min"),
    "highest score": ("rewards.max", "rewards.max"),
}
"""The pieces under their usual names: the number that is shown, and the row to which its link leads."""
SHOWN = {
    "form": "loss.form", "score is read at": "score.read", "margin": "loss.margin", "mean over": "loss.average",
    "centring": "center",
}  # fmt: skip
"""Conventions that the first sheet shows."""
FLOW = (
    (("score of each token", "head"), ("here it is read", "read.here"), ("score", "score"), ("chosen", "chosen.score"),
     ("difference Δ", "difference"), ("Δ − margin", "argument")),
    (("which pairs", "chosen.number"), ("which ranking", "pair.ranking"), ("weight", "weight.pair"), ("rejected", "rejected.score"),
     ("loss of the pair", "loss.pair"), ("TOTAL LOSS", "total_loss")),
)  # fmt: skip
"""From left to right, from what is given to the loss: the title of each box, and the row to which it leads."""
BACKWARDS = (
    ("gradient into the scores", "head"), ("where it is read", "score"), ("into Δ", "difference"),
    ("loss of the pair", "loss.pair"), ("TOTAL LOSS", "total_loss"),
)  # fmt: skip
"""Where the gradient flows, from right to left."""
SAYS = Says(
    (
        "A reward model by hand: one score for each response, learned from which of two was preferred. Nothing is drawn.",
        "A column is one token on the sheets of texts, and one pair on Rankings, Positions and Pairs. A row is a quantity.",
        "The probability that the chosen one is preferred is σ of the difference: that is its log-odds, not proportional to it.",
        "Type into cream cells; everything else follows. On Conventions one picks a library or a paper.",
    ),
    "Beside each value stands what it is a mean of; its link leads to the row.",
    "Choose another preset on Conventions, and everything follows.",
    heading="A reward model by hand",
    which="Which reward model this is",
)


def pieces_of(some: dict[str, tuple[str, str]], rows: Rows) -> list[Piece]:
    """Lists pieces that the first sheet shows."""
    return [Piece(title, rows[shown], rows[row]) for title, (shown, row) in some.items()]


def flow(rows: Rows) -> Flow:
    """Draws the way from what is given to the loss."""
    lines = lines_of_flow(FLOW, rows)
    return Flow((lines[0], ("",) * 10 + (DOWN,), lines[1], way_back(BACKWARDS, rows)))
