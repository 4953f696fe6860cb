"""PPO's two pages: every recorded run of ten libraries, the plain page as their default, and numbers at the edge."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the pages are torch: install the extra [torch]")

import torch
from torch import Tensor

from blueprint.papers import metrics
from blueprint.papers.libraries.ppo import (
    Experience,
    Kl,
    Loss,
    Options,
    Rollout,
    Update,
    Whitening,
    adapted,
    experience,
    loss,
)
from blueprint.papers.libraries.ppo import ppo as with_options
from blueprint.papers.models import distribution, kl
from blueprint.papers.ppo import Ppo, ppo

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "golden_runs.json").read_text(encoding="utf-8"))
ROLLOUT, RUNS = RECORDED["rollout"], RECORDED["runs"]
TOLERANCE = 1e-12
"""Times 1 + the largest number of the row: the libraries ran in float64 too, so that only rounding parts us from them."""

# What each library does by default, read in its source at the version named in the run.
PLAIN = Options(value_coef=0.1, entropy_coef=0)
OPENAI = replace(
    PLAIN, all_slots=True, reward_kl=Kl(0.15), score_slot="end", whiten_rewards=True, whitening=Whitening(True, ddof=0)
)
TRL_OLD = replace(PLAIN, reward_kl=Kl(0.2), rezero=False, most_mean_ratio=10)
TRL = replace(PLAIN, reward_kl=Kl(0.05), score_slot="one_past", values_behind=1, value_behind=True)
OPENRLHF = replace(
    PLAIN, reward_kl=Kl(0.01, clamp_out=10), score_clip=10, lam=1, whitening=Whitening(ddof=0, form="clamp"),
    log_ratio_clamp=20, value_clip=0.5, value_coef=0, seq_eps=1e-8,
)  # fmt: skip
VERL = replace(
    PLAIN, reward_kl=Kl(0), lam=1, carry=True, whitening=Whitening(mean_eps=1e-8), log_ratio_clamp=20, dual_clip=3,
    value_clip=0.5, value_coef=0, seq_eps=1e-8,
)  # fmt: skip
VERL_K3 = Kl(0.001, "k3", 20, 10)
TRLX = replace(
    PLAIN, reward_kl=Kl(0.001), kl_behind=True, score_clip=10, score_slot="two_past", values_behind=2,
    whitening=Whitening(True), value_coef=1,
)  # fmt: skip
DEEPSPEED = replace(
    PLAIN, reward_kl=Kl(0.1), kl_behind=True, score_clip=5, score_slot="one_past", values_behind=1, whiten_advantages="off",
    value_coef=0,
)  # fmt: skip
NEMO_ALIGNER = replace(PLAIN, reward_kl=Kl(0.01, "abs"), whitening=Whitening(ddof=0), only_ended=True, value_coef=0)
NEMO_RL = replace(
    PLAIN, reward_kl=Kl(0.01, "k3", 20, 10), carry=True, whitening=Whitening(mean_eps=1e-8), agg_eps=1e-8, seq_eps=1e-8,
    value_coef=0,
)  # fmt: skip
TORCHTUNE = replace(
    PLAIN, reward_kl=Kl(0.01), missing_eos="set", missing_eos_value=-3, full_is_missing=True, score_slot="one_past",
    values_behind=1, value_behind=True, whitening=Whitening(mean_eps=1e-8, ddof_eps=1e-8), whiten_advantages="keep_mean",
    agg_eps=1e-8,
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One run: where it stands in the file, the options, which responses, and the temperature."""

    library: str
    variant: str
    use: Options
    temperature: float = 1.0
    of: tuple[int, ...] = (0, 1, 2, 3)

    def __str__(self) -> str:
        return f"{self.library}-{self.variant}-{''.join(map(str, self.of))}"


def _runs(library: str, use: Options, temperature: float = 1.0, **variants: dict[str, Any]) -> list[Run]:
    more = [Run(library, f"variant_{name}", replace(use, **each), temperature) for name, each in variants.items()]
    return [Run(library, "result", use, temperature), *more]


def _all(how: str) -> dict[str, Any]:
    """verl aggregates policy loss, value loss and entropy alike."""
    return {"how": how, "value_how": how, "entropy_how": how}


