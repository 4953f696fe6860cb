"""Libraries side by side: every preset's column has the loss that the library's own code computed, and its gradient."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.inputs import NumbersError, load
from blueprint.which import changed, told_of
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.dpo.schema import dpo_presets
from tests.page.workshop import made
from tests.workbooks.dpo.recorded import Run, runs

TRL, OLD, LF = "trl_1.16.0", "trl_0.24.0", "llamafactory_0.9.5"
RECORDED = {
    "default": (TRL, "dpo/sigmoid"), "trl_1.16": (TRL, "dpo/sigmoid"), "trl_1.16_ipo": (TRL, "dpo/ipo"),
    "trl_1.16_norm": (TRL, "dpo/sigmoid_norm"), "trl_1.16_robust": (TRL, "dpo/robust__label_smoothing_0.1"),
    "trl_1.16_sft": (TRL, "dpo/sigmoid+sft"), "trl_1.16_kto": (TRL, "kto/kto"), "trl_1.16_orpo": (TRL, "orpo/orpo"),
    "trl_1.16_cpo": (TRL, "cpo/simpo"), "trl_0.24": (OLD, "dpo/sigmoid__label_smoothing_0.1"),
    "trl_0.24_bco": (OLD, "dpo/bco_pair"),
    "dpo_original": ("direct_preference_optimization_f8b8c0f", "dpo"),
    "dpo_original_ipo": ("direct_preference_optimization_f8b8c0f", "ipo"), "openrlhf": ("openrlhf_0.11.2", "dpo__nll_.2"),
    "torchtune": ("torchtune_0.6.1", "rso_hinge"), "nemo_aligner": ("nemo_aligner_af2b3bd", "dpo__sft_.2"),
    "nemo_aligner_rpo": ("nemo_aligner_af2b3bd", "rpo_bwd_kl"), "nemo_rl": ("nemo_rl_7ea279a", "dpo"),
    "llama_factory": (LF, "dpo/sigmoid"),
    "llama_factory_ipo": (LF, "dpo/ipo"), "llama_factory_bco": (LF, "dpo/sigmoid__bco_1"), "simpo": ("simpo_1b3e8f3", "simpo"),
    "orpo": ("orpo_208d2d6", "orpo__alpha_.1"), "axolotl_orpo": ("axolotl_0.19.0", "orpo__alpha_.1"),
    "halos_cdpo": ("halos_4831988", "cdpo__eps_.2"), "halos_simpo": ("halos_4831988", "simpo"),
    "open_instruct": ("open_instruct_e6c3044", "dpo_norm"), "open_instruct_simpo": ("open_instruct_e6c3044", "simpo__beta_5"),
    "colossalchat": ("colossalchat_4f9953b", "odds_ratio_loss"),
}  # fmt: skip
"""By preset the run that it repeats: library and variant."""
DEFECTS = {
    "LLaMA-Factory's hinge trains DPO": (LF, "dpo/hinge"), "LLaMA-Factory's ipo trains DPO of means": (LF, "dpo/ipo"),
    "label_smoothing does nothing": (TRL, "dpo/sigmoid__label_smoothing_0.1"),
    "WPO's weights off by one token": (OLD, "dpo/sigmoid__use_weighting_True"),
    "LD-DPO counts from the prompt": (OLD, "dpo/sigmoid__ld_alpha_0.5"),
    "ORPO's mean counts a pad": ("orpo_208d2d6", "orpo__alpha_.1"),
    "SimPO with a whole NLL": None, "rewards logged without β": ("nemo_aligner_af2b3bd", "dpo__beta_.1"),
}  # fmt: skip
"""By the title of each defect the run that has it and nothing else; none was run with β = 2 and the NLL."""


@pytest.fixture(scope="module")
def book() -> Book:
    return made("compare=all", "gradients=on", numbers="dpo-batch")


@pytest.fixture(scope="module")
def known() -> dict[tuple[str, str], Run]:
    return {(run.library, run.variant): run for run in runs()}


def row(book: Book, name: str) -> dict[str, float]:
    """Returns what stands on Which DPO, by the name of the preset."""
    names, found = (book.values[book.blocks[each]] for each in ("library.names", name))
    return dict(zip(map(str, names), map(float, np.ravel(found)), strict=True))


def test_every_preset_is_one_that_was_run() -> None:
    assert {*RECORDED} == {*dpo_presets().presets}


def test_every_column_has_the_loss_that_the_library_computed(book: Book, known: dict[tuple[str, str], Run]) -> None:
    theirs = {name: float(known[run].out["loss"]) for name, run in RECORDED.items() if name != "default"}
    assert row(book, "which.total_loss") == pytest.approx(theirs, rel=1e-12, abs=1e-12)


def test_lengths_of_gradients_are_those_that_libraries_computed(book: Book, known: dict[tuple[str, str], Run]) -> None:
    """By the log-prob of the token at each position; what a logit feels is that times one-hot less p."""
    grads = np.asarray(book.values[book.blocks["library.policy.logprobs.grad"]], float)
    names = [str(name) for name in book.values[book.blocks["library.names"]]]
    order = [0, 4, 1, 5, 2, 6, 3, 7]
    compared = 0
    for place, name in enumerate(names):
        out = known[RECORDED[name]].out
        if "grad_taken" in out:
            theirs = np.array(out["grad_taken"], float)[order]
            p = np.exp(taken(book))
            np.testing.assert_allclose(
                grads[place] * (1 - p), theirs[:, : p.shape[1]], rtol=0, atol=1e-11, err_msg=name
            )
            compared += 1
    assert compared >= 20


def taken(book: Book) -> np.ndarray:
    return np.asarray(book.values[book.blocks["policy.logprobs"]], float)


def test_each_defect_is_what_the_library_computes(known: dict[tuple[str, str], Run]) -> None:
    _, of = told_of("preferences")
    first = float(known[RECORDED["default"]].out["loss"])
    numbers = load("dpo-batch", ["compare=default"])
    wide = Book(blueprint_of(replace(numbers, parts={**numbers.parts, **of.parts})))
    found = {each.change.title: each.adds for each in changed(wide, of.defects)}
    assert found.keys() == DEFECTS.keys()
    theirs = {title: float(known[run].out["loss"]) for title, run in DEFECTS.items() if run}
    assert {title: first + found[title] for title in theirs} == pytest.approx(theirs, rel=1e-12)


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(NumbersError) as refused:
        load("dpo-batch", ["compare=trl_1.17"])
    assert str(refused.value).startswith("preset trl_1.17: unknown, did you mean trl_1.16")
