"""Texts that are given: prompts, and what answers them, as tokens typed into cells; from them the ids that are read and written.

A column is one position, as in a rollout: column t reads the token that column t − 1 writes, and the start column writes the first
token of the prompt. What stands behind the end of a text is blank: no token is read or written there, and its id is 0.
"""

from collections.abc import Sequence

from blueprint.inputs import Array
from blueprint.language import Block, Sum, filled, less, match, typed, where
from blueprint.workbooks.common.definitions import ROWS, Choices, n, t, v
from blueprint.workbooks.common.rollout import as_words, padded, prompt_ids, read_one_by_one
from blueprint.workbooks.common.sheets.rows import Rows, named

RESPONSE = "text.response"
"""The typed tokens of the responses."""
TEXTS = ("word_read", "word_written", "rollout.read", "rollout.written", "response.tokens", "text.tokens")


def texts() -> dict[str, Block]:
    """Makes prompts and responses and what follows from them, by name: words and ids read and written, `response.tokens` (n, t),
    1 on the response, and `text.tokens`, 1 on prompt and response, and on the first token."""
    vocabulary = typed("vocabulary", (v,), "vocab", "tokens; the first one (id 0) ends a text", text=True)
    given = typed("given", (n, t), "prompt", "token of the prompt", text=True, edges=(t.first - 1,))
    is_given, given_id = prompt_ids(given, vocabulary)
    prompts = named(vocabulary, given, is_given, given_id)
    response = typed(RESPONSE, (n, t), "response", "token of the response", text=True)
    made = prompts | answered(prompts, response, "text", "rollout", ROWS)
    m, text, a = made["response.tokens"], ROWS.row("text.tokens"), made["rollout.written"]
    text[n, t.first - 1] = 1
    text[n, t] = is_given[n, t] + m[n, t]
    return made | named(text, *as_words(prompts, a, m))


def answered(prompts: Rows, response: Block, whose: str, ids: str, use: Choices) -> dict[str, Block]:
    """Lets a typed response follow each prompt: its mask, its ids, and the ids read and written.

    whose, ids: what the names begin with, `text.response_id` and `rollout.written`; the mask of texts is `response.tokens`.
    """
    m = use.row("response.tokens" if whose == "text" else f"{whose}.tokens", filled(response[n, t]))
    token = match(v, prompts["vocabulary"][v], response[n, t])
    own = use.row(f"{whose}.response_id", where(filled(response[n, t]), token, 0))
    a, s = use.row(f"{ids}.written"), use.row(f"{ids}.read")
    read_one_by_one(prompts, s, a)
    a[n, t] = prompts["given_id"][n, t] + (1 - prompts["is_given"][n, t]) * own[n, t]
    return named(response, m, own, a, s)


def in_order(rows: Rows, use: Choices = ROWS) -> tuple[Block, ...]:
    """Measures what must be 0 of typed texts: a token behind a blank, a cell with two tokens, a text without a response."""
    text, m = rows["text.tokens"], rows["response.tokens"]
    return (
        use.row("check.gap", less(text[n, t - 1], text[n, t])),
        use.row("check.twice", rows["is_given"][n, t] * m[n, t]),
        use.each("check.no_response", less(Sum(t, m[n, t]), 1)),
    )


def laid_out(prompts: Sequence[Sequence[str]], responses: Sequence[Sequence[str]], columns: int) -> tuple[Array, Array]:
    """Lays prompts, (n, 1 + columns), and responses, (n, columns), out in cells; a response begins behind its prompt."""
    behind = [[""] * (len(prompt) - 1) + list(response) for prompt, response in zip(prompts, responses, strict=True)]
    return padded(prompts, columns + 1), padded(behind, columns)


def columns_of(prompts: Sequence[Sequence[str]], *responses: Sequence[Sequence[str]]) -> int:
    """Counts the positions of the longest text: the first token has none, since nothing is read before it."""
    return max(len(prompt) + len(each) for texts in responses for prompt, each in zip(prompts, texts, strict=True)) - 1
