"""Every cell says what its equation and its formula say."""

from __future__ import annotations

import re
from functools import cache

import pytest

from blueprint import Book
from blueprint.language.spelling.numbers import MOST, SHOWN, number
from blueprint.language.trees import OFF_WORD
from blueprint.notation import Axis, block, book, equal, typed
from tests.explaining.formulas import PICKS, cells_of, formulas, precedents, split_address
from tests.page.workshop import made

K3 = "ppo.kl_estimator=k3"
# Every level of numbers, with and without live conventions.
BOOKS = {
    "default": ("default", K3),
    "very-very-sleepy": ("very-very-sleepy", K3),
    "live": ("default", "preset=trl_1.12", "compare=verl,openrlhf", "sizes.episodes=1"),
    "logits": ("ten-libraries", "preset=verl", "compare=default,openrlhf", "text.episodes=[1,3]"),
    "classic": ("classic", "preset=torchrl", "ppo.value_norm=smooth_l1"),
    "controller": ("kl-controller", "controller.kl_stat=token_mean"),
}
LARGE = 600
"""Of books with more blocks fewer cells of each are looked at."""


@cache
def book_called(name: str) -> Book:
    """Makes one of the books."""
    numbers, *overrides = BOOKS[name]
    return made(*overrides, numbers=numbers)


@pytest.mark.parametrize("name", BOOKS)
def test_what_a_cell_reads_is_what_its_formula_refers_to(name: str) -> None:
    of = book_called(name)
    picked = plain = 0
    for told in cells_of(of, 7, 4 if len(of.blocks) < LARGE else 2):
        formula = formulas(of)[split_address(told.cell)]
        reads = {split_address(each.cell) for each in told.reads}
        refers = set(precedents(of, split_address(told.cell))) if formula else set()
        assert reads <= refers, told
        if any(word in formula for word in PICKS):
            picked += 1
        else:
            plain += 1
            assert reads == refers, told
    assert picked > (5 if name == "controller" else 20)
    assert plain > 60


DECIMALS = range(SHOWN, MOST + 1)
NUMBER = re.compile(r"(?<![\w.])−?\d+(?:\.\d+)?(?:e[+−]\d+)?")


@pytest.mark.parametrize("name", BOOKS)
def test_the_numbers_of_a_line_are_those_of_the_cells_that_are_read(name: str) -> None:
    of = book_called(name)
    lines = 0
    for told in cells_of(of, 8, 4 if len(of.blocks) < LARGE else 2):
        result = number(told.value).text
        line = told.numbers.removesuffix(result)
        assert line.endswith((" = ", " ≈ ")) if told.equation else line == "", told.numbers
        if not told.reads or "…" in told.numbers:
            continue
        lines += 1
        # That a limit is off is said by the word in its cell: it is no number of the line.
        found = {text.lstrip("−") for text in NUMBER.findall(re.sub("“.*?”", "", line))}
        # A line has as many decimals as it takes, the same for all of its numbers.
        put_in = [
            {number(each.value, decimals=n).text for each in told.reads if each.value != OFF_WORD} for n in DECIMALS
        ]
        whole = {"0", "1", "2", str(told.at.get("t"))}
        operands = next((each for each in put_in if found <= {text.lstrip("−") for text in each} | whole), None)
        assert operands is not None, told
        formula = formulas(of)[split_address(told.cell)]
        if not any(word in formula for word in ("INDEX", "CHOOSE")):
            assert all(text in line for text in operands), told
    assert lines > 60


def test_every_cell_is_told_once_and_the_value_is_the_books(default: Book) -> None:
    told = default.explain("total_loss", depth="all")
    left, seen = [told], {}
    while left:
        each = left.pop()
        if (each.name, tuple(each.at.values())) not in seen:
            seen[each.name, tuple(each.at.values())] = each
            left += each.reads
        assert seen[each.name, tuple(each.at.values())] is each
    assert not any(each.more for each in seen.values())
    for each in list(seen.values())[::25]:
        shown = default.show(each.name, **each.at)
        assert (each.cell, each.equation or "typed", each.numbers) == (
            shown.cell, "typed" if each.typed else shown.equation, shown.numbers,
        )  # fmt: skip
    text = str(told)
    assert text.count("A[1, 4] = 0.6675  (advantages, ") == 1
    assert "marked …" not in text


@pytest.mark.parametrize("name", BOOKS)
def test_the_latex_of_every_block_has_its_brackets_in_pairs(name: str) -> None:
    for told in cells_of(book_called(name), 9, 1):
        spelled = told.latex()
        plain = re.sub(r"\\[{}]", "", spelled)
        assert plain.count("{") == plain.count("}"), told
        assert spelled.count(r"\left") == spelled.count(r"\right"), told
        assert spelled.isascii() or told.value == "", told
        assert spelled.count("&=") >= 1


def test_the_latex_of_a_sum_of_products(default: Book) -> None:
    spelled = default.explain("policy_loss", depth=1).latex().splitlines()
    assert spelled[1] == r"L_{\text{policy}} &= -\frac{\sum_{n,t} m_{n, t} \, {U_{\text{min}}}_{n, t}}{N} \\"
    terms = (
        r"1 \cdot 0.5807 + 1 \cdot 0.1152 + 1 \cdot 0.9703 + 1 \cdot 1.2044 + 1 \cdot \left( -0.8496 \right) + 1 \cdot"
    )
    assert spelled[2].startswith(rf"L_{{\text{{policy}}}} &= -\frac{{{terms}")
    assert spelled[2].endswith(r"{6} = -0.0519 \\[1ex]")


def test_words_with_signs_of_latex_are_escaped() -> None:
    word, flag = typed("word", (), "w", text=True), block("is_word", (), "f")
    told = typed("told", (), "t", text=True)
    flag[()] = equal(word, told)
    t = Axis("t", "step")
    x = typed("x", (t,))
    made_here = book("Words", [x, word, told, flag], t, {x: [1], word: "50%_{}", told: "a&b"})
    assert r"\left[ \text{``50\%\_\{\}''} = \text{``a\&b''} \right] = 0" in made_here.explain("is_word").latex()
