"""Sheets of supervised fine-tuning: the curves are those of the labels, their slopes the pulls, and every note hangs on a row."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.workbooks.common.guides import notes_in
from blueprint.workbooks.sft.kind import KIND
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


def test_every_note_hangs_on_a_row() -> None:
    notes, names = notes_in(KIND.notes), made(numbers="sft-batch").blocks.keys()
    assert len(notes) > 20
    assert set(notes) - names == set()
    assert [key for key, note in notes.items() if not note.strip().endswith(".")] == []
