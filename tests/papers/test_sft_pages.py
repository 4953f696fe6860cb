"""Files of fine-tuning against the page: every built-in workbook by every preset, and texts that no library read."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the pages of papers are written in torch")

import blueprint as bp
from blueprint.witness.raw import Raw
from blueprint.workbooks.sft.paper import PAGE
from tests.papers.pages import apart, built, drawn, file_of, presets, typed_alone, typed_in

NAMES = ("sft", "sft-batch", "pipeline/sft")
OTHERS = {
    "wrapped": ("sft.region=text", "sft.packing=wrapped", "loss.normaliser=labels"),
    "no end token": ("sft.end_token=out", "loss.normaliser=row_sums"),
    "DFT of three microbatches": ("loss.dft=on", "sft.microbatches=3", "loss.normaliser=microbatches"),
    "as many microbatches as texts": ("sft.microbatches=4", "loss.normaliser=microbatches", "loss.mean_eps=1e-8"),
    "means of rows": ("loss.normaliser=row_means",),
    "what is uncertain": ("loss.normaliser=nonzero", "sft.region=text"),
}
"""Settings of no preset."""

SURE = "[[[0, 800, 0], [0, 0, 0]], [[-300, 0, 300], [40, 0, 0]]]"
SMALL = (
    'text.vocabulary=["<eos>", "a", "b"]', 'text.texts=[["a", "a", "<eos>"], ["b", "<eos>", "<eos>"]]',
    "text.response=[[1, 1], [1, 0]]", "text.there=[[1, 1], [1, 0]]", f"policy.logits={SURE}",
)  # fmt: skip
"""Two texts whose prompt is one token; the pad is the end token, and the second response is that token alone."""


def made(*overrides: str) -> bp.Book:
    return bp.build("sft-batch", set=dict(each.split("=", 1) for each in overrides), gradients=True)


@pytest.mark.parametrize(("name", "preset"), presets(*NAMES))
def test_the_page_has_the_numbers_of_the_workbook(name: str, preset: str) -> None:
    assert apart(typed_in(name, preset), PAGE) == []


@pytest.mark.parametrize("name", NAMES)
def test_what_is_built_with_a_preset_is_what_is_typed_in(name: str) -> None:
    book = bp.build(name, preset="trl_1.16_dft", gradients=True)
    assert apart(file_of(book), PAGE) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_page_reads_nothing_that_is_computed(name: str) -> None:
    alone = PAGE.results(Raw(typed_alone(built(name))))
    assert {key: each.isfinite().all().item() for key, each in alone.items()} == dict.fromkeys(alone, True)
    assert ("policy.E.grad" in alone) == (name != "sft-batch")
    assert len(alone) >= 18


@pytest.mark.parametrize(("name", "preset"), presets("sft-batch"))
def test_other_logits(name: str, preset: str) -> None:
    for seed in range(5):
        assert apart(typed_in(name, preset, drawn(name, seed, "policy.logits")), PAGE) == []


@pytest.mark.parametrize("name", OTHERS)
def test_settings_of_no_preset(name: str) -> None:
    assert apart(file_of(made(*OTHERS[name])), PAGE) == []


@pytest.mark.parametrize("normaliser", ["nonzero", "tokens", "row_sums", "row_means"])
def test_far_logits_one_token_and_a_pad_that_is_the_end_token(normaliser: str) -> None:
    """Labels of probability 1 and of e^−600, and one as likely as all others."""
    assert apart(file_of(made(*SMALL, f"loss.normaliser={normaliser}")), PAGE) == []
