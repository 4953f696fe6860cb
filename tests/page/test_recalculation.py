"""A stranger's spreadsheet program computes our number in every formula cell of a delivered workbook.

Before an engine sees a file, every cached value in it is replaced by 777.25: what it finds right it has computed.
"""

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.page.engine import Cells, with_ironcalc
from blueprint.page.formulas import expected
from blueprint.page.recalculate import compare
from tests.audit import formulas, spoil
from tests.page.soffice import with_libreoffice
from tests.page.workshop import BUILT_IN, SLOPED, Array, made

ODD_WORDS = '["<eos>", "=1+1", "@x", "+a", "1e5", "TRUE", "{=1}", "http://x"]'
CHANGES: dict[str, tuple[str, ...]] = {
    "default": (),
    "another gamma, and k2": ("ppo.gamma=0.5", "ppo.kl_estimator=k2"),
    "k3, not whitened": ("ppo.kl_estimator=k3", "ppo.whiten_advantages=off"),
    "no update": ("ppo.update_step=0",),
    "a draw flips a word": ("rollout.draws=[[0.10, 0.75, 0.90, 0.11], [0.89, 0.14, 0.50, 0.50]]",),
    "responses of one word": ("rollout.draws=[[0.01, 0.5, 0.5, 0.5], [0.01, 0.5, 0.5, 0.5]]",),
    "responses cut without an end": ("rollout.draws=[[0.99, 0.99, 0.99, 0.99], [0.5, 0.6, 0.9, 0.9]]",),
    "words that look like formulas": (
        f"text.vocabulary={ODD_WORDS}",
        'text.prompts=[["=1+1", "TRUE", "1e5"], ["+a", "{=1}", "@x"]]',
    ),
    "the smallest": ("sizes.vocabulary=2", "sizes.hidden=1", "sizes.embedding=1", "sizes.episodes=1"),
    "five prompts of different lengths": (
        "sizes.vocabulary=20",
        "sizes.hidden=12",
        'text.prompts=["the old dog", "cat", "big cat", "the", "a good bird"]',
        "sizes.max_new_tokens=1",
    ),
    "vocabulary 64, hidden 32, embedding 31": (
        "sizes.vocabulary=64", "sizes.hidden=32", "sizes.embedding=31", "sizes.episodes=1", "sizes.prompt=1",
        "sizes.max_new_tokens=2",
    ),
    "forty decisions": (
        "sizes.vocabulary=4", "sizes.hidden=2", "sizes.episodes=1", "sizes.max_new_tokens=36", "seed=4",
    ),
}  # fmt: skip
LESSONS = [name for name in BUILT_IN if name not in SLOPED or name.startswith("by-hand")]
"""Kinds without a loss, and what one computes by hand."""
OTHERS = {
    "bandit by soft-max": ("bandit", "bandit.strategy=softmax"),
    "q-learning by soft-max": ("q-learning-path", "q_learning.exploration=softmax"),
    "controller by token mean": ("kl-controller", "controller.kl_stat=token_mean"),
    **{f"reinforce, {word}": ("reinforce", f"reinforce.baseline={word}") for word in ("leave_one_out", "optimal")},
}
FILES = [*CHANGES, *LESSONS, *OTHERS]
EXACT = 1e-12
"""Engines compute in float64, as we do: nearer than the proof of a workbook asks for, which people's programs must pass."""
SUMS_OF_MANY = {"frontier": 1e-11}
"""By workbook how near where an engine adds up many numbers in another order."""


class Delivered(NamedTuple):
    """A book, the file that it was saved as, the file with spoiled caches, and how near engines must come."""

    book: Book
    saved: Path
    spoiled: Path
    exact: float


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Delivered]:
    """Builds, saves and spoils every workbook."""
    return {name: _deliver(name, tmp_path_factory.mktemp("delivered")) for name in FILES}


def _deliver(name: str, folder: Path) -> Delivered:
    numbers, *overrides = ("default", *CHANGES[name]) if name in CHANGES else OTHERS.get(name, (name,))
    book = made(*overrides, numbers=numbers)
    book.save(folder / "book.xlsx")
    spoil(folder / "book.xlsx", folder / "spoiled.xlsx")
    return Delivered(book, folder / "book.xlsx", folder / "spoiled.xlsx", SUMS_OF_MANY.get(name, EXACT))


def complaints(made: Delivered, computed: Cells) -> list[str]:
    """Lists what is wrong with an engine's cells; `compare` calls a missing cell and an error value a failure."""
    in_xml = formulas(made.saved).keys()
    proof = compare(expected(made.book.layout), computed)
    counted = [] if proof.total == len(in_xml) else [f"{proof.total} cells compared of {len(in_xml)} in the XML"]
    skipped = [f"{sheet}!{cell} was skipped" for sheet, cell in in_xml - computed.keys()]
    loose = [f"the largest difference is {proof.worst:.1g}"] if proof.worst > made.exact else []
    return counted + skipped + loose + [str(failure) for failure in proof.failures]


@pytest.mark.parametrize("name", FILES)
def test_ironcalc_computes_our_numbers_in_every_formula_cell(delivered: dict[str, Delivered], name: str) -> None:
    assert complaints(delivered[name], with_ironcalc(delivered[name].spoiled)) == []


@pytest.mark.usefixtures("needs_libreoffice")
def test_libreoffice_computes_our_numbers_in_every_formula_cell(delivered: dict[str, Delivered]) -> None:
    computed = with_libreoffice([each.spoiled for each in delivered.values()])
    found = {name: complaints(delivered[name], cells) for name, cells in zip(delivered, computed, strict=True)}
    assert found == {name: [] for name in FILES}


def test_a_wrong_number_in_one_cell_would_be_seen(delivered: dict[str, Delivered]) -> None:
    """An audit that cannot fail proves nothing: this one hears of a cell left as it was spoiled, and of a lost one."""
    computed = with_ironcalc(delivered["default"].spoiled)
    kept, lost = list(computed)[100:102]
    computed[kept] = 777.25
    del computed[lost]
    assert len(complaints(delivered["default"], computed)) == 4


def test_no_number_is_computed_with_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made(*CHANGES["responses of one word"])


def values(delivered: dict[str, Delivered], name: str, block: str) -> Array:
    """Returns a block's numbers in one of the workbooks."""
    book = delivered[name].book
    return book.values[book.blocks[block]]


def test_the_changes_are_what_their_names_say(delivered: dict[str, Delivered]) -> None:
    def of(name: str, block: str) -> Any:
        return values(delivered, name, block).tolist()

    assert of("no update", "ratio") == np.ones((2, 8)).tolist()
    assert of("a draw flips a word", "rollout.written") != of("default", "rollout.written")
    assert of("responses of one word", "response.length") == [1, 1]
    assert of("responses cut without an end", "response.length") == [4, 4]
    assert not np.any(values(delivered, "responses cut without an end", "rollout.ends"))
    assert set(of("five prompts of different lengths", "response.length")) == {1}
    assert values(delivered, "five prompts of different lengths", "is_given").sum(axis=1).tolist() == [2, 0, 1, 0, 2]
    assert of("forty decisions", "decisions") == 40
    assert values(delivered, "forty decisions", "response.length")[0] > 20
    for name in ("another gamma, and k2", "k3, not whitened"):
        assert of(name, "advantages_used") != of("default", "advantages_used")
