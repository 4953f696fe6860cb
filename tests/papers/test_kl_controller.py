"""The page of the KL controller: what five libraries recorded, and workbooks that are what the page makes of their numbers."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch", reason="the page is torch: install the extra [torch]")

import torch

import blueprint as bp
from blueprint.papers.kl_controller import AdaptiveKLController, mean_of_sums, mean_per_token
from blueprint.workbooks.kl_controller.paper import results
from tests.papers.held import TOLERANCE, held_against
from tests.workbooks.test_classic_golden import RUNS

RECORDED = RUNS["adaptive_kl_controller"]


@pytest.mark.parametrize("library", RECORDED["value_after_each_update"])
def test_beta_is_what_a_library_recorded_after_every_update(library: str) -> None:
    first = torch.tensor(RECORDED["init"], dtype=torch.float64)
    controller, found = AdaptiveKLController(first, RECORDED["target"], RECORDED["horizon"]), []
    for kl in RECORDED["kl_sequence"]:
        controller.update(torch.tensor(kl, dtype=torch.float64), RECORDED["n_steps"])
        found.append(float(controller.value))
    assert found == pytest.approx(RECORDED["value_after_each_update"][library], rel=0, abs=1e-12)


def test_the_two_statistics_are_those_of_a_pocket_calculator() -> None:
    kl, lengths = torch.tensor([6.0, 2.0]), torch.tensor([3.0, 4.0])
    assert [float(mean(kl, lengths)) for mean in (mean_of_sums, mean_per_token)] == [4.0, 1.25]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"controller.kl_stat": "token_mean", "controller.target": 1.1},
        {"controller.error_clip": 0.9, "controller.horizon": 300, "controller.n_steps": 64},
        {"controller.kl_coef": 0.5, "controller.target": 0.01},
        {"responses.kl_sums": [[-3, 1], [0, 0], [1e6, 2]], "responses.lengths": [[1, 7], [2, 2], [500, 1]]},
    ],
    ids=lambda changed: " ".join(changed) or "as it is",
)
def test_a_book_is_what_the_page_makes_of_it(changed: dict[str, Any]) -> None:
    found = held_against(bp.build("kl-controller", set=changed), results)
    assert {each: far for each, far in found.items() if not far <= TOLERANCE} == {}
    assert len(found) == 7
