"""What is given of texts, and what is written: the records that sheets and models hand on."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block


class Prompts(NamedTuple):
    """The given words: `given` (n, t) as text, blank where the policy writes; their ids; 1 where a word is given.

    response: (n, t) as text, the words that the policy writes whatever it draws; blank where the draw decides.
    """

    vocabulary: Block
    given: Block
    given_id: Block
    is_given: Block
    decisions: Block
    response: Block | None = None


class DrawRange(NamedTuple):
    """The lowest and the highest draw that makes sense: 0 and 1 themselves could fall on no word, by rounding."""

    low: Block
    high: Block


class Length(NamedTuple):
    """How many words the policy may write at most, and what may be typed there."""

    most: Block
    low: Block
    high: Block


class Turn(NamedTuple):
    """Who writes: the rows from which the mask m follows, all (n, t)."""

    room: Block
    allowed: Block
    is_end: Block
    ends: Block
    ended: Block


class Texts(NamedTuple):
    """What was written, however it came about: ids and words (n, t), the mask, lengths (n), and words of the batch.

    how: rows that tell how a word was chosen, where it was drawn.
    """

    written: Block
    word_written: Block
    mask: Block
    length: Block
    words: Block
    how: tuple[Block, ...] = ()


class Slots(NamedTuple):
    """The slots of a response, used or not: counted from 1, and a row S with 1 in each of them; (n, t)."""

    number: Block
    row: Block
