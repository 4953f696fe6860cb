"""KTO on single responses: workbook and page against TRL's own code, on ordinary and extreme numbers; refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from blueprint.book import Book
from blueprint.inputs import NumbersError, load, tables_of
from blueprint.papers.kto import kto
from blueprint.workbooks.registry import blueprint_of
from tests.kto_in_trl import SETTINGS, recorded

EXACT = 1e-12
RUNS: dict[str, Any] = recorded()["runs"]
ROWS = {
    "loss": "total_loss", "kl": "single.z", "slopes": "single.slope", "rewards/chosen": "single.reward.chosen",
    "rewards/rejected": "single.reward.rejected", "rewards/margins": "single.margin", "logps/chosen": "single.logps.chosen",
    "logps/rejected": "single.logps.rejected",
}  # fmt: skip


def numbers(case: dict[str, Any]) -> dict[str, Any]:
    """Returns the tables of a numbers file with the log-probs of a recorded case."""
    return {
        "level": "single-responses", "title": "KTO", "about": "recorded",
        "kto": {key: case[key] for key in SETTINGS if key in case},
        "responses": {"prompts": [f"row {row}" for row, _ in enumerate(case["label"])], "good": list(map(int, case["label"]))},
        **{model: {"logprobs": case[model], "elsewhere": case[f"elsewhere_{model}"]} for model in ("policy", "reference")},
    }  # fmt: skip


def book_of(case: dict[str, Any]) -> Book:
    """Builds a workbook of a recorded case."""
    return Book(blueprint_of(load(tables_of(numbers(case)), [])))


@pytest.mark.parametrize("name", RUNS)
def test_a_workbook_is_what_trl_computes(name: str) -> None:
    run = RUNS[name]
    book = book_of(run["case"])
    for key, meant in run["result"].items():
        found = np.asarray(book.values[book.blocks[ROWS[key]]], dtype=float)
        np.testing.assert_allclose(found, meant, rtol=EXACT, atol=EXACT, err_msg=key)
    assert str(book.values.cell(book.blocks["check.master"])) == "OK"


@pytest.mark.parametrize("name", RUNS)
def test_the_page_is_what_trl_computes(name: str) -> None:
    case, meant = RUNS[name]["case"], RUNS[name]["result"]
    logp, logp_ref = (torch.tensor([sum(row) for row in case[model]]).double() for model in ("policy", "reference"))
    apart = torch.tensor(case["elsewhere_policy"]).double() - torch.tensor(case["elsewhere_reference"]).double()
    logp.requires_grad_()
    made = kto(
        logp - logp_ref, torch.tensor(case["label"]), apart, beta=case.get("beta", 0.1), loss=case.get("loss_type", "kto"),
        desirable=case.get("desirable_weight", 1.0), undesirable=case.get("undesirable_weight", 1.0),
    )  # fmt: skip
    (slopes,) = torch.autograd.grad(made.loss, [logp])
    found = {
        "loss": made.loss, "slopes": slopes, "kl": made.reference_point,
        "rewards/chosen": made.chosen_reward, "rewards/rejected": made.rejected_reward,
    }  # fmt: skip
    for key in found.keys() & meant.keys():
        np.testing.assert_allclose(found[key].detach().numpy(), meant[key], rtol=EXACT, atol=EXACT, err_msg=key)


def test_the_built_in_numbers_are_the_recorded_ones() -> None:
    """By hand: r = ¾, −¼, ¼, ⅛, 1½; the others’ mean is ¼; so x = .05, .05, 0, .0125, −.125, and L is one half and a bit."""
    book = Book(blueprint_of(load("kto", [])))
    found = {
        name: np.asarray(book.values[book.blocks[name]], dtype=float) for name in ("single.ratio", "single.argument")
    }
    np.testing.assert_array_equal(found["single.ratio"], [0.75, -0.25, 0.25, 0.125, 1.5])
    np.testing.assert_allclose(found["single.argument"], [0.05, 0.05, 0, 0.0125, -0.125], rtol=0, atol=EXACT)
    assert float(book.values.cell(book.blocks["total_loss"])) == pytest.approx(
        RUNS["ordinary"]["result"]["loss"], abs=EXACT
    )


REFUSED: dict[str, dict[str, Any]] = {
    "reference.logprobs, row 2: found 1 number, expected 2": {"reference": [[-1.0], [-1.0], [-1.0], [-1.0], [-1.0]], "policy": [
        [-1.0], [-1.0, -2.0], [-1.0], [-1.0], [-1.0]]},
    "no token in any response": {"policy": [[]] * 5, "reference": [[]] * 5},
    "a log-probability of at most 0": {"elsewhere_policy": [0.5, 0.0, 0.0, 0.0, 0.0]},
}  # fmt: skip


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_does_not_belong_together_is_refused(sentence: str) -> None:
    with pytest.raises(NumbersError, match=sentence):
        book_of({**RUNS["ordinary"]["case"], **REFUSED[sentence]})
