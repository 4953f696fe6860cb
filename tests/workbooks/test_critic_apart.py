"""Gradients of presets whose critic has an optimiser of its own: of the value loss, where the total has no critic gradient."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness is torch: install the extra [torch]")

from blueprint.language import compute
from blueprint.language.gradient import gradient
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.gradients_and_epochs import CRITIC
from tests.autograd import way_back
from tests.live import book, live

APART = {"openrlhf", "verl", "dschat", "nemo_aligner", "nemo_rl"}
SETTINGS = ("conventions=live", "gradients=on", "compare=['verl']")
# The others' critics are in test_library_gradients, ten at once.
CHECKED = ("default", "trl_0.11.4", *sorted(APART))
# Of the largest of a row: torch multiplies the same slopes in another order.
NEAR = 1e-12


def test_these_are_the_presets_whose_critic_trains_apart() -> None:
    assert {name for name, preset in rlhf().presets.items() if preset.values["loss.joint"] == "off"} == APART


@pytest.mark.parametrize("numbers", ["default", "ten-libraries"])
@pytest.mark.parametrize("preset", CHECKED)
def test_every_slope_is_autograds(preset: str, numbers: str) -> None:
    rows, away = (
        live(numbers, f"preset={preset}", *SETTINGS),
        way_back(book(numbers, f"preset={preset}", *SETTINGS), "rlhf_ppo"),
    )
    assert {"critic.out.grad", "policy.logits.grad"} <= away.keys()
    assert {name: far for name, far in away.items() if not far <= NEAR} == {}
    assert np.abs(rows["critic.out.grad"]).max() > 1e-3
    assert rows["critic_loss"] == rows["value_loss"] * (1 if preset in APART else rows["vf_coef"])


def test_the_total_of_such_a_preset_has_no_critic_gradient() -> None:
    shown = book("default", "preset=verl", *SETTINGS)
    made = gradient(shown.blocks["total_loss"], [shown.blocks["critic.out"]], suffix="of_total")
    outline = shown.blueprint
    values = compute([*outline.blocks(), *made.blocks], outline.sizes, outline.typed)
    assert not values[made[shown.blocks["critic.out"]]].any()
    own = shown.blocks["critic.out.grad"]
    assert (own.symbol, bool(values[own].any())) == ("∂L_C/∂v", True)


def test_another_preset_takes_its_own_gradient_along() -> None:
    made = book("default", *SETTINGS)
    switched = type(made)(made.blueprint.with_typed({"preset": "verl"}))
    verl = live("default", "preset=verl", *SETTINGS)
    for name in (f"{weight}.grad" for weight in CRITIC):
        np.testing.assert_allclose(switched.values[switched.blocks[name]], verl[name], rtol=0, atol=1e-15)
