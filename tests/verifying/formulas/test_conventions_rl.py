"""Forms that only libraries of plain RL use, on their own runs in golden_runs.json, from their advantages on."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

import torch
from torch import Tensor

from blueprint.verifying.formulas.options import Texts, with_end
from blueprint.verifying.formulas.ppo import metric_rows, signal, update
from blueprint.verifying.formulas.rewards import whitened_advantages
from tests.recorded_ppo import FLOOR, Found, Run, from_logits, numbers, options, recorded

TOLERANCE = 1e-12
COMMON = {
    "batch.response_mask": "all", "reward.kl_in": "none", "reward.whiten": "off", "advantage.ddof": 1,
    "vf_coef": 0.5, "metrics.clip_fraction": "ratio", "metrics.kl": "k3", "metrics.explained": "var_old",
}  # fmt: skip
CLEANRL = {**COMMON, "advantage.eps_form": "std_plus", "ent_coef": 0.01}
SB3 = {**COMMON, "advantage.eps_form": "std_plus", "value.factor": 1, "value.combine": "clipped_only"}
TORCHRL = {
    **COMMON, "advantage.eps_form": "std_max", "whiten_eps": 1e-6, "value.factor": 1, "metrics.kl": "k1",
    "metrics.explained": "var_new", "ent_coef": 0.01, "vf_coef": 1,
}  # fmt: skip

LOSSES = {
    "cleanrl_ppo": (CLEANRL, "result", {
        "pg_loss": "policy_loss", "v_loss": "value_loss", "entropy": "entropy", "loss": "total_loss",
        "approx_kl": "approx_kl.used", "clipfrac": "clip_fraction.used", "explained_variance": "ev.used",
    }),
    "stable_baselines3_2.9.2_PPO": ({**SB3, "value_clip_range": "off"}, "result", {
        "policy_loss": "policy_loss", "value_loss": "value_loss", "loss": "total_loss",
        "approx_kl": "approx_kl.used", "clip_fraction": "clip_fraction.used", "explained_variance": "ev.used",
    }),
    "stable_baselines3_2.9.2_PPO clipped": (SB3, "variant_clip_range_vf_0_2", {
        "policy_loss": "policy_loss", "value_loss": "value_loss", "loss": "total_loss",
        "approx_kl": "approx_kl.used", "clip_fraction": "clip_fraction.used",
    }),
    "torchrl_0.14.1": (TORCHRL, "ClipPPOLoss_normalized_l2_clipvalue", {
        "loss_objective": "policy_loss", "loss_critic": "value_loss", "entropy": "entropy",
        "loss_entropy": "adds.entropy", "kl_approx": "approx_kl.used", "clip_fraction": "clip_fraction.used",
        # not value_clip_fraction: TorchRL counts values outside the range, others clipped squares that are larger
        "explained_variance": "ev.used", "mean_ratio": "ratio.mean",
    }),
}  # fmt: skip


def rollout(name: str) -> Tensor:
    """Returns a quantity of the rollout with the environments first and time behind, [1, N, T, …]."""
    return numbers(recorded()["rl_rollout"][name]).transpose(0, 1)[None]


def given() -> Texts:
    """Returns the rollout as texts: every step is a word, and there is no reference."""
    old, new = (rollout(f"logits_{policy}") for policy in ("old", "new"))
    written, everywhere = rollout("actions").long(), torch.ones(1, 2, 8, dtype=torch.float64)
    values = {"old_values": rollout("values_old"), "values": rollout("values_new")}
    nothing = torch.zeros(1, 2, dtype=torch.float64)
    return Texts(
        slots=everywhere,
        mask=everywhere,
        **from_logits(old, old, new, written),
        **values,
        score=nothing,
        ended=nothing,
    )


def found(changes: dict[str, Any]) -> Found:
    """Returns the rows from the libraries' own advantages on; episodes end in the middle, which texts never do."""
    texts, chosen = given(), options([Run("openai", "", changes=changes)])
    own = recorded()["rl_runs"]["cleanrl_ppo"]["result"]
    rows = signal(texts, chosen)
    rows["advantages"] = with_end(numbers(own["advantages_raw"]).T[None])
    rows["returns"] = numbers(own["returns"]).T[None]
    rows = update(texts, rows | whitened_advantages(texts.slots, rows, chosen), chosen)
    rows |= metric_rows(texts, rows, chosen, torch.tensor([FLOOR]))
    return Found(texts, {name: row[0] for name, row in rows.items()})


@pytest.mark.parametrize("name", LOSSES)
def test_a_library_of_plain_rl_is_reproduced(name: str) -> None:
    changes, variant, quantities = LOSSES[name]
    theirs, rows = recorded()["rl_runs"][name.split()[0]][variant], found(changes).rows
    wrong = {
        quantity: (float(rows[row]), theirs[quantity])
        for quantity, row in quantities.items()
        if abs(float(rows[row]) - float(numbers(theirs[quantity]))) > TOLERANCE * (1 + abs(float(rows[row])))
    }
    assert wrong == {}


def test_normalised_advantages_and_the_old_estimate_of_cleanrl() -> None:
    theirs, rows = recorded()["rl_runs"]["cleanrl_ppo"]["result"], found(CLEANRL).rows
    flat = {name: rows[row].T.flatten() for name, row in {"mb_advantages": "advantages_used", "ratio": "ratio"}.items()}
    for name, ours in flat.items():
        torch.testing.assert_close(ours, numbers(theirs[name]), rtol=TOLERANCE, atol=TOLERANCE)
    assert float(rows["policy_kl.k1"].mean()) == pytest.approx(theirs["old_approx_kl"], abs=TOLERANCE)


@pytest.mark.parametrize(
    ("changes", "quantity"),
    [
        ({"advantage.eps_form": "rsqrt_var_plus"}, "policy_loss"),
        ({"value.combine": "max"}, "value_loss"),
        ({"metrics.clip_fraction": "loss"}, "clip_fraction.used"),
    ],
)
def test_a_planted_wrong_form_is_noticed(changes: dict[str, Any], quantity: str) -> None:
    right, wrong = found(SB3).rows[quantity], found({**SB3, **changes}).rows[quantity]
    assert abs(float(right - wrong)) > TOLERANCE * 100
