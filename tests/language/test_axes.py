"""Axes: letters, neighbours, edges, aliases and joined axes."""

from collections.abc import Callable

import pytest

from blueprint.language import Axis, Values
from blueprint.language.axes import Edge, Position
from tests.language.common import SIZES, i, j, k, one, refusal, t

REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: t + 2, "t +2 is too far: only t - 1 and t + 1 can be read; make the farther one a step of its own"),
    (lambda: t - 3, "t -3 is too far: only t - 1 and t + 1 can be read; make the farther one a step of its own"),
    (lambda: t + 0, "t +0 is too far: only t - 1 and t + 1 can be read; make the farther one a step of its own"),
    (lambda: t.first + 1, "the only edges of t are t.first - 1 and t.last + 1"),
    (lambda: t.first - 2, "the only edges of t are t.first - 1 and t.last + 1"),
    (lambda: t.last - 1, "the only edges of t are t.first - 1 and t.last + 1"),
    (lambda: t.last + 2, "the only edges of t are t.first - 1 and t.last + 1"),
    (lambda: Values({}).size(t), "the axis t (decision) has no size: give it one"),
    (lambda: Values({k: 2}).size(i), "the axis j (hidden unit) has no size: give it one"),
]


@pytest.mark.parametrize(("write", "sentence"), REFUSED)
def test_refuses(write: Callable[[], object], sentence: str) -> None:
    assert refusal(write) == sentence


def test_neighbours_and_edges_print_as_they_are_written() -> None:
    assert [str(x) for x in (t, t - 1, t + 1, t.first - 1, t.last + 1)] == [
        "t", "t - 1", "t + 1", "t.first - 1", "t.last + 1",
    ]  # fmt: skip


def test_neighbours_and_edges_lie_on_their_side() -> None:
    assert (t - 1, t + 1) == (Position(t, -1), Position(t, 1))
    assert (t.first - 1, t.last + 1) == (Edge(t, -1), Edge(t, 1))


def test_axes_with_the_same_letter_are_different_axes() -> None:
    assert Axis("t", "decision", start=1) != t


def test_an_alias_has_the_members_of_its_axis() -> None:
    u = t.alias("u")
    assert (str(u), u.meaning, u.start) == ("u", "decision", 1)
    assert u is not t
    assert u.extent is t.extent is t
    assert u.alias("w").extent is t
    assert Values(SIZES).size(u) == 3


def test_a_joined_axis_has_the_members_of_its_parts() -> None:
    values = Values(SIZES)
    assert values.size(one) == 1
    assert values.size(i) == 2 + 3 + 1
    assert [values.ahead(i, part) for part in (k, j, one)] == [0, 2, 5]


@pytest.mark.parametrize(
    ("meaning", "plural"),
    [("day", "days"), ("city", "cities"), ("response to the prompt", "responses to the prompt")],
)
def test_several_members_are_named_by_the_plural_of_the_head_of_what_one_is(meaning: str, plural: str) -> None:
    assert Axis("m", meaning).plural == plural
