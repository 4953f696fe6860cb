"""The chain: which cells a cell reads, worked out by hand on a few small blocks."""

from __future__ import annotations

from functools import partial

import pytest

from blueprint.language import Block, Max, Sum, block, choose, compute, filled, find, link, match, typed, where
from blueprint.language.cells import MOST, Cell, chain, origin, reads
from tests.language.common import SIZES, n, t, v

x = typed("x", (t,), "x")
w = typed("w", (v,), "w")
pick = typed("pick", (t,), "pick", decimals=0)
words = typed("words", (v,), "words", text=True)
word = typed("word", (), "word", text=True)
GIVEN = {x: [3, 0, 5], w: [0.1, 0.4, 0.4, 0.9], pick: [2, 0, 1], words: ["a", "b", "C", "d"], word: "c"}


def names(cell: Cell) -> str:
    """Spells a cell shortly: `x1` is member 1 of x."""
    return cell.block.name + "".join(map(str, cell.places))


def read_by(made: Block, *places: int, others: tuple[Block, ...] = ()) -> list[list[str]]:
    """Returns the cells that a cell reads, reference by reference."""
    values = compute([*GIVEN, *others, made], SIZES, GIVEN)
    return [[names(cell) for cell in read.cells] for read in reads(Cell(made, places), values)]


def over_time(expr: object) -> Block:
    """Makes a block y over t."""
    made = block("y", (t,))
    made[t] = expr  # type: ignore[assignment]
    return made


def test_a_recursion_reads_its_neighbour_and_at_the_end_the_edge() -> None:
    y = block("y", (t,))
    y[t.last + 1] = 0
    y[t] = x[t] + y[t + 1]
    assert read_by(y, 0) == [["x0"], ["y1"]]
    assert read_by(y, 2) == [["x2"], ["y3"]]
    assert read_by(y, 3) == []


def test_a_typed_cell_reads_nothing() -> None:
    values = compute([x], SIZES, {x: GIVEN[x]})
    assert reads(Cell(x, (1,)), values) == ()


def test_a_cell_that_is_read_twice_is_listed_once() -> None:
    assert read_by(over_time(x[t] * x[t] + x[t]), 2) == [["x2"]]


def test_a_lookup_reads_the_id_and_the_cell_that_it_points_to() -> None:
    assert read_by(over_time(w[pick[t]]), 0) == [["pick0"], ["w2"]]
    assert read_by(over_time(w[pick[t]]), 2) == [["pick2"], ["w1"]]


def test_of_a_sum_only_the_terms_that_are_not_0() -> None:
    y = block("y", ())
    y[()] = Sum(t, x[t] * x[t])
    assert read_by(y) == [["x0", "x2"]]
    z = block("z", ())
    z[()] = Sum(t, x[t] * pick[t])
    assert read_by(z) == [["x0", "x2"], ["pick0", "pick2"]]
    values = compute([*GIVEN, z], SIZES, GIVEN)
    assert [(read.of, read.over) for read in reads(Cell(z, ()), values)] == [(3, (t,)), (3, (t,))]


def test_a_sum_of_nothing_reads_nothing() -> None:
    nought = typed("nought", (t,), "0")
    y = block("y", ())
    y[()] = Sum(t, nought[t])
    values = compute([nought, y], SIZES, {nought: [0, 0, 0]})
    assert reads(Cell(y, ()), values) == ()


def test_a_maximum_reads_all_and_hangs_on_the_largest() -> None:
    y = block("y", ())
    y[()] = Max(t, x[t])
    values = compute([*GIVEN, y], SIZES, GIVEN)
    (read,) = reads(Cell(y, ()), values)
    assert [names(cell) for cell in read.cells] == ["x0", "x1", "x2"]
    assert [names(cell) for cell in read.followed] == ["x2"]


@pytest.mark.parametrize(("number", "followed"), [(0.2, ["w0", "w1"]), (0.4, ["w2", "w3"]), (2, ["w3"])])
def test_a_draw_hangs_on_the_piece_on_which_it_falls_and_the_next(number: float, followed: list[str]) -> None:
    u = typed("u", (), "u")
    y = block("y", ())
    y[()] = find(v, w[v], u)
    values = compute([*GIVEN, u, y], SIZES, {**GIVEN, u: number})
    drawn, among = reads(Cell(y, ()), values)
    assert [names(cell) for cell in drawn.cells] == ["u"]
    assert [names(cell) for cell in among.cells] == ["w0", "w1", "w2", "w3"]
    assert [names(cell) for cell in among.followed] == followed


