"""What Adam kept from steps before is typed, and it goes on from there; without it nothing is as it was not before."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch.optim is what the steps are held against")

import torch

import blueprint as bp
from blueprint.inputs import NumbersError, load, toml_of
from blueprint.reopening import numbers_in
from blueprint.workbooks.rlhf_ppo.paper import PAGE
from tests.papers.held import TOLERANCE, held_against
from tests.rows import Array, arrays

STEPS = 7
WEIGHTS = {
    "policy_E": "policy.E", "policy_W": "policy.W", "policy_Y": "policy.Y", "critic_E": "critic.E", "critic_W": "critic.W",
    "critic_w": "critic.head.w", "critic_b": "critic.head.b",
}  # fmt: skip
"""By key of a numbers file, behind m_ or v_, the block of the weight."""


@cache
def tables() -> dict[str, Any]:
    """Returns the built-in numbers `epochs` with random means, as after seven steps."""
    found = tomllib.loads(toml_of(load("epochs")))
    random, shapes = np.random.default_rng(5), arrays(bp.build(found))
    for key, name in WEIGHTS.items():
        found["update"][f"m_{key}"] = random.normal(size=shapes[name].shape).round(3).tolist()
        found["update"][f"v_{key}"] = random.random(size=shapes[name].shape).round(3).tolist()
    found["update"]["steps"] = STEPS
    return found


def by_torch(rows: dict[str, Array], key: str, kind: str, epochs: int) -> Array:
    """Takes steps with the gradients of the workbook, by torch's optimiser, which begins with the typed means."""
    weight = torch.tensor(rows[WEIGHTS[key]]).requires_grad_()
    optimiser = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind]([weight], lr=0.02, weight_decay=0.1)
    means = (torch.tensor(tables()["update"][f"{letter}_{key}"], dtype=torch.float64) for letter in "mv")
    optimiser.state[weight] = dict(
        zip(("step", "exp_avg", "exp_avg_sq"), (torch.tensor(float(STEPS)), *means), strict=True)
    )
    for epoch in range(1, epochs + 1):
        weight.grad = torch.tensor(rows[f"update{epoch}.gradient.{WEIGHTS[key]}"])
        optimiser.step()
    return np.asarray(weight.detach().numpy())


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_steps_go_on_as_torchs_do(kind: str) -> None:
    changed = {"update.by": kind, "update.epochs": 2, "update.weight_decay": 0.1}
    rows = arrays(bp.build(tables(), set=changed))
    for key, name in WEIGHTS.items():
        # One weight is 10.7: torch rounds what it moves by otherwise from processor to processor, 7e-14 of it at most.
        np.testing.assert_allclose(rows[f"update2.{name}"], by_torch(rows, key, kind, 2), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("preset", [None, "verl"], ids=["one optimiser", "the critic apart"])
def test_the_page_goes_on_too(preset: str | None) -> None:
    book = bp.build(tables(), preset=preset, set={"update.epochs": 2})
    found = held_against(book, PAGE.results, PAGE.masks)
    assert {"update2.policy.E", "update2.critic.head.b"} <= found.keys()
    assert {name: off for name, off in found.items() if not off <= TOLERANCE} == {}


@pytest.mark.parametrize(("beta", "before"), [(0.9, 0.9**STEPS), (0.0, 0.0)])
def test_the_power_of_what_was_kept_is_exact_at_0_too(beta: float, before: float) -> None:
    rows = arrays(bp.build(tables(), set={"update.epochs": 1, "update.beta1": beta}))
    assert rows["optimiser.kept.power1"] == pytest.approx(before, rel=1e-14)
    assert rows["update1.power1"] == pytest.approx(beta ** (STEPS + 1), rel=1e-14)


def test_without_steps_before_no_row_is_new() -> None:
    ours, plain = (bp.build("epochs", set={"update.epochs": 1} | more) for more in ({"update.steps": 0}, {}))
    assert [*ours.blocks] == [*plain.blocks]
    assert not any("kept" in name for name in plain.blocks)


def test_a_saved_file_has_them_again(tmp_path: Path) -> None:
    bp.build(tables(), set={"update.epochs": 1}).save(path := tmp_path / "kept.xlsx")
    again, ours = tomllib.loads(toml_of(numbers_in(path))), tables()
    kept = {key: each for key, each in ours["update"].items() if key == "steps" or key[:2] in ("m_", "v_")}
    assert len(kept) == 15
    assert {key: again["update"][key] for key in kept} == kept


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"update.by": "sgd"}, "update.m_policy_E: found a mean of steps before, expected nothing, since sgd keeps no means."),
        ({"update.steps": 0}, "expected nothing, since update.steps = 0: Adam begins anew."),
        ({"update.m_policy_E": [[0.1]]}, "update.m_policy_E: found 1 × 1, expected 8 × 3, the shape of policy.E."),
        ({"update.v_critic_w": [0.1, -1, 0, 0]}, "update.v_critic_w, item 2: found -1, expected a number from 0 to"),
        ({"update.m_policy_W": [[0.1], [0.1, 2]]}, "update.m_policy_W: found rows of different lengths"),
        ({"update.steps": -1}, "update.steps: found -1, expected a whole number from 0 to 1000000."),
    ],
)  # fmt: skip
def test_means_that_cannot_be_are_refused(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(NumbersError) as refused:
        bp.build(tables(), set=changed)
    assert says in str(refused.value)


def test_where_no_optimiser_takes_steps_they_are_refused() -> None:
    with pytest.raises(NumbersError, match=r"update\.steps: found 3, expected nothing, since Δ is typed"):
        bp.build("default", set={"update.steps": 3})
