"""What a reader sees beside the numbers: names that fit their column, symbols that LaTeX can print, the pieces by name."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial

import pytest

from blueprint.inputs import load
from blueprint.language.spelling.latex import LETTERS, latex_equations
from blueprint.page import grid
from blueprint.page.outline import blocks_on
from blueprint.workbooks import blueprint_of
from tests.page.workshop import BUILT_IN, MAINS, SLOPED, Asked, made
from tests.replayed import window_book, with_everything_logged

LONGER = {"dpo", "grpo", "reward-model", "sft"}
"""Their labels are longer than the column of names, or their symbols more alike; a batch of texts stands for the last one."""
NAMED = [name for name in MAINS.values() if name not in LONGER]
NAMED += ["very-very-sleepy", "ten-libraries", "q-learning-path", "sft-batch"]
BOOKS = Asked(
    {name: partial(made, numbers=name) for name in NAMED}
    | {
        "live default": partial(made, "conventions=live"),
        "smooth": partial(made, "preset=torchrl", numbers="classic"),
        "a minibatch": lambda: window_book(batch=with_everything_logged()),
    }
)
LIVE = ("ten-libraries", "live default", "a minibatch")

KNOWN_TO_LATEX = {name for spelled in LETTERS.values() for name in re.findall(r"\\([A-Za-z]+)", spelled)} | {
    "text", "left", "right", "frac", "exp", "ln", "tanh", "sqrt", "operatorname", "max", "min", "le", "sum", "mathrm", "bar", "hat",
    "top", "quad", "mid", "cdot",
}  # fmt: skip
"""Names that LaTeX has: a letter that follows one without a blank makes another one of it, which is none."""
LONGEST_NAME = 42
"""Letters: the column of names is as wide as the longest, and the numbers beside it must stay on a small screen."""

# Every check has the same four rows, and the two curves of the clip the same steps.
SAME_SYMBOL = ("check.", "curve.")

# Sheets with another width for names; test_fits measures every sheet as it is.
WIDER = ("Contents", "Delivered")

PIECES = (
    "policy loss", "value loss", "policy KL", "reference KL", "reward-model coupling", "GAE advantage estimation",
    "proximity model θ_old", "reference model θ_ref", "importance-sampling ratios", "value targets (from the old critic)",
    "sequence-level credit assignment", "token-level advantage weighting", "per-token log-probs", "augmented reward",
    "TD errors", "entropy bonus", "masks and EOS", "advantage whitening", "clip fraction", "approximate KL", "total loss",
)  # fmt: skip


@pytest.mark.parametrize("name", BOOKS)
def test_names_fit_their_column(name: str) -> None:
    placed = [label for label in BOOKS[name].layout.labels if label.column == grid.NAME and label.sheet not in WIDER]
    labels = [str(label.text) for label in placed if label.style == "name"]
    assert labels
    assert [text for text in labels if len(text) > LONGEST_NAME] == []


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_meaning_says_by_itself_what_a_row_is(name: str) -> None:
    """It stands alone where a row is explained, voted on, or a blank of a worksheet: there no row above says what is the same."""
    meanings = {block.name: block.about.meaning for block in blueprint_of(load(name)).blocks()}
    pointing = r"the same\b(?! (size|right|gradient))|(its|the) sum$|.*\bof the (one|other)$|mean over responses$"
    assert {row: meaning for row, meaning in meanings.items() if re.match(pointing, meaning)} == {}


@pytest.mark.parametrize("name", [*BUILT_IN, "smooth"])
def test_every_equation_has_a_latex_that_compiles_as_far_as_one_sees(name: str) -> None:
    of = (
        BOOKS[name].blueprint
        if name == "smooth"
        else blueprint_of(load(name, ["gradients=on"] if name in SLOPED else []))
    )
    for block in of.blocks():
        spelled = latex_equations(block)
        assert spelled.isascii(), spelled
        assert spelled.count("{") == spelled.count("}"), spelled
        assert set(re.findall(r"\\([A-Za-z]+)", spelled)) <= KNOWN_TO_LATEX, spelled
        assert not re.search(r"_-|(?<!\\)_\}", spelled), spelled
        assert not re.search(r"\\text\{[^}]*[^\\]_", spelled), spelled


@pytest.mark.parametrize("name", LIVE)
def test_a_symbol_means_one_row_of_its_sheet(name: str) -> None:
    for sheet in BOOKS[name].blueprint.sheets:
        rows = [
            block
            for block in blocks_on(sheet)
            if not block.name.startswith(SAME_SYMBOL) and not block.name.endswith(".words")
        ]
        twice = [symbol for symbol, count in Counter(block.symbol for block in rows).items() if count > 1]
        assert twice == [], sheet.title


def test_every_piece_stands_on_start_under_its_own_name() -> None:
    listed = {
        label.text for label in BOOKS["default"].layout.labels if label.sheet == "Start" and label.style == "name"
    }
    assert set(PIECES) <= listed


def test_the_parts_of_the_loss_add_up() -> None:
    book = BOOKS["default"]
    assert book.blueprint.result is not None
    parts = [float(book.values.cell(part)) for part in book.blueprint.parts]
    # Two sums of four numbers below 1, taken in different orders.
    assert abs(sum(parts) - float(book.values.cell(book.blueprint.result))) < 1e-15
