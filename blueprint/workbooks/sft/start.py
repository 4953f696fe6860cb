"""The first sheet: the loss, the pieces with their numbers, the conventions in use, and the map."""

from blueprint.page.outline import Flow, Piece
from blueprint.workbooks.common import DOWN, Rows, Says, lines_of_flow, way_back

PARTS = {"loss": ("total_loss", "total_loss")}
"""The loss; it is all there is."""
PIECES = {
    "labels that count": ("label.total", "label.counts"),
    "mean NLL": ("nll", "watch.nll_of_token"),
    "perplexity": ("perplexity", "perplexity"),
    "token accuracy": ("token_accuracy", "watch.hit"),
    "entropy": ("entropy", "watch.entropy_of_token"),
    "loss": ("total_loss", "loss.of_token"),
}
"""The pieces under their usual names: the number that is shown, and the row to which its link leads."""
MEAN = "mean over the labels that count"
OF = {
    "label.total": "labels that count: Σ of m",
    "total_loss": "sum over the texts",
    **dict.fromkeys(("nll", "token_accuracy", "entropy"), MEAN),
}
"""What a number is a mean or a sum of."""
SHOWN = {
    "tokens that count": "region", "end token": "end_token", "divided by": "loss.normaliser", "microbatches": "microbatches",
    "packing": "packing", "DFT": "loss.dft",
}  # fmt: skip
"""Conventions that the first sheet shows."""
FLOW = (
    (("texts", "word_written"), ("labels", "label.id"), ("which count", "label.counts"), ("share of each", "loss.share"),
     ("weight", "label.weight")),
    (("policy", "policy.logits"), ("π", "policy.p"), ("log π of the label", "policy.logprobs"), ("cost of it", "loss.of_token"),
     ("LOSS", "total_loss")),
)  # fmt: skip
"""From left to right, from what is given to the loss: the title of each box, and the row to which it leads."""
BACKWARDS = (
    ("gradient into π_θ", "policy.logits"), ("into log π", "policy.logprobs"), ("cost of it", "loss.of_token"),
    ("LOSS", "total_loss"),
)  # fmt: skip
"""Where the gradient flows, from right to left."""
SIGNS = (
    "n: text · t: position · v: token, by its id · b: microbatch · y: the label, the token that a position has to predict",
    "start: before position 1 · end: after the last · Σ: one number for the text · batch: for all texts of the step",
    "N: labels that count in the step · n_y: in the text · B: texts · M: microbatches · [a < b]: 1 if it holds, else 0",
    "The orange number at the head of a sheet is the position that is chosen on Walk.",
)
SAYS = Says(
    (
        "Supervised fine-tuning: the policy reads what somebody wrote, and every token of the response becomes likelier.",
        "A column is one position: it has read up to the token before it, and predicts the token that stands above it.",
        "Type into cream cells; everything else follows. The sheet Walk derives one label from the shift to what it costs; "
        "Charts has the pictures.",
    ),
    "Beside each value stands what it is a sum or mean of; its link leads to the row.",
    "Pick a library or a paper on Conventions, and everything follows.",
    heading="Supervised fine-tuning by hand",
    which="Which fine-tuning this is",
    signs=SIGNS,
)


def pieces_of(some: dict[str, tuple[str, str]], rows: Rows) -> list[Piece]:
    """Lists pieces that the first sheet shows."""
    return [Piece(title, rows[shown], rows[row], of=OF.get(shown, "")) for title, (shown, row) in some.items()]


def flow(rows: Rows) -> Flow:
    """Draws the way from what is given to the loss."""
    lines = lines_of_flow(FLOW, rows)
    return Flow((lines[0], ("",) * 8 + (DOWN,), lines[1], way_back(BACKWARDS, rows)))
