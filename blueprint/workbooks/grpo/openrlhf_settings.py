"""What OpenRLHF 0.11.2 says of a step without a critic, and what it means here: `--algo.advantage.estimator` and its relatives.

Read in openrlhf/trainer/ppo_utils/experience_maker.py, compute_advantages_and_returns(), and openrlhf/models/loss.py, PolicyLoss.
"""

from collections.abc import Mapping
from typing import Any

Settings = dict[str, float | str]

WHITENED: Settings = {
    "advantage.whiten": "tokens", "advantage.whiten_form": "at_least", "advantage.whiten_eps": 1e-8, "advantage.whiten_ddof": 0.0,
}  # fmt: skip
"""(A − mean)/√max(var, 1e-8) over the tokens of all experiences, the variance divided by N."""
ESTIMATORS: Mapping[str, Settings] = {
    "group_norm": {},
    "rloo": {"group.baseline": "others", "group.std": "none"},
    "dr_grpo": {"group.std": "none"},
    "reinforce_baseline": {"group.std": "none", **WHITENED},
    "reinforce": {"group.baseline": "none", "group.std": "none", **WHITENED},
    "flash_reinforce": {"group.baseline": "batch", "group.std": "none"},
}
"""By estimator, what differs from the preset, which is group_norm."""
STATISTICS = {"ratio": "ratio", "binary_kl": "binary_kl", "tv": "difference"}


def advantage_said(said: Any) -> Mapping[str, Any]:
    """Returns what hyperparameters say under `algo.advantage`, nested as OpenRLHF's own arguments are; {} where nothing."""
    algorithm = said.get("algo") if isinstance(said, dict) else None
    found = algorithm.get("advantage") if isinstance(algorithm, dict) else None
    return found if isinstance(found, dict) else {}


def in_our_words(said: Mapping[str, Any]) -> dict[str, Any]:
    """Returns hyperparameters with those of `algo.advantage` under our own keys.

    Estimators but for reinforce set gamma to 1. With policy_loss_type = gspo the loss is a mean over responses, and its log-ratio
    is not clamped. A KL whose coefficient is 0 is none. A gap to the engine may weigh tokens or leave them out.
    """
    advantage = advantage_said(said)
    estimator = str(advantage.get("estimator"))
    if estimator not in ESTIMATORS:
        return dict(said)
    actor, kl = dict(said.get("actor") or {}), dict(said["algo"].get("kl") or {})
    found: dict[str, Any] = dict(ESTIMATORS[estimator])
    found["gamma"] = advantage.get("gamma", 1.0) if estimator == "reinforce" else 1.0
    if advantage.get("no_std_norm") and "advantage.whiten" in found:
        found["advantage.whiten_form"] = "centre"
    if said.get("kl_ctl") == 0:
        kl.pop("use_loss", None)
        found["kl.place"] = "none"
    corrected = advantage.get("is_correction_level", "off") != "off"
    if actor.get("policy_loss_type") == "gspo":
        for name in ("policy_loss_type", "loss_agg_mode"):
            actor.pop(name, None)
        found |= {"ratio.level": "rollout" if corrected else "response", "ratio.clamp": "off"}
        found |= {
            "loss.aggregation": "seq_mean_token_mean",
            "loss.length_eps": 1e-8,
            "loss.entropy_aggregation": "token_mean",
        }
    elif corrected:
        found |= _correction(advantage)
    return {**said, "actor": actor, "algo": {"kl": kl}, **found}


def _correction(advantage: Mapping[str, Any]) -> dict[str, Any]:
    """Returns how tokens are weighted by the gap to the engine; without the bounds, which older hooks did not write, only where."""
    bounds = advantage.get("is_correction_threshold") or (0.5, 5.0)
    return {
        "rollout.level": "mean" if advantage["is_correction_level"] == "seq" else "token",
        "rollout.mode": "truncate" if advantage.get("is_correction_mode") == "clip" else "filter",
        "rollout.statistic": STATISTICS.get(str(advantage.get("is_correction_gating")), "ratio"),
        "rollout.low": bounds[0],
        "rollout.high": bounds[1],
    }
