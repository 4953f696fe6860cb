"""Sheets of supervised fine-tuning: the curves are those of the labels, and their slopes the pulls."""

from __future__ import annotations

import numpy as np
import pytest

from tests.page.workshop import made


def test_the_dots_lie_on_the_curve_and_their_pull_is_the_slope_at_the_logit() -> None:
    book = made("gradients=on", numbers="sft-batch")

    def row(name: str) -> np.ndarray:
        return np.asarray(book.values[book.blocks[name]])

    counts = row("label.counts") == 1
    assert np.all(row("dot.p")[~counts] == -1)
    assert row("dot.cost")[counts] == pytest.approx(-np.log(row("dot.p")[counts]), rel=1e-12)
    assert row("curve.cost") == pytest.approx(-np.log(row("curve.p")), rel=1e-12)
    labels, slopes = row("label.id")[counts].astype(int), row("policy.logits.grad")[counts]
    pull = -np.take_along_axis(slopes, labels[:, None], axis=1)[:, 0] * counts.sum()
    assert pull == pytest.approx(1 - row("dot.p")[counts], rel=1e-11)
