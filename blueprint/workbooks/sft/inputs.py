"""What is given: texts, which of their tokens are the demonstrated response, and which are pads."""

from blueprint.language import match, size, typed
from blueprint.page.outline import Line, Note, Row, Section, Sheet, Table
from blueprint.workbooks.common import InView, Rows, defined, named
from blueprint.workbooks.sft.definitions.axes import n, t, v
from blueprint.workbooks.sft.definitions.steps import LABELS

LEAD = (
    "texts that somebody wrote: a prompt, and the response that the policy is to learn; everything typed but the policy"
)
TEXTS = "One text after the other. A column writes the token above it; the first token of a text stands in the start column."
FLAGS = "1 in both rows: response; 1 in the second alone: prompt; 0 in both: a pad, whichever token stands there."
END = "A response ends with this token. Where pads are the same token, the rows of 0 and 1 tell them apart."


def texts(level: str) -> Rows:
    """Makes what is typed of texts, and what follows from it, by name; the number of a text is called after the level."""
    vocabulary = typed("vocabulary", (v,), "vocab", "tokens", text=True)
    written = typed("word_written", (n, t), "writes", "token at the position", text=True, edges=(t.first - 1,))
    mask = typed("mask", (n, t), "mask", "1 on the response", unit="0 or 1", decimals=0)
    there = typed("text.mask", (n, t), "text_mask", "1 on prompt and response, 0 on pads", unit="0 or 1", decimals=0)
    end = typed("end_word", (), "end", "token that ends a response", text=True)
    place = typed(f"{level}.number", (n,), "no", "number of the text", decimals=0)
    count = LABELS.one("count.texts", size(n))
    ids = defined(LABELS.row("rollout.written"), match(v, vocabulary[v], written[n, t]))
    read = defined(LABELS.row("rollout.read"), match(v, vocabulary[v], written[n, t - 1]))
    first = LABELS.each("text.first", match(v, vocabulary[v], written[n, t.first - 1]))
    end_id = LABELS.one("end.id", match(v, vocabulary[v], end))
    m, text = LABELS.row("response.tokens", mask[n, t]), LABELS.row("text.tokens")
    text[n, t.first - 1] = 1
    text[n, t] = there[n, t]
    found = named(vocabulary, written, mask, there, end, count, ids, read, first, end_id, m, text)
    return {**found, "text.number": place}


def in_view(given: Rows) -> InView:
    """Makes what stays in view: what a column writes, and whether that is of the response."""
    return InView(given["word_written"], given["response.tokens"])


def inputs_sheet(given: Rows) -> Sheet:
    """Outlines vocabulary and texts."""
    flags = ("mask", "text.mask", "response.tokens", "text.tokens")
    sections = (
        Section("Vocabulary", (Note(END), Line((given["end_word"], given["end.id"])), Table(given["vocabulary"], role="text"))),
        Section("The texts", (
            Note(TEXTS), Line((given["count.texts"],), "line"), Row(given["text.number"], "fixed"),
            Row(given["word_written"], "text"), given["rollout.read"], given["rollout.written"], given["text.first"],
        )),
        Section("What is response, prompt and pad", (Note(FLAGS), *(given[name] for name in flags))),
    )  # fmt: skip
    return Sheet("Inputs", LEAD, sections, (n, t))
