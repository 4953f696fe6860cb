"""The rollout: prompts, the live draw of every token, and the mask that says which positions were the policy's own; or prompts and
responses that are given as texts.

A column is one position: column t reads s = a(t−1) and writes a(t). The start column writes the first token of the prompt; prompt
columns write the tokens that are given; the column that reads the last of them writes the first token of the response. What stands
behind the end of a given text is blank: no token is read or written there, and its id is 0.
"""

from collections.abc import Sequence

from blueprint.inputs import Array, padded
from blueprint.language import (
    Block,
    Sum,
    at_most,
    block,
    equal,
    filled,
    find,
    less,
    match,
    maximum,
    minimum,
    number,
    size,
    typed,
    where,
)
from blueprint.workbooks.common.definitions.metrics import per_response
from blueprint.workbooks.common.definitions.rewards_and_gae import count, ends_at
from blueprint.workbooks.common.definitions.writing_rows import ROWS, Choices, defined, n, t, v
from blueprint.workbooks.common.sheets.walk import Rows, named

RESPONSE = "rollout.response"
"""The typed tokens of the responses, where there are any: written whatever is drawn; where one is blank, the draw decides."""


def prompts(with_responses: bool = False) -> dict[str, Block]:
    """Makes what is typed of texts, by name, and the ids of the prompts; the start column writes the first token.

    The ends of the draws are typed, too: 0 and 1 themselves could fall on no token, by rounding.
    """
    vocabulary = typed("vocabulary", (v,), "vocab", "tokens; the first one (id 0) ends a text", text=True)
    given = typed("given", (n, t), "prompt", "given token; blank: the policy writes", text=True, edges=(t.first - 1,))
    is_given, given_id = prompt_ids(given, vocabulary)
    decisions = defined(block("decisions", (), "T", "positions: longest prompt + tokens allowed", decimals=0), size(t))
    blank = "token that is written; blank: the draw decides"
    return named(
        vocabulary,
        given,
        is_given,
        given_id,
        decisions,
        *([typed(RESPONSE, (n, t), "response", blank, text=True)] if with_responses else []),
        typed("max_new_tokens", (), "max_new", "tokens the policy may write, at most", decimals=0),
        typed("max_new_tokens.low", (), "least", "fewest tokens that may be allowed", decimals=0),
        typed("max_new_tokens.high", (), "most", "tokens for which there are columns", decimals=0),
        typed("rollout.draw.low", (), "u_low", "lowest draw", decimals=2),
        typed("rollout.draw.high", (), "u_high", "highest draw", decimals=2),
    )


def prompt_ids(given: Block, vocabulary: Block) -> tuple[Block, ...]:
    """Says where a token of a prompt is typed, 0 or 1, and its id there, else 0."""
    is_given, given_id = ROWS.rows("is_given", "given_id")
    for at in ((n, t.first - 1), (n, t)):
        is_given[at] = filled(given[at])
        given_id[at] = where(filled(given[at]), match(v, vocabulary[v], given[at]), 0)
    return is_given, given_id


def rollout(given: Rows, s: Block, a: Block, m: Block, p: Block) -> dict[str, Block]:
    """Writes the response, one drawn (or typed) token after the other; returns all rows that lead to it, by name.

    s, a: the ids that are read and written. m: the mask. p: the probabilities of the policy that reads s.
    """
    drawn = draw(p)
    forced = typed_or_drawn(given, drawn[-1])
    read_one_by_one(given, s, a)
    a[n, t] = given["given_id"][n, t] + m[n, t] * (*drawn, *forced)[-1][n, t]
    turn, words = whose_turn(given, a, m), as_words(given, a, m)
    length, total = per_response("response.length", m, ROWS), count("response.words", m, ROWS)
    return named(s, a, m, *drawn, *forced, *turn, *words, length, total)


def read_one_by_one(given: Rows, s: Block, a: Block) -> None:
    """Lets each column read the id that the one before it writes; the start column writes the first token of the prompt."""
    a[n, t.first - 1] = given["given_id"][n, t.first - 1]
    s[n, t] = a[n, t - 1]


def typed_or_drawn(given: Rows, drawn: Block) -> tuple[Block, ...]:
    """Takes the token that is typed for the response, and where none is the drawn one; nothing if none can be typed."""
    if RESPONSE not in given:
        return ()
    token = given[RESPONSE][n, t]
    forced = where(filled(token), match(v, given["vocabulary"][v], token), drawn[n, t])
    return given[RESPONSE], ROWS.row("rollout.forced", forced)


