"""The notes of DPO: each hangs on a row or a setting, every setting has one, and numbers in them are those of the batch."""

from __future__ import annotations

import re
from math import log

import pytest

from blueprint import Book
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.guides import notes_in
from blueprint.workbooks.dpo.kind import KIND
from tests.page.workshop import made

DPO = KIND.part("settings")
OWN = notes_in(KIND.notes)
NOTES = notes_in(KIND.notes, DPO)
LONGEST = 320
BATCH = load("dpo-batch").parts
START = {
    policy: BATCH[policy.replace("policy", "reference")].tolist() for policy in ("policy.logits", "mismatched.policy")
}
"""The policy as it is before the first step: the reference."""
STARTS = {
    "sigmoid": log(2), "hinge": 1, "ipo": 25, "nca": 2 * log(2), "bco": 2 * log(2), "apo_zero": 1, "kto": 0.5, "exo": 2.7612,
}  # fmt: skip
"""What each form is while the policy is the reference, as the notes say it."""


def test_every_note_hangs_on_a_row_and_is_written_once() -> None:
    blocks = made(numbers="dpo-batch").blocks
    assert [key for key in OWN if key not in blocks] == []
    assert [key for key, setting in DPO.items() if setting.note and key in OWN] == []


def test_every_setting_has_a_note() -> None:
    assert len(DPO) >= 24
    assert [key for key in DPO if not NOTES.get(key)] == []


def test_a_note_is_one_to_four_sentences_and_says_more_than_its_row() -> None:
    blocks = made(numbers="dpo-batch").blocks
    assert [key for key, note in NOTES.items() if len(note) > LONGEST or not note.endswith(".") or "!" in note] == []
    assert [key for key, note in NOTES.items() if len(re.findall(r"[.?](?= |$)", note)) > 4] == []
    assert [key for key, note in NOTES.items() if blocks[key].about.meaning.lower() in note.lower()] == []


@pytest.mark.parametrize("form", STARTS)
def test_the_losses_at_the_start_are_those_of_the_notes(form: str) -> None:
    book = Book(blueprint_of(load("dpo-batch", {**START, "loss.form": form})))
    assert book.show("total_loss").value == pytest.approx(STARTS[form], abs=5e-5)
    assert book.show("rewards.accuracies").value == 0


@pytest.mark.parametrize(("mean", "adds"), [("token", 0.51), ("sequence_mean", 0.53), ("sequence_sum", 1.77)])
def test_what_an_nll_adds_is_what_its_note_says(mean: str, adds: float) -> None:
    book = made("loss.nll_coef=0.2", f"loss.nll_mean={mean}", numbers="dpo-batch")
    assert book.show("adds.nll").value == pytest.approx(adds, abs=0.005)
