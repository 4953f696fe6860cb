"""Workbooks are what a page of `papers` makes of the numbers typed in them: built-in ones by every preset, and others.

PPO's, GRPO's and those of lessons have files of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import pytest

pytest.importorskip("torch", reason="the pages of papers are written in torch")

import blueprint as bp
from blueprint.witness.raw import Page, Raw
from blueprint.workbooks.registry import kind_named, kind_of_level
from tests.papers.pages import CLOSE, apart, built, drawn, file_of, presets, typed_alone, typed_in
from tests.workbooks.dpo.own_logprobs import by_response, given, golden


class Family(NamedTuple):
    """Built-in numbers of a kind into which presets are typed.

    preset: one that is built, too. results: how many the page has, at least. slopes: one of them, and whose numbers have it.
    drawn: blocks for which other numbers are drawn, of the last name.
    """

    names: tuple[str, ...]
    preset: str
    results: int
    slopes: dict[str, tuple[str, ...]]
    batch: str
    drawn: tuple[str, ...]


FAMILIES = {
    "dpo": Family(
        ("dpo", "dpo-batch", "by-hand-dpo", "pipeline/dpo"), "halos_cdpo", 23,
        {"policy.E.grad": ("dpo", "pipeline/dpo"), "policy.logits.grad": ("dpo", "dpo-batch", "pipeline/dpo")}, "dpo-batch",
        tuple(f"{texts}{model}.logits" for texts in ("", "mismatched.") for model in ("policy", "reference")),
    ),
    "reward_model": Family(
        ("reward-model", "reward-batch", "pipeline/reward-model"), "openrlhf_rm_margin", 19,
        {"head.score.grad": ("reward-batch",)}, "reward-batch", ("head.score",),
    ),
    "sft": Family(
        ("sft", "sft-batch", "pipeline/sft"), "trl_1.16_dft", 18, {"policy.E.grad": ("sft", "pipeline/sft")}, "sft-batch",
        ("policy.logits",),
    ),
}  # fmt: skip
NAMES = [(kind, name) for kind, of in FAMILIES.items() for name in of.names]


def page_of(kind: str) -> Page:
    page: Page = import_module(f"blueprint.workbooks.{kind}.paper").PAGE
    return page


@pytest.mark.parametrize(
    ("kind", "name", "preset"), [(kind, *each) for kind, of in FAMILIES.items() for each in presets(*of.names)]
)
def test_the_page_has_the_numbers_of_the_workbook(kind: str, name: str, preset: str) -> None:
    assert apart(typed_in(name, preset), page_of(kind)) == []


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_what_is_built_with_a_preset_is_what_is_typed_in(kind: str, name: str) -> None:
    assert apart(file_of(bp.build(name, preset=FAMILIES[kind].preset, gradients=True)), page_of(kind)) == []


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_the_page_reads_nothing_that_is_computed(kind: str, name: str) -> None:
    alone = page_of(kind).results(Raw(typed_alone(built(name))))
    assert {key: each.isfinite().all().item() for key, each in alone.items()} == dict.fromkeys(alone, True)
    for slope, names in FAMILIES[kind].slopes.items():
        assert (slope in alone) == (name in names)
    assert len(alone) >= FAMILIES[kind].results


@pytest.mark.parametrize(
    ("kind", "name", "preset"), [(kind, *each) for kind, of in FAMILIES.items() for each in presets(of.batch)]
)
def test_other_numbers(kind: str, name: str, preset: str) -> None:
    """Drawn ones. ColossalChat's odds, p/(1.0001 − p), lose 4 digits where p is nearly 1, and their slopes 8."""
    close = 1e-8 if preset == "colossalchat" else CLOSE
    for seed in range(3 if kind == "dpo" else 5):
        assert apart(typed_in(name, preset, drawn(name, seed, *FAMILIES[kind].drawn)), page_of(kind), close) == []


@pytest.mark.parametrize(("name", "preset"), presets("dpo-batch"))
def test_models_exchanged_and_the_same(name: str, preset: str) -> None:
    """Policy and reference exchanged, so that KTO's z would be below 0; and both the same, so that all pairs tie."""
    logits, blocks = FAMILIES["dpo"].drawn, built(name).blocks
    policy, reference, *far = (built(name).values.arrays[blocks[key]] for key in logits)
    for more in (
        dict(zip(logits, (reference, policy, *far[::-1]), strict=True)),
        {logits[1]: policy, logits[3]: far[0]},
    ):
        close = 1e-8 if preset == "colossalchat" else CLOSE
        assert apart(typed_in(name, preset, more), page_of("dpo"), close) == []


def page_has(numbers: str | Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """Lists the results of the page that a workbook does not have."""
    book = bp.build(numbers, set=asked, gradients=True)
    kind = kind_of_level(book.blueprint.facts["level"])
    assert kind is not None
    return apart(file_of(book), page_of(kind.name))


FORMS = kind_named("dpo").part("settings")["loss.form"].words


@pytest.mark.parametrize("form", FORMS)
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
    assert page_has(name, asked | (odds if form == "orpo" else {"loss.weight": "wpo"})) == []


SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("dpo-batch", {"margin.divergence": "forward_kl"}),
    ("dpo-batch", {"margin.divergence": "js"}),
    ("dpo-batch", {"logp.alpha": 0.25, "reference.used": "off"}),
    ("dpo-batch", {"logp.ld": "policy", "logp.ld_from": "row", "logp.ld_alpha": 0.3}),
    ("dpo-batch", {"logp.ld": "both", "logp.ld_alpha": 0.3}),
    ("dpo-batch", {"logp.of": "mean_with_pad", "watch.rewards": "with_reference"}),
    ("dpo-batch", {"logp.of": "mean_nonzero", "loss.bco_mix": 2}),
    ("dpo-batch", {"loss.nll_coef": 1, "loss.nll_mean": "cells", "loss.nll_region": "everything", "loss.mean_eps": 0.5}),
    ("dpo-batch", {"loss.form": "bco", "loss.bco_threshold": "batch_mean", "watch.rewards": "no_beta"}),
]  # fmt: skip
"""Settings of no preset; those of demonstrations are in `tests/workbooks/test_torch_agrees.py`."""


@pytest.mark.parametrize(("numbers", "asked"), SETTINGS, ids=str)
def test_settings_of_no_preset(numbers: str, asked: dict[str, Any]) -> None:
    assert page_has(numbers, asked) == []


OWN: dict[str, Any] = {
    "tokens": given("policy", "reference"), "no reference": given("policy"), "one number a response": by_response(),
    "the recorded pairs": golden(),
}  # fmt: skip
RECORDED = ("kto", "rpo_squared", "rpo_backward", "rpo_forward")
"""Forms that read mismatched responses or true rewards, which are recorded."""


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *((name, form) for name in OWN for form in ("sigmoid", "hinge", "bco", "sppo", "nca", "aot_unpaired")),
        *(("the recorded pairs", form) for form in RECORDED),
    ],
)
def test_log_probs_of_ones_own(name: str, form: str) -> None:
    """Responses of one to four tokens, one of which has a log-prob of −700 and another of 0; and what is not given."""
    assert page_has(OWN[name], {"loss.form": form}) == []
