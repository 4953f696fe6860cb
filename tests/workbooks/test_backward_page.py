"""The way back as a reader finds it: sections, equations, what is repeated where, and the words beside the rows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.page.outline import Blueprint, Chart, Note, Piece, Section, Sheet, Table, blocks_on
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.sheets.backward import REPHRASED

PLAIN = ("gradients=on", "ppo.policy_kl_coef=0.3")


@cache
def book(*overrides: str) -> Book:
    """Returns the default with gradients."""
    return Book(blueprint_of(load("default", [*PLAIN, *overrides])))


def backward(title: str) -> list[Section]:
    """Returns the sections that the gradient adds to a sheet."""
    return [section for section in sheet(title).sections if section.title.startswith("Backward")]


def sheet(title: str) -> Sheet:
    """Returns a sheet of the default."""
    return next(each for each in book().blueprint.sheets if each.title == title)


def names(section: Section) -> list[str]:
    """Returns the names of the rows of a section."""
    return [each.name for each in blocks_on(Sheet("", "", (section,)))]


def test_the_loss_is_read_back_from_its_end_to_the_log_prob() -> None:
    (last,) = backward("Loss")
    assert last is sheet("Loss").sections[-1]
    assert names(last) == [
        "loss.policy_kl.grad", "loss.entropy.grad", "value.word_loss.grad", "loss.V_new.grad", "surrogate.grad",
        "ratio.grad", "log_ratio.grad", "loss.logp_new.grad",
        "loss.grad.up", "loss.grad.down", "loss.grad.still", "loss.grad.tiny",
    ]  # fmt: skip
    values, blocks = book().values, book().blocks
    assert np.array_equal(values[blocks["loss.logp_new.grad"]], values[blocks["policy.logprobs.grad"]])


@pytest.mark.parametrize("title", ["Loss", "Policy", "Critic"])
def test_every_equation_of_the_way_back_can_be_read(title: str) -> None:
    """A row with a table beside it has its equation in the heading's row, where there is room for one."""
    made = book()
    for section in backward(title):
        beside = [item for item in section.items if getattr(item, "beside", None) is not None]
        assert len(beside) <= 1, section.title
    shown = [str(label.text) for label in made.layout.labels if label.sheet == title and "equation" in label.style]
    for section in backward(title):
        for block in blocks_on(Sheet("", "", (section,))):
            if not block.name.endswith(".id"):
                found = (text.strip().startswith((f"{block.symbol} =", f"{block.symbol}[")) for text in shown)
                assert block.link or block.typed or any(found), block


def test_a_gradient_is_laid_out_like_its_weight() -> None:
    for title in ("Policy", "Critic"):
        tables = {item.block.name: item for item in sheet(title).items() if isinstance(item, Table)}
        laid = [name for name in tables if name.endswith(".grad")]
        assert laid
        assert tables[f"{title.lower()}.E.grad"].across is tables[f"{title.lower()}.E"].across


def test_one_hot_rows_stand_above_what_reads_them() -> None:
    places = book().layout.places
    blocks = book().blocks
    for hot, reader in (("rollout.written", "policy.logits"), ("rollout.read", "policy.E")):
        above, below = places[blocks[f"{hot}.grad.is"]], places[blocks[f"{reader}.grad"]]
        assert above.sheet == below.sheet == "Policy"
        assert above.row < below.row


def test_words_beside_the_rows_fit_their_column() -> None:
    rows = [block for block in book().blocks.values() if ".grad" in block.name and not block.link]
    assert [
        block.about.meaning for block in rows if len(block.about.meaning) > 42 and ".transposed" not in block.name
    ] == []
    assert "taken through" not in " ".join(block.about.meaning for block in rows)


def test_a_token_pulls_one_way_or_not_at_all() -> None:
    """In the default three response tokens are held by the clip; by hand from ρ, Â and ε = 0.2."""
    values, blocks = book().values, book().blocks
    rho, A, m = (values[blocks[name]] for name in ("ratio", "loss.advantages", "mask"))
    m = m[:, -rho.shape[1] :] if m.shape != rho.shape else m
    held = ((rho > 1.2) & (A > 0)) | ((rho < 0.8) & (A < 0))
    up, down, still = (values[blocks[f"loss.grad.{way}"]] for way in ("up", "down", "still"))
    assert np.array_equal(still, m * held)
    assert np.array_equal(up, m * ~held * (A > 0))
    assert np.array_equal(down, m * ~held * (A < 0))
    counts = [float(values.cell(blocks[f"loss.grad.{way}.count"])) for way in ("up", "down", "still")]
    assert (sum(counts), counts[2]) == (m.sum(), 3)


