"""What Walk derives of one pair: from the log-probs of both responses to the loss, and what the gradient weighs."""

from collections.abc import Iterator

from blueprint.language import Block, typed
from blueprint.page.outline import Choice, Sheet, Told
from blueprint.workbooks.common import Rows, titled_sections, walk
from blueprint.workbooks.dpo.definitions.axes import p

MODELS = {"policy": "logp", "reference": "logp_ref"}
"""By model the log-prob of a whole response."""
LEAD = "one pair, derived from top to bottom: pick a pair; every line follows; options not in use are folded"
STEPS = {
    "How much likelier has each become?": ("chosen.against", "chosen.ratio", "rejected.against", "rejected.ratio"),
    "By how much more has the chosen one gained?": ("margin", "margin.scaled", "margin.argument"),
    "The loss of the pair: how surprising is it that this one was preferred?": (
        "margin.right", "margin.wrong", "loss.sigmoid", "loss.ipo_off", "loss.ipo", "loss.pair",
    ),
    "What the gradient weighs it with": ("loss.sure", "loss.unsure"),
    "The implicit rewards, as they are logged": (
        "chosen.reward", "rejected.reward", "chosen.logged", "rejected.logged", "watch.margin", "watch.right",
    ),
    "The loss of the batch": ("weight.used", "loss.weighed", "preference_loss", "adds.nll", "total_loss"),
}  # fmt: skip
"""The rows of each section, in the order of computation; what a workbook does not have is left out."""


def walk_of(rows: Rows) -> tuple[Sheet, Choice, dict[Block, object]]:
    """Outlines the sheet; returns it, the choice of the pair, and what is typed."""
    picked, first = walk.picking((p,), {typed("walk.pair", (), "p", "pair to walk through", decimals=0): 1})
    there = {title: tuple(rows[name] for name in names if name in rows) for title, names in STEPS.items()}
    return walk.walk_sheet(picked, (), titled_sections(*_tokens(rows), *there.items()), LEAD), picked, first


def _tokens(rows: Rows) -> Iterator[tuple[str, tuple[Block | Told, ...]]]:
    """Yields what both models say of each token of the chosen response, and of the rejected one; and of the whole of it."""
    words, counts = rows["word_written"], rows["response.tokens"]
    for side in ("chosen", "rejected"):
        lines = (
            line
            for model, of in MODELS.items()
            for line in (
                Told(
                    rows[f"{model}.logprobs"],
                    words,
                    counts,
                    rows[f"pair.{side}"],
                    rows[f"{side}.{of}"],
                    f"its tokens, by the {model}",
                ),
                rows[f"{side}.{of}"],
            )
        )
        length = (rows[f"{side}.length"],) if f"{side}.length" in rows else ()
        yield f"The {side} response, token by token", (*length, *lines)
