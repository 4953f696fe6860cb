"""GAE of the computation against a loop over time, as libraries run it, for every form of mask."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

import torch
from torch import Tensor

from blueprint.verifying.formulas.options import DEFAULTS, WORDS, Options, masked_sums, with_end
from blueprint.verifying.formulas.rewards import gae_rows
from tests.verifying.formulas.loops import plain, trl, verl

LENGTHS = (1, 2, 15, 16, 17, 257)
MASKS = ("all", "ends early", "begins late", "holes", "empty")


def batch(rows: int, steps: int, form: str) -> tuple[Tensor, Tensor, Tensor]:
    """Returns rewards, values and a mask of a form; what stands outside the mask is not 0."""
    torch.manual_seed(100 * rows + steps)
    rewards, values = torch.randn(2, rows, steps, dtype=torch.float64).unbind()
    at, ends, begins = torch.arange(steps), torch.randint(0, steps + 1, (rows, 1)), torch.randint(0, steps, (rows, 1))
    masks = {
        "all": at >= 0,
        "ends early": at < ends,
        "begins late": (at >= begins) & (at < ends),
        "holes": torch.rand(rows, steps) < 0.7,
        "empty": at < 0,
    }
    return rewards, values, masks[form].expand(rows, steps).double()


def gae(
    rewards: Tensor, values: Tensor, gamma: float, gae_lambda: float, mask: Tensor | None = None, holes: str = "carry"
) -> tuple[Tensor, Tensor]:
    """Returns advantages and returns of one batch [N, T], 0 outside the mask.

    Where holes are passed over, every column is a slot; else those of the mask alone, so that each run is a response.
    """
    kept = torch.ones_like(rewards) if mask is None else mask
    chosen = {**DEFAULTS, **dict.fromkeys(WORDS, 0.0), "gamma": gamma, "gae_lambda": gae_lambda}
    chosen["advantage.gae_holes"] = float(WORDS["advantage.gae_holes"].index(holes))
    options = Options({name: torch.full((1, 1, 1), each, dtype=rewards.dtype) for name, each in chosen.items()})
    rows = {"kept": kept[None], "values.kept": with_end(kept * values)[None], "rewards": rewards[None]}
    slots = kept if holes == "zero" else torch.ones_like(kept)
    found = gae_rows(slots[None], rows, options)
    return kept * found["advantages"][0, :, :-1], kept * found["returns"][0]


def worst(found: tuple[Tensor, Tensor], expected: list[Tensor]) -> float:
    """Returns the largest difference, per 1 + the largest number."""
    pairs = zip(found, expected, strict=True)
    return max(float((ours - theirs).abs().max() / (1 + theirs.abs().max())) for ours, theirs in pairs)


@pytest.mark.parametrize("form", MASKS)
@pytest.mark.parametrize("steps", LENGTHS)
@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("holes", ["carry", "zero"])
def test_doubling_sums_are_the_loop(rows: int, steps: int, form: str, holes: str) -> None:
    rewards, values, mask = batch(rows, steps, form)
    for gamma, gae_lambda in ((1.0, 0.95), (0.9, 0.8), (1.0, 1.0), (0.0, 0.5), (0.9, 0.0)):
        expected = plain(rewards, values, mask, gamma, gae_lambda, holes)
        assert worst(gae(rewards, values, gamma, gae_lambda, mask, holes), expected) <= 1e-13


def test_without_a_mask_everything_counts() -> None:
    rewards, values, mask = batch(3, 40, "all")
    assert worst(gae(rewards, values, 0.99, 0.95), plain(rewards, values, mask, 0.99, 0.95, "zero")) <= 1e-13


def test_long_responses() -> None:
    rewards, values, mask = batch(8, 4100, "ends early")
    assert worst(gae(rewards, values, 1.0, 0.95, mask), trl(rewards, values, mask, 1.0, 0.95)) <= 1e-13


def test_holes_are_passed_over_as_in_verl() -> None:
    rewards, values, mask = batch(40, 130, "holes")
    expected = [mask * each for each in verl(rewards, values, mask, 1.0, 0.95)]
    assert worst(gae(rewards, values, 1.0, 0.95, mask), expected) <= 1e-13


def test_a_response_with_holes_counts_as_if_they_were_not_there() -> None:
    rewards, values, _ = batch(1, 6, "all")
    mask = torch.tensor([[1, 0, 1, 1, 0, 1]], dtype=torch.float64)
    kept = mask[0].bool()
    alone = gae(rewards[:, kept], values[:, kept], 0.9, 0.8)
    carried = gae(rewards, values, 0.9, 0.8, mask, "carry")
    assert worst((carried[0][:, kept], carried[1][:, kept]), list(alone)) <= 1e-15


def test_runs_are_responses_of_their_own_where_holes_are_zero() -> None:
    rewards, values, _ = batch(1, 6, "all")
    mask = torch.tensor([[1, 1, 0, 0, 1, 1]], dtype=torch.float64)
    found = gae(rewards, values, 0.9, 0.8, mask, "zero")[0]
    for run in (slice(0, 2), slice(4, 6)):
        assert torch.allclose(found[:, run], gae(rewards[:, run], values[:, run], 0.9, 0.8)[0], rtol=0, atol=1e-15)


def test_each_file_may_have_its_own_decay() -> None:
    rewards, _, mask = batch(2, 20, "holes")
    deltas, decays = (rewards * mask).expand(3, 2, 20), torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64)
    found = masked_sums(deltas, decays.view(3, 1, 1), mask)
    for each, decay in zip(found, decays.tolist(), strict=True):
        assert torch.allclose(each, masked_sums(deltas[0], decay, mask), rtol=0, atol=1e-14)
