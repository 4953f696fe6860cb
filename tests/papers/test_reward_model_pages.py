"""Files of reward models against the page: every built-in workbook by every preset, and comparisons that no library read."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the pages of papers are written in torch")

import blueprint as bp
from blueprint.witness.raw import Raw
from blueprint.workbooks.reward_model.paper import PAGE
from tests.papers.pages import apart, built, drawn, file_of, presets, typed_alone, typed_in

NAMES = ("reward-model", "reward-batch", "pipeline/reward-model")
FORMS = ("logsigmoid", "log_exp", "per_position", "softmax_best")
FAR = {
    "text.texts": ["one <eos>", "one two <eos>", "one two <eos>", "<eos>", "two"],
    "scores.head": [[1, 710, 0], [0, 0, 0], [2, -1, 0], [0, 3, 3], [-5, 0.5, 2]],
    "pairs.chosen": [1, 2, 2, 4, 1], "pairs.rejected": [2, 1, 3, 5, 1], "pairs.margin": [0, 1, 0.5, 700, 0],
    "pairs.ranking": [1, 2, 1, 3, 4], "pairs.counts": [1, 1, 1, 0, 1], "loss.margin": "typed",
    "reward.center": 0.01, "reward.l2": 0.001,
}  # fmt: skip
"""Differences of ±710 and of 0, the end token alone, equal texts, one against itself, and a pair that does not count."""


@pytest.mark.parametrize(("name", "preset"), presets(*NAMES))
def test_the_page_has_the_numbers_of_the_workbook(name: str, preset: str) -> None:
    assert apart(typed_in(name, preset), PAGE) == []


@pytest.mark.parametrize("name", NAMES)
def test_what_is_built_with_a_preset_is_what_is_typed_in(name: str) -> None:
    assert apart(file_of(bp.build(name, preset="openrlhf_rm_margin", gradients=True)), PAGE) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_page_reads_nothing_that_is_computed(name: str) -> None:
    alone = PAGE.results(Raw(typed_alone(built(name))))
    assert {key: each.isfinite().all().item() for key, each in alone.items()} == dict.fromkeys(alone, True)
    assert ("head.score.grad" in alone) == (name == "reward-batch")
    assert len(alone) >= 19


@pytest.mark.parametrize(("name", "preset"), presets("reward-batch"))
def test_other_scores(name: str, preset: str) -> None:
    for seed in range(5):
        assert apart(typed_in(name, preset, drawn(name, seed, "head.score")), PAGE) == []


@pytest.mark.parametrize("form", FORMS)
def test_far_scores_ties_short_texts_and_a_pair_that_does_not_count(form: str) -> None:
    average = "rankings" if form == "softmax_best" else "pairs"
    book = bp.build("reward-batch", set={**FAR, "loss.form": form, "loss.average": average}, gradients=True)
    found = apart(file_of(book), PAGE)
    if form == "log_exp":  # e^710 is infinite in torch, and held in a sheet, whose e^x ends at 709
        unlike = {"loss.pair", "preference_loss", "total_loss", "head.score.grad"}
        assert {each.partition(":")[0] for each in found} == unlike
    else:
        assert found == []
