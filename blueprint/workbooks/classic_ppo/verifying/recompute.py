"""A rollout computed again in torch, in float64: advantages and returns of all steps, and the loss of its minibatch.

The formulas are those of the witness, `blueprint.witness`; here is what they are fed with.
"""

import numpy as np
import torch

from blueprint.verifying.settings import Settings
from blueprint.witness import advantages, losses, metrics, rewards
from blueprint.workbooks.classic_ppo.dumps import Rollout
from blueprint.workbooks.classic_ppo.verifying.ways import PLAIN, Ways
from blueprint.workbooks.classic_ppo.verifying.work import NOTHING, Given, Replayed, Work

FLOOR = 1e-12
"""Variance of the returns up to which the explained variance is 0."""


def recompute(
    rollout: Rollout, settings: Settings, ways: Ways = PLAIN, given: Given = NOTHING, until: str = ""
) -> Replayed:
    """Computes a rollout again under the values of a preset.

    given: results of the file by neutral name, which later steps read in place of what was computed. until: the last
    result that is wanted; none: all.
    """
    work = Work(rollout, settings, ways, given, until)
    with torch.no_grad():
        for step in (_rewards, _advantages, _normalised, _returns, _policy, _values, _entropy, _total, _watched):
            step(work)
            if until in work.found.rows or until in work.found.whole:
                break
    return work.found


def _rewards(work: Work) -> None:
    """At a time limit the value of the last state is added to the reward (Stable-Baselines3, collect_rollouts)."""
    if work.has("rewards", "rewards_env", "terminal_values"):
        ours = work.known["rewards_env"] + work.number("gamma") * work.known["terminal_values"]
        work.found.rows["rewards"] = ours.numpy()


def _advantages(work: Work) -> None:
    if "advantages" in work.given and work.until not in ("", "advantages"):
        return  # what is wanted reads those of the file, which are known
    if "values_old" in work.known and bool((work.known["done"][:, -1] == 1).all()):
        work.known.setdefault("next_values", torch.zeros(len(work.known["done"]), dtype=torch.float64))
    if not work.has("advantages", "values_old", "next_values"):
        return
    values = torch.cat([work.known["values_old"], work.known["next_values"][:, None]], dim=1)
    done = work.known["done"]
    stop = work.known.get("terminated", done) if work.settings["bootstrap"] == "terminated" else done
    gamma, lam = work.number("gamma"), work.number("gae_lambda")
    decay = (gamma if work.ways.gamma_of_sum else 1.0) * lam
    rewards = work.known["rewards"]
    if work.ways.own_value_next:
        rewards = rewards + gamma * (values[:, :-1] - values[:, 1:]) * (1 - stop)
    # Without its 1 − done, V(next) and later advantages are those of the next episode.
    cut, over = stop if work.ways.done_of_next else 0 * stop, done if work.ways.done_of_sum else 0 * done
    ahead, discount = values[:, 1:] * (1 - cut), gamma if work.ways.gamma_of_next else 1.0
    found = advantages.gae(rewards, values[:, :-1], ahead, 1.0, discount, decay * (1 - over))
    work.row("advantages", found["advantages"][:, :-1])


def _normalised(work: Work) -> None:
    """Normalises the advantages of the minibatch; a minibatch of one step is left as it is."""
    if not work.has("advantages_used", "advantages"):
        return
    ours = work.of_minibatch("advantages")
    if work.settings["whiten_advantages"] == "on" and len(ours) > 1:
        base = work.known["advantages"] if work.ways.over == "rollout" else ours
        spread, eps = float(base.std(correction=work.ways.ddof)), work.number("whiten_eps")
        divisor = spread + eps if work.settings["whiten_form"] == "std_plus" else max(spread, eps)
        work.found.sigma = divisor
        ours = (ours - (base.mean() if work.ways.centred else 0.0)) / divisor
    work.row("advantages_used", ours)


def _returns(work: Work) -> None:
    if not work.has("returns", "advantages", "values_old"):
        return
    advantages = work.known["advantages"]
    if work.ways.returns_of == "advantages_used" and work.rollout.whole and "advantages_used" in work.known:
        at = torch.from_numpy(np.ascontiguousarray(work.rollout.at))
        advantages = advantages.index_put((at[:, 0], at[:, 1]), work.known["advantages_used"])
    work.row("returns", advantages + work.known["values_old"])


