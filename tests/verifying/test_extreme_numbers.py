"""Clean dumps with numbers from the edge, as a library computes them in its own dtype: none is accused, and a fault of 1 % is seen
wherever the report says that a number agrees.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

import torch

from blueprint.commands.verify_files import book_of
from blueprint.dumps import MinibatchError, read_dump
from blueprint.verifying import Verdict, VerifyOptions, ViewOptions, verify_one
from blueprint.workbooks.classic_ppo.rollout import classic_presets
from blueprint.workbooks.classic_ppo.verifying.recompute import recompute

SINGLE = torch.float32


class Clean(NamedTuple):
    """What a library would have written: tensors, the numbers that it logged, and what it says of itself."""

    tensors: dict[str, Any]
    logged: dict[str, Any]
    metadata: dict[str, Any]


def verified(folder: Path, dump: Clean) -> Verdict:
    logged = {name: float(each) for name, each in dump.logged.items()}
    tensors = {name: np.asarray(each) for name, each in dump.tensors.items()}
    said = {**dump.metadata, "logged": logged}
    np.savez(folder / "dump.npz", **{"metadata": np.array(json.dumps(said)), **tensors})  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return verify_one(read_dump(folder / "dump.npz"), VerifyOptions(causes=False)).verdict


def says(found: Verdict) -> dict[str, str]:
    return {line.called: line.says for line in found.lines}


def _drawn(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape) * scale)


def grpo_step(
    preset: str, rewards: Any, old: Any, new: Any, ref: Any | None = None, constant: float = 0.0, dtype: Any = SINGLE
) -> Clean:
    """Returns a step of one group, with TRL's GRPO or Dr. GRPO, or the paper's with its KL, all in one dtype."""
    R, old, new = (each.to(dtype) for each in (rewards, old, new))
    A = R - R.mean() if constant else (R - R.mean()) / (R.std() + 1e-4)
    ratio = (new - old).exp()
    token = torch.max(-A[:, None] * ratio, -A[:, None] * ratio.clamp(0.8, 1.2))
    loss = token.sum() / (constant * len(R)) if constant else token.mean()
    tensors = {
        "scores": R, "logprobs_old": old, "logprobs_new": new, "advantages": A, "group": torch.zeros(len(R), dtype=torch.int64),
        "response_mask": torch.ones(old.shape, dtype=torch.bool),
    }  # fmt: skip
    logged = {"policy_loss": loss, "total_loss": loss}
    if ref is not None:
        x = ref.to(dtype) - new
        kl = (x.exp() - x - 1).mean()
        tensors["logprobs_ref"] = ref.to(dtype)
        logged |= {"kl_loss": kl, "total_loss": loss + 0.04 * kl}
    return Clean(tensors, logged, {"algorithm": "grpo", "preset": preset, "optimizer_step": 1})


def infinite_ratio_unpaid_kl() -> Clean:
    """A log-ratio of 710 on a token with a good response: the clip bounds its loss, and the KL that nobody pays is infinite."""
    old = -_drawn(4, 3).abs()
    old[0, 0] = -760.0
    new = torch.full((4, 3), -0.01, dtype=torch.float64)
    return grpo_step("trl_grpo", torch.tensor([1.0, 0.0, 0.0, 0.0]), old, new, dtype=torch.float64)


def infinite_kl() -> Clean:
    """The reference finds a token likelier by e^100: more than float32 holds, and so is the KL."""
    new, ref = -_drawn(4, 3).abs(), -_drawn(4, 3, seed=1).abs()
    new[1, 1], ref[1, 1] = -100.0, -0.1
    return grpo_step("grpo_paper", torch.tensor([1.0, 0.0, 1.0, 0.0]), new, new, ref)


def tiny_kl() -> Clean:
    """Log-probs of 1e-9: in float32 e^x − 1 − x is 0, or a unit in the last place of 1."""
    new, ref = -_drawn(4, 3).abs() * 1e-9, -_drawn(4, 3, seed=1).abs() * 1e-9
    return grpo_step("grpo_paper", torch.tensor([1.0, 0.0, 1.0, 0.0]), new, new, ref)


def _saved_as(dump: Clean, path: Path) -> Verdict:
    """Verifies a dump that numpy has no dtype for, as safetensors."""
    from safetensors.torch import save_file

    said = {**dump.metadata, "logged": {name: float(each) for name, each in dump.logged.items()}}
    save_file({name: each.contiguous() for name, each in dump.tensors.items()}, path, {"metadata": json.dumps(said)})
    return verify_one(read_dump(path), VerifyOptions(causes=False)).verdict


@pytest.mark.parametrize("apart", [0.1, 1e-2, 1e-3])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_kl_that_is_computed_in_half_precision_is_off_by_a_unit_of_one(
    tmp_path: Path, dtype: torch.dtype, apart: float
) -> None:
    """e^x is rounded near 1, and 1 is taken away: of a small x little more than that rounding is left, in a mean as in a token."""
    new = -_drawn(4, 5).abs()
    ref = (new + apart * _drawn(4, 5, seed=1)).clamp(max=0)
    found = _saved_as(
        grpo_step("grpo_paper", torch.tensor([1.0, 0.0, 1.0, 0.0]), new, new, ref, dtype=dtype),
        tmp_path / "a.safetensors",
    )
    assert found.first is None, says(found)
    assert says(found)["kl_loss"] != "agrees"


def test_what_trl_calls_beta_is_paid_in_the_loss_though_no_loss_type_is_said(tmp_path: Path) -> None:
    new, ref = -_drawn(4, 5).abs(), -_drawn(4, 5, seed=1).abs()
    clean = grpo_step("trl_grpo", torch.tensor([1.0, 0.0, 1.0, 0.0]), new, new, ref)
    found = verified(tmp_path, clean._replace(metadata={**clean.metadata, "hyperparameters": {"beta": 0.04}}))
    assert found.first is None, says(found)
    assert says(found)["total_loss"] == "agrees"


def rewards_all_alike() -> Clean:
    """Seven rewards of 0.7, whose mean in float32 is not 0.7."""
    old = -_drawn(7, 5).abs()
    return grpo_step("trl_dr_grpo", torch.full((7,), 0.7), old, old - 0.05 * _drawn(7, 5, seed=1).abs(), constant=8)


def log_exp_of_hundreds() -> Clean:
    """OpenRLHF's log(1 + e^(rejected − chosen)), which is infinite in float32 from a difference of 89 on."""
    chosen, rejected = torch.tensor([-300.0, 2.0, 1.0]), torch.tensor([262.0, 1.0, 2.0])
    pairs = torch.log(1 + torch.exp(rejected - chosen))
    return Clean(
        {"chosen.score": chosen, "rejected.score": rejected, "loss.pair": pairs},
        {"preference_loss": pairs.mean(), "total_loss": pairs.mean(), "mean.chosen": chosen.mean()},
        {"algorithm": "reward_model", "preset": "openrlhf_rm_logexp"},
    )