OPENAI_RUN = "openai_lm_human_preferences"
CHECKED = (
    *_runs(OPENAI_RUN, OPENAI, whiten_rewards_false={"whiten_rewards": False}),
    *(Run(OPENAI_RUN, "variant_two_minibatches", OPENAI, of=half) for half in ((0, 1), (2, 3))),
    *_runs("lm_human_preference_details", OPENAI),
    *_runs(
        "trl_0.11.4_PPOTrainer", TRL_OLD, whiten_rewards={"whiten_rewards": True}, kl_abs={"reward_kl": Kl(0.2, "abs")},
        kl_mse={"reward_kl": Kl(0.2, "k2")}, kl_full={"reward_kl": Kl(0.2, "full")},
    ),
    *_runs(
        "trl_1.12.0_PPOTrainer", TRL, 1 + 1e-7, k3={"reward_kl": Kl(0.05, "k3")}, whiten_rewards={"whiten_rewards": True},
        missing_eos_penalty_1={"missing_eos": "subtract", "missing_eos_value": 1},
    ),
    Run("trl_1.12.0_PPOTrainer", "variant_temperature_0_7", TRL, 0.7 + 1e-7),
    *_runs(
        "openrlhf_0.11.2", OPENRLHF, k2={"reward_kl": Kl(0.01, "k2", clamp_out=10)},
        k3={"reward_kl": Kl(0.01, "k3", clamp_out=10)}, dual_clip_3={"dual_clip": 3}, clip_higher={"clip_high": 0.28},
        seq_mean_token_mean={"how": "seq-mean-token-mean"},
    ),
    *_runs(
        "verl_0.9.1", VERL, kl_in_reward={"reward_kl": Kl(0.001)}, kl_in_reward_low_var={"reward_kl": VERL_K3},
        kl_loss_low_var={"loss_kl": VERL_K3}, lam_0_95={"lam": 0.95}, clip_higher={"clip_high": 0.28},
        c_1_5={"dual_clip": 1.5}, seq_mean_token_sum=_all("seq-mean-token-sum"),
        seq_mean_token_mean=_all("seq-mean-token-mean"), seq_mean_token_sum_norm=_all("seq-mean-token-sum-norm"),
    ),
    *_runs("trlx_head", TRLX),
    *_runs("deepspeed_chat", DEEPSPEED),
    *_runs("nemo_aligner_0.7", NEMO_ALIGNER, signed_kl={"reward_kl": Kl(0.01)}),
    *_runs(
        "nemo_rl_head", NEMO_RL,
        ppo_math_yaml={"reward_kl": Kl(0, "k3"), "clip_high": 0.28, "dual_clip": 10, "value_factor": 0.5 * 0.4},
        kl_in_loss_k3={"reward_kl": Kl(0, "k3", 20, 10), "loss_kl": Kl(0.01, "k3", 20, 10)},
        sequence_level={"how": "seq-mean-token-mean", "entropy_how": "seq-mean-token-mean"}, dual_clip_3={"dual_clip": 3},
    ),
    *_runs("torchtune_head", TORCHTUNE, no_eos_penalty_off={"missing_eos": "off"}),
)  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What the page finds for a run."""

    run: Run
    rollout: Rollout
    update: Update
    before: Experience
    loss: Loss


def recorded(run: Run) -> dict[str, Any]:
    """Returns the quantities that a library recorded, by its names."""
    found = RUNS[run.library][run.variant]
    if "results" in found:
        found = found["results"][found["minibatches"].index(list(run.of))]
    return {name: each for name, each in found.get("result", found).items() if not isinstance(each, str)}


def tensor(value: Any) -> Tensor:
    """Returns numbers of the file."""
    return torch.tensor(value, dtype=torch.float64)


@cache
def computed(run: Run) -> Found:
    """Returns what the page makes of the raw logits, token ids, values and scores."""
    rows, window = list(run.of), slice(ROLLOUT["Q"] - 1, -1)  # the column that reads a token scores the next one
    tokens = torch.tensor(ROLLOUT["responses"])[rows]
    mask = torch.arange(ROLLOUT["T"]) < torch.tensor(ROLLOUT["response_lens"])[rows, None]
    old, ref, new = (
        distribution(tensor(ROLLOUT[f"logits_{model}"])[rows, window], tokens, run.temperature)
        for model in ("old", "ref", "new")
    )
    values, values_new = (tensor(ROLLOUT[f"values_full_{model}"])[rows, window] for model in ("old", "new"))
    ended = ((tokens == ROLLOUT["eos_id"]) & mask).any(1)
    scores = tensor(ROLLOUT["scores"])[rows]
    rollout = Rollout(mask, torch.ones_like(mask), ended, scores, old.logp, ref.logp, values, kl(old, ref))
    update = Update(new.logp, values_new, new.entropy, kl(new, ref), kl(old, new))
    return Found(run, rollout, update, *with_options(rollout, update, run.use))


def _pads_as_1(found: Found) -> Tensor:
    """−Σ log π of a response, with the log-prob 1.0 that TRL writes at pads."""
    return -found.rollout.logp.where(found.rollout.mask, 1.0).sum(1).mean()


def _over(found: Found) -> Tensor:
    """What this library's means count: TRL 1.12, trlX and torchtune count pads, and OpenAI has none."""
    pads = found.run.library.startswith(("trl_1", "trlx", "torchtune", "openai", "lm_"))
    return found.rollout.slots if pads else found.before.response


