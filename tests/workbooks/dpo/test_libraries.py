"""Libraries side by side: every preset's column has the loss that the library's own code computed, and its gradient."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.comparison import changed, told_of
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.dpo.schema import dpo_presets
from tests.page.workshop import made
from tests.workbooks.dpo.recorded import Run, runs
from tests.workbooks.dpo.test_dpo_presets import REPEATS

TRL, OLD, LF = "trl_1.16.0", "trl_0.24.0", "llamafactory_0.9.5"
RECORDED = {"default": (TRL, "dpo/sigmoid"), **REPEATS}
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