def ppo_step(rewards: Any, values: Any, old: Any, new: Any) -> Clean:
    """Returns a step of verl, whose rewards stand on tokens, γ = λ = 1."""
    R, V, old, new = (each.to(SINGLE) for each in (rewards, values, old, new))
    A, later = torch.zeros_like(R), torch.zeros(len(R))
    for t in reversed(range(R.shape[1])):
        after = V[:, t + 1] if t + 1 < R.shape[1] else torch.zeros(len(R))
        A[:, t] = later = R[:, t] + after - V[:, t] + later
    n = A.numel()
    mean = A.sum() / (n + 1e-8)
    variance = ((A - mean) ** 2).sum() / (n + 1e-8) * n / (n - 1)
    used, log_ratio = (A - mean) * torch.rsqrt(variance + 1e-8), (new - old).clamp(-20, 20)
    free, clipped = -used * log_ratio.exp(), -used * log_ratio.exp().clamp(0.8, 1.2)
    loss = torch.where(used < 0, torch.min(torch.max(free, clipped), -3 * used), torch.max(free, clipped))
    fraction = (clipped > free).to(SINGLE).sum() / (n + 1e-8)
    tensors = {
        "logprobs_old": old, "logprobs_new": new, "logprobs_ref": old, "values_old": V, "rewards": R, "advantages": used,
        "returns": A + V, "response_mask": torch.ones(R.shape, dtype=torch.bool),
    }  # fmt: skip
    return Clean(
        tensors, {"policy_loss": loss.mean(), "clip_fraction.used": fraction}, {"preset": "verl", "optimizer_step": 1}
    )


