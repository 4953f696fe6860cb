"""The rollout: prompts, the live draw of every word, and the mask that says which decisions were the policy's own.

A column is one decision: column t reads s = a(t−1) and writes a(t). The start column writes the first prompt word;
prompt columns write the words that are given; the column that reads the last of them writes the first own word.
"""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import (
    Block,
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
from blueprint.workbooks.common.axes import n, t, v
from blueprint.workbooks.common.definitions.choices import ROWS
from blueprint.workbooks.common.definitions.distribution import Distribution, softmax
from blueprint.workbooks.common.definitions.metrics import per_response
from blueprint.workbooks.common.definitions.networks import (
    Memory,
    Network,
    Temperature,
    logits,
    rnn,
    tempered,
)
from blueprint.workbooks.common.definitions.places import end_words, ends_at
from blueprint.workbooks.common.definitions.whitening import count
from blueprint.workbooks.rlhf_ppo.texts import DrawRange, Length, Prompts, Slots, Texts, Turn


class Rollout(NamedTuple):
    """What was read and written (ids and words), the mask m, the draws, the counts, and the network that did it.

    fixed: the typed response and the ids that come of it, where responses are typed.
    """

    read: Block
    written: Block
    word_read: Block
    word_written: Block
    mask: Block
    turn: Turn
    draw: Block
    cumulative: Block
    drawn: Block
    fixed: tuple[Block, ...]
    length: Block
    words: Block
    network: Network
    logits: tuple[Block, ...]
    distribution: Distribution

    def texts(self) -> Texts:
        """Returns what others read of it."""
        return Texts(self.written, self.word_written, self.mask, self.length, self.words, (self.draw,))


def prompts(with_responses: bool = False) -> Prompts:
    """Makes the typed prompts and their ids; the start column writes the first word. Responses may be typed too."""
    vocabulary = typed("vocabulary", (v,), "vocab", "words; the first one (id 0) ends a text", text=True)
    given = typed("given", (n, t), "prompt", "given word; blank: the policy writes", text=True, edges=(t.first - 1,))
    is_given, given_id = ROWS.rows("is_given", "given_id")
    decisions = block("decisions", (), "T", "decisions: longest prompt + words allowed", decimals=0)
    for at in ((n, t.first - 1), (n, t)):
        is_given[at] = filled(given[at])
        given_id[at] = where(filled(given[at]), match(v, vocabulary[v], given[at]), 0)
    decisions[()] = size(t)
    told = "word that is written; blank: the draw decides"
    response = typed("rollout.response", (n, t), "response", told, text=True) if with_responses else None
    return Prompts(vocabulary, given, given_id, is_given, decisions, response)


def length() -> Length:
    """Makes the typed limit of the response and its ends."""
    most = typed("max_new_tokens", (), "max_new", "words the policy may write, at most", decimals=0)
    low = typed("max_new_tokens.low", (), "least", "fewest words that may be allowed", decimals=0)
    high = typed("max_new_tokens.high", (), "most", "words for which there are columns", decimals=0)
    return Length(most, low, high)


def draw_range() -> DrawRange:
    """Makes the typed ends of the draws."""
    low = typed("rollout.draw.low", (), "u_low", "lowest draw", decimals=2)
    return DrawRange(low, typed("rollout.draw.high", (), "u_high", "highest draw", decimals=2))


def rollout(
    given: Prompts, weights: Memory, Y: Block, max_new_tokens: Block, temperature: Temperature | None = None
) -> Rollout:
    """Lets the old policy read the prompt and write the response, one drawn (or typed) word after the other."""
    s, a, m = ROWS.rows("rollout.read", "rollout.written", "mask")
    a[n, t.first - 1] = given.given_id[n, t.first - 1]
    m[n, t.first - 1] = 0
    m[n, t.last + 1] = 0
    s[n, t] = a[n, t - 1]
    network = rnn("old", s, weights)
    z = tempered("old", logits("old", network.h, Y), temperature)
    distribution = softmax("old", z[-1])
    u, cumulative, drawn = draw(distribution.p)
    fixed = typed_or_drawn(given, drawn)
    a[n, t] = given.given_id[n, t] + m[n, t] * (fixed[-1] if fixed else drawn)[n, t]
    turn = whose_turn(given, a, m, max_new_tokens)
    read, written = as_words(given, a, m)
    length, total = per_response("response.length", m, ROWS), count("response.words", m, ROWS)
    return Rollout(s, a, read, written, m, turn, u, cumulative, drawn, fixed, length, total, network, z, distribution)


def typed_or_drawn(given: Prompts, drawn: Block) -> tuple[Block, ...]:
    """Takes the word that is typed for the response, and where none is the drawn one; nothing if none can be typed."""
    if given.response is None:
        return ()
    forced = ROWS.row("rollout.forced")
    word = given.response[n, t]
    forced[n, t] = where(filled(word), match(v, given.vocabulary[v], word), drawn[n, t])
    return given.response, forced


def draw(p: Block) -> tuple[Block, Block, Block]:
    """Draws a word in every column: the one whose piece of the line from 0 to 1 the typed number u falls on.

    Searched are the sums *before* each word (0 for the first), so that no u below 1 can leave the vocabulary.
    Source: inverse transform sampling.
    """
    u = typed("rollout.draw", (n, t), "u", "uniform draw, typed", unit="0.01 … 0.99", decimals=2)
    upto = block(
        "old.cumulative", (n, t, v), "F", "probability of the word and all before it", unit="0 … 1", decimals=3
    )
    drawn = ROWS.row("rollout.drawn")
    upto[n, t, v.first - 1] = 0
    upto[n, t, v] = upto[n, t, v - 1] + p[n, t, v]
    drawn[n, t] = find(v, upto[n, t, v - 1], u[n, t])
    return u, upto, drawn


def whose_turn(given: Prompts, a: Block, m: Block, max_new_tokens: Block) -> Turn:
    """Defines the mask m[n, t]: the policy writes where no word is given, the text has not ended, and words are left."""
    room, allowed, ended = ROWS.rows("rollout.room", "rollout.allowed", "rollout.ended")
    is_end, ends = at_end = end_words()
    room[n, t.first - 1] = max_new_tokens
    ends[n, t.first - 1] = 0
    ended[n, t.first - 1] = 0
    room[n, t] = room[n, t - 1] - m[n, t - 1]
    allowed[n, t] = less(0, minimum(room[n, t], given.decisions - number(t)))
    ended[n, t] = maximum(ended[n, t - 1], ends[n, t - 1])
    m[n, t] = (1 - given.is_given[n, t]) * (1 - ended[n, t]) * allowed[n, t]
    ends_at(at_end, a, m, 0)
    return Turn(room, allowed, is_end, ends, ended)


def slots_of(is_given: Block, decisions: Block, max_new_tokens: Block) -> Slots:
    """Counts the slots that a response may fill, whether it fills them or ends before.

    There are max_new_tokens for each response, and none in the last column, which writes nothing.
    """
    slot, S = ROWS.rows("slots.number", "slots")
    slot[n, t.first - 1] = 0
    slot[n, t] = slot[n, t - 1] + 1 - is_given[n, t]
    S[n, t.last + 1] = 0
    S[n, t] = (1 - is_given[n, t]) * at_most(slot[n, t], max_new_tokens) * less(number(t), decisions)
    return Slots(slot, S)


def as_words(given: Prompts, a: Block, m: Block) -> tuple[Block, Block]:
    """Spells the ids that are read and written as words; empty after the end of the text."""
    written, read = ROWS.rows("word_written", "word_read")
    written[n, t.first - 1] = given.vocabulary[a[n, t.first - 1]]
    written[n, t] = where(equal(given.is_given[n, t] + m[n, t], 1), given.vocabulary[a[n, t]], "")
    read[n, t] = written[n, t - 1]
    return read, written
