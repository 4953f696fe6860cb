"""What the critic-free code of seventeen libraries computed of one batch, and the conventions that each recorded run had.

`critic_free_presets.json` says every run's options in words of its own; `conventions_of` says them in ours.
"""

import json
from collections.abc import Iterator
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.workbooks.front_door import front

Array = npt.NDArray[np.float64]
FRONT = front("grpo", "grpo-batch")
"""The batch on which the libraries ran, as it ships, through the front door."""
DATA = Path(__file__).parents[2] / "data"
BASELINES = {"mean": "mean", "loo": "others", "len": "length", "gpg": "mean", "maxrl": "mean", "passk": "second"}
SPREADS = {
    "loo": "others", "group_moments": "moments", "batch_residual": "residual", "batch_of_adv": "batch_of_advantages",
    "group_of_adv": "group_of_advantages",
}  # fmt: skip
LEVELS = {"seq": "response", "seq_sg": "own_token", "seq_sum": "product", "seq_rollout": "rollout"}
WEIGHTS = {None: "none", "token": "token", "seq_sum": "product", "seq_mean": "mean"}
FORMS = {"plus": "inside", "clamp": "at_least", "std_plus": "outside", "none": "centre"}
PLACES = {"reward_seq": "reward", "reward_token_after": "after"}


class Batch(NamedTuple):
    """Numbers of responses [12] and of their tokens [12, 6]; logits have the vocabulary as last axis; groups stand side by side."""

    rewards: Array
    truncated: Array
    greedy: Array
    mask: Array
    tokens: npt.NDArray[np.int64]
    logits: dict[str, Array]

    @property
    def entropy(self) -> Array:
        """The entropy of the new policy at every position."""
        log_p = log_softmax(self.logits["new"])
        return np.asarray(-(np.exp(log_p) * log_p).sum(-1))

    def logprobs(self, model: str) -> Array:
        """The log-prob of each token."""
        return np.take_along_axis(log_softmax(self.logits[model]), self.tokens[..., None], -1)[..., 0]


class Run(NamedTuple):
    """A recorded run: library, variant, conventions by key, what stands in the place of reference and old policy, what came out."""

    library: str
    variant: str
    conventions: dict[str, float | str]
    reference: str
    old: str
    out: dict[str, Any]
    config: dict[str, Any]

    @property
    def models(self) -> dict[str, Array]:
        """Logits that stand in the place of the reference's and of the old policy's."""
        other = {"reference.logits": ("ref", self.reference), "old.logits": ("old", self.old)}
        return {key: batch().logits[used] for key, (own, used) in other.items() if used != own}

    @property
    def tolerance(self) -> float:
        """Largest difference, relative to the largest number above 1; a library that computed in float32 has 1e-6."""
        return 1e-6 if "float32" in self.variant else 1e-12


@cache
def recorded_file(name: str) -> Any:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def log_softmax(z: Array) -> Array:
    """Returns log-probabilities over the last axis."""
    away = z - z.max(-1, keepdims=True)
    return np.asarray(away - np.log(np.exp(away).sum(-1, keepdims=True)))


@cache
def batch() -> Batch:
    """Returns the batch on which all of them ran."""
    given = recorded_file("critic_free_runs.json")["batch"]
    logits = {name: np.array(given[f"logits_{name}"], float) for name in ("new", "old", "ref", "rollout")}
    rewards, truncated, greedy, mask = (
        np.array(given[key], float) for key in ("rewards", "truncated", "greedy_rewards", "mask")
    )
    return Batch(rewards, truncated, greedy, mask, np.array(given["responses"]), logits)


def runs() -> Iterator[Run]:
    """Yields every run whose options one pipeline has; the others are listed in `APART`."""
    options = recorded_file("critic_free_presets.json")
    for library, found in recorded_file("critic_free_runs.json")["runs"].items():
        for variant, run in found["variants"].items():
            own = options["libraries"][library]["variants"].get(variant)
            if own is None or own == "liger_luspo_kl":
                continue
            asked, reference, old = {**options["defaults"], **options["libraries"][library]["library"]}, "ref", "old"
            if own == "ref=new":
                reference, own = (
                    "new",
                    {"old": "new", "kl_in": "loss", "kl_coef": 0.04, "kl_weight": "ratio", "agg": MEANS},
                )
            elif own == "old=new":
                old, own = "new", {}
            elif own == "completion":
                own = {"ratio_level": "batch", "agg": MEANS}
            yield Run(library, variant, conventions_of({**asked, **own}), reference, old, run["out"], run["config"])


MEANS = "seq_mean_token_mean"
APART = {
    "liger_kernel_0.8.5 luspo_kl": "averages over pads, too: (policy + β·k3)·length over all cells",
    "verl_0.9.1 dapo_dynamic_sampling": "says which groups are kept, and computes no loss",
    "nemo_rl_7ea279a dynamic_sampling_leave_one_out_True": "says which responses are kept, and computes no loss",
    "nemo_rl_7ea279a dynamic_sampling_leave_one_out_False": "says which responses are kept, and computes no loss",
    "nemo_rl_7ea279a stop_properly_0_5": "shaped rewards alone",
    "rllm_9beb6e0 singletons": "advantages of one response for each prompt",
}
"""Recorded runs that are looked at by themselves, in `test_special`, and why."""


def _limit(value: float | None) -> float:
    return inf if value is None or value >= 1e8 else float(value)


