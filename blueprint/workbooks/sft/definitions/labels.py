"""The shift, and the mask: which token each position has to predict, and which of them count.

Sources: HF transformers 5.10, loss_utils.py: ForCausalLMLoss (labels are shifted inside); TRL 1.16.0, sft_trainer.py:
DataCollatorForLanguageModeling (completion_mask; with packing bfd the first label of each text is −100).
"""

from typing import NamedTuple

from blueprint.language import Block, Sum, equal, less, where
from blueprint.workbooks.common import Rows
from blueprint.workbooks.sft.definitions.axes import n, o, t
from blueprint.workbooks.sft.definitions.steps import Row, Steps


class Labels(NamedTuple):
    """What each position predicts and whether it counts, (n, t); how many of each text do, (n), and of all.

    left: by how much the number of a text is above that of a place in a column, (o, n).
    """

    id: Row
    counts: Row
    length: Row
    total: Row
    first: Row


def labelled(given: Rows, s: Steps) -> Labels:
    """Shifts the texts: position t, which has read up to token t, predicts token t + 1. given: what is typed of texts."""
    written, m, text, end = (given[name] for name in ("rollout.written", "response.tokens", "text.tokens", "end.id"))
    s.under("Packed end to end: where the next text begins")
    following, seam = _seams(given, s)
    s.under("Which token each position predicts")
    label = s.row("label.id", where(less(0, seam[n, t]), following[n], written[n, t]))
    s.under("Which of them count")
    whole = s.row("label.of_text", text[n, t] + seam[n, t])
    region = s.pick("label.region", (n, t), "region", response=m[n, t], text=whole[n, t])
    is_end = s.row("label.is_end", equal(label[n, t], end))
    beyond = s.row("label.without_end", region[n, t] * (1 - is_end[n, t]))
    counts = s.pick("label.counts", (n, t), "end_token", **{"in": region[n, t], "out": beyond[n, t]})
    length = s.each("label.length", Sum(t, counts[n, t]))
    total = s.one("label.total", Sum(n, length[n]))
    return Labels(label, counts, length, total, _before_the_shift(given["count.texts"], s))


def _seams(given: Rows, s: Steps) -> tuple[Row, Row]:
    """Finds the token with which the next text begins, (n), and where it is to be predicted: right behind a text, (n, t).

    Only plain concatenation predicts it, from a text that has nothing to do with it.
    """
    text, first, place = given["text.tokens"], given["text.first"], given["text.number"]
    left = s.along("text.left", (o, n))
    left[o.first - 1, n] = place[n]
    left[o, n] = left[o - 1, n] - 1
    here = s.along("text.here", (o, n), equal(left[o, n], 0))
    follows = s.along("text.follows", (o, n), equal(left[o, n] + 1, 0))
    column = s.along("text.first_column", (o,), Sum(n, here[o, n] * first[n]))
    following = s.each("text.following", Sum(o, follows[o, n] * column[o]))
    another = s.each("text.another", Sum(o, follows[o, n]))
    behind = s.row("label.behind", text[n, t - 1] * (1 - text[n, t]))
    wrapped = s.row("label.wrapped", behind[n, t] * another[n])
    return following, s.pick("label.seam", (n, t), "packing", none=0, bfd=0, wrapped=wrapped[n, t])


def _before_the_shift(texts: Block, s: Steps) -> Row:
    """Counts labels that no position predicts: the first token of each text, or of the one long text into which all went."""
    firsts = s.pick("label.firsts", (), "packing", none=texts, bfd=0, wrapped=1)
    return s.pick("label.unpredicted", (), "region", response=0, text=firsts)
