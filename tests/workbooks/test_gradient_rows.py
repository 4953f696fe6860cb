"""The notation's gradient of every weight against torch autograd: random numbers, presets, ties, extreme log-ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="autograd is the outside witness: install the extra [torch]")

from blueprint.book import Book
from blueprint.language import Block, compute
from blueprint.language.evaluate_torch import evaluate_torch
from blueprint.language.gradient import Gradient, gradient
from blueprint.language.schedule import needs
from tests.live import PRESETS
from tests.page.workshop import made
from tests.rows import Array
from tests.workbooks.central import reached

WEIGHTS = ("policy.E", "policy.W", "policy.Y", "critic.E", "critic.W", "critic.head.w", "critic.head.b")
CONSTANT = ("loss.advantages", "returns", "loss.V_old", "loss.logp_old")
# Of the largest of a block: autograd multiplies the same slopes in another order.
NEAR = 1e-12
# A block whose largest slope is smaller is made of 1 − p within the rounding of a probability, 1e-16: that is NEAR of this.
SMALL = 1e-4
SETS = 60


def made_of(book: Book) -> Gradient:
    """Returns the notation's gradient of the total loss."""
    blocks = book.blocks
    return gradient(
        blocks["total_loss"], [blocks[name] for name in WEIGHTS], [blocks[c] for c in CONSTANT if c in blocks]
    )


def worst(book: Book, ours: Gradient, sets: Sequence[Mapping[Block, object]]) -> Array:
    """Returns for sets of typed numbers the largest difference between both gradients, and the largest slope.

    The difference is a part of the largest of its block. Of the book that is computed from which a gradient follows.
    """
    blocks, outline = book.blocks, book.blueprint
    reads = {block: {need.read for need in needs(block)} for block in (*outline.blocks(), *ours.blocks)}
    listed = {block: None for block in reads if block.typed} | dict.fromkeys(reached(ours.blocks, reads))
    still = [blocks[name] for name in CONSTANT if name in blocks]
    rows = []
    for typed in sets:
        values = compute(listed, outline.sizes, typed)
        moving = [blocks[name] for name in WEIGHTS]
        slopes = evaluate_torch(outline.blocks(), outline.sizes, typed, moving=moving, still=still).slopes(
            blocks["total_loss"]
        )
        both = [(values[ours[blocks[name]]], slopes[blocks[name]].numpy()) for name in WEIGHTS]
        # A probability takes over the rounding of its logits, which is that of their size.
        size = max(1.0, np.abs(values[blocks["policy.logits"]]).max() / 100)
        apart = max(np.abs(a - b).max() / max(np.abs(b).max(), SMALL) for a, b in both) / size
        rows.append((apart, max(np.abs(each).max() for _, each in both)))
    return np.array(rows)


def redrawn(book: Book, seed: int) -> dict[Block, object]:
    """Returns other weights, draws and settings: every third set with a step of 0, others with ranges of 0, every fourth far away.

    Far away means log-ratios of 20 to 500, by the weights to the logits: a memory near ±1 would leave slopes 1 − h² that
    are rounding alone, in torch as in a sheet.
    """
    rng, names = np.random.default_rng(seed), book.blocks
    typed: dict[Block, Any] = dict(book.blueprint.typed)
    for block in typed:
        if (
            block.name.split(".")[0] in ("old", "reference", "reward_model", "old_critic", "policy", "critic")
            and not block.text
        ):
            typed[block] = rng.normal(size=np.shape(typed[block]))
    typed[names["rollout.draw"]] = rng.uniform(0.01, 0.99, np.shape(typed[names["rollout.draw"]]))
    choices: dict[str, tuple[float, ...]] = {
        "ent_coef": (0.0, 0.1),
        "policy_kl_coef": (0.0, 0.3),
        "vf_coef": (0.1, 1.0),
    }
    choices |= (
        {"update_step": (0.0, 0.1, 1.0)}
        if seed % 3 == 0
        else {"clip_range": (0.0, 0.2), "value_clip_range": (0.0, 0.2)}
    )
    if seed % 4 == 0:
        typed[names["policy.delta.Y"]] = rng.choice([10.0, 60.0]) * np.asarray(typed[names["policy.delta.Y"]])
    for key, values in choices.items():
        typed[names[f"{key}.yours"]] = rng.choice(values)
    return typed


def test_random_numbers() -> None:
    book = made(numbers="default")
    ours = made_of(book)
    far, slopes = worst(book, ours, [redrawn(book, seed) for seed in range(SETS)]).T
    assert far.max() <= NEAR, f"set {int(np.argmax(far))} differs by {far.max():.1e}"
    # Where a range is 0 and every token has left it, nothing pulls: that is a gradient, too, but not that of every set.
    assert (slopes > 1e-3).mean() > 0.9


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset(preset: str) -> None:
    book = made(f"preset={preset}", "ppo.ent_coef=0.1", "loss.joint=on", numbers="default")
    ((apart, slope),) = worst(book, made_of(book), [book.blueprint.typed])
    assert apart <= NEAR < slope
