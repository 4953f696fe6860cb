"""Every run of golden_runs.json: its rollout as inputs, its options, and which row each quantity is that a library recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from blueprint.papers.models import distribution, kl
from blueprint.workbooks.common.conventions import rlhf

RECORDED = Path(__file__).parent / "data" / "golden_runs.json"
ALL = (0, 1, 2, 3)

Changes = Mapping[str, str | float]
Named = dict[str, Tensor]


@dataclass(frozen=True)
class Texts:
    """The inputs of a run; files, responses and columns are the axes [F, N, T], scores and ends have [F, N].

    slots: 1 where a response may have a token; mask: where it has one. The others stand at every response position, pads included.
    """

    slots: Tensor
    mask: Tensor
    old_logprobs: Tensor
    reference_logprobs: Tensor
    logprobs: Tensor
    kl_old_reference: Tensor
    kl_new_reference: Tensor
    kl_old_new: Tensor
    entropy: Tensor
    old_values: Tensor
    values: Tensor
    score: Tensor
    ended: Tensor


@dataclass(frozen=True)
class Run:
    """One run of a library: where it stands in the file, the preset it goes by, and the options that the run changed."""

    preset: str
    run: str
    variant: str = "result"
    changes: Changes = field(default_factory=dict)
    responses: tuple[int, ...] = ALL

    @property
    def place(self) -> tuple[str, str]:
        """The names of run and variant in the file."""
        return self.run, self.variant


@dataclass(frozen=True)
class Found:
    """What was found for a run: its inputs and rows, without the axis of files."""

    texts: Texts
    rows: Named


Derive = Callable[[Found], Tensor]


@cache
def recorded() -> dict[str, Any]:
    """Returns the file."""
    found: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def results(run: Run) -> dict[str, Any]:
    """Returns the recorded quantities of a run, by name; texts about them are left out."""
    found = recorded()["runs"][run.run][run.variant]
    if "results" in found:
        found = found["results"][found["minibatches"].index(list(run.responses))]
    found = found.get("result", found)
    return {name: each for name, each in found.items() if not isinstance(each, str)}


def numbers(value: Any) -> Tensor:
    """Returns numbers of the file as a tensor."""
    return torch.tensor(value, dtype=torch.float64)


def texts(runs: Sequence[Run]) -> Texts:
    """Returns the inputs of several runs on the same number of responses."""
    rollout, rows = recorded()["rollout"], torch.tensor([run.responses for run in runs])
    window = slice(rollout["Q"] - 1, -1)  # the column that reads a word scores the word behind it
    used = [{**rlhf().preset(run.preset).values, **run.changes} for run in runs]
    assert all({*run.changes} <= {*rlhf().settings} for run in runs)
    of_runs = [float(each["batch.temperature"]) + float(each["batch.temperature_eps"]) for each in used]
    temperature = numbers(of_runs).view(-1, 1, 1, 1)
    logits = (numbers(rollout[f"logits_{model}"])[:, window][rows] for model in ("old", "ref", "new"))
    old, reference, new = (each / temperature for each in logits)
    written = torch.tensor(rollout["responses"])[rows]
    lengths = torch.tensor(rollout["response_lens"])[rows]
    mask = (torch.arange(rollout["T"]) < lengths[..., None]).to(torch.float64)
    values = {f"{name}values": numbers(rollout[f"values_full_{model}"])[:, window][rows]
              for name, model in (("old_", "old"), ("", "new"))}  # fmt: skip
    return Texts(
        slots=torch.ones_like(mask),
        mask=mask,
        **from_logits(old, reference, new, written),
        **values,
        score=numbers(rollout["scores"])[rows],
        ended=(mask * (written == rollout["eos_id"])).amax(dim=-1),
    )


def from_logits(old: Tensor, reference: Tensor, new: Tensor, written: Tensor) -> Named:
    """Returns log-probs of the words written, exact KLs and the entropy by the names of Texts, of tempered logits."""
    before, ref, after = (distribution(logits, written) for logits in (old, reference, new))
    return {
        "old_logprobs": before.logp,
        "reference_logprobs": ref.logp,
        "logprobs": after.logp,
        "kl_old_reference": kl(before, ref),
        "kl_new_reference": kl(after, ref),
        "kl_old_new": kl(before, after),
        "entropy": after.entropy,
    }


def distance(derive: Derive, found: Found, value: Any, where: Tensor | None) -> float:
    """Returns the largest difference, divided by 1 + the largest number of the row; for rows of words at some places."""
    theirs, ours = numbers(value), derive(found)
    if theirs.dim() == 2:
        ours = ours[:, : theirs.shape[1]]
        where = torch.ones_like(theirs) if where is None else where
        ours, theirs = ours * where, theirs * where
    assert ours.shape == theirs.shape, f"{tuple(ours.shape)} is not {tuple(theirs.shape)}"
    return float((ours - theirs).abs().max() / (1 + theirs.abs().max()))


# Times 1 + the largest number of the row. The libraries ran in float64 too, so that only rounding parts us from them.
TOLERANCE = 1e-12

MATH_YAML: Changes = {"kl_coef": 0, "loss.clip_range_high": 0.28, "loss.dual_clip": 10, "value.factor": 0.5 * 0.4}


def _runs(preset: str, run: str, **variants: Changes) -> list[Run]:
    return [Run(preset, run), *(Run(preset, run, f"variant_{name}", each) for name, each in variants.items())]


def _aggregation(word: str) -> Changes:
    return {"loss.aggregation": word}


RUNS = (
    *_runs("openai", "openai_lm_human_preferences", whiten_rewards_false={"reward.whiten": "off"}),
    *(Run("openai", "openai_lm_human_preferences", "variant_two_minibatches", {}, half) for half in ((0, 1), (2, 3))),
    *_runs("openai", "lm_human_preference_details"),
    *_runs(
        "trl_0.11.4",
        "trl_0.11.4_PPOTrainer",
        whiten_rewards={"reward.whiten": "on"},
        kl_abs={"kl_estimator": "abs"},
        kl_mse={"kl_estimator": "k2"},
        kl_full={"kl_estimator": "full"},
    ),
    *_runs(
        "trl_1.12",
        "trl_1.12.0_PPOTrainer",
        k3={"kl_estimator": "k3"},
        whiten_rewards={"reward.whiten": "on"},
        missing_eos_penalty_1={"reward.missing_eos": "subtract", "reward.missing_eos_value": 1},
        temperature_0_7={"batch.temperature": 0.7},
    ),
    *_runs(
        "openrlhf",
        "openrlhf_0.11.2",
        k2={"kl_estimator": "k2"},
        k3={"kl_estimator": "k3"},
        dual_clip_3={"loss.dual_clip": 3},
        clip_higher={"loss.clip_range_high": 0.28},
        seq_mean_token_mean=_aggregation("seq-mean-token-mean"),
    ),
    *_runs(
        "verl",
        "verl_0.9.1",
        kl_in_reward={"reward.kl_in": "reward"},
        kl_in_reward_low_var={"reward.kl_in": "reward", "kl_estimator": "k3"},
        kl_loss_low_var={"reward.kl_in": "loss"},
        lam_0_95={"gae_lambda": 0.95},
        seq_mean_token_sum=_aggregation("seq-mean-token-sum"),
        seq_mean_token_mean=_aggregation("seq-mean-token-mean"),
        seq_mean_token_sum_norm=_aggregation("seq-mean-token-sum-norm"),
        clip_higher={"loss.clip_range_high": 0.28},
        c_1_5={"loss.dual_clip": 1.5},
    ),
    *_runs("trlx", "trlx_head"),
    *_runs("dschat", "deepspeed_chat"),
    *_runs("nemo_aligner", "nemo_aligner_0.7", signed_kl={"kl_estimator": "k1"}),
    *_runs(
        "nemo_rl",
        "nemo_rl_head",
        ppo_math_yaml=MATH_YAML,
        kl_in_loss_k3={"reward.kl_in": "loss"},
        sequence_level=_aggregation("seq-mean-token-mean"),
        dual_clip_3={"loss.dual_clip": 3},
    ),
    *_runs("torchtune", "torchtune_head", no_eos_penalty_off={"reward.missing_eos": "off"}),
)


def row(name: str, sign: float = 1.0) -> Derive:
    """Returns how a row is taken as it stands."""
    return lambda found: sign * found.rows[name]


def _words_mean(name: str) -> Derive:
    return lambda found: (found.rows["watch.words.weight"] * found.rows[name]).sum()


def _per_response(values: Tensor, found: Found) -> Tensor:
    return values.sum() / found.rows["kl.wrote"].sum()


def _own_variance(found: Found) -> Tensor:
    """The population variance of the old values."""
    return found.rows["values.kept"][:, : found.texts.slots.shape[1]].var(correction=0)


def _kl_of_penalty(found: Found) -> Tensor:
    """The KL estimate where the reward pays it; verl reports 0 where it does not."""
    return (found.rows["kl_coef.reward"] > 0) * found.rows["kl.used"]


def _pads_as_one(found: Found) -> Tensor:
    """−Σ log π of the words, with the log-prob 1.0 that TRL writes at pads."""
    response = found.rows["response"]
    return -(response * found.texts.old_logprobs + found.texts.slots - response)


QUANTITIES: dict[str, Derive] = {
    "mask": row("response"), "mask_p1": row("value.counted"), "value_mask": row("value.counted"),
    "is_end_mask": row("loss.counted"),
    "sequence_lengths": lambda found: found.rows["response"].sum(dim=-1) - 1,
    "seq_lens": lambda found: found.rows["response"].sum(dim=-1) - 1,
    "actual_end": lambda found: found.rows["place.one_past"][:, 1:].argmax(dim=-1),
    "value_seq_idxs": lambda found: found.rows["place.one_past"][:, 1:].argmax(dim=-1),
    "entry_lengths": lambda found: found.rows["kept"].sum(dim=-1),
    "logprobs": lambda found: found.texts.old_logprobs, "old_logprobs": lambda found: found.texts.old_logprobs,
    "ref_logprobs": lambda found: found.texts.reference_logprobs,
    "kl": row("kl.used"), "kld": _kl_of_penalty, "objective_kl": row("kl.statistic"),
    "info_kl_per_seq": row("kl.response_mean"), "controller_current_kl_if_in_reward": row("kl.statistic"),
    "non_score_reward": row("reward.penalty"), "scores_used": row("score.clipped"),
    "objective_non_score_reward": lambda found: _per_response(found.rows["reward.penalty"], found),
    "objective_rlhf_reward": lambda found: _per_response(found.rows["rewards.raw"], found),
    "info_return": lambda found: (found.rows["response"] * found.rows["rewards"]).sum(dim=-1),
    "token_level_scores": row("score.placed"), "rewards_raw": row("rewards.raw"),
    "rewards_before_zeroing": row("rewards.raw"), "rewards_unmasked": row("rewards.raw"),
    "rewards_used": row("rewards"), "token_level_rewards": row("rewards"),
    "values_used": row("values.kept"), "old_values": row("values.kept"),
    "value_mean": lambda found: found.rows["values.kept"][:, :-1].mean(), "value_var": _own_variance,
    "returns": row("returns"), "adv_raw": row("advantages"), "advantages": row("advantages_used"),
    "return_mean": row("ev.returns.mean"), "return_var": row("ev.returns.variance"),
    "ratio": row("ratio"), "pg_losses": row("surrogate", -1.0), "vf_losses": row("value.larger"),
    "pg_loss": row("policy_loss"), "actor_loss": row("policy_loss"), "vf_loss": row("value_loss"),
    "vf_loss_times_coef": row("adds.value_loss"), "kl_loss": row("kl_loss"), "kl_term": row("adds.kl_loss"),
    "loss": row("total_loss"), "policy_loss_with_kl_0.001": row("total_loss"),
    "entropy": row("entropy"), "entropy_loss": row("entropy"), "entropy_unmasked_mean": row("entropy.watched"),
    "objective_entropy": lambda found: _per_response(-found.rows["response"] * found.texts.old_logprobs, found),
    "objective_entropy_1_11_and_later": lambda found: QUANTITIES["objective_entropy"](found),
    "objective_entropy_before_1_11": lambda found: _per_response(_pads_as_one(found), found),
    "approxkl": row("approx_kl.used"), "approx_kl": row("approx_kl.used"), "approxkl_unmasked": row("approx_kl.used"),
    "approx_kl_unmasked": row("approx_kl.used"), "ppo_kl": row("approx_kl.used"), "policykl": _words_mean("policy_kl.k1"),
    "ratio_mean": row("loss.mean_ratio"), "ppo_ratio": row("loss.mean_ratio"),
    "ratio_mean_unmasked": row("ratio.mean"), "ppo_ratio_clamped": _words_mean("ratio.clipped"),
    "pg_clipfrac": row("clip_fraction.used"), "pg_clipfrac_lower": row("clip_fraction.dual"),
    "vf_clipfrac": row("clip_fraction.value"),
    "vf_error": row("ev.mse"), "var_explained": row("ev.used"), "vf_explained_var": row("ev.used"),
}  # fmt: skip
"""How every recorded quantity is read off the rows of a computation, whichever library recorded it."""

EXCEPTIONS: dict[tuple[str, str, str], Derive] = {
    # torch.var divides by N − 1 where the TensorFlow original divides by N.
    ("lm_human_preference_details", "result", "return_var"): lambda found: found.rows["returns"].var(correction=1),
}
"""Where one run means another thing by a name."""

NOT_COMPARED = {
    "mean_kl_for_controller": "trlX: k3 with the ratio the wrong way round, prompt included; no row looks at the prompt",
    "mean_kl_per_token": "trlX: the former, per token",
    "ends_minus_start": "DeepSpeed-Chat: an index into the text, counted from the prompt",
}
"""Recorded quantities that no row is, and why."""

EVERYWHERE = {"mask", "mask_p1", "value_mask", "is_end_mask"}
"""Rows that libraries leave clean at pads, so that every cell is compared."""


def derivation(run: Run, quantity: str) -> Derive:
    """Returns how a quantity of a run is read off the rows."""
    return EXCEPTIONS.get((*run.place, quantity), QUANTITIES[quantity])


def differing(run: Run, found: Found, tolerance: float = TOLERANCE) -> list[str]:
    """Lists the recorded quantities of a run that are not reproduced, rows of words at response positions."""
    theirs = results(run)
    response = numbers(theirs["mask"]) if "mask" in theirs else None
    return [
        name
        for name in theirs
        if name not in NOT_COMPARED
        and distance(derivation(run, name), found, theirs[name], None if name in EVERYWHERE else response) > tolerance
    ]
