"""Files of DPO against the page: every built-in workbook by every preset, every form, and files of log-probs of one's own."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch", reason="the pages of papers are written in torch")

import blueprint as bp
from blueprint.witness.raw import Raw
from blueprint.workbooks.dpo.paper import PAGE
from blueprint.workbooks.dpo.schema import DPO
from tests.papers.pages import CLOSE, apart, built, drawn, file_of, presets, typed_alone, typed_in
from tests.workbooks.dpo.own_logprobs import by_response, given, golden

NAMES = ("dpo", "dpo-batch", "by-hand-dpo", "pipeline/dpo")
OWN: dict[str, Any] = {
    "tokens": given("policy", "reference"), "no reference": given("policy"), "one number a response": by_response(),
    "the recorded pairs": golden(),
}  # fmt: skip


@pytest.mark.parametrize(("name", "preset"), presets(*NAMES))
def test_the_page_has_the_numbers_of_the_workbook(name: str, preset: str) -> None:
    assert apart(typed_in(name, preset), PAGE) == []


@pytest.mark.parametrize("name", NAMES)
def test_what_is_built_with_a_preset_is_what_is_typed_in(name: str) -> None:
    assert apart(file_of(bp.build(name, preset="halos_cdpo", gradients=True)), PAGE) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_page_reads_nothing_that_is_computed(name: str) -> None:
    alone = PAGE.results(Raw(typed_alone(built(name))))
    assert {key: each.isfinite().all().item() for key, each in alone.items()} == dict.fromkeys(alone, True)
    assert ("policy.E.grad" in alone) == (name in ("dpo", "pipeline/dpo"))
    assert ("policy.logits.grad" in alone) == (name != "by-hand-dpo")
    assert len(alone) >= 23


LOGITS = tuple(f"{texts}{model}.logits" for texts in ("", "mismatched.") for model in ("policy", "reference"))


@pytest.mark.parametrize(("name", "preset"), presets("dpo-batch"))
def test_other_logits(name: str, preset: str) -> None:
    """Drawn ones; policy and reference exchanged, so that KTO's z would be below 0; and both the same, so that all pairs tie.

    ColossalChat's odds, p/(1.0001 − p), lose 4 digits where p is nearly 1, and their slopes 8.
    """
    shipped = {key: built(name).values.arrays[built(name).blocks[key]] for key in LOGITS}
    policy, reference, *far = (shipped[key] for key in LOGITS)
    numbers = [drawn(name, seed, *LOGITS) for seed in range(3)]
    numbers += [dict(zip(LOGITS, (reference, policy, *far[::-1]), strict=True)), {LOGITS[1]: policy, LOGITS[3]: far[0]}]
    close = 1e-8 if preset == "colossalchat" else CLOSE
    assert [apart(typed_in(name, preset, more), PAGE, close) for more in numbers] == [[]] * 5


@pytest.mark.parametrize("form", DPO["loss.form"].words)
@pytest.mark.parametrize("name", ["dpo", "dpo-batch"])
def test_every_form(name: str, form: str) -> None:
    asked = {
        "loss.form": form,
        "loss.label_smoothing": 0.1,
        "loss.gamma": 0.3,
        "loss.nll_coef": 0.2,
        "loss.desirable": 1.33,
    }
    odds = {"logp.of": "mean", "reference.used": "off", "loss.nll_region": "text", "loss.nll_mean": "sequence_mean"}
    book = bp.build(name, set=asked | (odds if form == "orpo" else {"loss.weight": "wpo"}), gradients=True)
    assert apart(file_of(book), PAGE) == []


@pytest.mark.parametrize("more", [
    {"margin.divergence": "forward_kl"}, {"margin.divergence": "js"}, {"logp.alpha": 0.25, "reference.used": "off"},
    {"logp.ld": "policy", "logp.ld_from": "row", "logp.ld_alpha": 0.3}, {"logp.ld": "both", "logp.ld_alpha": 0.3},
    {"logp.of": "mean_with_pad", "watch.rewards": "with_reference"}, {"logp.of": "mean_nonzero", "loss.bco_mix": 2},
    {"loss.nll_coef": 1, "loss.nll_mean": "cells", "loss.nll_region": "everything", "loss.mean_eps": 0.5},
    {"loss.form": "bco", "loss.bco_threshold": "batch_mean", "watch.rewards": "no_beta"},
], ids=lambda more: " ".join(more))  # fmt: skip
def test_settings_of_no_preset(more: dict[str, Any]) -> None:
    assert apart(file_of(bp.build("dpo-batch", set=more, gradients=True)), PAGE) == []


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("form", ["sigmoid", "hinge", "bco", "sppo", "nca", "aot_unpaired"])
def test_log_probs_of_ones_own(name: str, form: str) -> None:
    """Responses of one to four tokens, one of which has a log-prob of −700 and another of 0; and what is not given."""
    book = bp.build(OWN[name], set={"loss.form": form}, gradients=True)
    assert apart(file_of(book), PAGE) == []


@pytest.mark.parametrize("form", ["kto", "rpo_squared", "rpo_backward", "rpo_forward"])
def test_log_probs_with_mismatched_responses_and_true_rewards(form: str) -> None:
    book = bp.build(OWN["the recorded pairs"], set={"loss.form": form}, gradients=True)
    assert apart(file_of(book), PAGE) == []
