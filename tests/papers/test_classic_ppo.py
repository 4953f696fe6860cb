"""Classic PPO's two pages: the recorded runs of four libraries, the plain page as CleanRL's, and built-in workbooks."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the pages are torch: install the extra [torch]")

import torch
from torch import Tensor

from blueprint.papers import metrics
from blueprint.papers.classic_ppo import ClassicPpo, classic_ppo, gae
from blueprint.papers.libraries.classic_ppo import Found, Options, Rollout
from blueprint.papers.libraries.classic_ppo import classic_ppo as with_options
from blueprint.papers.libraries.ppo import Whitening
from blueprint.papers.models import distribution

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "golden_runs.json").read_text(encoding="utf-8"))
GIVEN, RUNS = RECORDED["rl_rollout"], RECORDED["rl_runs"]
TOLERANCE = 1e-12


def by_environment(rows: Any) -> Tensor:
    """Turns rows by step, [T, N, …], into rows by environment."""
    return torch.tensor(rows, dtype=torch.float64).transpose(0, 1)


ROLLOUT = Rollout(
    by_environment(GIVEN["rewards"]),
    by_environment(GIVEN["ended_after_step"]) == 1,
    by_environment(GIVEN["ended_after_step"]) == 1,
    distribution(by_environment(GIVEN["logits_old"]), by_environment(GIVEN["actions"]).long()).logp,
    by_environment([*GIVEN["values_old"], GIVEN["next_value"]]),
)
NEW = distribution(by_environment(GIVEN["logits_new"]), by_environment(GIVEN["actions"]).long())
VALUES = by_environment(GIVEN["values_new"])
EVERY = torch.ones_like(ROLLOUT.done)

Read = Callable[[Found, Options], Tensor]


def kl(name: str) -> Read:
    """Returns how an approximate KL is read off."""
    return lambda found, _: getattr(metrics.approx_kls(found.log_ratio, EVERY), name)


def clipped(found: Found, use: Options) -> Tensor:
    """Returns the share of steps whose ratio left its range."""
    return metrics.outside_fraction(found.ratio, 1 - use.clip_low, 1 + use.clip_high, EVERY)


def explained(values: Tensor) -> Read:
    """Returns how the explained variance of a critic is read off."""
    return lambda found, _: metrics.explained_variance(values, found.returns, EVERY)


OLD_VALUES = ROLLOUT.values[:, :-1]
QUANTITIES: dict[str, Read] = {
    "advantages_raw": lambda f, _: f.advantages, "returns": lambda f, _: f.returns, "ratio": lambda f, _: f.ratio,
    "mb_advantages": lambda f, _: f.used, "pg_loss": lambda f, _: f.policy_loss, "v_loss": lambda f, _: f.value_loss,
    "entropy": lambda f, _: f.entropy, "loss": lambda f, _: f.total, "old_approx_kl": kl("k1"), "approx_kl": kl("k3"),
    "clipfrac": clipped, "explained_variance": explained(OLD_VALUES), "advantages": lambda f, _: f.used,
    "policy_loss": lambda f, _: f.policy_loss, "value_loss": lambda f, _: f.value_loss,
    "entropy_loss": lambda f, _: -f.entropy, "clip_fraction": clipped, "advantage": lambda f, _: f.advantages,
    "value_target": lambda f, _: f.returns, "loss_objective": lambda f, _: f.policy_loss, "kl_approx": kl("k1"),
    "loss_entropy": lambda f, use: -use.entropy_coef * f.entropy, "loss_critic": lambda f, use: use.value_coef * f.value_loss,
    "ESS": lambda f, _: metrics.effective_share(f.log_ratio), "max_ratio": lambda f, _: f.ratio.max(),
    "mean_ratio": lambda f, _: f.ratio.mean(), "clipped_surrogate_pg_loss_unnormalised_adv": lambda f, _: f.policy_loss,
    "value_clip_fraction": lambda f, _: (f.values_clipped != VALUES).double().mean(),
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """What a library recorded, the options, and what else is to be said of it."""

    recorded: dict[str, Any]
    use: Options
    rollout: Rollout = ROLLOUT
    otherwise: dict[str, Read] = field(default_factory=dict)


SB3 = Options(value_clip=math.inf, only_clipped=True, value_factor=1, entropy_coef=0)
TORCHRL = Options(only_terminated=True, whitening=None, value_clip=math.inf, smooth=True, value_factor=1, value_coef=1)
TORCHRL_EV: dict[str, Read] = {"explained_variance": explained(VALUES)}
TORCHRL_RUNS = RUNS["torchrl_0.14.1"]
LIMIT = replace(ROLLOUT, terminated=torch.zeros_like(ROLLOUT.done))
CHECKED = {
    "cleanrl": Run(RUNS["cleanrl_ppo"]["result"], Options()),
    "sb3": Run(RUNS["stable_baselines3_2.9.2_PPO"]["result"], SB3),
    "sb3 clip": Run(RUNS["stable_baselines3_2.9.2_PPO"]["variant_clip_range_vf_0_2"], replace(SB3, value_clip=0.2)),
    "torchrl gae": Run(TORCHRL_RUNS["gae"], TORCHRL),
    "torchrl gae at a time limit": Run(TORCHRL_RUNS["gae"]["truncation_variant"], TORCHRL, LIMIT),
    "torchrl": Run(TORCHRL_RUNS["ClipPPOLoss_default"], TORCHRL, otherwise=TORCHRL_EV),
    "torchrl whitened": Run(
        TORCHRL_RUNS["ClipPPOLoss_normalized_l2_clipvalue"],
        replace(TORCHRL, whitening=Whitening(eps=1e-6, form="std_max"), smooth=False, value_clip=0.2),
        otherwise=TORCHRL_EV,
    ),
    # The pair of ε is not recorded; any that ends between the ratios 1.2547 and 1.4012 gives these numbers.
    "torchrl a farther clip above": Run(
        TORCHRL_RUNS["ClipPPOLoss_asym"], replace(TORCHRL, clip_high=0.28), otherwise=TORCHRL_EV
    ),
    "rlax": Run(
        RUNS["rlax_0.1.9"]["result"], Options(whitening=None), otherwise={"advantages": lambda f, _: f.advantages}
    ),
}
NO_NUMBERS = {"note", "vectorised_equal", "truncation_variant"}


@pytest.mark.parametrize("name", CHECKED)
def test_the_page_reproduces_a_recorded_run(name: str) -> None:
    run = CHECKED[name]
    found = with_options(run.rollout, NEW.logp, VALUES, NEW.entropy, run.use)
    for key in set(run.recorded) - NO_NUMBERS:
        theirs = torch.tensor(run.recorded[key], dtype=torch.float64).squeeze()
        mine = run.otherwise.get(key, QUANTITIES[key])(found, run.use)
        if theirs.dim() and theirs.shape != mine.shape:
            mine = mine.T.reshape(theirs.shape)  # by step: nested, or flat with index t·N + environment
        allowed = TOLERANCE * (1 + float(theirs.abs().max()))
        assert float((mine - theirs).abs().max()) <= allowed, key


def batch(seed: int, steps: int = 6) -> dict[str, Any]:
    """Returns random numbers for the plain page, with episodes that end on the way."""
    draw = torch.Generator().manual_seed(seed)
    names = ("rewards", "logp_old", "logp_new", "values_new", "entropy")
    found = {name: torch.randn(3, steps, generator=draw, dtype=torch.float64) for name in names}
    values = torch.randn(3, steps + 1, generator=draw, dtype=torch.float64)
    return found | {"values_old": values, "done": torch.rand(3, steps, generator=draw) < 0.3}


def as_options(given: dict[str, Any], use: Options) -> Found:
    """Returns what the page with options makes of the numbers of the plain one."""
    rollout = Rollout(given["rewards"], given["done"], given["done"], given["logp_old"], given["values_old"])
    return with_options(rollout, given["logp_new"], given["values_new"], given["entropy"], use)


SAME = {
    "deltas": "deltas", "advantages": "advantages", "returns": "returns", "whitened": "used", "ratio": "ratio",
    "policy_losses": "policy_losses", "value_losses": "value_losses", "policy_loss": "policy_loss", "value_loss": "value_loss",
    "entropy": "entropy", "total": "total",
}  # fmt: skip


@pytest.mark.parametrize("seed", range(200))
def test_without_options_the_libraries_page_is_the_plain_one(seed: int) -> None:
    given = batch(seed)
    for name in ("logp_new", "values_new", "entropy"):
        given[name].requires_grad_()
    plain, found = classic_ppo(**given), as_options(given, Options())
    assert {each.name for each in fields(ClassicPpo)} == {*SAME, "approx_kl", "clip_fraction"}
    for name, other in SAME.items():
        torch.testing.assert_close(getattr(plain, name), getattr(found, other), rtol=1e-12, atol=1e-12, msg=name)
    every = torch.ones_like(given["done"])
    torch.testing.assert_close(plain.approx_kl, metrics.approx_kls(found.log_ratio, every).k3.detach())
    assert float(plain.clip_fraction) == float(metrics.outside_fraction(found.ratio, 0.8, 1.2, every))
    leaves = [given[name] for name in ("logp_new", "values_new", "entropy")]
    slopes = [torch.autograd.grad(total, leaves) for total in (plain.total, found.total)]
    for ours, theirs in zip(*slopes, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_gae_as_one_product_is_the_recursion(seed: int) -> None:
    given = batch(seed)
    deltas, advantages = gae(given["rewards"], given["values_old"], given["done"], gamma=0.9, lam=0.8)
    for row in range(3):
        later = 0.0
        for t in reversed(range(6)):
            goes_on = 1 - float(given["done"][row, t])
            values = given["values_old"][row]
            delta = float(given["rewards"][row, t]) + 0.9 * goes_on * float(values[t + 1]) - float(values[t])
            later = delta + 0.9 * 0.8 * goes_on * later
            assert math.isclose(float(deltas[row, t]), delta, rel_tol=1e-12, abs_tol=1e-12)
            assert math.isclose(float(advantages[row, t]), later, rel_tol=1e-12, abs_tol=1e-12)


def test_a2c_is_ppo_without_a_clip_on_the_first_step() -> None:
    """The slope of its loss is that of −Â·log π + ½·c1·(V − R)² − c2·H: Huang et al. 2022."""
    given = batch(1)
    given["logp_new"] = given["logp_old"].clone().requires_grad_()
    found = classic_ppo(**given, clip=math.inf, value_clip=math.inf)
    (slope,) = torch.autograd.grad(found.total, given["logp_new"])
    torch.testing.assert_close(slope, -found.whitened / found.whitened.numel())
    torch.testing.assert_close(found.value_loss, ((given["values_new"] - found.returns) ** 2).mean() / 2)
    # On the first step a clip changes nothing of it.
    clipped = classic_ppo(**given, value_clip=math.inf)
    torch.testing.assert_close(torch.autograd.grad(clipped.total, given["logp_new"])[0], slope)


def test_numbers_at_the_edge() -> None:
    given = batch(1)
    far = classic_ppo(**(given | {"logp_new": given["logp_old"] + 700}))
    assert torch.isfinite(far.total)
    assert float(classic_ppo(**(given | {"logp_new": given["logp_old"] + 710})).policy_loss) == math.inf
    # Equal advantages have no spread, and are whitened to 0; a single step has none by N − 1: nan, as in torch's std.
    zero = torch.zeros_like(given["rewards"])
    still = given | {
        "rewards": zero + 1,
        "values_old": torch.zeros_like(given["values_old"]),
        "done": torch.ones_like(given["done"]),
    }
    assert torch.equal(classic_ppo(**still).whitened, zero)
    one = {name: each[:1, : 2 if name == "values_old" else 1] for name, each in given.items()}
    assert math.isnan(float(as_options(one, Options()).policy_loss))


def test_a_time_limit_looks_at_what_would_have_come() -> None:
    given = batch(1)
    done = torch.ones_like(given["done"])
    cut, _ = gae(given["rewards"], given["values_old"], done, gamma=0.9, lam=0.8)
    goes_on, _ = gae(given["rewards"], given["values_old"], done, gamma=0.9, lam=0.8, cut=torch.zeros_like(done))
    torch.testing.assert_close(goes_on - cut, 0.9 * given["values_old"][:, 1:])