def _policy(work: Work) -> None:
    if not work.has("policy_loss", "advantages_used", "logprobs_old", "logprobs_new"):
        return
    apart = work.known["logprobs_new"] - work.of_minibatch("logprobs_old")
    apart = -apart if work.ways.ratio == "inverted" else apart
    ratio = apart.exp()
    low, high = (torch.tensor(end, dtype=torch.float64) for end in work.found.clip)
    found = losses.surrogates(ratio, losses.between(ratio, low, high), work.known["advantages_used"])
    free, held = found["surrogate.unclipped"], found["surrogate.clipped"]
    chosen = {"smaller": found["surrogate"], "larger": torch.maximum(free, held), "unclipped": free, "clipped": held}
    work.number_of("policy_loss", chosen[work.ways.surrogate], sign=-1.0)


def _values(work: Work) -> None:
    if not work.has("value_loss", work.ways.value_target, "values_old", "values_new"):
        return
    old, returns = work.of_minibatch("values_old"), work.of_minibatch(work.ways.value_target)
    reach = torch.tensor(work.number("value_clip_range"), dtype=torch.float64)
    held, norm = rewards.within(work.known["values_new"], reach, old), str(work.settings["value_norm"])
    free, clipped = (losses.distance(each - returns, norm) for each in (work.known["values_new"], held))
    distance = torch.maximum(free, clipped) if work.settings["value_combine"] == "max" else clipped
    if work.ways.value_combine == "smaller":
        distance = torch.minimum(free, clipped)
    work.number_of("value_loss", work.number("value_factor") * distance)


def _entropy(work: Work) -> None:
    if work.has("entropy", "entropy"):
        work.number_of("entropy", work.known["entropy"])


def _total(work: Work) -> None:
    """Adds the parts; a part whose weight is 0 is not asked for."""
    parts = {
        "policy_loss": 1.0,
        "value_loss": work.number("vf_coef"),
        "entropy": -work.ways.bonus * work.number("ent_coef"),
    }
    for name, part in (("adds.value_loss", "value_loss"), ("adds.entropy", "entropy")):
        if part in work.found.whole:
            added = parts[part] * float(work.known[part])
            work.total(name, added, abs(parts[part]) * work.found.sizes[part])
    lacking = [name for name, weight in parts.items() if weight and name not in work.found.whole]
    if lacking:
        work.found.lacks["total_loss"] = " and ".join(lacking)
        return
    sums = [
        (weight * float(work.known[name]), abs(weight) * work.found.sizes[name])
        for name, weight in parts.items()
        if weight
    ]
    work.total("total_loss", sum(each for each, _ in sums), sum(size for _, size in sums))


def _watched(work: Work) -> None:
    if work.has("approx_kl.k3", "logprobs_old", "logprobs_new"):
        d = work.known["logprobs_new"] - work.of_minibatch("logprobs_old")
        d = -d if work.ways.ratio == "inverted" else d
        estimates = rewards.estimates(-d)
        for name in ("k1", "k3"):
            work.number_of(f"approx_kl.{name}", estimates[_estimate(work.ways.kl, name)])
        work.found.sizes["approx_kl.k3"] = float((d.exp() - 1).abs().mean() + d.abs().mean())
        ratio, (low, high) = d.exp(), work.found.clip
        outside = (ratio < low) | (ratio > high)
        work.total("clip_fraction", float(outside.double().mean()), 1.0)
        work.found.rows["ratio"] = ratio.numpy()
    else:
        work.found.lacks |= dict.fromkeys(("approx_kl.k1", "clip_fraction"), work.found.lacks["approx_kl.k3"])
    if work.has("explained_variance.old", "returns", "values_old"):
        returns, values = work.known["returns"], work.known["values_old"]
        variance, residual = returns.var(unbiased=False), (returns - values).var(unbiased=False)
        share = float(metrics.explained(residual, variance, FLOOR))
        work.total("explained_variance.old", share, 1.0 + abs(share))
        work.found.sizes["returns.variance"] = float(variance)


def _estimate(instead: str, name: str) -> str:
    """Returns the estimate that is taken: k1 and k2 stand in for k3, k3 for k1."""
    return instead if instead and (instead == "k3") == (name == "k1") else name
