"""What a number of the first sheet is a mean or a sum of, read off its equation, so that the two cannot drift apart."""

from dataclasses import replace

from blueprint.language import Block, Expr, Op, Reduce, Ref, walk
from blueprint.page.outline import Piece

OVER = {
    "response.words": "the response words",
    "response.count": "the responses",
    "window.words": "the words shown",
    "advantage.count": "what whitening counts",
    "count": "all steps",
}
"""What a mean is taken over, by the name of the count that divides its sum."""
NEITHER = "one number for the batch"
TOTAL = "sum of the parts below it"
WEIGHTED = "weighted sum over the words"


def with_origins(pieces: list[Piece]) -> list[Piece]:
    """Says of each piece that has not said so itself what its value is a mean or a sum of."""
    return [replace(piece, of=piece.of or averaged(piece.shown) or NEITHER) for piece in pieces]


def averaged(shown: Block) -> str:
    """Returns what a number is a mean or a sum of; "" if it is neither."""
    if shown.typed or shown.text or shown.axes:
        return ""
    return _said(shown.definitions[-1].expr)


def _said(expr: Expr) -> str:
    match expr:
        case Op("neg", (Op("mul", (Ref(), Ref())) as product,)):
            return "−" * bool(_said(product)) + _said(product)
        case Op("neg", (inner,)):
            return "− " * bool(_said(inner)) + _said(inner)
        case Op("div", (Reduce("sum"), below)):
            counts = [node.block.name for node in walk(below) if isinstance(node, Ref)]
            return f"mean over {OVER[counts[0]]}" if counts and counts[0] in OVER else ""
        case Op("maximum", (Reduce("sum"), _)):
            return "how many words: Σ of the mask"
        case Reduce("sum", _, Ref()):
            return "sum over the words shown"
        case Reduce("sum") | Op("mul", (Ref(), Reduce("sum"))):
            return WEIGHTED
        case Op("mul", (Ref(coefficient), Ref(inner))) if averaged(inner):
            return f"{coefficient.symbol} times a {'weighted sum' if averaged(inner) == WEIGHTED else 'mean'}"
    return ""