def _mean_eps(found: Found) -> float:
    return found.run.use.whitening.mean_eps


def _ddof(found: Found) -> int:
    return int(found.run.use.whitening.ddof)


def _kl(found: Found, name: str) -> Tensor:
    kls = metrics.approx_kls(
        found.loss.log_ratio_free, _over(found), _mean_eps(found) * found.run.library.startswith("verl")
    )
    result: Tensor = getattr(kls, name)
    return result


def _per_token(found: Found) -> Tensor:
    return metrics.means_of_responses(found.before.kl, found.before.response, _mean_eps(found))


def _explained(found: Found) -> Tensor:
    if found.run.library.startswith("verl"):
        return metrics.explained_variance(found.before.values, found.before.returns, found.rollout.mask, 1, 1e-5)
    return metrics.explained_by_squares(found.update.values, found.before.returns, found.before.response, _ddof(found))


def _floored(found: Found) -> Tensor:
    """The share of tokens whose loss the dual clip lowered."""
    pessimistic = torch.max(found.loss.free, found.loss.clipped)
    return metrics.mean((found.loss.policy_losses < pessimistic).double(), found.before.response, _mean_eps(found))


def _place_behind(found: Found) -> Tensor:
    place = torch.arange(found.rollout.mask.shape[1])
    return (found.rollout.mask.sum(1)).clamp(max=int(place[-1]))


