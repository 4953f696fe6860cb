"""Hyperparameters and logged results, nested or dotted, in the words of each library."""

from __future__ import annotations

import math
from typing import Any

import pytest

from blueprint.dumps import MinibatchError, mentioned
from blueprint.inputs.catalogue import OFF

VERL = {
    "algorithm": {"gamma": 1.0, "lam": 0.95, "use_kl_in_reward": False, "kl_penalty": "kl", "kl_ctrl": {"kl_coef": 0.001}},
    "actor_rollout_ref": {
        "actor": {
            "clip_ratio": 0.2, "clip_ratio_low": 0.1, "clip_ratio_high": 0.28, "clip_ratio_c": 3.0, "entropy_coeff": 0,
            "use_kl_loss": True, "kl_loss_coef": 0.05, "kl_loss_type": "low_var_kl", 
            "loss_agg_mode": "seq-mean-token-sum",
        },
        "rollout": {"temperature": 0.7, "val_kwargs": {"temperature": 0}},
    },
    "critic": {"cliprange_value": 0.5},
}  # fmt: skip


def settings(said: dict[str, Any], library: str | None = None) -> dict[str, float | str]:
    """Returns what was understood of hyperparameters."""
    return dict(mentioned({"hyperparameters": said}, library).settings)


def test_verls_configuration_is_understood_as_it_is() -> None:
    assert settings(VERL, "verl") == settings(VERL) == {
        "ppo.gamma": 1.0,
        "ppo.gae_lambda": 0.95,
        "ppo.kl_estimator": "k1",
        "ppo.kl_coef": 0.001,
        "loss.kl_estimator": "k3",
        "loss.kl_coef": 0.05,
        "ppo.clip_range": 0.1,
        "loss.clip_range_high": 0.28,
        "loss.dual_clip": 3.0,
        "ppo.ent_coef": 0.0,
        "reward.kl_in": "loss",
        "loss.aggregation": "seq-mean-token-sum",
        "batch.temperature": 0.7,
        "ppo.value_clip_range": 0.5,
    }  # fmt: skip


def test_where_no_kl_loss_is_used_its_coefficient_says_nothing() -> None:
    said = {"use_kl_loss": False, "kl_loss_coef": 0.05, "kl_loss_type": "mse", "kl_coef": 0.2, "use_kl_in_reward": True}
    assert settings(said, "verl") == {"ppo.kl_coef": 0.2, "reward.kl_in": "reward"}


@pytest.mark.parametrize("library", [None, "verl"])
def test_verl_may_pay_the_kl_in_reward_and_loss_at_once_in_whichever_order_it_is_said(library: str | None) -> None:
    said = {"use_kl_loss": True, "kl_loss_type": "k3+", "use_kl_in_reward": True, "kl_penalty": "abs"}
    meant = {"reward.kl_in": "both", "loss.kl_estimator": "k3", "ppo.kl_estimator": "abs"}
    assert settings(said, library) == meant
    assert settings(dict(reversed(said.items())), library) == meant


@pytest.mark.parametrize(("use_loss", "more"), [(False, {}), (True, {"loss.kl_coef": 0.02, "loss.kl_estimator": "k2"})])
def test_openrlhf_has_one_kl_that_is_paid_in_one_place(use_loss: bool, more: dict[str, float | str]) -> None:
    said = {"algo": {"kl": {"use_loss": use_loss, "init_coef": 0.02, "estimator": "k2"}}}
    own = {"ppo.kl_coef": 0.02, "ppo.kl_estimator": "k2", "reward.kl_in": "loss" if use_loss else "reward"}
    assert settings(said, "openrlhf") == own | more


