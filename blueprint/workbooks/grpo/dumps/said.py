"""What a library's own hyperparameters say of its conventions where a table of names cannot: numbers that depend on each other."""

from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

from blueprint.dumps import COUNTED_IN, number_said, require
from blueprint.quoting import unquoted

ALGORITHM = "algorithm"
ESTIMATORS = ("adv_estimator", "advantage_estimator")
SIZES = ("num_generations", "num_generations_per_prompt", "n_samples_per_prompt", "rollout.n", "group_size")
"""What libraries call the number of responses to a prompt."""
WEIGHTS = "reward_weights"
SCALE = "loss_scale_factor"
LENGTH, UNSURE, AGGREGATION = "max_completion_length", "top_entropy_quantile", "multi_objective_aggregation"
DROPPED = (*SIZES, *ESTIMATORS, WEIGHTS, LENGTH, UNSURE, AGGREGATION)
CUT = "mask_truncated_completions"
SUMMED, NORMALISED = "sum_then_normalize", "normalize_then_sum"
OF_PPO = ("gae", "ppo")
BY_STD, DIVIDED = "norm_adv_by_std_in_grpo", ("", "grpo", "grpo_vectorized", "grpo_passk")
"""A switch of verl, and the only algorithms that read it."""


def hyperparameter(metadata: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Returns the first of some hyperparameters that a file says, by its name or the end of a dotted one; None if none."""
    said = metadata.get("hyperparameters")
    flat = {str(key): value for key, value in said.items()} if isinstance(said, dict) else {}
    found = (flat[key] for name in names for key in flat if key == name or key.endswith(f".{name}"))
    return next((each for each in found if each is not None), None)


def may_be_empty(metadata: Mapping[str, Any]) -> bool:
    """Whether a file may have no token that counts: a part of a step whose responses that were cut off do not count (TRL, DAPO)."""
    return hyperparameter(metadata, (CUT,)) is True and any(metadata.get(key) is not None for key in COUNTED_IN)


def unsure_of(metadata: Mapping[str, Any]) -> float:
    """Returns the share of the tokens, those of most entropy, that the policy loss counts, as TRL's `top_entropy_quantile` says it.

    Raises MinibatchError for what is no share.
    """
    found = hyperparameter(metadata, (UNSURE,))
    share = 1.0 if found is None else float(found) if type(found) in (int, float) else nan
    require(0 <= share <= 1, f"hyperparameter {UNSURE}: found {unquoted(str(found))}, expected a number from 0 to 1.")
    return share


def is_normalised(said: Mapping[str, Any]) -> bool:
    """Whether each reward function is normalised within the group before they are added up (TRL 1.16.0, GDPO).

    Raises MinibatchError for an aggregation that there is not.
    """
    word = said.get(AGGREGATION, SUMMED)
    require(
        word in (SUMMED, NORMALISED, None),
        f"hyperparameter {AGGREGATION}: found {unquoted(str(word))}, expected {SUMMED} or {NORMALISED}.",
    )
    return bool(word == NORMALISED)


def algorithm_of(metadata: Mapping[str, Any]) -> str:
    """Returns the algorithm that a file says, "" where it says none or PPO's."""
    word = metadata.get(ALGORITHM) or hyperparameter(metadata, ESTIMATORS) or ""
    plain = str(word).lower().replace("-", "_")
    return "" if plain in OF_PPO else plain


def settings_said(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the hyperparameters, with those that follow from several of them under our own keys.

    TRL 1.16.0: `dr_grpo` divides by max_completion_length; CISPO's cap is epsilon_high itself, not 1 + ε, and has no floor.
    """
    said = metadata.get("hyperparameters")
    if not isinstance(said, dict):
        return {} if said is None else said
    found = {key: value for key, value in said.items() if key not in DROPPED}
    if said.get("loss_type") == "dr_grpo":
        constant = metadata.get(SCALE) or said.get(LENGTH)
        found |= {"loss.constant": number_said(constant, SCALE)} if constant else {}
    if said.get("loss_type") == "cispo":
        cap: Any = next((said[name] for name in ("epsilon_high", "epsilon") if said.get(name) is not None), 0.2)
        for name in ("epsilon", "epsilon_low", "epsilon_high"):
            found.pop(name, None)
        found |= {"loss.clip_low": "off", "loss.clip_high": number_said(cap, "epsilon_high") - 1}
    if algorithm_of(metadata) not in DIVIDED:
        found = {key: value for key, value in found.items() if not key.endswith(BY_STD)}
    if is_normalised(said):  # over the whole batch, whatever scale_rewards is
        found.pop("scale_rewards", None)
        found |= {"group.baseline": "batch", "group.std": "batch"}
    if str(said.get("loss_agg_mode", "")).endswith("-norm") and metadata.get(SCALE):
        found["loss.constant"] = number_said(metadata[SCALE], SCALE)
    return found