Derive = Callable[[Found], Tensor]
QUANTITIES: dict[str, Derive] = {
    "mask": lambda f: f.before.response, "mask_p1": lambda f: f.loss.value_counted,
    "value_mask": lambda f: f.loss.value_counted, "is_end_mask": lambda f: f.loss.counted,
    "sequence_lengths": lambda f: f.rollout.mask.sum(1) - 1, "seq_lens": lambda f: f.rollout.mask.sum(1) - 1,
    "actual_end": _place_behind, "value_seq_idxs": _place_behind,
    "entry_lengths": lambda f: f.before.kept.sum(1), "logprobs": lambda f: f.rollout.logp,
    "old_logprobs": lambda f: f.rollout.logp, "ref_logprobs": lambda f: f.rollout.logp_ref,
    "kl": lambda f: f.before.kl, "kld": lambda f: f.before.kl if f.run.use.reward_kl.coef else 0 * f.before.kl,
    "objective_kl": lambda f: metrics.of_responses(f.before.kl, f.before.response),
    "info_kl_per_seq": lambda f: torch.stack([k[m].mean() for k, m in zip(f.before.kl, f.rollout.mask, strict=True)]),
    "controller_current_kl_if_in_reward": _per_token, "non_score_reward": lambda f: f.before.penalty,
    "scores_used": lambda f: f.before.scores,
    "objective_non_score_reward": lambda f: metrics.of_responses(f.before.penalty, f.before.response),
    "objective_rlhf_reward": lambda f: f.before.rewards_raw.sum(1).mean(),
    "info_return": lambda f: f.before.rewards.where(f.rollout.mask, 0).sum(1),
    "token_level_scores": lambda f: f.before.placed, "rewards_raw": lambda f: f.before.rewards_raw,
    "rewards_before_zeroing": lambda f: f.before.rewards_raw, "rewards_unmasked": lambda f: f.before.rewards_raw,
    "rewards_used": lambda f: f.before.rewards, "token_level_rewards": lambda f: f.before.rewards,
    "values_used": lambda f: f.before.values, "old_values": lambda f: f.before.values,
    "value_mean": lambda f: f.before.values.mean(), "value_var": lambda f: f.before.values.var(correction=0),
    "returns": lambda f: f.before.returns, "adv_raw": lambda f: f.before.advantages, "advantages": lambda f: f.before.used,
    "return_mean": lambda f: f.before.returns[f.before.response].mean(),
    "return_var": lambda f: f.before.returns[f.before.response].var(correction=_ddof(f)),
    "ratio": lambda f: f.loss.ratio, "pg_losses": lambda f: f.loss.policy_losses,
    "vf_losses": lambda f: 2 * f.loss.value_losses, "pg_loss": lambda f: f.loss.policy_loss,
    "actor_loss": lambda f: f.loss.policy_loss, "vf_loss": lambda f: f.loss.value_loss,
    "vf_loss_times_coef": lambda f: f.run.use.value_coef * f.loss.value_loss, "kl_loss": lambda f: f.loss.kl_loss,
    "kl_term": lambda f: f.run.use.loss_kl.coef * f.loss.kl_loss if f.run.use.loss_kl.coef else f.loss.total * 0,
    "loss": lambda f: f.loss.total, "policy_loss_with_kl_0.001": lambda f: f.loss.total,
    "entropy": lambda f: f.loss.entropy, "entropy_loss": lambda f: f.loss.entropy,
    "entropy_unmasked_mean": lambda f: f.update.entropy.mean(),
    "objective_entropy": lambda f: metrics.of_responses(-f.rollout.logp, f.rollout.mask),
    "objective_entropy_1_11_and_later": lambda f: metrics.of_responses(-f.rollout.logp, f.rollout.mask),
    "objective_entropy_before_1_11": _pads_as_1, "approxkl": lambda f: _kl(f, "k2"),
    "approx_kl": lambda f: _kl(f, "k3"), "approxkl_unmasked": lambda f: _kl(f, "k2"),
    "approx_kl_unmasked": lambda f: _kl(f, "k2"), "ppo_kl": lambda f: _kl(f, "k1"), "policykl": lambda f: _kl(f, "k1"),
    "ratio_mean": lambda f: metrics.mean(f.loss.ratio, f.before.response), "ppo_ratio": lambda f: f.loss.mean_ratio,
    "ratio_mean_unmasked": lambda f: f.loss.ratio.mean(),
    "ppo_ratio_clamped": lambda f: metrics.mean(f.loss.ratio_clipped, f.before.response),
    "pg_clipfrac": lambda f: metrics.changed_fraction(f.loss.free, f.loss.clipped, f.before.response, _mean_eps(f)),
    "pg_clipfrac_lower": _floored,
    "vf_clipfrac": lambda f: metrics.changed_fraction(
        f.loss.value_free, f.loss.value_clipped, f.loss.value_counted, _mean_eps(f)
    ),
    "vf_error": lambda f: metrics.mean((f.update.values - f.before.returns) ** 2, f.before.response),
    "var_explained": _explained, "vf_explained_var": _explained,
}  # fmt: skip
"""How every recorded quantity is read off the page, whichever library recorded it."""

EXCEPTIONS: dict[tuple[str, str], Derive] = {
    # torch.var divides by N − 1 where the TensorFlow original divides by N.
    ("lm_human_preference_details", "return_var"): lambda f: f.before.returns.var(correction=1),
}
NOT_COMPARED = {
    "mean_kl_for_controller": "trlX: k3 with the ratio the wrong way round, prompt included; the page sees no prompt",
    "mean_kl_per_token": "trlX: the former, per token",
    "ends_minus_start": "DeepSpeed-Chat: an index into the text, counted from the prompt",
}
EVERYWHERE = {"mask", "mask_p1", "value_mask", "is_end_mask"}
"""Rows that libraries leave clean at pads, so that every cell is compared."""


def distance(run: Run, name: str, found: Found) -> float:
    """Returns how far a quantity is off, relative to 1 + its largest number; by token where the response is."""
    derive = EXCEPTIONS.get((run.library, name), QUANTITIES[name])
    ours, theirs = derive(found).double(), tensor(recorded(run)[name])
    if theirs.dim() == 2:
        ours = ours[:, : theirs.shape[1]]
        counts = torch.ones_like(theirs, dtype=torch.bool)
        if name not in EVERYWHERE and "mask" in recorded(run):
            counts = found.before.response[:, : theirs.shape[1]]
        ours, theirs = ours[counts], theirs[counts]
    assert ours.shape == theirs.shape, name
    return float((ours - theirs).abs().max() / (1 + theirs.abs().max()))