def draw(p: Block) -> tuple[Block, Block, Block]:
    """Draws a token in every column: the one whose piece of the line from 0 to 1 the typed number u falls on.

    Searched are the sums *before* each token (0 for the first), so that no u below 1 can leave the vocabulary.
    Source: inverse transform sampling.
    """
    u = typed("rollout.draw", (n, t), "u", "uniform draw, typed", unit="0.01 … 0.99", decimals=2)
    upto = block(
        "old.cumulative", (n, t, v), "F", "probability of the token and all before it", unit="0 … 1", decimals=3
    )
    upto[n, t, v.first - 1] = 0
    upto[n, t, v] = upto[n, t, v - 1] + p[n, t, v]
    return u, upto, ROWS.row("rollout.drawn", find(v, upto[n, t, v - 1], u[n, t]))


def whose_turn(given: Rows, a: Block, m: Block) -> tuple[Block, ...]:
    """Defines the mask m[n, t]: the policy writes where no token is given, the text has not ended, and tokens are left."""
    room, allowed, ended = ROWS.rows("rollout.room", "rollout.allowed", "rollout.ended")
    is_end, ends = ROWS.rows("rollout.is_end", "rollout.ends")
    for row in (m, ends, ended):
        row[n, t.first - 1] = 0
    room[n, t.first - 1] = given["max_new_tokens"]
    m[n, t.last + 1] = 0
    room[n, t] = room[n, t - 1] - m[n, t - 1]
    allowed[n, t] = less(0, minimum(room[n, t], given["decisions"] - number(t)))
    ended[n, t] = maximum(ended[n, t - 1], ends[n, t - 1])
    m[n, t] = (1 - given["is_given"][n, t]) * (1 - ended[n, t]) * allowed[n, t]
    ends_at(is_end, ends, a, m, 0)
    return room, allowed, is_end, ends, ended


def slots_of(given: Rows) -> tuple[Block, Block]:
    """Counts the response positions, whether a response fills them or ends before; and a row with 1 in each of them.

    There are max_new_tokens for each response, and none in the last column, which writes nothing.
    """
    slot, S = ROWS.rows("slots.number", "slots")
    is_given, most = given["is_given"], given["max_new_tokens"]
    slot[n, t.first - 1] = 0
    slot[n, t] = slot[n, t - 1] + 1 - is_given[n, t]
    S[n, t.last + 1] = 0
    S[n, t] = (1 - is_given[n, t]) * at_most(slot[n, t], most) * less(number(t), given["decisions"])
    return slot, S


def as_words(given: Rows, a: Block, m: Block) -> tuple[Block, Block]:
    """Spells the ids that are read and written as words; empty after the end of the text."""
    written, read = ROWS.rows("word_written", "word_read")
    vocabulary = given["vocabulary"]
    written[n, t.first - 1] = vocabulary[a[n, t.first - 1]]
    written[n, t] = where(equal(given["is_given"][n, t] + m[n, t], 1), vocabulary[a[n, t]], "")
    read[n, t] = written[n, t - 1]
    return read, written


GIVEN_RESPONSE = "text.response"
"""The typed tokens of the responses."""
TEXTS = ("word_read", "word_written", "rollout.read", "rollout.written", "response.tokens", "text.tokens")


def texts() -> dict[str, Block]:
    """Makes prompts and responses and what follows from them, by name: words and ids read and written, `response.tokens` (n, t),
    1 on the response, and `text.tokens`, 1 on prompt and response, and on the first token."""
    vocabulary = typed("vocabulary", (v,), "vocab", "tokens; the first one (id 0) ends a text", text=True)
    given = typed("given", (n, t), "prompt", "token of the prompt", text=True, edges=(t.first - 1,))
    is_given, given_id = prompt_ids(given, vocabulary)
    prompts = named(vocabulary, given, is_given, given_id)
    response = typed(GIVEN_RESPONSE, (n, t), "response", "token of the response", text=True)
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


def in_order(rows: Rows) -> tuple[Block, ...]:
    """Measures what must be 0 of typed texts: a token behind a blank, a cell with two tokens, a text without a response."""
    text, m = rows["text.tokens"], rows["response.tokens"]
    return (
        ROWS.row("check.gap", less(text[n, t - 1], text[n, t])),
        ROWS.row("check.twice", rows["is_given"][n, t] * m[n, t]),
        ROWS.each("check.no_response", less(Sum(t, m[n, t]), 1)),
    )


def laid_out(prompts: Sequence[Sequence[str]], responses: Sequence[Sequence[str]], columns: int) -> tuple[Array, Array]:
    """Lays prompts, (n, 1 + columns), and responses, (n, columns), out in cells; a response begins behind its prompt."""
    behind = [[""] * (len(prompt) - 1) + list(response) for prompt, response in zip(prompts, responses, strict=True)]
    return padded(prompts, columns + 1), padded(behind, columns)


def columns_of(prompts: Sequence[Sequence[str]], *responses: Sequence[Sequence[str]]) -> int:
    """Counts the positions of the longest text: the first token has none, since nothing is read before it."""
    return max(len(prompt) + len(each) for texts in responses for prompt, each in zip(prompts, texts, strict=True)) - 1
