"""A rollout computed again in torch, in float64: advantages and returns of all steps, and the loss of its minibatch.

The formulas are those of `blueprint.verifying.formulas`; here is what they are fed with.
"""

from collections.abc import Callable

import torch

from blueprint.verifying import Settings
from blueprint.verifying.formulas import advantages, losses, metrics, rewards
from blueprint.workbooks.classic_ppo.dumps.rollout import Rollout
from blueprint.workbooks.classic_ppo.verifying.replayed import NOTHING, PLAIN, Given, Replayed, Ways

FLOOR = 1e-12
"""Variance of the returns up to which the explained variance is 0."""
LOGPROBS = ("logprobs_old", "logprobs_new")


def recompute(
    rollout: Rollout, settings: Settings, ways: Ways = PLAIN, given: Given = NOTHING, until: str = ""
) -> Replayed:
    """Computes a rollout again under the values of a preset. until: the last result that is needed; none: all."""
    known = {name: torch.from_numpy(array) for name, array in rollout.tensors.items()}
    if bool((known["done"][:, -1] == 1).all()):
        known.setdefault("next_values", torch.zeros_like(known["done"][:, -1]))
    found = Replayed(rollout, settings, ways, given, known)
    with torch.no_grad():
        for names, needs, step in _steps(ways.get("value_target", "returns")):
            if lacking := [name for name in needs if name not in known]:
                found.lacks |= dict.fromkeys(names, " and ".join(lacking))
            else:
                step(found)
            if until in found.rows or until in found.numbers:
                break
    return found


Names = tuple[str, ...]


def _steps(target: str) -> tuple[tuple[Names, Names, Callable[[Replayed], None]], ...]:
    """Lists results, what they take, and how they are made. target: what the value is trained towards."""
    return (
        (("rewards",), ("rewards_env", "terminal_values"), _rewards),
        (("advantages",), ("values_old", "next_values"), _advantages),
        (("advantages_used",), ("advantages",), _normalised),
        (("returns",), ("advantages", "values_old"), _returns),
        (("policy_loss",), ("advantages_used", *LOGPROBS), _policy),
        (("value_loss",), (target, "values_old", "values_new"), _values),
        (("entropy",), ("entropy",), lambda found: found.add_mean("entropy", found.known["entropy"])),
        (("total_loss",), (), _total),
        (("approx_kl.k3", "approx_kl.k1", "clip_fraction"), LOGPROBS, _update),
        (("explained_variance.old",), ("returns", "values_old"), _explained),
    )


def _rewards(found: Replayed) -> None:
    """At a time limit the value of the last state is added to the reward (Stable-Baselines3, collect_rollouts)."""
    ours = found.known["rewards_env"] + found.number("gamma") * found.known["terminal_values"]
    found.rows["rewards"] = ours.numpy()


def _advantages(found: Replayed) -> None:
    known, ways, gamma = found.known, found.ways, found.number("gamma")
    values, rewards, done = known["values_old"], known["rewards"], known["done"]
    following = torch.cat([values[:, 1:], known["next_values"][:, None]], dim=1)
    stop = known.get("terminated", done) if found.settings["bootstrap"] == "terminated" else done
    if ways.get("own_value_next"):
        rewards = rewards + gamma * (values - following) * (1 - stop)
    # Without its 1 − done, V(next) and later advantages are those of the next episode.
    ahead = following * (1 - stop * ways.get("done_of_next", True))
    decay = (gamma if ways.get("gamma_of_sum", True) else 1.0) * found.number("gae_lambda")
    discount = gamma if ways.get("gamma_of_next", True) else 1.0
    made = advantages.gae(rewards, values, ahead, 1.0, discount, decay * (1 - done * ways.get("done_of_sum", True)))
    found.add_row("advantages", made["advantages"][:, :-1])


def _normalised(found: Replayed) -> None:
    """Normalises the advantages of the minibatch; a minibatch of one step is left as it is."""
    ours = found.of_minibatch("advantages")
    if found.settings["whiten_advantages"] == "on" and len(ours) > 1:
        base = found.known["advantages"] if found.ways.get("over") == "rollout" else ours
        spread, eps = float(base.std(correction=found.ways.get("ddof", 1))), found.number("whiten_eps")
        found.sigma = spread + eps if found.settings["whiten_form"] == "std_plus" else max(spread, eps)
        ours = (ours - (base.mean() if found.ways.get("centred", True) else 0.0)) / found.sigma
    found.add_row("advantages_used", ours)