@pytest.mark.parametrize("run", CHECKED, ids=str)
def test_the_page_reproduces_a_recorded_run(run: Run) -> None:
    found = computed(run)
    off = {name: distance(run, name, found) for name in recorded(run) if name not in NOT_COMPARED}
    assert {name: each for name, each in off.items() if not each <= TOLERANCE} == {}


def test_every_recorded_run_is_checked() -> None:
    places = {(run.library, run.variant) for run in CHECKED}
    assert places == {(name, v) for name, of in RUNS.items() for v in of if v == "result" or v.startswith("variant_")}
    assert len(CHECKED) == 42


@pytest.mark.parametrize("library", RECORDED["rl_runs"]["adaptive_kl_controller"]["value_after_each_update"])
def test_the_price_of_the_kl_follows_it_as_in_a_library(library: str) -> None:
    given = RECORDED["rl_runs"]["adaptive_kl_controller"]
    coef, settings = given["init"], {name: given[name] for name in ("target", "horizon", "n_steps")}
    for kl_fed, after in zip(given["kl_sequence"], given["value_after_each_update"][library], strict=True):
        coef = adapted(coef, kl_fed, **settings)
        assert math.isclose(coef, after, rel_tol=1e-14)


def batch(seed: int, rows: int = 3, columns: int = 5) -> dict[str, Tensor]:
    """Returns random numbers for the plain page: responses of at least one token, garbage behind them."""
    draw = torch.Generator().manual_seed(seed)
    names = ("logp_old", "logp_ref", "logp_new", "values_old", "values_new", "entropy")
    found = {name: torch.randn(rows, columns, generator=draw, dtype=torch.float64) for name in names}
    lengths = torch.randint(1, columns + 1, (rows, 1), generator=draw)
    scores = torch.randn(rows, generator=draw, dtype=torch.float64)
    return found | {"scores": scores, "mask": torch.arange(columns) < lengths}


def plain(given: dict[str, Any], **settings: Any) -> Ppo:
    """Returns what the plain page makes of a batch."""
    return ppo(**given, **settings)


def as_options(given: dict[str, Tensor]) -> tuple[Rollout, Update]:
    """Returns the numbers of the plain page as those of the page with options."""
    mask, zeros = given["mask"], torch.zeros_like(given["entropy"])
    rollout = Rollout(
        mask, torch.ones_like(mask), mask.any(1), given["scores"], given["logp_old"], given["logp_ref"], given["values_old"], zeros,
    )  # fmt: skip
    return rollout, Update(given["logp_new"], given["values_new"], given["entropy"], zeros, zeros)


SAME: dict[str, Callable[[Experience, Loss], Tensor]] = {
    "kl": lambda b, _: b.kl, "rewards": lambda b, _: b.rewards, "deltas": lambda b, _: b.deltas,
    "advantages": lambda b, _: b.advantages, "returns": lambda b, _: b.returns, "whitened": lambda b, _: b.used,
    "ratio": lambda _, f: f.ratio, "policy_losses": lambda _, f: f.policy_losses, "value_losses": lambda _, f: f.value_losses,
    "policy_loss": lambda _, f: f.policy_loss, "value_loss": lambda _, f: f.value_loss, "entropy": lambda _, f: f.entropy,
    "total": lambda _, f: f.total,
    "approx_kl": lambda b, f: metrics.approx_kls(f.log_ratio, b.response).k3,
    "clip_fraction": lambda b, f: metrics.changed_fraction(f.free, f.clipped, b.response),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(200))
