"""Files of reward models against the page: every built-in workbook by every preset, and comparisons that no library read."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the pages of papers are written in torch")

import blueprint as bp
from blueprint.witness.raw import Raw
from blueprint.workbooks.reward_model.witness.page import results
from tests.papers.pages import apart, built, drawn, file_of, presets, typed_alone, typed_in
from tests.workbooks.reward_model.test_other_batches import FAR, FORMS

NAMES = ("reward-model", "reward-batch", "pipeline/reward-model")


@pytest.mark.parametrize(("name", "preset"), presets(*NAMES))
def test_the_page_has_the_numbers_of_the_workbook(name: str, preset: str) -> None:
    assert apart(typed_in(name, preset), results, {}) == []


@pytest.mark.parametrize("name", NAMES)
def test_what_is_built_with_a_preset_is_what_is_typed_in(name: str) -> None:
    assert apart(file_of(bp.build(name, preset="openrlhf_rm_margin", gradients=True)), results, {}) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_page_reads_nothing_that_is_computed(name: str) -> None:
    alone = results(Raw(typed_alone(built(name))))
    assert {key: each.isfinite().all().item() for key, each in alone.items()} == dict.fromkeys(alone, True)
    assert ("head.score.grad" in alone) == (name == "reward-batch")
    assert len(alone) >= 19


@pytest.mark.parametrize(("name", "preset"), presets("reward-batch"))
def test_other_scores(name: str, preset: str) -> None:
    for seed in range(5):
        assert apart(typed_in(name, preset, drawn(name, seed, "head.score")), results, {}) == []


@pytest.mark.parametrize("form", FORMS)
def test_far_scores_ties_short_texts_and_a_pair_that_does_not_count(form: str) -> None:
    average = "rankings" if form == "softmax_best" else "pairs"
    numbers = {name: each for name, each in FAR.items() if name != "gradients"}
    book = bp.build("reward-batch", set={**numbers, "loss.form": form, "loss.average": average}, gradients=True)
    found = apart(file_of(book), results, {})
    if form == "log_exp":  # e^710 is infinite in torch, and held in a sheet, whose e^x ends at 709
        assert [each.partition(":")[0] for each in found] == [
            "loss.pair",
            "preference_loss",
            "total_loss",
            "head.score.grad",
        ]
    else:
        assert found == []
