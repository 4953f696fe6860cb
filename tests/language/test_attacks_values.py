"""Attacks: numbers that would silently be taken for others are refused when they are computed."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from blueprint.language import (
    Block,
    Sum,
    block,
    choose,
    compute,
    equal,
    exp,
    find,
    less,
    match,
    maximum,
    tanh,
    typed,
    where,
)
from tests.language.common import SIZES, defined, i, j, k, n, one, refusal, result, t, v

NAN, INFINITE = float("nan"), float("inf")
a, b = typed("a"), typed("b")
x = typed("x", (n, t))
w = typed("w", (v,))
word, words = typed("word", (), text=True), typed("words", (v,), text=True)
last = typed("last", (v,), edges=(v.last + 1,))
first = typed("first", (v,), edges=(v.first - 1,))
W = [10, 11, 12, 13]


def looked_up(cells: Block, numbers: Sequence[float], id: float) -> Callable[[], object]:
    """Returns what looks an id up."""
    return lambda: result((), cells[a], {cells: numbers, a: id})


LOOKUPS: dict[str, Callable[[], object]] = {
    "id -1 (numpy: the last one; INDEX: an error)": looked_up(w, W, -1),
    "id too large": looked_up(w, W, 4),
    "id between two": looked_up(w, W, 1.5),
    "id just below 0": looked_up(w, W, -0.5),
    "no id": looked_up(w, W, NAN),
    "id of the edge after the last": looked_up(last, [*W, 99], 4),
    "id of the edge before the first": looked_up(first, [99, *W], -1),
    "id -1 in one column of many": lambda: result((n, t), w[x[n, t]], {w: W, x: [[0, 1, 2], [3, -1, 0]]}),
    "search below the first (numpy: -1; MATCH: #N/A)": lambda: result((), find(v, w[v], a), {w: W, a: 9}),
    "lookup of a search below the first": lambda: result((), w[find(v, w[v], a)], {w: W, a: 9}),
    "lookup of a word that is not there": lambda: result((), w[match(v, words[v], word)], {w: W, words: W, word: "z"}),
    "search among blanks": lambda: result((), find(v, w[v], a), {w: [0, NAN, 1, 2], a: 1}),
    "search among what falls": lambda: result((), find(v, w[v], a), {w: [0, 3, 1, 4], a: 2}),
    "choice -1": lambda: result((), choose(a, p=b, q=b), {a: -1, b: 5}),
    "choice too large": lambda: result((), choose(a, p=b, q=b), {a: 2, b: 5}),
    "choice between two": lambda: result((), choose(a, p=b, q=a), {a: 0.5, b: 5}),
}

# A blank cell is 0 to a spreadsheet and not a number to numpy: whoever reads one must ask `filled` first.
BLANKS: dict[str, Callable[[], object]] = {
    "blank < 1": lambda: result((), less(a, 1), {a: NAN}),
    "blank = 0": lambda: result((), equal(a, 0), {a: NAN}),
    "1 if blank < 1": lambda: result((), where(less(a, 1), 1, 2), {a: NAN}),
    "sum with a blank": lambda: result((), Sum(v, w[v]), {w: [1, NAN, 2, 3]}),
}

# EXP(1000) is an error to a spreadsheet, whatever comes after; numpy goes on with infinity and comes back.
INFINITIES: dict[str, Callable[[], object]] = {
    "1 / exp(1000)": lambda: result((), 1 / exp(a), {a: 1000}),
    "0 < exp(1000)": lambda: result((), less(0, exp(a)), {a: 1000}),
    "tanh(exp(1000))": lambda: result((), tanh(exp(a)), {a: 1000}),
    "exp(-1/0)": lambda: result((), exp(-(1 / a)), {a: 0}),
    "max(1, -1/0)": lambda: result((), maximum(1, -(1 / a)), {a: 0}),
    "typed infinity": lambda: result((), less(a, 1), {a: INFINITE}),
}


def parts(*written: Any) -> list[Block]:
    """Returns a joined block of which only some parts are defined, and one that hides its blanks in a comparison."""
    joined = block("joined", (i,))
    for part in written:
        joined[part] = 1
    return [joined, defined("reader", (i,), less(joined[i], 1))]


def edge_only() -> Block:
    """Returns a block of which only the edge is defined."""
    made = block("y", (t,))
    made[t.last + 1] = 0
    return made


def corner() -> list[Block]:
    """Returns a block with nothing but a corner beyond both ends, and one that reads the cells beside it."""
    made = defined("y", (n, t), 1)
    made[n.last + 1, t.last + 1] = 0
    return [made, defined("reader", (n, t), less(made[n, t + 1], 1))]


def of_one_name() -> list[Block]:
    """Returns two blocks that are called alike."""
    return [defined("y", (t,), 1), defined("y", (t,), 2)]


def computing(make: Callable[[], list[Block]]) -> Callable[[], object]:
    """Returns what makes blocks and computes them."""
    return lambda: compute(make(), SIZES, {})


DEFINITIONS: dict[str, Callable[[], object]] = {
    "a part without an equation": computing(lambda: parts(k, j)),
    "two parts without an equation": computing(lambda: parts(one)[:1]),
    "an edge, but no body": computing(lambda: [edge_only()]),
    "never defined": computing(lambda: [block("y", (t,))]),
    "never defined, but read": computing(lambda: [defined("z", (t,), block("y", (t,))[t])]),
    "a corner for an edge": computing(corner),
    "two blocks of one name": computing(of_one_name),
}

INPUTS: dict[str, Callable[[], object]] = {
    "rows of different length": lambda: result((), 1, {x: [[1, 2, 3], [4, 5]]}),
    "a word for a number": lambda: result((), 1, {a: "cat"}),
    "a numeral for a number": lambda: result((), 1, {a: "2"}),
    "a number for a word": lambda: result((), word, {word: 5}),
    "not a whole size": lambda: result((t,), 1, {}, {t: anything(2.5)}),
    "a size below 0": lambda: result((t,), 1, {}, {t: -1}),
}


def anything(value: object) -> Any:
    """Returns a value that the type checker does not look at."""
    return value


ALL = LOOKUPS | BLANKS | INFINITIES | DEFINITIONS | INPUTS


@pytest.mark.parametrize("name", [*ALL])
def test_refuses(name: str) -> None:
    refusal(ALL[name])


def test_a_choice_of_nothing_and_a_cell_without_an_equation_are_named() -> None:
    assert refusal(ALL["choice -1"]) == "y has no number: there is no alternative −1; y = (p: b | q: b) by a = blank"
    assert refusal(ALL["a corner for an edge"]) == (
        "reader (n = 1, t = 3) has no number: a cell of y is empty; reader = [y[n, t + 1] < 1] = [blank < 1]"
    )


@pytest.mark.parametrize("written", ["AB", "ab", "Ab"])
def test_words_are_equal_as_the_spreadsheet_and_match_have_it(written: str) -> None:
    """`="ab"="AB"` is TRUE in every spreadsheet program."""
    assert result((), equal(word, "AB"), {word: written}) == 1


def test_a_cell_beyond_the_end_is_no_cell() -> None:
    values = compute([w], SIZES, {w: W})
    for place in (-1, 4):
        with pytest.raises((IndexError, ValueError)):
            values.cell(w, place)