def _at_the_end(scores: Any, length: int) -> Any:
    return torch.nn.functional.pad(scores[:, None], (length - 1, 0))


def values_of_a_hundred_million() -> Clean:
    """V of 1e8 beside a reward of 1: a return is what float32 leaves of 1e8 − 1e8."""
    old = -_drawn(2, 20).abs()
    return ppo_step(_at_the_end(torch.ones(2), 20), _drawn(2, 20, seed=1, scale=1e8), old, old - 0.1)


def rewards_of_a_hundred_million() -> Clean:
    """Rewards of 1e8, 1e8 + 1 …, which are one number in float32: their advantages are values, rounded to nothing."""
    old = -_drawn(5, 7).abs()
    scores = 1e8 + torch.arange(5, dtype=torch.float64) % 3
    return ppo_step(_at_the_end(scores, 7), _drawn(5, 7, seed=1), old, old - 30 * _drawn(5, 7, seed=2).abs())


def rewards_all_alike_and_no_values() -> Clean:
    """Rewards of 1 and values of 1e-8: rounding decides the sign of each advantage, and so whether its clip holds."""
    old = -_drawn(5, 7).abs()
    new = old - 30 * _drawn(5, 7, seed=2).abs()
    return ppo_step(_at_the_end(torch.ones(5), 7), _drawn(5, 7, seed=1, scale=1e-8), old, new)


def classic_rewards_of_a_hundred_million() -> Clean:
    """Stable-Baselines3 in float64, rewards of 1e8."""
    rewards, starts = _drawn(32, 3, scale=1e8), (_drawn(32, 3, seed=1) > 1).to(torch.float64)
    values, advantages, last, later = 0 * rewards, 0 * rewards, starts[0], 0.0
    for t in reversed(range(32)):
        goes_on = 1 - (last if t == 31 else starts[t + 1])
        advantages[t] = later = rewards[t] + 0.99 * 0.95 * goes_on * later
    rows, log_probs = torch.arange(0, 96, 2), -_drawn(32, 3, seed=2).abs()
    tensors = {
        "rewards": rewards, "values": values, "episode_starts": starts, "last_dones": last, "last_values": values[0],
        "log_probs": log_probs, "advantages": advantages, "returns": advantages, "batch_inds": rows,
        "new_log_prob": log_probs.T.reshape(-1)[rows], "new_values": torch.zeros(48, dtype=torch.float64),
    }  # fmt: skip
    logged = {"value_loss": (advantages.T.reshape(-1)[rows] ** 2).mean(), "clip_fraction": 0.0}
    return Clean(tensors, logged, {"library": "sb3", "algorithm": "ppo", "optimizer_step": 1})


def reward_step(chosen: Any, rejected: Any, dtype: Any, center: float = 0.0) -> Clean:
    """Returns a step of TRL's reward model, whose means are sums, then divided, all in one dtype."""
    chosen, rejected = chosen.to(dtype), rejected.to(dtype)
    pairs = -torch.nn.functional.logsigmoid(chosen - rejected)
    of = {"mean.chosen": chosen, "mean.rejected": rejected, "mean.margin": chosen - rejected, "preference_loss": pairs}
    means = {name: each.sum() / len(each) for name, each in of.items()}
    means["total_loss"] = means["preference_loss"] + center * ((chosen + rejected) ** 2).mean()
    return Clean(
        {"rewards_chosen": chosen, "rewards_rejected": rejected, "loss.pair": pairs}, means,
        {"algorithm": "reward_model", "library": "trl", "hyperparameters": {"center_rewards_coefficient": center}},
    )  # fmt: skip


