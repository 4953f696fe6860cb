"""Numbers in the notes of DPO are those of the batch."""

from __future__ import annotations

from math import log

import pytest

from blueprint import Book
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from tests.page.workshop import made

BATCH = load("dpo-batch").parts
START = {
    policy: BATCH[policy.replace("policy", "reference")].tolist() for policy in ("policy.logits", "mismatched.policy")
}
"""The policy as it is before the first step: the reference."""
STARTS = {
    "sigmoid": log(2), "hinge": 1, "ipo": 25, "nca": 2 * log(2), "bco": 2 * log(2), "apo_zero": 1, "kto": 0.5, "exo": 2.7612,
}  # fmt: skip
"""What each form is while the policy is the reference, as the notes say it."""


@pytest.mark.parametrize("form", STARTS)
def test_the_losses_at_the_start_are_those_of_the_notes(form: str) -> None:
    book = Book(blueprint_of(load("dpo-batch", {**START, "loss.form": form})))
    assert book.show("total_loss").value == pytest.approx(STARTS[form], abs=5e-5)
    assert book.show("rewards.accuracies").value == 0


@pytest.mark.parametrize(("mean", "adds"), [("token", 0.51), ("sequence_mean", 0.53), ("sequence_sum", 1.77)])
def test_what_an_nll_adds_is_what_its_note_says(mean: str, adds: float) -> None:
    book = made("loss.nll_coef=0.2", f"loss.nll_mean={mean}", numbers="dpo-batch")
    assert book.show("adds.nll").value == pytest.approx(adds, abs=0.005)