def test_nemo_rl_has_one_kl_with_one_pair_of_clamps() -> None:
    said = {"loss_fn": {"reference_policy_kl_type": "k2", "kl_input_clamp_value": None, "kl_output_clamp_value": 5.0}}
    found = settings(said, "nemo_rl")
    assert found == {
        "ppo.kl_estimator": "k2", "loss.kl_estimator": "k2", "reward.kl_clamp_in": OFF, "loss.kl_clamp_in": OFF,
        "reward.kl_clamp_out": 5.0, "loss.kl_clamp_out": 5.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("library", "said", "meant"),
    [
        ("trl_1.12", {"cliprange": 0.3, "lam": 1},
         {"ppo.clip_range": 0.3, "loss.clip_range_high": 0.3, "ppo.gae_lambda": 1.0}),
        ("trl_1.12", {"whiten_rewards": True, "kl_estimator": "k3"}, {"reward.whiten": "on", "ppo.kl_estimator": "k3"}),
        ("trl_0.11.4", {"init_kl_coef": 0.2, "kl_coef": 0.25, "kl_penalty": "mse"},
         {"ppo.kl_coef": 0.25, "ppo.kl_estimator": "k2"}),
        ("openrlhf", {"actor": {"eps_clip_low_high": [0.2, 0.3], "eps_clip": 0.4}},
         {"ppo.clip_range": 0.2, "loss.clip_range_high": 0.3}),
        ("openrlhf", {"actor": {"dual_clip": None, "entropy_coef": None}},
         {"loss.dual_clip": OFF, "ppo.ent_coef": 0.0}),
        ("openrlhf", {"algo": {"kl": {"use_loss": False}}, "reward": {"clip_range": [-5, 5]}},
         {"reward.kl_in": "reward", "reward.score_clip": 5.0}),
        ("nemo_rl", {"loss_fn": {"use_kl_in_reward": False, "token_level_loss": False}},
         {"reward.kl_in": "loss", "loss.aggregation": "seq-mean-token-mean"}),
        ("nemo_rl", {"value_loss_fn": {"scale": 0.5, "cliprange": None}},
         {"value.factor": 0.25, "ppo.value_clip_range": OFF}),
        (None, {"ppo.kl_coef": 0.1, "loss": {"dual_clip": "off"}, "clip_range": 0.1},
         {"ppo.kl_coef": 0.1, "loss.kl_coef": 0.1, "loss.dual_clip": OFF, "ppo.clip_range": 0.1,
          "loss.clip_range_high": 0.1}),
        (None, {"config": {"cliprange_value": 0.1}}, {"ppo.value_clip_range": 0.1}),
        (None, {"critic": {"loss_agg_mode": "token-mean"}, "learning_rate": 1e-6}, {}),
    ],
)  # fmt: skip
def test_each_librarys_words(library: str | None, said: dict[str, Any], meant: dict[str, float | str]) -> None:
    assert settings(said, library) == meant


def test_what_is_not_understood_is_kept_aside() -> None:
    found = mentioned({"hyperparameters": {"lr": 1, "a": {"b": [1, 2]}}, "logged": {"perf/mfu": 0.3, "loss": 1}}, None)
    assert found.unknown_settings == ("lr", "a.b.0", "a.b.1")
    assert found.unknown_logged == ("perf/mfu",)
    assert found.logged == {"total_loss": 1.0}


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"gamma": 2}, "hyperparameter gamma: found 2, expected a number from 0 to 1 (ppo.gamma)."),
        ({"gamma": "high"}, "hyperparameter gamma: found high, expected a number from 0 to 1 (ppo.gamma)."),
        ({"gamma": math.nan}, "hyperparameter gamma: found nan, expected a number from 0 to 1 (ppo.gamma)."),
        (
            {"kl_estimator": "k9"},
            "hyperparameter kl_estimator: found k9, expected one of k1, k2, k3, abs, full (ppo.kl_estimator).",
        ),
        ({"lam": 0.9, "lambd": 0.8}, "lam = 0.9 and lambd = 0.8 both say ppo.gae_lambda; keep the one that was used."),
        (
            {"reward": {"clip_range": [-5, 10]}},
            "reward.clip_range.0 = 5.0 and reward.clip_range.1 = 10.0 both say reward.score_clip; keep the "
            "one that was used.",
        ),
    ],
)
def test_what_cannot_be_is_refused(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(MinibatchError) as error:
        settings(said)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("library", "logs", "meant"),
    [
        ("trl_1.12", {"loss/policy_avg": 1, "policy/entropy_avg": 2, "val/ratio": 3},
         {"policy_loss": 1, "entropy.watched": 2, "ratio.mean": 3}),
        ("trl_0.11.4", {"ppo/loss/total": 1, "ppo/val/var_explained": 0.5}, {"total_loss": 1, "ev.used": 0.5}),
        ("openrlhf", {"ppo_kl": 0.1, "ppo_clip_ratio": 0.2, "kl": 0.3},
         {"approx_kl.used": 0.1, "clip_fraction.used": 0.2, "kl.statistic": 0.3}),
        ("verl", {"actor/entropy": 1, "actor/entropy_loss": 2, "actor/ppo_kl": 3}, {"entropy": 2, "approx_kl.used": 3}),
        ("nemo_rl", {"loss": 1, "critic/loss": 2, "probs_ratio": 1.5},
         {"total_loss": 1, "value_loss": 2, "loss.mean_ratio": 1.5}),
        (None, {"train/loss/policy_avg": 1, "critic/vf_explained_var": 0.25, "kl_reference": 3},
         {"policy_loss": 1, "ev.used": 0.25, "kl.statistic": 3}),
        (None, {"eval/loss": 1}, {}),
    ],
)  # fmt: skip
def test_each_librarys_logged_results(library: str | None, logs: dict[str, float], meant: dict[str, float]) -> None:
    assert dict(mentioned({"logged": logs}, library).logged) == meant