def means_beyond_float16() -> Clean:
    """Two scores of 60,000: their sum is more than the 65,504 that float16 holds, and that of their losses; the means are not."""
    return reward_step(torch.tensor([0.0, 1.0, 2.0, 3.0]), torch.tensor([6e4, 6e4, 1.0, 2.0]), torch.float16)


def squares_beyond_float32() -> Clean:
    """Scores of 1e19, centred: the square is more than float32 holds, a hundredth of it is not."""
    return reward_step(torch.tensor([1e19, 1e19, 1.0, 2.0]), torch.tensor([1e19, 1.0, 2.0, 3.0]), SINGLE, center=0.01)


def discopop_of_hundreds() -> Clean:
    """DiscoPOP's e^−u·σ(u/τ) of u = −800: infinity times 0, in a library no number; the loss is 800."""
    chosen, rejected = torch.tensor([-8010.0, -1.0]), torch.tensor([-1.0, -8.0])
    reference = torch.full((2,), -5.0)
    u = 0.1 * (chosen - rejected)
    weight = torch.sigmoid(u / 0.05)
    pairs = -torch.nn.functional.logsigmoid(u) * (1 - weight) + torch.exp(-u) * weight
    tensors = {"chosen_logps": chosen, "rejected_logps": rejected, "loss.pair": pairs}
    tensors |= {"ref_chosen_logps": reference, "ref_rejected_logps": reference}
    said = {"algorithm": "dpo", "preset": "trl_1.16", "hyperparameters": {"beta": 0.1, "loss_type": "discopop"}}
    return Clean(tensors, {"loss": pairs.mean()}, said)


def ten_thousand_tokens_in_float16() -> Clean:
    """A text of 12,000 tokens of 6 nats each: the sum of them is more than float16 holds, and so is the mean that is made of it."""
    logprobs = -12 * torch.from_numpy(np.random.default_rng(0).uniform(size=(2, 6000))).to(torch.float16)
    loss = -logprobs.sum() / logprobs.numel()
    tensors = {
        "logprobs": logprobs,
        "mask": torch.ones(logprobs.shape, dtype=torch.bool),
        "text_loss": -logprobs.sum(1),
    }
    return Clean(tensors, {"total_loss": loss, "nll": loss}, {"algorithm": "sft", "preset": "trl_1.16"})


def kto_rewards_beyond_float16() -> Clean:
    """Rewards of 40,000, of which two are added up."""
    policy, reference = torch.tensor([-10.0, -1.0, -40.0]).half(), torch.tensor([-4e3, -4e3, -4.0]).half()
    good, reward = torch.tensor([True, True, False]), 10 * (policy - reference)
    z = torch.zeros(())
    loss = torch.where(good, 1 - torch.sigmoid(reward - 10 * z), 1 - torch.sigmoid(10 * z - reward))
    tensors = {
        "completion_logps": policy,
        "ref_logps": reference,
        "KL_logps": policy,
        "ref_KL_logps": policy,
        "label": good,
    }
    chosen = reward[good].sum() / 2
    said = {"algorithm": "kto", "library": "trl", "hyperparameters": {"beta": 10.0}}
    return Clean(tensors, {"kl": z, "rewards/chosen": chosen, "loss": loss.float().mean()}, said)


def a_loss_beyond_float16_in_one_token() -> Clean:
    """A ratio of 30,000 with an advantage of −3: 90,000, and a mean over twelve tokens that is far below 65,504."""
    old, new = -_drawn(4, 3).abs(), -_drawn(4, 3, seed=1).abs()
    old[0, 0], new[0, 0] = -10.32, -0.01
    return grpo_step("trl_dr_grpo", torch.tensor([-4.0, 0.0, 0.0, 0.0]), old, new, constant=3, dtype=torch.float16)


