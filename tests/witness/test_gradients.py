"""Gradients of the total loss against central differences of the whole way from the typed update, and by gradcheck."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

import torch

from blueprint.witness import WitnessError
from blueprint.witness.ppo import signal, update
from blueprint.workbooks.registry import witness_of as witness
from blueprint.workbooks.rlhf_ppo.witness.gradients import gradients
from tests.witness.golden import Run, options
from tests.witness.live import live
from tests.witness.stage import Array, built_in, random_file
from tests.witness.test_conventions_rows import made

NUDGE = 1e-6
PARAMETERS = ("policy.E", "policy.W", "policy.Y", "critic.E", "critic.W", "critic.head.w", "critic.head.b")


def smooth() -> dict[str, Array]:
    """Returns the default with a policy KL in the loss, so that every part of it has a gradient."""
    return dict(built_in("default")) | {"policy_kl_coef.yours": np.array(0.3)}


def nudged(file: dict[str, Array], parameter: str, at: tuple[int, ...], by: float) -> dict[str, Array]:
    """Returns a file whose typed update moves one number of a parameter further; update_step is 1."""
    model, _, part = parameter.partition(".")
    delta = file[f"{model}.delta.{part}"].copy()
    delta[at] += by
    return file | {f"{model}.delta.{part}": delta}


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_the_gradient_is_the_slope(parameter: str) -> None:
    file = smooth()
    found = gradients([file], device="cpu")[0][parameter]
    assert found.shape == file[parameter].shape
    places = list(np.ndindex(found.shape))
    ways = [nudged(file, parameter, at, sign * NUDGE) for at in places for sign in (1, -1)]
    totals = np.array([each["total_loss"] for each in witness(ways, device="cpu")]).reshape(-1, 2)
    slopes = (totals[:, 0] - totals[:, 1]) / (2 * NUDGE)
    np.testing.assert_allclose(found.ravel(), slopes, rtol=0, atol=1e-9)


def test_parameters_come_by_name_and_files_one_by_one() -> None:
    found = gradients([smooth(), random_file(3)], device="cpu")
    assert [tuple(each) for each in found] == [PARAMETERS, PARAMETERS]
    assert all(np.isfinite(array).all() for each in found for array in each.values())


def test_a_file_without_weights_is_refused() -> None:
    with pytest.raises(WitnessError, match="no parameters to differentiate: give one with weights"):
        gradients([built_in("very-very-sleepy")], device="cpu")


def test_every_row_of_the_loss_is_differentiable() -> None:
    texts = made(1, torch.ones(1, 3, 4, dtype=torch.float64))
    chosen = options([Run("openai", "", changes={"policy_kl_coef": 0.1, "ent_coef": 0.1})])

    def total(new: torch.Tensor, values: torch.Tensor, entropy: torch.Tensor) -> torch.Tensor:
        moved = replace(texts, logprobs=new, values=values, entropy=entropy)
        return update(moved, signal(moved, chosen), chosen)["total_loss"].sum()

    inputs = [each.clone().requires_grad_() for each in (texts.logprobs, texts.values, texts.entropy)]
    assert torch.autograd.gradcheck(total, inputs)


@pytest.mark.parametrize("preset", ["trl_1.12", "nemo_rl"])
@pytest.mark.parametrize("parameter", ["policy.Y", "policy.W", "critic.head.w"])
def test_the_gradient_by_live_conventions_is_the_slope(preset: str, parameter: str) -> None:
    file = live(
        "default", f"preset={preset}", "reward.kl_in=loss", "loss.joint=on", "ppo.ent_coef=0.1", "batch.temperature=0.8"
    )
    found = gradients([file], device="cpu")[0][parameter]
    assert np.abs(found).max() > 1e-3
    places = list(np.ndindex(found.shape))
    ways = [nudged(dict(file), parameter, at, sign * NUDGE) for at in places for sign in (1, -1)]
    totals = np.array([each["total_loss"] for each in witness(ways, device="cpu")]).reshape(-1, 2)
    np.testing.assert_allclose(found.ravel(), (totals[:, 0] - totals[:, 1]) / (2 * NUDGE), rtol=0, atol=1e-8)