def test_a_loss_that_was_nan_is_kept() -> None:
    assert math.isnan(mentioned({"logged": {"policy_loss": math.nan}}, None).logged["policy_loss"])


@pytest.mark.parametrize("key", ["hyperparameters", "logged"])
def test_what_is_no_table_is_refused(key: str) -> None:
    with pytest.raises(MinibatchError) as error:
        mentioned({key: [1]}, None)
    assert str(error.value) == f"metadata, {key}: found list, expected names with values."


def test_a_logged_text_is_refused() -> None:
    with pytest.raises(MinibatchError) as error:
        mentioned({"logged": {"loss": "low"}}, None)
    assert str(error.value) == "logged loss: found low, expected a number."


@pytest.mark.parametrize("said", [{"hyperparameters": {"gamma": 10**400}}, {"logged": {"policy_loss": 10**400}}])
def test_a_whole_number_of_400_digits_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(MinibatchError, match=r": found a huge whole number, expected one below 1e308\.$"):
        mentioned(said, None)


GRPO = {
    "loss_type": "dr_grpo",
    "beta": 0.04,
    "epsilon_low": 0.2,
    "epsilon_high": 0.28,
    "delta": 1.5,
    "use_bias_correction_kl": False,
}


def test_trls_grpo_is_said_with_the_conventions_that_there_are() -> None:
    assert settings(GRPO, "trl_1.12") == {
        "loss.aggregation": "seq-mean-token-sum-norm", "loss.joint": "off", "loss.entropy_aggregation": "token-mean",
        "metrics.over": "mask", "reward.kl_in": "loss", "loss.kl_coef": 0.04, "loss.kl_estimator": "k3",
        "ppo.clip_range": 0.2, "loss.clip_range_high": 0.28, "loss.dual_clip": 1.5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("library", "said", "left"),
    [
        ("trl_1.12", {}, ["total_loss", "clip_fraction.used", "entropy"]),
        ("trl_1.12", {"top_entropy_quantile": 1.0}, ["total_loss", "clip_fraction.used", "entropy"]),
        ("trl_1.12", {"importance_sampling_level": "sequence"}, ["entropy"]),
        ("trl_1.12", {"loss_type": "cispo"}, ["entropy"]),
        ("trl_1.12", {"use_bias_correction_kl": True}, ["clip_fraction.used", "entropy"]),
        ("trl_1.12", {"use_bias_correction_kl": True, "beta": 0.0}, ["total_loss", "clip_fraction.used", "entropy"]),
        ("trl_1.12", {"args": {"top_entropy_quantile": 0.2}}, ["clip_fraction.used", "entropy"]),
        ("verl", {"loss_type": "cispo"}, ["total_loss", "clip_fraction.used", "entropy"]),
        (None, {"loss_type": "cispo"}, ["entropy"]),
    ],
)  # fmt: skip
def test_what_no_convention_expresses_is_not_compared(
    library: str | None, said: dict[str, Any], left: list[str]
) -> None:
    logs = {"total_loss": 0.5, "clip_fraction.used": 0.25, "entropy": 2.0}
    found = mentioned({"hyperparameters": GRPO | said, "logged": logs}, library)
    assert list(found.logged) == left
    assert bool(found.notes) == (len(left) < 3)
    for name in logs:
        assert any(name in note.split(";")[0] for note in found.notes) == (name not in left)