def test_norms_are_the_roots_of_the_sums_of_squares() -> None:
    values, blocks = book().values, book().blocks
    models = {"policy": ("E", "W", "Y"), "critic": ("E", "W", "head.w", "head.b")}
    squares = {}
    for model, parts in models.items():
        each = {part: np.square(values[blocks[f"{model}.{part}.grad"]]).sum() for part in parts}
        for part, square in each.items():
            assert float(values.cell(blocks[f"{model}.{part}.grad.norm"])) == pytest.approx(square**0.5, rel=1e-14)
        squares[model] = sum(each.values())
        assert float(values.cell(blocks[f"{model}.grad.norm"])) == pytest.approx(squares[model] ** 0.5, rel=1e-14)
    assert float(values.cell(blocks["loss.grad.norm"])) == pytest.approx(sum(squares.values()) ** 0.5, rel=1e-14)


def test_start_says_what_pulls_and_how_long_the_gradient_is() -> None:
    pieces = [item.title for item in sheet("Start").items() if isinstance(item, Piece)]
    assert pieces.count("gradient norm") == 2  # after the loss, and among the diagnostics
    assert {"tokens made likelier", "tokens made less likely", "tokens whose log-prob does not pull"} <= {*pieces}
    assert (
        pieces.index("explained variance") + 1
        == len(pieces) - 1
        == len(pieces) - 1 - pieces[::-1].index("gradient norm")
    )


def test_what_holds_only_without_a_gradient_is_not_said_beside_one() -> None:
    def said(made: Blueprint) -> set[str]:
        notes = (item.text for each in made.sheets for item in each.items() if isinstance(item, Note))
        return {*notes, *(each.lead for each in made.sheets)}

    assert {*REPHRASED} <= said(blueprint_of(load("default")))
    assert not {*REPHRASED} & said(book().blueprint)


def charts() -> dict[str, Chart]:
    """Returns the pictures by their titles."""
    return {item.title: item for item in sheet("Charts").items() if isinstance(item, Chart)}


def test_the_pull_of_each_token_lies_on_the_slope_of_the_picture_beside_it() -> None:
    """Flat there is 0 here: by hand, ρ·sign(Â) within the clip, 0 where it holds."""
    assert [*charts()][:2] == [
        "Clip: surrogate of each token, per unit of advantage",
        "Clip: pull of each token, per unit of advantage",
    ]
    values, blocks = book().values, book().blocks
    rho, A, pull = (values[blocks[name]] for name in ("ratio", "loss.advantages", "dot.grad.pull"))
    held = ((rho > 1.2) & (A > 0)) | ((rho < 0.8) & (A < 0))
    assert pull == pytest.approx(np.where(held | (A == 0), 0, rho * np.sign(A)), abs=1e-14)
    bends = {
        way: [values[blocks[f"curve.grad.{way}.{what}"]].tolist() for what in ("ratio", "pull")]
        for way in ("good", "bad")
    }
    assert bends == {"good": [[0.2, 1.2, 1.2, 2], [0.2, 1.2, 0, 0]], "bad": [[0.2, 0.8, 0.8, 2], [0, 0, -0.8, -2]]}


def test_bars_show_the_norms_weight_by_weight() -> None:
    values, blocks = book().values, book().blocks
    names = [str(name) for name in values[blocks["norms.grad.names"]]]
    assert names == [
        "policy E",
        "policy W",
        "policy Y",
        "policy",
        "critic b",
        "critic E",
        "critic W",
        "critic w",
        "critic",
    ]
    shown = dict(zip(names, values[blocks["norms.grad.bars"]].tolist(), strict=True))
    assert shown["policy W"] == float(values.cell(blocks["policy.W.grad.norm"]))
    assert shown["critic"] == float(values.cell(blocks["critic.grad.norm"]))
    assert "How long the gradient of each weight is" in charts()