def test_a_word_is_matched_whatever_its_case() -> None:
    y = block("y", ())
    y[()] = match(v, words[v], word)
    values = compute([*GIVEN, y], SIZES, GIVEN)
    looked_for, among = reads(Cell(y, ()), values)
    assert [names(cell) for cell in looked_for.cells] == ["word"]
    assert [names(cell) for cell in among.followed] == ["words2"]


def test_of_a_choice_only_what_is_chosen() -> None:
    chosen = over_time(choose(pick[t], a=x[t], b=w[pick[t]], c=pick[t]))
    assert read_by(chosen, 1) == [["pick1"], ["x1"]]
    assert read_by(chosen, 2) == [["pick2"], ["w1"]]
    assert read_by(chosen, 0) == [["pick0"]]


def test_a_condition_reads_both_branches() -> None:
    assert read_by(over_time(where(filled(x[t]), x[t], pick[t])), 1) == [["x1"], ["pick1"]]


def test_a_link_is_passed_through_link_after_link_edges_too() -> None:
    told = block("told", (t,))
    told[t.first - 1] = 2
    told[t] = x[t] + told[t - 1]
    once = link("once", told)
    twice = link("twice", once)
    z = over_time(twice[t] + twice[t - 1])
    assert read_by(z, 0, others=(told, once, twice)) == [["told0"], ["told-1"]]
    values = compute([*GIVEN, told, once, twice], SIZES, GIVEN)
    assert names(origin(Cell(twice, (1,)), values)) == "told1"
    assert names(origin(Cell(told, (1,)), values)) == "told1"


def steps() -> tuple[Block, Block]:
    """Makes y, which adds x up, and its double z."""
    y = block("y", (t,))
    y[t.first - 1] = 0
    y[t] = y[t - 1] + x[t]
    z = block("z", (t,))
    z[t] = 2 * y[t] - x[t]
    return y, z


@pytest.mark.parametrize(
    ("depth", "opened"),
    [
        (1, ["z2"]),
        (2, ["z2", "y2", "x2"]),
        (3, ["z2", "y2", "x2", "y1"]),
        (None, ["z2", "y2", "x2", "y1", "y0", "x1", "y-1", "x0"]),
    ],
)
def test_the_chain_goes_as_deep_as_it_is_told_each_cell_once(depth: int | None, opened: list[str]) -> None:
    y, z = steps()
    values = compute([x, y, z], SIZES, {x: GIVEN[x]})
    assert [names(cell) for cell in chain(Cell(z, (2,)), partial(reads, values=values), depth)] == opened


def test_with_a_depth_a_dozen_cells_of_a_sum_are_opened_without_one_all() -> None:
    y = block("y", ())
    y[()] = Sum(v, w[v])
    values = compute([w, y], {v: 30}, {w: range(1, 31)})
    assert len(chain(Cell(y, ()), partial(reads, values=values), 2)) == 1 + MOST
    assert len(chain(Cell(y, ()), partial(reads, values=values))) == 31
    assert [len(read.cells) for read in reads(Cell(y, ()), values)] == [30]


def test_a_chain_of_thousands_is_no_obstacle() -> None:
    y, z = steps()
    values = compute([x, y, z], {t: 5000}, {x: [1] * 5000})
    assert len(chain(Cell(z, (4999,)), partial(reads, values=values))) == 1 + 5001 + 5000


def test_two_axes_are_gone_through_in_the_order_of_the_sum() -> None:
    q = typed("q", (n, t), "q")
    y = block("y", ())
    y[()] = Sum((n, t), q[n, t])
    values = compute([q, y], SIZES, {q: [[1, 0, 2], [0, 3, 0]]})
    (read,) = reads(Cell(y, ()), values)
    assert [cell.places for cell in read.cells] == [(0, 0), (0, 2), (1, 1)]
