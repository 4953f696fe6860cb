"""DPO from typed texts and weights: two networks read, the margin follows, and steps follow."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from math import log

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.inputs.load import load
from blueprint.workbooks import blueprint_of
from tests.page.workshop import Array
from tests.workbooks.apart import apart

STEPS = (("update.by", "adamw"), ("update.epochs", 3), ("update.lr", 0.1))
NUMBERS = load("dpo")


@cache
def book(*overrides: tuple[str, object]) -> Book:
    """Computes the default numbers with some of them changed."""
    return Book(blueprint_of(load("dpo", dict(overrides))))


def row(name: str, *overrides: tuple[str, object]) -> Array:
    """Returns a row of such a workbook."""
    made = book(*overrides)
    return np.asarray(made.values[next(each for each in made.blueprint.blocks() if each.name == name)])


def said_of(text: tuple[str, ...], response: tuple[str, ...], Y: Array) -> float:
    """Adds up the log-probs of a response behind its prompt, as a class would on paper: a loop over tokens."""
    E, W = (np.asarray(NUMBERS[f"reference.{part}"]) for part in "EW")
    ids = [NUMBERS["text.vocabulary"].index(word) for word in (*text, *response)]
    h, total = np.zeros(W.shape[1]), 0.0
    for place, (read, written) in enumerate(pairwise(ids)):
        h = np.tanh(np.concatenate([E[read], h, [1.0]]) @ W)
        z = h @ Y
        if place >= len(text) - 1:
            total += z[written] - log(np.exp(z).sum())
    return total


def test_log_probs_of_responses_are_those_of_a_loop_over_their_tokens() -> None:
    Y = np.asarray(NUMBERS["reference.Y"])
    for name, weights in (("reference", Y), ("policy", Y + np.asarray(NUMBERS["policy.delta_Y"]))):
        meant = [
            said_of(prompt, response, weights)
            for prompt, *both in zip(*(NUMBERS[f"text.{of}"] for of in ("prompts", "chosen", "rejected")), strict=True)
            for response in both
        ]
        np.testing.assert_allclose(row(f"{name}.sum"), meant, rtol=0, atol=1e-13)


def test_the_three_pairs_teach_what_their_file_says() -> None:
    """Both rewards below 0 and yet right; wrong; all but a tie."""
    chosen, rejected = row("chosen.reward"), row("rejected.reward")
    assert max(chosen[0], rejected[0]) < 0 < chosen[0] - rejected[0]
    assert chosen[1] - rejected[1] < -0.2
    assert 0 < abs(chosen[2] - rejected[2]) < 0.01
    assert float(row("rewards.accuracies")) == pytest.approx(1 / 3)
    assert float(row("total_loss")) == pytest.approx(np.log1p(np.exp(rejected - chosen)).mean(), abs=1e-15)


def test_without_an_update_the_policy_is_the_reference_and_every_pair_a_tie() -> None:
    at_start = (("policy.update_step", 0.0), ("gradients", "on"))
    assert float(row("total_loss", *at_start)) == pytest.approx(log(2), abs=1e-15)
    assert float(row("rewards.accuracies", *at_start)) == 0, "a tie is wrong"
    slope, m = row("policy.logprobs.grad", *at_start), row("response.tokens", *at_start)
    signs = np.tile([-1.0, 1.0], 3)[:, None]
    np.testing.assert_allclose(slope, signs * m * 0.1 / 2 / 3, rtol=0, atol=1e-16)


def test_steps_begin_at_ln_2_and_put_the_chosen_ahead() -> None:
    losses = row("epochs.preference_loss", *STEPS)
    assert losses[0] == pytest.approx(log(2), abs=1e-15)
    assert (np.diff(losses) < 0).all()
    assert row("epochs.rewards.accuracies", *STEPS).tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "overrides",
    [
        (("gradients", "on"),),
        STEPS,
        (("preset", "trl_1.16_ipo"),),
        (("loss.form", "kto"), ("gradients", "on")),
        (("text.rejected", ("sleepy <eos>", "happy", "<eos>")), ("text.chosen", ("sleepy <eos>", "<eos>", "very"))),
        (("policy.update_step", 400.0), ("gradients", "on")),
    ],
    ids=["gradients", "steps", "ipo", "kto", "a tie and single tokens", "log-ratios of hundreds"],
)
def test_torch_finds_the_same_in_every_row(overrides: tuple[tuple[str, object], ...]) -> None:
    assert apart(book(*overrides)) == {}


def test_equal_responses_have_a_margin_of_0_and_are_wrong() -> None:
    same = (("text.chosen", ("happy <eos>",) * 3), ("text.rejected", ("happy <eos>",) * 3))
    assert row("margin", *same).tolist() == [0, 0, 0]
    assert float(row("rewards.accuracies", *same)) == 0


@pytest.mark.parametrize(
    ("block", "at", "word", "check"),
    [
        ("text.response", (0, 2), "very", "check.twice"),
        ("text.response", (4, 4), "", "check.gap"),
        ("given", (1, 1), "", "check.prompt"),
    ],
)
def test_texts_that_are_typed_wrongly_are_found(block: str, at: tuple[int, int], word: str, check: str) -> None:
    outline = blueprint_of(NUMBERS)
    blocks = {each.name: each for each in outline.blocks()}
    typed = np.array(outline.typed[blocks[block]], dtype=object)
    typed[at] = word
    changed = Book(outline.with_typed({block: typed}))
    assert changed.values[blocks[check]].max() == 1
    assert book().values[next(each for each in book().blueprint.blocks() if each.name == check)].max() == 0
