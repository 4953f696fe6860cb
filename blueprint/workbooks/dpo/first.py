"""The first sheet: the loss and its parts, the pieces with their numbers, the conventions in use, and the map."""

from blueprint.page.outline import Box, Flow, Piece
from blueprint.workbooks.common import DOWN, ON, Chosen, Rows, Says

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
SHOWN = {
    "form": "loss.form", "β": "beta", "log-prob of a response": "logp.of", "reference": "reference.used",
    "label smoothing": "loss.label_smoothing",
}  # fmt: skip
"""Conventions that the first sheet shows."""
FLOW = (
    (("log π_θ", "policy.logprobs"), ("of a response", "policy.logp"), ("chosen", "chosen.logp"), ("log-ratio", "chosen.ratio"),
     ("margin h", "margin"), ("βh − γ", "margin.argument")),
    (("log π_ref", "reference.logprobs"), ("of a response", "reference.logp"), ("rejected", "rejected.logp"),
     ("loss of the pair", "loss.pair"), ("mean", "preference_loss"), ("TOTAL LOSS", "total_loss")),
)  # fmt: skip
"""From left to right, from what is given to the loss: the title of each box, and the row to which it leads."""
SAYS = Says(
    (
        "DPO and its relatives: two responses to a prompt, one preferred; no reward model, no critic, nothing is drawn.",
        "A column is one token, on every sheet but Pairs, where it is one pair. A row is a quantity.",
        "Type into cream cells; everything else follows. On Conventions one picks a library or a paper.",
    ),
    "Beside each value stands what it is a mean of; its link leads to the row.",
    heading="DPO by hand",
    which="Which DPO this is",
)


def pieces(some: dict[str, tuple[str, str]], rows: Rows) -> list[Piece]:
    """Lists pieces that the first sheet shows."""
    return [Piece(title, rows[shown], rows[row]) for title, (shown, row) in some.items()]


def choices_made(chosen: Chosen) -> tuple[Piece, ...]:
    """Lists which conventions are in use, for the first sheet."""
    used = {
        "preset in use": chosen.table.chosen,
        **{title: chosen.settings.used[key] for title, key in SHOWN.items() if key in chosen.settings.used},
    }
    return tuple(Piece(title, block, block, equation=False) for title, block in used.items())


def flow(rows: Rows) -> Flow:
    """Draws the way from what is given to the loss."""
    lines = []
    for line in FLOW:
        boxes = [Box(title, rows[name]) for title, name in line]
        lines.append(tuple(part for box in boxes for part in (ON, box))[1:])
    return Flow((lines[0], ("",) * 10 + (DOWN,), lines[1]))