CLEAN: tuple[Callable[[], Clean], ...] = (
    infinite_ratio_unpaid_kl, infinite_kl, tiny_kl, rewards_all_alike, log_exp_of_hundreds, values_of_a_hundred_million,
    rewards_of_a_hundred_million, rewards_all_alike_and_no_values, classic_rewards_of_a_hundred_million,
    means_beyond_float16, squares_beyond_float32, discopop_of_hundreds, ten_thousand_tokens_in_float16,
    kto_rewards_beyond_float16, a_loss_beyond_float16_in_one_token,
)  # fmt: skip


@pytest.mark.parametrize("made", CLEAN)
def test_no_clean_dump_is_accused(tmp_path: Path, made: Callable[[], Clean]) -> None:
    found = verified(tmp_path, made())
    assert found.lines
    assert found.first is None, says(found)


@pytest.mark.parametrize("made", CLEAN)
def test_a_fault_of_one_in_a_hundred_is_seen_where_a_number_agrees(tmp_path: Path, made: Callable[[], Clean]) -> None:
    clean = made()
    before = says(verified(tmp_path, clean))
    wrong = [name for name, each in clean.logged.items() if float(each) and np.isfinite(float(each))]
    agreeing = [name for name in wrong if before.get(name) == "agrees" and abs(float(clean.logged[name])) > 1e-6]
    for name in agreeing:
        other = clean._replace(logged={**clean.logged, name: float(clean.logged[name]) * 1.01})
        assert says(verified(tmp_path, other))[name] != "agrees", name


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (means_beyond_float16, "mean.rejected"),
        (squares_beyond_float32, "total_loss"),
        (infinite_kl, "kl_loss"),
        (log_exp_of_hundreds, "preference_loss"),
        (infinite_kl, "total_loss"),
    ],
)
def test_another_number_in_the_place_of_an_infinite_one_differs(
    tmp_path: Path, made: Callable[[], Clean], name: str
) -> None:
    clean = made()
    assert np.isinf(float(clean.logged[name]))
    found = verified(tmp_path, clean._replace(logged={**clean.logged, name: 0.25}))
    assert says(found)[name] != "agrees"
    assert found.first is not None


def test_the_recursion_of_classic_ppo_loses_no_digits_beside_large_rewards(tmp_path: Path) -> None:
    clean = classic_rewards_of_a_hundred_million()
    batch = verified(tmp_path, clean).replayed.batch
    ours = recompute(batch, classic_presets().preset("sb3").values).rows["advantages"]
    assert np.abs(ours.T - clean.tensors["advantages"].numpy()).max() < 1e-14 * 1e9


def pairs(**metadata: Any) -> Clean:
    tokens = {name: -_drawn(4, 3, seed=seed).abs() for seed, name in enumerate(("logprobs", "logprobs_ref"))}
    tensors = {**tokens, "mask": np.ones((4, 3), bool)}
    return Clean(tensors, {}, {"algorithm": "dpo", "preset": "dpo_original", **metadata})


@pytest.mark.parametrize("said", [{"dpo.beta": 10}, {"dpo": {"beta": 10}}, {"beta": 10}])
def test_settings_may_be_said_with_the_table_of_their_kind_as_reports_write_them(
    tmp_path: Path, said: dict[str, Any]
) -> None:
    found = verified(tmp_path, pairs(hyperparameters=said))
    assert found.replayed.settings["beta"] == 10
    assert not [note for note in found.notes if "not understood" in note]


def test_a_setting_out_of_range_is_refused_under_the_key_of_its_kind(tmp_path: Path) -> None:
    with pytest.raises(MinibatchError, match=r"expected a number from 1e-06 to 1000 \(dpo\.beta\)\."):
        verified(tmp_path, pairs(hyperparameters={"beta": 1e6}))


def test_a_workbook_of_large_values_is_made_as_its_returns_are_no_larger_than_rounding(tmp_path: Path) -> None:
    verified(tmp_path, values_of_a_hundred_million())
    options = VerifyOptions(causes=False)
    book, agrees = book_of([tmp_path / "dump.npz"], options, ViewOptions(), "large")
    assert agrees
    assert "returns" in {block.name for block in book.values.arrays}
