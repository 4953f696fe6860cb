"""Values: words, blanks, lookups and searches; and inputs or results that are refused."""

from collections.abc import Callable

import pytest

from blueprint.language import Axis, Sum, block, compute, equal, exp, filled, find, less, log, match, sqrt, typed, where
from tests.language.common import SIZES, Given, defined, k, n, refusal, result, t, v

NAN = float("nan")
a = typed("a")
x = typed("x", (n, t))
w = typed("w", (v,))
word = typed("word", (), text=True)
words = typed("words", (v,), text=True)
said = typed("said", (n, t), text=True)
WORDS = ["<eos>", "the", "Dog", "is"]
ids = typed("ids", (n, t))


def test_looks_up_by_id() -> None:
    table = typed("table", (v, k))
    given = {ids: [[0, 1, 3], [3, 3, 0]], w: [10, 11, 12, 13], table: [[1, 2], [3, 4], [5, 6], [7, 8]]}
    assert result((n, t), w[ids[n, t]], given) == [[10, 11, 13], [13, 13, 10]]
    assert result((n, t, k), table[ids[n, t], k], given) == [[[1, 2], [3, 4], [7, 8]], [[7, 8], [7, 8], [1, 2]]]
    assert result((n, t), words[ids[n, t]], given | {words: WORDS}) == [["<eos>", "the", "is"], ["is", "is", "<eos>"]]


def test_looks_up_in_a_block_that_runs_along() -> None:
    logits = typed("logits", (n, t, v))
    given = {ids: [[0, 1, 3], [3, 3, 0]], logits: [[[1, 2, 3, 4]] * 3, [[5, 6, 7, 8]] * 3]}
    assert result((n, t), logits[n, t, ids[n, t]], given) == [[1, 2, 4], [8, 8, 5]]


def test_looks_up_behind_an_edge() -> None:
    edged = typed("edged", (v,), edges=(v.first - 1,))
    assert result((v,), edged[v], {edged: [9, 1, 2, 3, 4]}) == [1, 2, 3, 4]
    assert result((), edged[a], {edged: [9, 1, 2, 3, 4], a: 0}) == 1


@pytest.mark.parametrize(
    ("draw", "expected"), [(0, 0), (0.24, 0), (0.25, 2), (0.74, 2), (0.75, 3), (0.99, 3), (1.5, 3)]
)
def test_finds_the_last_that_is_not_above(draw: float, expected: int) -> None:
    """The sums before each word; word 1 has probability 0, so that two sums are the same and the later one counts."""
    assert result((), find(v, w[v], a), {w: [0, 0.25, 0.25, 0.75], a: draw}) == expected


def test_finds_in_every_column() -> None:
    before = typed("before", (n, t, v))
    sums = [[0, 0.1, 0.2, 0.3], [0, 0.5, 0.6, 0.7], [0, 0.3, 0.6, 0.9]]
    given = {before: [sums, sums], x: [[0.2, 0.2, 0.2], [0.65, 0.65, 0.65]]}
    assert result((n, t), find(v, before[n, t, v], x[n, t]), given) == [[2, 0, 0], [3, 2, 2]]


@pytest.mark.parametrize(("given", "expected"), [("<eos>", 0), ("the", 1), ("DOG", 2), ("dog", 2), ("Is", 3)])
def test_matches_words_in_upper_and_lower_case(given: str, expected: int) -> None:
    assert result((), match(v, words[v], word), {words: WORDS, word: given}) == expected


def test_matches_in_every_column_and_takes_the_first_of_two() -> None:
    given = {words: ["a", "b", "B", "c"], said: [["a", "b", "c"], ["C", "B", "A"]]}
    assert result((n, t), match(v, words[v], said[n, t]), given) == [[0, 1, 3], [3, 1, 0]]


def test_blank_typed_cells() -> None:
    given = {x: [[1, NAN, 3], [NAN, NAN, 0]], said: [["a", "", "b"], ["", "", ""]], a: 7}
    assert result((n, t), filled(x[n, t]), given) == [[1, 0, 1], [0, 0, 1]]
    assert result((n, t), where(filled(x[n, t]), x[n, t], a), given) == [[1, 7, 3], [7, 7, 0]]
    assert result((n, t), filled(said[n, t]), given) == [[1, 0, 1], [0, 0, 0]]
    assert result((n, t), where(filled(said[n, t]), said[n, t], "-"), given) == [["a", "-", "b"], ["-"] * 3]


def test_words_of_a_single_cell() -> None:
    for given, expected in (("", "preset"), ("mine", "mine")):
        assert result((), where(filled(word), word, "preset"), {word: given}) == expected
    assert result((), where(less(a, 1), "OK", "look here"), {a: 0.5}) == "OK"
    assert result((), equal(word, "on"), {word: "on"}) == 1


def test_words_keep_their_length() -> None:
    """A numpy array of fixed-width strings would cut the longer word."""
    assert result((n, t), where(less(x[n, t], 2), "a", "much longer"), {x: [[1, 2, 1], [1, 1, 2]]}) == [
        ["a", "much longer", "a"],
        ["a", "a", "much longer"],
    ]


def computing(block_: object, given: Given, sizes: dict[Axis, int] = SIZES) -> Callable[[], object]:
    """Returns what computes a block and its typed ones."""
    return lambda: compute([*given, block_], sizes, given)  # type: ignore[list-item]


