"""Fine-tuning with steps, and on batches that no library ran: page and autograd agree with the workbook."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="the pages of papers are written in torch")

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from tests.papers.test_sft_pages import SMALL as TWO_TEXTS
from tests.workbooks.apart import apart

SMALL = (*TWO_TEXTS, "gradients=on")
"""A label of probability 1, labels as likely as any other, one of probability e^−600, and a likely one: beyond e^−709 no cell holds
a perplexity."""
BATCHES = {
    "steps of SGD": ("sft", "update.by=sgd", "update.epochs=3", "update.max_norm=0.1", "update.weight_decay=0.1"),
    "steps on microbatches": ("sft", "update.by=adam", "sft.microbatches=2", "loss.normaliser=microbatches"),
    "wrapped": ("sft-batch", "gradients=on", "sft.region=text", "sft.packing=wrapped", "loss.normaliser=labels"),
    "DFT of three microbatches": (
        "sft-batch", "gradients=on", "loss.dft=on", "sft.microbatches=3", "loss.normaliser=microbatches"
    ),
    "probability 1, one token, pad = eos": ("sft-batch", *SMALL, "loss.normaliser=nonzero"),
    "no end token": ("sft-batch", *SMALL, "sft.end_token=out", "loss.normaliser=row_sums"),
    "means of rows": ("sft-batch", *SMALL, "loss.normaliser=row_means"),
    "wrapped, and cut where no column is left": ("sft-batch", *SMALL, "sft.packing=wrapped", "sft.region=text"),
    "nothing to learn": ("sft-batch", *SMALL, "text.response=[[0, 0], [0, 0]]", "preset=nemo_rl"),
    "one response of two": ("sft-batch", *SMALL, "text.response=[[0, 0], [1, 0]]", "preset=verl_b178a3c", "sft.microbatches=2"),
}  # fmt: skip


@pytest.mark.parametrize("name", BATCHES)
def test_page_and_autograd_have_the_numbers_of_the_workbook(name: str) -> None:
    numbers, *overrides = BATCHES[name]
    book = Book(blueprint_of(load(numbers, overrides)))
    assert apart(book) == {}
    for row in ("total_loss", "policy.logits.grad"):
        assert np.isfinite(book.values[book.blocks[row]]).all()