def _returns(found: Replayed) -> None:
    advantages = found.known["advantages"]
    if "returns_of" in found.ways and found.batch.whole and "advantages_used" in found.known:
        rows, columns = torch.from_numpy(found.batch.at.T)
        advantages = advantages.index_put((rows, columns), found.known["advantages_used"])
    found.add_row("returns", advantages + found.known["values_old"])


def _log_ratio(found: Replayed) -> torch.Tensor:
    apart = found.known["logprobs_new"] - found.of_minibatch("logprobs_old")
    return -apart if "ratio" in found.ways else apart


def _policy(found: Replayed) -> None:
    ratio, ends = _log_ratio(found).exp(), torch.tensor(found.clip, dtype=torch.float64)
    made = losses.surrogates(ratio, losses.between(ratio, *ends), found.known["advantages_used"])
    free, held = made["surrogate.unclipped"], made["surrogate.clipped"]
    chosen = {"smaller": made["surrogate"], "larger": torch.maximum(free, held), "unclipped": free, "clipped": held}
    found.add_mean("policy_loss", chosen[found.ways.get("surrogate", "smaller")], sign=-1.0)


def _values(found: Replayed) -> None:
    old, target = found.of_minibatch("values_old"), found.of_minibatch(found.ways.get("value_target", "returns"))
    reach = torch.tensor(found.number("value_clip_range"), dtype=torch.float64)
    new, norm = found.known["values_new"], str(found.settings["value_norm"])
    free, held = (losses.distance(each - target, norm) for each in (new, rewards.within(new, reach, old)))
    forms = {"max": torch.maximum(free, held), "clipped_only": held, "smaller": torch.minimum(free, held)}
    distance = forms[found.ways.get("value_combine", found.settings["value_combine"])]
    found.add_mean("value_loss", found.number("value_factor") * distance)


def _total(found: Replayed) -> None:
    """Adds the parts; a part whose weight is 0 is not asked for."""
    bonus = found.ways.get("bonus", 1.0)
    weights = {"policy_loss": 1.0, "value_loss": found.number("vf_coef"), "entropy": -bonus * found.number("ent_coef")}
    parts = {
        name: (weight * float(found.known[name]), abs(weight) * found.sizes[name])
        for name, weight in weights.items()
        if name in found.numbers
    }
    for name in [each for each in parts if each != "policy_loss"]:
        found.add_number(f"adds.{name}", *parts[name])
    needed = [name for name, weight in weights.items() if weight]
    if lacking := [name for name in needed if name not in parts]:
        found.lacks["total_loss"] = " and ".join(lacking)
    else:
        found.add_number("total_loss", *(sum(each) for each in zip(*(parts[name] for name in needed), strict=True)))


def _update(found: Replayed) -> None:
    """Says how far the update moved the policy; of estimates, k1 and k2 may stand in for k3, and k3 for k1."""
    d, (low, high), instead = _log_ratio(found), found.clip, found.ways.get("kl", "")
    estimates, ratio = rewards.estimates(-d), d.exp()
    for name, others in (("k1", ("k3",)), ("k3", ("k1", "k2"))):
        found.add_mean(f"approx_kl.{name}", estimates[instead if instead in others else name])
    found.sizes["approx_kl.k3"] = float((ratio - 1).abs().mean() + d.abs().mean())
    found.add_number("clip_fraction", float(((ratio < low) | (ratio > high)).double().mean()), 1.0)
    found.rows["ratio"] = ratio.numpy()


def _explained(found: Replayed) -> None:
    returns = found.known["returns"]
    variance, residual = (each.var(unbiased=False) for each in (returns, returns - found.known["values_old"]))
    share = float(metrics.explained(residual, variance, FLOOR))
    found.add_number("explained_variance.old", share, 1.0 + abs(share))
    found.sizes["returns.variance"] = float(variance)