INPUTS: list[tuple[Callable[[], object], str]] = [
    (lambda: compute([w], SIZES, {}), "w is typed in, but no numbers were given for it"),
    (lambda: compute([w], SIZES, {a: 1}), "w is typed in, but no numbers were given for it"),
    (computing(x, {w: [1, 2, 3]}), "w has the shape (3,); its axes ask for (4,)"),
    (computing(w, {x: [[1, 2], [3, 4], [5, 6]]}), "x has the shape (3, 2); its axes ask for (2, 3)"),
    (computing(w, {a: [1]}), "a has the shape (1,); its axes ask for ()"),
    (computing(w, {words: ["one", "two"]}), "words has the shape (2,); its axes ask for (4,)"),
    (
        computing(w, {typed("e", (t,), edges=(t.last + 1,)): [1, 2, 3]}),
        "e has the shape (3,); its axes ask for (4,)",
    ),
    (computing(w, {x: [[1, 2, 3], [4, 5, 6]]}, {n: 2}), "the axis t (decision) has no size: give it one"),
]
LARGEST = "beyond 1.8e308, the largest number that a cell can hold"

RESULTS: list[tuple[Callable[[], object], str]] = [
    (lambda: result((), 1 / a, {a: 0}), "y has no number: 1 cannot be divided by 0; y = 1 / a = 1 / 0"),
    (lambda: result((), log(a), {a: -1}), "y has no number: −1 has no logarithm; y = ln(a) = ln(−1)"),
    (lambda: result((), log(exp(a)), {a: -800}), "y has no number: 0 has no logarithm; y = ln(exp(a)) = ln(exp(−800))"),
    (
        lambda: result((), 1 / exp(a), {a: -800}),
        "y has no number: 1 cannot be divided by 0; y = 1 / exp(a) = 1 / exp(−800)",
    ),
    (lambda: result((), sqrt(a), {a: -1}), "y has no number: −1 has no square root; y = √(a) = √(−1)"),
    (lambda: result((), exp(a), {a: 1000}), f"y has no number: exp(1000) is {LARGEST}; y = exp(a) = exp(1000)"),
    (lambda: result((), a * a, {a: 1e200}), f"y has no number: “a·a” is {LARGEST}; y = a·a = 1e+200·1e+200"),
    (lambda: result((), a + 1, {a: NAN}), "y has no number: a cell of a is empty; y = a + 1 = blank + 1"),
    (
        lambda: result((n, t), 1 / x[n, t], {x: [[1, 1, 1], [1, 0, 0]]}),
        "y (n = 2, t = 2) has no number: 1 cannot be divided by 0; y = 1 / x[n, t] = 1 / 0",
    ),
    (
        lambda: result((n,), Sum(t, x[n, t]), {x: [[1e308, 1e308, 1], [1, 0, 0]]}),
        f"y (n = 1) has no number: “Σ_t x[n, t]” is {LARGEST}; y = Σ_t x[n, t] = 1e+308 + 1e+308 + 1",
    ),
    (
        lambda: result((), where(less(a, 1), log(a), 1 / a), {a: 0}),
        "y has no number: 0 has no logarithm; y = ln(a) if [a < 1] else 1 / a = ln(0) if [0 < 1] else 1 / 0",
    ),
    (
        lambda: result((), match(v, words[v], word), {words: WORDS, word: "cat"}),
        "y has no number: “the v whose words[v] = word” finds nothing; y = the v whose words[v] = word",
    ),
    (
        lambda: result((n, t), w[ids[n, t]], {w: [1, 2, 3, 4], ids: [[0, 1, 2], [3, 4, 0]]}),
        "y (n = 2, t = 2) has no number: “w[ids[n, t]]” looks up a member that w does not have; y = w[ids[n, t]]",
    ),
]


@pytest.mark.parametrize(("attempt", "sentence"), INPUTS + RESULTS)
def test_refuses(attempt: Callable[[], object], sentence: str) -> None:
    assert refusal(attempt) == sentence


@pytest.mark.parametrize(("given", "expected"), [(-745.2, 0.0), (-800, 0.0), (-1e300, 0.0)])
def test_what_underflows_is_0(given: float, expected: float) -> None:
    assert result((), exp(a), {a: given}) == expected


def test_a_recursion_that_breaks_says_where_it_began() -> None:
    y = block("y", (t,))
    y[t.first - 1] = 1
    y[t] = 1 / (y[t - 1] - 1)
    expected = "y (t = 1) has no number: 1 cannot be divided by 0; y = 1 / (y[t − 1] − 1) = 1 / (1 − 1)"
    assert refusal(lambda: compute([y], SIZES, {})) == expected


def test_a_recursion_from_the_end_says_where_it_began() -> None:
    """Of the first two cells neither has a number; the later one is where it began."""
    y = block("y", (t,))
    y[t.last + 1] = 1
    y[t] = exp(y[t + 1] * a)
    expected = f"y (t = 2) has no number: exp(7676.4321) is {LARGEST}; y = exp(y[t + 1]·a) = exp(1096.6332·7)"
    assert refusal(lambda: compute([a, y], SIZES, {a: 7})) == expected


def test_two_blocks_that_read_each_other_name_the_one_where_it_began() -> None:
    y, z = block("y", (t,)), block("z", (t,))
    z[t.first - 1] = y[t.first - 1] = 1
    y[t] = z[t - 1] + 1
    z[t] = 1 / (y[t] - 2)
    expected = "z (t = 1) has no number: 1 cannot be divided by 0; z = 1 / (y[t] − 2) = 1 / (2 − 2)"
    assert refusal(lambda: compute([y, z], SIZES, {})) == expected


def test_an_edge_that_is_no_number_is_refused_too() -> None:
    y = defined("y", (t,), 1)
    y[t.last + 1] = log(a)
    expected = "y (t: the end) has no number: 0 has no logarithm; y = ln(a) = ln(0)"
    assert refusal(lambda: compute([a, y], SIZES, {a: 0})) == expected