def conventions_of(o: dict[str, Any]) -> dict[str, float | str]:
    """Returns the conventions of a run by our keys."""
    whiten, gmpo = o["adv_norm"], o["objective"] == "gmpo"
    found: dict[str, Any] = {
        "gamma": o["gamma"], **_rewards(o), **_kl(o), **_group(o), "group.of": o["groups"],
        "advantage.credit": _credit(o), "ratio.old": o["old"], "ratio.level": LEVELS.get(o["ratio_level"], o["ratio_level"]),
        "ratio.length_eps": o["gmpo_mean_eps"] if gmpo else o["seq_eps"], "ratio.clamp": _limit(o["log_ratio_clamp"]),
        "ratio.sequence_most": _limit(o["seq_log_ratio_max"]), "loss.objective": o["objective"],
        "loss.clip_low": _limit(o["clip_low"]), "loss.clip_high": _limit(o["clip_high"]),
        "loss.dual_clip": _limit(o["dual_clip"]), "loss.delta": _limit(o["delta"]), "loss.sapo_good": o["sapo"][0],
        "loss.sapo_bad": o["sapo"][1], "loss.aggregation": MEANS if gmpo else o["agg"].replace("const", "token_sum"),
        "loss.constant": o["agg_const"] or 1, "loss.agg_eps": o["agg_eps"], "loss.length_eps": o["agg_len_eps"],
        "loss.rows_eps": o["agg_seq_eps"], "loss.factor": o["row_weight"], "loss.mask": o["mask"],
        "loss.off_policy": _limit(o["opm"]), "loss.ent_coef": o["ent_coef"],
        "loss.entropy_aggregation": o["ent_agg"].replace("same", "as_policy"),
        "rollout.level": WEIGHTS[o["is_level"]], "rollout.mode": o["is_mode"], "rollout.low": _limit(o["is_low"]),
        "rollout.high": _limit(o["is_high"]), "rollout.statistic": o["is_stat"].replace("tv", "difference"),
        "rollout.clamp": _limit(o["is_clamp"]), "rollout.normalise": "on" if o["is_norm"] else "off",
    }  # fmt: skip
    if whiten == "sequences":
        found |= {"advantage.whiten": "responses", "advantage.whiten_eps": 1e-4}
    elif whiten:
        found |= {
            "advantage.whiten": "tokens", "advantage.whiten_form": FORMS[whiten["form"]],
            "advantage.whiten_ddof": whiten["ddof"], "advantage.mean_eps": whiten.get("mean_eps", 0),
            "advantage.whiten_eps": whiten.get("eps", 1e-8),
        }  # fmt: skip
    if o["drop"]:
        of, low, high = o["drop"]
        found |= {"rollout.reject": of.replace("seq", "mean"), "rollout.reject_low": low, "rollout.reject_high": high}
    if o["ent_quantile"] is not None:
        given = batch()
        # The token that has just this entropy counts; that its last digit depends on who computes it must not decide.
        found["loss.entropy_least"] = float(np.quantile(given.entropy[given.mask > 0], 1 - o["ent_quantile"])) - 1e-12
    return {key: value if isinstance(value, str) else float(value) for key, value in found.items()}


def _rewards(o: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if o["shape"] and o["shape"][0] == "stop":
        found["reward.truncated"] = o["shape"][1]
    elif o["shape"]:
        way, most, buffer, factor = o["shape"]
        found |= {
            "reward.overlong": {"overlong": "linear", "overlong_capped": "capped"}[way],
            "reward.max_tokens": most,
        }
        found |= {"reward.buffer": buffer, "reward.overlong_factor": factor}
    if o["credit"] == "remax_authors":
        return found | {"reward.clip_low": -5, "reward.clip_high": 5, "reward.clip_at": "after"}
    if o["reward_clip"]:
        low, high = o["reward_clip"]
        found |= {"reward.clip_low": low, "reward.clip_high": high, "reward.clip_at": o["reward_clip_at"]}
    return found


def _kl(o: dict[str, Any]) -> dict[str, Any]:
    own = o["credit"] in ("token_kl_minus", "remax_authors")
    return {
        "kl.place": "advantage" if own else PLACES.get(o["kl_in"], o["kl_in"]), "kl.coef": o["kl_coef"],
        "kl.estimator": o["kl_est"], "kl.clamp_in": _limit(o["kl_clamp_in"]), "kl.clamp_out": _limit(o["kl_clamp_out"]),
        "kl.weight": o["kl_weight"].replace("self", "own"), "kl.gradient": o["kl_grad"],
        "kl.aggregation": o["kl_agg"].replace("same", "as_policy"),
    }  # fmt: skip


def _group(o: dict[str, Any]) -> dict[str, Any]:
    special = {"gpg": ("not_zero", 0.0), "maxrl": ("mean", 1e-6)}
    std, eps = special.get(o["baseline"], (SPREADS.get(o["scale"], o["scale"]), o["scale_eps"]))
    baseline = BASELINES.get(o["baseline"], o["baseline"])
    return {
        "group.baseline": baseline, "group.std": std, "group.eps": eps, "group.ddof": o["ddof"], "group.zero_std": o["zero_std"],
    }  # fmt: skip


def _credit(o: dict[str, Any]) -> str:
    if o["credit"] == "to_go" and (o["kl_in"] == "reward_token" or o["baseline"] == "greedy"):
        return "reward_to_go"
    return str({"token_kl_minus": "outcome", "remax_authors": "discounted"}.get(o["credit"], o["credit"]))


def off(ours: Array, theirs: Any, mask: Array) -> float:
    """Returns the largest difference where the mask is 1, relative to the largest of theirs; a row stands for its tokens."""
    found, meant = np.asarray(ours, float), np.asarray(theirs, float)
    if found.ndim == 2:
        meant = (meant[:, None] if meant.ndim == 1 else meant) * mask
        found = found * mask
    return float(np.abs(found - meant).max() / max(1.0, np.abs(meant).max()))
