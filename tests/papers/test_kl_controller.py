"""The page of the KL controller: what five libraries recorded, and what its statistics are."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the page is torch: install the extra [torch]")

import torch

from blueprint.papers.kl_controller import AdaptiveKLController, mean_of_sums, mean_per_token
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
