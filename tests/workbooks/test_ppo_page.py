"""PPO on one screen: the plain workbook has its equations from that page, and the workbook with conventions the same numbers."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

import blueprint as bp
from blueprint.language import Block, Ref, compute, walk
from blueprint.workbooks.rlhf_ppo import ppo, steps
from blueprint.workbooks.rlhf_ppo.steps import page

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
LONGEST = 100
"""Lines of the function: what one reads in one go."""


@pytest.fixture(scope="module")
def book() -> bp.Book:
    return bp.build("default")


def test_the_lines_of_the_readme_stand_in_the_page() -> None:
    source = [line.strip() for line in inspect.getsource(ppo).splitlines()]
    shown = [line.strip() for line in README.splitlines() if line.strip().startswith(("delta[n", "A[n"))]
    assert len(shown) >= 3
    assert [line for line in shown if line not in source] == []


def test_the_page_is_one_screen_of_equations() -> None:
    lines = inspect.getsource(ppo.ppo).splitlines()
    assert len(lines) <= LONGEST
    assert len(page()) == 36


def test_the_page_alone_gives_the_workbook_s_numbers(book: bp.Book) -> None:
    """Computed by itself, from what the models say and what is chosen, with nothing of the workbook between."""
    made = page()
    read = {
        node.block
        for each in made
        for definition in each.definitions
        for node in walk(definition.expr)
        if isinstance(node, Ref)
    }
    given = {block: with_end(book, block) for block in read if block.typed}
    found = compute([*given, *made], book.blueprint.sizes, given)
    for block in made:
        there = book.values[book.blocks[block.name]]
        np.testing.assert_allclose(found[block], there, rtol=1e-14, atol=1e-15, err_msg=block.name)


def with_end(book: bp.Book, block: Block) -> np.ndarray:
    """Returns a stand-in's numbers in the workbook; those along positions have an end column of 0, as the page's have."""
    numbers = book.values[book.blocks[block.name]].astype(float)
    return np.pad(numbers, [(0, 0), (0, 1)]) if block.axes else numbers


def test_a_change_of_the_page_is_a_change_of_the_workbook(book: bp.Book, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sign: what a critic expects is added. The printed equation, the formula and everything behind it follow."""
    source = inspect.getsource(ppo)
    wrong = source.replace("+ gamma * V[n, t + 1] - V[n, t])", "+ gamma * V[n, t + 1] + V[n, t])")
    assert wrong != source
    space = dict(vars(ppo))
    exec(compile(wrong, ppo.__file__, "exec"), space)
    monkeypatch.setattr(steps, "ppo", lambda of, use: space["ppo"](ppo.Batch(*of), ppo.Settings(*use)))
    other = bp.build("default")
    assert "+ V_old[n, t])" in str(other.blocks["td_errors"])
    changed = float(other["total_loss"].to_numpy().item()) - float(book["total_loss"].to_numpy().item())
    assert abs(changed) > 1e-3


def test_conventions_at_their_defaults_have_the_same_numbers(book: bp.Book) -> None:
    live = bp.build("default", conventions="live")
    compared = 0
    for block in page():
        if block.name in live.blocks and live.blocks[block.name].axes == book.blocks[block.name].axes:
            ours, theirs = (each.values[each.blocks[block.name]] for each in (book, live))
            counts = book.values[book.blocks["mask"]] > 0 if block.axes else np.ones((), dtype=bool)
            np.testing.assert_allclose(theirs[counts], ours[counts], rtol=1e-12, atol=1e-14, err_msg=block.name)
            compared += 1
    assert compared >= 30


@pytest.mark.parametrize("name", ["default", "epochs", "pipeline/ppo"])
def test_every_plain_workbook_prints_the_equations_of_the_page(name: str) -> None:
    made = bp.build(name)
    for block in page():
        there = made.blocks[block.name]
        targets = [definition.target for definition in there.definitions]
        assert targets == [definition.target for definition in block.definitions], block.name
        for own, theirs in zip(block.definitions, there.definitions, strict=True):
            shapes = [[type(node).__name__ for node in walk(each.expr)] for each in (own, theirs)]
            assert shapes[0] == shapes[1], block.name
