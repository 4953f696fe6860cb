"""Blocks: what may be read, what may be written, and how often."""

from collections.abc import Callable
from typing import Any

import pytest

from blueprint.language import Block, Sum, block, link, typed
from tests.language.common import defined, i, j, k, n, one, refusal, t, v

x = typed("x", (n, t))
w = typed("w", (v,))
s = typed("s", ())
e = typed("e", (n, t), edges=(t.first - 1,))


def write(axes: tuple[Any, ...], at: Any, value: Any, name: str = "y") -> Block:
    """Returns a block after one write to it."""
    made = block(name, axes)
    made[at] = value
    return made


def again(first: Any, second: Any, axes: tuple[Any, ...] = (n, t)) -> None:
    """Writes to a block twice."""
    write(axes, first, 0)[second] = 1


def write_typed(at: Any) -> None:
    """Writes to a typed block."""
    x[at] = 1


READING: list[tuple[Callable[[], object], str]] = [
    (lambda: x[t, n], "x[… t …] stands where n belongs: write x[n, t]"),
    (lambda: x[n, v], "x[… v …] stands where t belongs: write x[n, t]"),
    (lambda: x[n], "x takes 2 indices, not 1: write x[n, t]"),
    (lambda: w[v, t], "w takes 1 indices, not 2: write w[v]"),
    (lambda: s[n], "s takes 0 indices, not 1: write s"),
    (lambda: x + 1, "x has one number for each n and t: write x[n, t]"),
    (lambda: 1 - w, "w has one number for each v: write w[v]"),
    (lambda: x[n, t + 1], "x has no cell at t.last + 1, which [t + 1] reads: make it with edges=(t.last + 1,)"),
    (lambda: x[n, t - 1], "x has no cell at t.first - 1, which [t - 1] reads: make it with edges=(t.first - 1,)"),
    (lambda: e[n, t + 1], "e has no cell at t.last + 1, which [t + 1] reads: make it with edges=(t.last + 1,)"),
    (lambda: e[n - 1, t], "e has no cell at n.first - 1, which [n - 1] reads: make it with edges=(n.first - 1,)"),
    (
        lambda: x[n, t.last + 1],
        "x has no cell at t.last + 1, which [t.last + 1] reads: make it with edges=(t.last + 1,)",
    ),
    (lambda: e[n, n.first - 1], "e[… n.first - 1 …] stands where t belongs: write e[n, t]"),
]

WRITING: list[tuple[Callable[[], object], str]] = [
    (lambda: write((n, t), (t, n), 0), "y[… t …] stands where n belongs: write y[n, t]"),
    (lambda: write((n, t), n, 0), "y takes 2 indices, not 1: write y[n, t]"),
    (lambda: write((n, t), (n, t + 1), 0), "y[t + 1] cannot be written to: define y[n, t] and read the neighbour"),
    (lambda: write((n, t), (n, 0), 0), "y[0]: an index is a letter, a neighbour or an edge: write y[n, t]"),
    (lambda: write((n, t), (n, "t"), 0), "y[t]: an index is a letter, a neighbour or an edge: write y[n, t]"),
    (lambda: write((n, i), (n, v), 0), "y[… v …] stands where i belongs: write y[n, i]"),
    (lambda: write_typed((n, t)), "x is typed in: it cannot have an equation as well"),
    (lambda: write_typed((n, t.last + 1)), "x is typed in: it cannot have an equation as well"),
    (lambda: again((n, t), (n, t)), "y[n, t] is defined already: an equation is written once"),
    (
        lambda: again((n, t.last + 1), (n, t.last + 1)),
        "y[n, t.last + 1] is defined already: an equation is written once",
    ),
    (lambda: again((n, k), (n, k), (n, i)), "y[n, k] is defined already: an equation is written once"),
    (
        lambda: write((n,), n, x[n, t]),
        "y[n] does not say which t (decision) its equation reads: sum over t, or give y that axis",
    ),
    (
        lambda: write((n, t), (n, t.last + 1), x[n, t]),
        "y[n, t.last + 1] does not say which t (decision) its equation reads: sum over t, or give y that axis",
    ),
    (
        lambda: write((n,), n, w[x[n, t]]),
        "y[n] does not say which t (decision) its equation reads: sum over t, or give y that axis",
    ),
    (
        lambda: write((), (), Sum(n, x[n, t])),
        "y[] does not say which t (decision) its equation reads: sum over t, or give y that axis",
    ),
]


@pytest.mark.parametrize(("attempt", "sentence"), READING + WRITING)
def test_refuses(attempt: Callable[[], object], sentence: str) -> None:
    assert refusal(attempt) == sentence


@pytest.mark.parametrize("symbol", ["a - b", "a + b", "a − b", "a / b", "a·b"])
def test_a_symbol_is_no_calculation(symbol: str) -> None:
    sentence = f"the symbol {symbol!r} of y would be read as a calculation: use one word, such as A_c"
    assert refusal(lambda: block("y", (), symbol)) == sentence


def test_a_refused_equation_leaves_nothing_behind() -> None:
    y = block("y", (n,))
    refusal(lambda: y.__setitem__(n, x[n, t]))
    assert (y.definitions, y.edges) == ([], set())
    y[n] = Sum(t, x[n, t])
    assert len(y.definitions) == 1


def test_an_edge_can_be_read_once_it_is_written() -> None:
    y = block("y", (n, t))
    refusal(lambda: y[n, t + 1])
    y[n, t.last + 1] = 0
    assert str(y[n, t + 1]) == "y[n, t + 1]"
    assert str(y[n, t.last + 1]) == "y[n, t.last + 1]"
    refusal(lambda: y[n, t - 1])


def test_body_edges_and_parts_are_different_cells() -> None:
    y = block("y", (n, t))
    y[n, t.first - 1] = 0
    y[n, t.last + 1] = 1
    y[n, t] = 2
    joined = block("joined", (i,))
    for part in (k, j, one):
        joined[part] = 1
    assert (len(y.definitions), len(joined.definitions)) == (3, 3)


def test_a_link_repeats_cells_and_edges() -> None:
    y = defined("y", (n,), 1)
    y[n.last + 1] = 0
    repeated = link("again", y)
    assert str(repeated) == "y[n.last + 1] = y[n.last + 1]\ny[n] = y[n]"
    assert repeated.link
    assert not y.link


def test_a_block_of_words_knows_it() -> None:
    word = typed("word", (), text=True)
    assert [defined("y", (), value).text for value in (word, "OK", s, 1)] == [True, True, False, False]


def test_text_is_remembered_by_a_link() -> None:
    assert link("again", typed("word", (n,), text=True)).text
