"""Attacks: lines that would silently mean something else are refused where they are written."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from blueprint.language import (
    Block,
    Max,
    Operand,
    Sum,
    block,
    choose,
    equal,
    exp,
    filled,
    find,
    join,
    less,
    match,
    number,
    typed,
    where,
)
from tests.language.common import defined, i, j, k, n, one, refusal, t, v

a, b = typed("a"), typed("b")
x = typed("x", (n, t))
w = typed("w", (v,))
table = typed("table", (v, k))
whole = typed("whole", (i,), edges=(i.last + 1,))
word, words = typed("word", (), text=True), typed("words", (v,), text=True)
u, m = t.alias("u"), n.alias("m")
axis: Any = t


def twice(axes: tuple[Any, ...], *targets: Any) -> Block:
    """Writes to a block at every target in turn."""
    made = block("y", axes)
    for target in targets:
        made[target] = 0
    return made


def anything(value: object) -> Any:
    """Returns a value that the type checker does not look at."""
    return value


AXES: dict[str, Callable[[], object]] = {
    "axis as a factor": lambda: a * axis,
    "neighbour as a factor": lambda: a * anything(t + 1),
    "edge as an argument": lambda: exp(anything(t.last + 1)),
    "number of a neighbour": lambda: number(anything(t + 1)),
    "number of a block": lambda: number(anything(x)),
    "shift by True": lambda: t + True,
    "shift by 1.0": lambda: t + anything(1.0),
    "sum over a letter's name": lambda: Sum(anything("v"), w[v]),
    "sum over a block": lambda: Sum(anything(w), w[v]),
    "sum over a neighbour": lambda: Sum(anything(t + 1), x[n, t]),
    "sum over an axis twice": lambda: Sum((t, t), x[n, t]),
    "sum of products over an axis twice": lambda: Sum((t, t), x[n, t] * x[n, t]),
    "largest over an axis twice": lambda: Max((t, t), x[n, t]),
    "sum over no axis": lambda: Sum((), x[n, t]),
    "a block along one axis twice": lambda: block("y", (t, t)),
    "an axis joined to itself": lambda: join("q", "twice", k, k),
    "typed edges of another axis": lambda: typed("y", (n,), edges=(t.last + 1,)),
}

# The letter of a Sum is its own: where the equation's target has it too, the sum would not be taken over all of it.
LETTERS: dict[str, Callable[[], object]] = {
    "sum over the target's letter": lambda: defined("y", (n, t), Sum(t, x[n, t])),
    "sum of products over the target's letter": lambda: defined("y", (n, t), Sum(t, x[n, t] * x[n, t]) * x[n, t]),
    "largest over the target's letter": lambda: defined("y", (n, t), x[n, t] / Max(t, x[n, t])),
    "search along the target's letter": lambda: defined("y", (n, t), find(t, x[n, t], a)),
    "search for what runs along the same letter": lambda: defined("y", (n,), find(t, x[n, t], x[n, t])),
    "one letter for two axes": lambda: twice((t, u), (t, t)),
    "one letter for two axes, read": lambda: typed("square", (t, u))[t, t],
}

WRITTEN_TWICE: dict[str, Callable[[], object]] = {
    "part, then whole": lambda: twice((n, i), (n, k), (n, i)),
    "whole, then part": lambda: twice((n, i), (n, i), (n, one)),
    "by another letter": lambda: twice((n, t), (n, t), (m, t)),
    "edge by another letter": lambda: twice((n, t), (n, t.last + 1), (n, u.last + 1)),
    "edge of a part": lambda: twice((n, i), (n, k.last + 1)),
    "first edge of a part": lambda: twice((n, i), (n, j.first - 1)),
    "neighbour across parts": lambda: whole[k + 1],
}

# The page would spell the range of the row that is looked up *now*, which does not move when the id does.
LOOKUPS: dict[str, Callable[[], Operand]] = {
    "sum of what is looked up": lambda: Sum(k, table[a, k]),
    "sum of products of what is looked up": lambda: Sum(k, table[a, k] * table[b, k]),
    "largest of what is looked up": lambda: Max(k, table[a, k]),
    "search in what is looked up": lambda: find(k, table[a, k], b),
    "match in what is looked up": lambda: match(k, table[a, k], b),
    "lookup by a word": lambda: w[word],
}

WORDS: dict[str, Callable[[], Operand]] = {
    "word times number": lambda: "cat" * a,
    "typed word plus number": lambda: word + 1,
    "minus word": lambda: -word,
    "exp of word": lambda: exp(word),
    "word less than word": lambda: less(word, "b"),
    "word equal to number": lambda: equal(word, a),
    "sum of words": lambda: Sum(v, words[v]),
    "largest word": lambda: Max(v, words[v]),
    "find among words": lambda: find(v, words[v], word),
    "match a word among numbers": lambda: match(v, w[v], word),
    "match a number among words": lambda: match(v, words[v], a),
    "word or number": lambda: where(less(a, b), "none", a),
    "choose word or number": lambda: choose(a, k1=word, k2=b),
    "filled calculation": lambda: filled(a * 2),
    "filled constant": lambda: filled(1),
    "no alternatives": lambda: choose(a),
}

CONSTANTS: dict[str, object] = {
    "True of numpy": np.bool_(True),
    "array": np.array([1, 2]),
    "array of one": np.array([1]),
    "complex": 1 + 0j,
}


@pytest.mark.parametrize("name", [*AXES, *LETTERS, *WRITTEN_TWICE])
def test_refuses(name: str) -> None:
    refusal((AXES | LETTERS | WRITTEN_TWICE)[name])


@pytest.mark.parametrize("name", [*LOOKUPS, *WORDS])
def test_refuses_at_the_latest_when_it_defines_a_block(name: str) -> None:
    refusal(lambda: defined("y", (), (LOOKUPS | WORDS)[name]()))


@pytest.mark.parametrize("name", [*CONSTANTS])
def test_refuses_as_a_constant(name: str) -> None:
    value: Operand = anything(CONSTANTS[name])
    assert "would be hidden inside a formula" in refusal(lambda: a * value)
    assert "would be hidden inside a formula" in refusal(lambda: value * a)


def test_an_axis_in_arithmetic_is_told_of_its_number() -> None:
    assert "number(t)" in refusal(lambda: a * axis)


def test_an_edge_by_another_letter_is_the_same_edge() -> None:
    y = twice((n, t), (n, u.last + 1))
    assert y.edges == {(t, 1)}
    assert str(y[n, t + 1]) == "y[n, t + 1]"


def test_a_refusal_shows_a_block_by_its_symbol() -> None:
    y = block("y", (n, t))
    assert refusal(lambda: y.__setitem__((n, a), 0)).startswith("y[a]: an index is a letter")


def test_the_spreadsheet_s_refusal_is_a_sentence_without_code() -> None:
    from blueprint.language import size
    from blueprint.language.spelling.excel import excel
    from tests.language.expressions import Names

    sentence = refusal(lambda: excel(a * size(t), Names()))
    assert "Count(" not in sentence
    assert "Axis(" not in sentence


FROM_PYTHON: dict[str, tuple[Callable[[], object], str]] = {
    "np.exp": (lambda: np.exp(anything(x[n, t])), "np.exp computes now, not in the sheet: use exp, log, sqrt"),
    "np.maximum": (lambda: np.maximum(anything(a[()]), 0), "np.maximum computes now, not in the sheet"),
    "a number of numpy's is less": (lambda: np.float64(2) < anything(a[()]), "np.less computes now, not in the sheet"),
    "//": (lambda: anything(x[n, t]) // 2, "a // b has no formula that every program has: write a / b"),
    "%": (lambda: anything(x[n, t]) % 2, "a % b has no formula that every program has"),
    "round": (lambda: round(anything(x[n, t])), "give decimals=2 to its block"),
    "no name": (lambda: block("", (t,)), "a block is called '': give it a word"),
    "a number for a name": (lambda: typed(anything(3)), "a block is called 3: give it a word"),
}


@pytest.mark.parametrize("name", FROM_PYTHON)
def test_what_one_writes_out_of_habit_is_refused_with_what_to_write(name: str) -> None:
    wrong, says = FROM_PYTHON[name]
    assert says in refusal(wrong)


def test_a_number_of_numpy_s_may_stand_on_either_side() -> None:
    two = np.float64(2)
    assert [str(each) for each in (anything(two) * a, a * anything(two))] == [str(2 * a), str(a * 2)]
    assert [str(each) for each in (anything(two) - a, anything(two) / a, anything(two) + a)] == [
        str(each) for each in (2 - a, 2 / a, 2 + a)
    ]
