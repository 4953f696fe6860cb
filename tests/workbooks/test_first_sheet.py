"""Start: what every number is a mean or a sum of is said, and is true; symbols can be told apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language import equation
from blueprint.page import styles
from blueprint.page.outline import Piece
from blueprint.workbooks import blueprint_of
from tests.page.workshop import BUILT_IN, SLOPED, made
from tests.workbooks.test_labels import BOOKS

Claim = Callable[[Book, Piece], float]


def pieces(book: Book) -> list[Piece]:
    """Returns what the first sheet shows again that is a number with an origin."""
    return [item for item in book.blueprint.sheets[0].items() if isinstance(item, Piece) and item.of]


def mask(book: Book) -> np.ndarray:
    """Returns 1 on the response words, (episodes, T)."""
    found = book.values[book.blocks["mask"]]
    size = book.values.size(book.blocks["mask"].axes[1])
    return np.asarray(found, dtype=float)[:, -size - 1 : -1] if found.shape[1] == size + 2 else np.asarray(found)


def row(book: Book, piece: Piece) -> np.ndarray:
    """Returns the row that a piece speaks of, (episodes, T), without its edges."""
    block = piece.about
    found = np.asarray(book.values[block], dtype=float)
    first = (block.axes[1], -1) in block.edges
    return found[:, int(first) : int(first) + book.values.size(block.axes[1])]


def over_words(book: Book, piece: Piece) -> float:
    """Averages the row over the response words."""
    m = mask(book)
    return float((row(book, piece) * m).sum() / m.sum())


CLAIMS: dict[str, Claim] = {
    "mean over the response tokens": over_words,
    "mean over the tokens shown": over_words,
    "− mean over the response tokens": lambda book, piece: -over_words(book, piece),
    "mean over the responses": lambda book, piece: float(np.mean(book.values[piece.about])),
    "mean over all steps": lambda book, piece: float(row(book, piece).mean()),
    "− mean over all steps": lambda book, piece: -float(row(book, piece).mean()),
    "mean over the labels that count": lambda book, piece: float(
        row(book, piece).sum() / book.values[book.blocks["label.counts"]].sum()
    ),
    "how many tokens: Σ of the mask": lambda book, piece: float(mask(book).sum()),
}


@pytest.mark.parametrize("name", BOOKS)
def test_a_number_of_start_is_the_mean_or_sum_that_it_says(name: str) -> None:
    book = BOOKS[name]
    held = [p for p in pieces(book) if p.of in CLAIMS and p.shown is not p.about]
    fewer = {"sft": 3, "sft-batch": 3, "classic": 8, "very-very-sleepy": 7}
    assert len(held) >= fewer.get(name, 0 if name in BUILT_IN and name not in SLOPED else 9)
    for piece in held:
        shown = float(book.values.cell(piece.shown))
        assert shown == pytest.approx(CLAIMS[piece.of](book, piece), abs=1e-12), piece.title


@pytest.mark.parametrize("name", BOOKS)
def test_every_number_of_start_says_what_it_is_a_mean_or_a_sum_of(name: str) -> None:
    told = {item.title: item for item in BOOKS[name].blueprint.sheets[0].items() if isinstance(item, Piece)}
    silent = [title for title, piece in told.items() if not (piece.of or piece.shown.text or not piece.equation)]
    assert silent == []
    assert {piece.of for title, piece in told.items() if title == "explained variance"} <= {"one number for the batch"}


@pytest.mark.parametrize("name", ["default", "very-very-sleepy", "live default", "a minibatch"])
def test_reward_is_penalty_and_score_on_start_as_in_every_column(name: str) -> None:
    shown = {piece.title: float(BOOKS[name].values.cell(piece.shown)) for piece in pieces(BOOKS[name])}
    assert shown["augmented reward"] == pytest.approx(shown["KL penalty"] + shown["reward-model coupling"], abs=1e-12)


def test_the_total_is_the_sum_of_the_parts_below_it() -> None:
    for name in ("default", "live default", "classic", "a minibatch"):
        book = BOOKS[name]
        assert book.blueprint.result is not None
        names = [book.blueprint.result.name, *(part.name for part in book.blueprint.parts)]
        total, *parts = [piece for piece in pieces(book) if piece.about.name in names]
        assert total.of == "sum of the parts below it"
        assert len(parts) == len(names) - 1
        added = sum(float(book.values.cell(part.shown)) for part in parts)
        assert float(book.values.cell(total.shown)) == pytest.approx(added, abs=1e-12)


def test_no_equation_says_that_a_thing_is_itself() -> None:
    for book in BOOKS.values():
        equations = [str(label.text) for label in book.layout.labels if label.style == "piece equation"]
        told = [text for text in equations if " = " in text]
        assert [text for text in told if len(set(text.split(" = "))) == 1] == []


@pytest.mark.parametrize("name", ["dpo", "grpo", "reward-model", "sft", "default", "classic"])
def test_no_row_has_its_own_equation_as_its_symbol(name: str) -> None:
    """A row −u whose equation says −u tells nobody what it is; what is only shown again, and the worst of one, may."""
    for block in made(numbers=name).blueprint.blocks():
        for each in () if block.link or block.name.startswith("check.") else block.definitions:
            left, _, right = equation(block, each, frozenset()).partition(" = ")
            assert left != right, block.name
            assert "−−" not in right, block.name


def test_the_announcements_own_names_are_explained() -> None:
    said = {piece.title: piece.says for piece in pieces(BOOKS["default"])}
    assert said["proximity model θ_old"] == "θ_old, the policy that wrote the responses: its log-prob of each token"
    assert said["reward-model coupling"] == "the score, added to the reward at the response's last token"


COEFFICIENTS = ("vf_coef", "ent_coef", "policy_kl_coef", "kl_coef.loss")
# Letters of one shape in many fonts: a lower-case L, a capital i and the digit 1.
SAME_SHAPE = str.maketrans({"l": "1", "I": "1"})


@pytest.mark.parametrize("name", BOOKS)
def test_symbols_differ_by_more_than_letters_of_one_shape(name: str) -> None:
    symbols = {block.symbol for block in BOOKS[name].blocks.values()}
    alike: dict[str, set[str]] = {}
    for symbol in symbols:
        alike.setdefault(symbol.translate(SAME_SHAPE), set()).add(symbol)
    assert [sorted(found) for found in alike.values() if len(found) > 1] == []
    assert not {"L_π", "L_V", "l_V"} & symbols


@pytest.mark.parametrize("name", BOOKS)
def test_no_symbol_is_a_coefficient_and_what_it_multiplies_run_together(name: str) -> None:
    book = BOOKS[name]
    symbols = {block.symbol for block in book.blocks.values()}
    coefficients = {book.blocks[key].symbol for key in COEFFICIENTS if key in book.blocks}
    joined = {a.lstrip("−") + b for a in coefficients for b in symbols}
    assert [symbol for symbol in symbols if symbol.lstrip("−") in joined] == []


@pytest.mark.parametrize("name", BOOKS)
def test_the_number_of_a_choice_is_called_so(name: str) -> None:
    numbers = [block for block in BOOKS[name].blocks.values() if "among the alternatives" in block.about.meaning]
    assert [block.symbol for block in numbers if not block.symbol.endswith("_choice")] == []
    shown = {str(label.text) for label in BOOKS[name].layout.labels}
    assert not {"Σ outside", "score = score"} & shown
    assert not any("level weights" in text for text in shown)


def test_symbols_are_upright_in_a_font_in_which_greek_letters_are_not_latin_ones() -> None:
    """Slanted, π looks like n in the fonts that stand in for Cambria."""
    for style in ("symbol", "equation", "piece equation", "walk equation", "section equation"):
        look = styles.label_style(style)
        assert look["font_name"] == "Calibri"
        assert not look.get("italic")


def test_settings_do_not_change_what_a_number_is_a_mean_of() -> None:
    """The origins are read off equations, so they are the same for other numbers of the same kind."""
    other = Book(blueprint_of(load("default", ("ppo.gamma=1", 'text.prompts=["the old", "is"]'))))
    pairs = zip(pieces(BOOKS["default"]), pieces(other), strict=True)
    assert all((a.title, a.of) == (b.title, b.of) for a, b in pairs)
    assert len(pieces(other)) > 20


BACKWARDS = {
    "default": ["gradient into the policy", "gradient into the critic"],
    "ten-libraries": ["gradient into the policy", "gradient into the critic"],
    "grpo": ["gradient into π_θ"], "dpo": ["gradient into π_θ"], "sft": ["gradient into π_θ"],
    "reward-model": ["gradient into the scores"],
}  # fmt: skip
"""By built-in numbers, where the arrows of the map that run back end."""


@pytest.mark.parametrize("name", BACKWARDS)
def test_the_map_says_where_the_gradient_flows_and_how_many_forward_passes_there_are(name: str) -> None:
    layout = made(numbers=name).layout
    links = [link for link in layout.links if link.sheet == "Start"]
    ends = [link for link in links if str(link.text).startswith("gradient into")]
    assert [link.text for link in ends] == BACKWARDS[name]
    for end in ends:
        there = sorted((link.column, str(link.text)) for link in links if link.row == end.row)
        assert there[0][1] == end.text
        assert there[-1][1] in ("TOTAL LOSS", "LOSS")
        arrows = [
            label.text
            for label in layout.labels
            if (label.sheet, label.row) == ("Start", end.row) and label.style == "arrow"
        ]
        assert arrows == ["←"] * (len(there) - 1)
    told = [
        str(label.text)
        for label in layout.labels
        if label.sheet == "Start" and str(label.text).startswith("Forward passes: ")
    ]
    assert len(told) == 1
    assert "backward pass" in " ".join(str(label.text) for label in layout.labels if label.sheet == "Start")