def test_without_options_the_libraries_page_is_the_plain_one(seed: int) -> None:
    given = batch(seed)
    moving = {name: given[name].clone().requires_grad_() for name in ("logp_new", "values_new", "entropy")}
    one = plain(given | moving)
    before, found = with_options(*as_options(given | moving), Options())
    assert {each.name for each in fields(one)} == set(SAME)
    for name, read in SAME.items():
        ours, theirs = getattr(one, name), read(before, found)
        if ours.dim() == 2:
            ours, theirs = ours[given["mask"]], theirs[given["mask"]]
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12, msg=name)
    leaves = list(moving.values())
    slopes = [torch.autograd.grad(each.total, leaves) for each in (one, found)]
    for ours, theirs in zip(*slopes, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_gae_as_one_product_is_the_recursion(seed: int) -> None:
    given, found = batch(seed), plain(batch(seed), gamma=0.9, lam=0.8)
    for row, mask in enumerate(given["mask"]):
        later_value = later = 0.0
        for t in reversed(range(int(mask.sum()))):
            delta = float(found.rewards[row, t]) + 0.9 * later_value - float(given["values_old"][row, t])
            later, later_value = delta + 0.9 * 0.8 * later, float(given["values_old"][row, t])
            assert math.isclose(float(found.advantages[row, t]), later, rel_tol=1e-12, abs_tol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_holes_are_passed_over_or_read_as_zeros(seed: int) -> None:
    """Passed over, a response with a hole has the advantages of the same response without it."""
    rollout, _ = as_options(batch(seed, columns=6))
    whole = torch.ones_like(rollout.mask)
    closed = {name: getattr(rollout, name)[:, [0, 1, 4, 5]] for name in ("logp", "logp_ref", "values", "exact_kl")}
    short = replace(rollout, mask=whole[:, :4], slots=whole[:, :4], **closed)
    holed = replace(rollout, mask=torch.tensor([True, True, False, False, True, True]).expand_as(whole), slots=whole)
    use = replace(Options(), gamma=0.9, lam=0.8)
    carried = experience(holed, replace(use, carry=True)).advantages[:, [0, 1, 4, 5]]
    torch.testing.assert_close(carried, experience(short, use).advantages, rtol=1e-12, atol=1e-12)
    read = experience(holed, use).advantages[:, [0, 1, 4, 5]]
    assert not torch.allclose(read[:, 1], carried[:, 1])


def extreme(**changed: Tensor) -> tuple[Experience, Loss]:
    """Returns what the libraries' page makes of a batch with other numbers."""
    return with_options(*as_options(batch(1) | changed), Options())


def test_a_log_ratio_of_700_is_a_ratio_of_1e304_and_of_710_infinite() -> None:
    given = batch(1)
    _, found = extreme(logp_new=given["logp_old"] + 700)
    assert float(found.ratio[0, 0]) > 1e303
    assert torch.isfinite(found.policy_loss)
    _, over = extreme(logp_new=given["logp_old"] + 710)
    assert torch.isinf(over.ratio[0, 0])
    assert float(over.policy_loss) == math.inf
    held = loss(*_parts(given | {"logp_new": given["logp_old"] + 710}), replace(Options(), log_ratio_clamp=20))
    assert torch.allclose(held.ratio[given["mask"]], torch.tensor(math.e, dtype=torch.float64) ** 20)
    assert torch.isfinite(held.policy_loss)


def _parts(given: dict[str, Tensor]) -> tuple[Rollout, Experience, Update]:
    rollout, update = as_options(given)
    return rollout, experience(rollout, Options()), update


def test_garbage_behind_a_response_reaches_neither_the_loss_nor_a_gradient() -> None:
    given = batch(1)
    assert not given["mask"].all()
    spoiled = {
        name: each.where(given["mask"], 800.0) if each.dim() == 2 and name != "mask" else each
        for name, each in given.items()
    }
    clean, dirty = plain(given), plain(spoiled)
    assert torch.equal(clean.total, dirty.total)
    logp = spoiled["logp_new"].clone().requires_grad_()
    (slope,) = torch.autograd.grad(plain(spoiled | {"logp_new": logp}).total, logp)
    assert torch.equal(slope[~given["mask"]], torch.zeros_like(slope[~given["mask"]]))
    (slope,) = torch.autograd.grad(with_options(*as_options(spoiled | {"logp_new": logp}), Options())[1].total, logp)
    assert torch.isfinite(slope).all()


@pytest.mark.filterwarnings("ignore:var_mean")
def test_one_token_has_no_variance_by_n_less_1() -> None:
    """0/0, as in TRL and NeMo-RL; by N it is 0, and torchtune's N + 1e-8 divides by 1e-8. A workbook has max(N − 1, 1)."""
    mask = torch.tensor([[True] + 4 * [False]] + 2 * [5 * [False]])
    assert torch.isnan(plain(batch(1) | {"mask": mask}).policy_loss)
    rollout, _ = as_options(batch(1) | {"mask": mask})
    for whitening, white in ((Whitening(), math.nan), (Whitening(ddof=0), 0.0), (Whitening(ddof_eps=1e-8), 0.0)):
        found = float(experience(rollout, replace(Options(), whitening=whitening)).used[0, 0])
        assert math.isnan(found) if math.isnan(white) else found == white


def test_equal_advantages_are_whitened_to_0() -> None:
    given = batch(1)
    zero = torch.zeros_like(given["values_old"])
    equal = given | {"values_old": zero, "logp_ref": given["logp_old"], "scores": torch.ones(3, dtype=torch.float64)}
    rollout, _ = as_options(equal)
    for form in ("rsqrt_var_plus", "clamp", "std_plus", "std_max"):
        found = experience(rollout, replace(Options(), lam=1.0, whitening=Whitening(form=form)))
        assert torch.equal(found.used, torch.zeros_like(found.used))


@pytest.mark.parametrize(
    ("slot", "place"), [("last", None), ("one_past", 0), ("two_past", 1), ("end", 4)]
)  # counted from what would be its last token: before the first slot
def test_an_empty_response_has_its_score_where_the_library_puts_it(slot: str, place: int | None) -> None:
    mask = torch.tensor([[True, True, False, False, False], 5 * [False], 5 * [True]])
    rollout, update = as_options(batch(1) | {"mask": mask})
    before, found = with_options(rollout, update, replace(Options(), score_slot=slot))
    expected = [i == place for i in range(5)]
    assert (before.placed[1] != 0).tolist() == expected
    assert torch.isfinite(found.total)
    for how in ("seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm", "token-sum"):
        assert torch.isfinite(loss(rollout, before, update, replace(Options(), how=how, value_how=how)).total)


def test_a_batch_without_a_token_is_0_over_0_or_0() -> None:
    rollout, update = as_options(batch(1) | {"mask": torch.zeros(3, 5, dtype=torch.bool)})
    before = experience(rollout, replace(Options(), whiten_advantages="off"))
    assert torch.isnan(loss(rollout, before, update, Options()).value_loss)
    assert float(loss(rollout, before, update, replace(Options(), agg_eps=1e-8)).entropy) == 0


def test_clamps_hold_the_estimates_of_the_kl() -> None:
    """k3 overflows beyond a log-ratio of −709; NeMo-RL and verl hold the log-ratio at 20 and the estimate at 10."""
    given = batch(1)
    rollout, _ = as_options(given | {"logp_ref": given["logp_old"] + 800})
    for held, most in ((Kl(0.1, "k3"), math.inf), (Kl(0.1, "k3", 20, 10), 10.0), (Kl(0.1, "k1", 20), -20.0)):
        found = experience(rollout, replace(Options(), reward_kl=held)).kl
        assert torch.equal(found, torch.full_like(found, most))


def test_a_token_of_probability_1_has_no_entropy_and_a_finite_kl() -> None:
    logits = torch.tensor([[[0.0, -1e5, -1e5], [0.0, 0.0, 0.0]]], dtype=torch.float64, requires_grad=True)
    sure = distribution(logits, torch.tensor([[0, 1]]))
    assert [float(each.detach()[0, 0]) for each in (sure.logp, sure.entropy, kl(sure, sure))] == [0, 0, 0]
    (slope,) = torch.autograd.grad(sure.entropy.sum(), logits)
    assert torch.isfinite(slope).all()


def test_both_losses_are_0_where_the_mean_ratio_ran_away() -> None:
    given = batch(1)
    parts = _parts(given | {"logp_new": given["logp_old"] + 3})
    use = replace(Options(), most_mean_ratio=10)
    found = loss(*parts, use)
    assert (float(found.policy_loss), float(found.value_loss)) == (0, 0)
    assert float(found.total) == -use.entropy_coef * float(found.entropy)
    assert float(loss(*parts, replace(use, most_mean_ratio=30)).policy_loss) != 0


def test_the_dual_clip_lowers_the_loss_of_bad_tokens_alone() -> None:
    given = batch(1)
    parts = _parts(given | {"logp_new": given["logp_old"] + 3})
    free, held = (loss(*parts, replace(Options(), dual_clip=c)).policy_losses for c in (math.inf, 2.0))
    bad = parts[1].used < 0
    assert torch.equal(held[~bad], free[~bad])
    torch.testing.assert_close(held[bad], -2 * parts[1].used[bad])


def test_a_wrong_aggregation_is_refused() -> None:
    with pytest.raises(ValueError, match="mean-of-means"):
        loss(*_parts(batch(1)), replace(Options(), how="mean-of-means"))
