"""Log-ratios of 20 … 40: beyond every clamp, and where a mean ratio passes 1e9. Off is off there, for every library.

The expected numbers are computed here, word by word in plain Python, from what the libraries' sources do; every preset
goes through the definitions and the page, and those at whose limits it shows through the recalculated workbook too.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="PPO's page is torch")

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.witness.raw import Raw
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.paper import PAGE
from tests.page.finished import Engine
from tests.page.workshop import blocks_in, located, row

SHIFTS = (21.0, 40.0, -25.0, 30.0)
"""What is added, episode by episode, to the new policy's logit of the word written, so that log-ratios grow to that."""
PRESETS = tuple(name for name in rlhf().presets if name != "default")


@cache
def far(preset: str) -> Book:
    """Returns the book of the libraries' batch with old words made rare, so that the ratios become large."""
    base = load("ten-libraries", [f"preset={preset}", f"compare={preset}"])
    ids = {word: number for number, word in enumerate(base["text.vocabulary"])}
    old, new = np.array(base["old.logits"]), np.array(base["policy.logits"])
    for n, (response, shift) in enumerate(zip(base["text.responses"], SHIFTS, strict=True)):
        for t, word in enumerate(response):
            (old if shift > 0 else new)[n, t, ids[word]] -= abs(shift)
    return Book(blueprint_of(replace(base, parts={**base.parts, "old.logits": old, "policy.logits": new})))


def expected(book: Book, preset: str) -> dict[str, float]:
    """Computes policy loss and approximate KL of a batch from log-probs, advantages and weights, word by word."""
    use = rlhf().presets[preset].values
    new, old = row(book, "policy.logprobs"), row(book, "old.logprobs")
    counts, A, weight = row(book, "response"), row(book, "advantages_used"), row(book, "policy.weight.row")
    seen = row(book, "watch.slots.weight")
    loss, kl, total = 0.0, 0.0, 0.0
    for at in np.ndindex(*counts.shape):
        m, advantage = float(counts[at]), float(A[at])
        raw = m * float(new[at] - old[at])
        clamp = {"openrlhf": 20.0, "verl": 20.0}.get(preset)
        d = raw if clamp is None else max(-clamp, min(clamp, raw))
        ratio = math.exp(d)
        word = min(ratio * advantage, max(0.8, min(1.2, ratio)) * advantage)
        if preset == "verl" and advantage < 0:
            word = max(word, 3.0 * advantage)
        loss -= float(weight[at]) * word
        total += m * ratio
        read = raw if preset == "openrlhf" else d
        kl += float(seen[at]) * {"k1": -read, "k2": read * read / 2, "k3": ratio - 1 - d}[str(use["metrics.kl"])]
    mean = total / float(counts.sum())
    guarded = preset == "trl_0.11.4" and mean > 10
    return {"policy_loss": 0.0 if guarded else loss, "approx_kl.used": kl, "loss.mean_ratio": mean}


@pytest.mark.parametrize("preset", PRESETS)
def test_off_is_off_however_large_the_ratios(preset: str) -> None:
    book = far(preset)
    found = expected(book, preset)
    assert found["loss.mean_ratio"] > (1e7 if preset in ("openrlhf", "verl") else 1e9)
    rows = PAGE.results(Raw({block.name: array for block, array in book.values.arrays.items()}))
    assert found.keys() <= rows.keys()
    for name, value in found.items():
        assert float(row(book, name)) == pytest.approx(value, rel=1e-9, abs=1e-9), name
        assert float(rows[name]) == pytest.approx(value, rel=1e-9, abs=1e-9), name
        assert row(book, f"library.{name}").tolist() == [float(row(book, name))], name
    zero = preset == "trl_0.11.4"
    assert (found["policy_loss"] == 0, float(row(book, "value_loss")) == 0) == (zero, zero)


def test_approximate_kl_of_openrlhf_is_of_the_log_ratio_before_its_clamp() -> None:
    book = far("openrlhf")
    raw = row(book, "log_ratio.free")
    assert np.abs(raw).max() > 35
    assert np.abs(row(book, "log_ratio")).max() == 20
    weight = row(book, "watch.slots.weight")
    assert float(row(book, "approx_kl.used")) == pytest.approx(float(-(weight * raw).sum()), rel=1e-12)


@pytest.mark.parametrize("preset", ["trl_1.12", "verl"])
def test_the_recalculated_workbook_says_the_same(preset: str, tmp_path: Path) -> None:
    """Proved cell by cell, and again with each limit that is on switched off by its word."""
    path, book = tmp_path / "far.xlsx", far(preset)
    book.save(path)
    engine, places = Engine(path), located(path)
    for key, value in {"loss.dual_clip": "OFF", "loss.log_ratio_clamp": "off", "ppo.clip_range": "off"}.items():
        place = places[f"{key.removeprefix('ppo.')}.yours"]
        engine.type(place.sheet, place.top, place.left, value)
    engine.evaluate()
    found = blocks_in(engine.model, places)
    raw, A = row(book, "log_ratio.free"), row(book, "advantages_used")
    assert np.allclose(found["ratio"], np.exp(raw), rtol=1e-9)
    assert np.allclose(
        found["surrogate"], np.minimum(np.exp(raw), 1.2) * A * (A > 0) + np.exp(raw) * A * (A <= 0), rtol=1e-9
    )
    assert float(found["loss.keep"]) == 1
    assert float(found["check.settings"]) == 0
