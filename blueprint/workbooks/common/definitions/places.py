"""Where things lie in a response: its last word, the slots behind it, and which of them count."""

from functools import reduce
from typing import NamedTuple

from blueprint.language import Block, Max, Operand, at_most, equal, maximum
from blueprint.workbooks.common.definitions.choices import ROWS, Choices, n, t


class Places(NamedTuple):
    """Rows (n, t) of 0 and 1: the last word, the two slots behind it, and the four places where a score may land."""

    until: Block
    last: Block
    first_past: Block
    second_past: Block
    end: Block
    one_past: Block
    two_past: Block


class Counted(NamedTuple):
    """Rows (n, t) of 0 and 1: what counts as response, and where values are kept."""

    response: Block
    kept: Block


def places(S: Block, m: Block, more: Block | None = None) -> Places:
    """Finds the last word of each response and the slots behind it; S has 1 in every slot, m in every response word.

    more: (n), 1 where words follow behind the last column, of which only a part of the response stands here.

    A place behind the last slot falls back on the last one: min(A, T − 1) and min(A + 1, T − 1) for A words in T slots.
    An empty response has its last word in front of the first slot, as TRL 1.12.0 counts it (`sequence_lengths` is −1), so
    that one past it is the first slot.
    """
    until, last, first, one = ROWS.rows("place.until", "place.last", "place.first_past", "place.one_past")
    until[n, t.last + 1] = 0 if more is None else more[n]
    until[n, t] = maximum(m[n, t], until[n, t + 1])
    last[n, t.first - 1] = 1 - Max(t, until[n, t])
    last[n, t] = m[n, t] * (1 - until[n, t + 1])
    first[n, t.first - 1] = 0
    first[n, t] = S[n, t] * last[n, t - 1]
    second = ROWS.row("place.second_past", S[n, t] * first[n, t - 1])
    end = ROWS.row("place.end", S[n, t] * (1 - S[n, t + 1]))
    one[n, t.first - 1] = 0
    one[n, t] = first[n, t] + last[n, t] * end[n, t]
    two = ROWS.row("place.two_past", S[n, t] * one[n, t - 1] + one[n, t] * end[n, t])
    return Places(until, last, first, second, end, one, two)


def counted(S: Block, m: Block, at: Places, use: Choices) -> Counted:
    """Chooses which slots count as response, and how many slots behind it keep their value and reward."""
    tail, mask = use.used["advantage.tail_slots"], use.switch["batch.response_mask"]
    behind = at_most(1, tail) * at.first_past[n, t] + at_most(2, tail) * at.second_past[n, t]
    M = use.row("response", mask.choose(non_pad=m[n, t], all=S[n, t]))
    return Counted(M, use.row("kept", maximum(M[use.at], behind)))


def ends_at(is_end: Block, ends: Block, a: Block, m: Block, *end_ids: Operand) -> None:
    """Defines where an end token is written, and where it ends a response: any of one or several, by their ids.

    All are rows (n, t). a: ids. m: 1 in every response word.
    """
    is_end[n, t] = reduce(maximum, (equal(a[n, t], each) for each in end_ids))
    ends[n, t] = m[n, t] * is_end[n, t]
