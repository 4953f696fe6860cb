"""Classic PPO in torch: environments run step by step, rewards are given, and an episode may end at any step of a row.

Written from the papers, CleanRL ppo.py, Stable-Baselines3 (common/buffers.py, ppo/ppo.py), TorchRL (objectives/ppo.py,
value/functional.py) and rlax (multistep.py). Tensors are [F, N, T]: file, environment, step; numbers of a batch are [F].
"""

from dataclasses import replace

import torch

from blueprint.witness import (
    UPPER,
    WORDS,
    Batch,
    Options,
    Rows,
    WitnessError,
    add_settings,
    add_verdicts,
    advantages,
    checks,
    distribution_rows,
    estimates,
    explained,
    logprobs,
    losses,
    picked,
    place_of,
    single,
    summed_rows,
    sums_from,
    wide,
)

TYPED = ("rewards", "values.old", "values.new", "done", "terminated", "actions")
CALLED = {"advantage.eps_form": "whiten_form", "value.combine": "value_combine"}
"""What switches are called here that the computation for language models has, too."""
NORMS = ("l2", "smooth_l1")
OF_VALUES = {
    "value.error": "value.error",
    "value.size": "value.size",
    "value.square": "value.distance",
    "value.clipped": "value.clipped",
    "value.error_clipped": "value.clipped.error",
    "value.size_clipped": "value.clipped.size",
    "value.square_clipped": "value.clipped.distance",
    "value.larger": "value.larger",
    "value.word_loss": "value.step_loss",
}
"""What the steps of the value loss are called here."""
NOT_SHOWN = ("count", "counted", "bessel", "rsqrt_var_plus", "clamp", "shifted")
"""Steps of whitening that a file of classic PPO has not."""


def add_rollout(batch: Batch, rows: Rows) -> None:
    """Adds every quantity of the files but gradients. Raises WitnessError for an action that there is not."""
    add_settings(batch, rows)
    options, every = options_of(batch), batch.exists
    rows.know({name: batch.typed(name) for name in TYPED} | {"response": every, "value.counted": every})
    rows.know({"values.kept": rows["values.old"]})
    for policy in ("old", "policy"):
        add_policy(rows, policy, batch.typed(f"{policy}.logits"))
    environments, steps = batch.sizes[0]
    counts = {"count.environments": environments, "count.steps": steps, "count": environments * steps}
    counts |= {"count.actions": rows["old.log_p"].shape[-1]}
    rows.add({name: batch.filled([count] * len(batch.files)) for name, count in counts.items()})
    add_signal(batch, rows, options)
    add_loss(batch, rows, options)
    add_metrics(batch, rows)
    add_checks(batch, rows)


def options_of(batch: Batch) -> Options:
    """Returns the options in use, under the names that they have for language models."""
    switches = {name: batch.option(own, WORDS[name]) for name, own in CALLED.items()}
    numbers = {UPPER: batch.setting("clip_range") + batch.setting("clip_more")}
    numbers |= {"value.factor": batch.setting("value_factor")}
    return replace(batch.options, values={**batch.options.values, **switches, **numbers})


def add_policy(rows: Rows, name: str, logits: torch.Tensor) -> None:
    """Adds the soft-max of the scores of the actions, and the log-prob of the action taken."""
    found, actions = distribution_rows(logits), rows["actions"]
    last = found["p"].shape[-1] - 1
    wrong = (actions < 0) | (actions > last) | (actions != actions.round())
    if bool(wrong.any()):
        raise WitnessError(f"an action is {float(actions[wrong][0]):g}: write a whole number from 0 to {last}")
    found |= {"logprobs": logprobs(found["log_p"], actions.long())}
    rows.add({f"{name}.{row}": each for row, each in found.items()})


def add_signal(batch: Batch, rows: Rows, options: Options) -> None:
    """Adds TD errors, advantages, returns, and the advantages that the loss uses."""
    done, values, gamma = rows["done"], rows["values.old"], options.number("gamma")
    stop = picked(batch.option("bootstrap", ("done", "terminated")), [done, rows["terminated"]])
    decay = gamma * options.number("gae_lambda") * (1 - done)
    # Nothing behind the end of an episode counts (Schulman et al. 2016, eq. 11 and 16, with the end as a factor).
    ahead = values[..., 1:] * (1 - stop)
    rows.add({"stop": stop} | advantages.gae(rows["rewards"], values[..., :-1], ahead, 1.0, gamma, decay))
    rows.add(advantages.whitened_rows(batch.exists, rows, options))
    rows.hide(f"advantage.{name}" for name in NOT_SHOWN)


def add_loss(batch: Batch, rows: Rows, options: Options) -> None:
    """Adds ratio and surrogates, the value loss of every step, the entropy, their means, and the total.

    The norm of the value loss is that in which the files were built. Raises WitnessError for a word that is no norm.
    """
    log_ratio = rows["policy.logprobs"] - rows["old.logprobs"]
    ratio = log_ratio.exp()
    clipped = losses.between(ratio, 1 - options.number("clip_range"), 1 + options.number(UPPER))
    rows.add({"log_ratio": log_ratio, "ratio": ratio, "ratio.clipped": clipped})
    rows.add(losses.surrogates(ratio, clipped, rows["advantages_used"]))
    norm = NORMS[place_of(single(batch.files[0], "value_norm.built"), NORMS, "value_norm.built")]
    found = losses.value_rows(rows["values.new"], rows, options, norm)
    found |= {f"value.size{which}": found[f"value.error{which}"].abs() for which in ("", "_clipped")}
    rows.add({name: found[row] for row, name in OF_VALUES.items() if norm == "smooth_l1" or ".size" not in name})
    entropy, value_loss = -rows["policy.p_log_p"], mean(rows["value.step_loss"])
    rows.add({"policy.entropy": entropy, "policy_loss": -mean(rows["surrogate"]), "value_loss": value_loss})
    rows.add({"entropy": mean(entropy)})
    rows.add(summed_rows(rows, {"value_loss": options.number("vf_coef", 1), "entropy": -options.number("ent_coef", 1)}))


def mean(row: torch.Tensor) -> torch.Tensor:
    """Returns the mean over all steps of all environments, [F]."""
    return row.mean(dim=(-2, -1))


def add_metrics(batch: Batch, rows: Rows) -> None:
    """Adds approximate KL, clip fractions, the ratios as weights, explained variances, and means."""
    tiny, ratio, values = batch.typed("rounding"), rows["ratio"], rows["values.new"]
    kl = estimates(-rows["log_ratio"])
    rows.add({f"policy_kl.{name}": kl[name] for name in ("k1", "k3")})
    outside = ((ratio - rows["ratio.clipped"]).abs() > wide(tiny)).to(ratio.dtype)
    beyond = ((values - rows["value.clipped"]).abs() > wide(tiny)).to(ratio.dtype)
    rows.add({"clip_fraction.outside": outside, "value_fraction.outside": beyond})
    # The effective sample size as a share is (Σρ)² / (N·Σρ²) (Kish).
    effective = mean(ratio).square() / mean(ratio.square())
    rows.add({"clip_fraction": mean(outside), "value_fraction": mean(beyond), "ratio.effective": effective})
    rows.add({"ratio.mean": mean(ratio), "ratio.largest": ratio.amax(dim=(-2, -1))})
    rows.add({f"approx_kl.{name}": mean(kl[name]) for name in ("k1", "k3")})
    rows.add(spread_rows("returns", rows["returns"]))
    for name, critic in (("old", rows["values.old"][..., :-1]), ("new", values)):
        residual = rows["returns"] - critic
        rows.add({f"residual.{name}": residual} | spread_rows(f"residual.{name}", residual))
        variances = rows[f"residual.{name}.variance"], rows["returns.variance"]
        rows.add({f"explained_variance.{name}": explained(*variances, tiny)})
    rows.add({"mean.rewards": mean(rows["rewards"]), "mean.td_errors": mean(rows["td_errors"])})


def spread_rows(name: str, row: torch.Tensor) -> dict[str, torch.Tensor]:
    """Returns mean, distances from it, and variance over N."""
    centred = row - wide(mean(row))
    return {f"{name}.mean": mean(row), f"{name}.centred": centred, f"{name}.variance": mean(centred.square())}


def add_checks(batch: Batch, rows: Rows) -> None:
    """Adds how far ends are from 0 or 1, sums from what they must be, and GAE from what it is at the ends of λ and γ."""
    parts = torch.stack([rows[name] for name in ("policy_loss", "adds.value_loss", "adds.entropy")], dim=-1)
    rows.add({"check.parts_size": parts.abs().sum(dim=-1)})
    values, actions, done, over = (rows[name] for name in ("values.old", "actions", "done", "terminated"))
    add_identities(batch, rows, values, done)
    norms = zip(batch.used("value_norm"), (single(file, "value_norm.built") for file in batch.files), strict=True)
    found = checks.probability_distances(rows, {"old": "old", "new": "policy"}) | {
        "check.actions": (-actions).clamp(min=0) + (actions + 1 - rows["old.log_p"].shape[-1]).clamp(min=0),
        "check.done": (done * (1 - done)).abs() + (over * (1 - over)).abs(),
        "check.terminated": (over > done).to(over.dtype),
        "check.k3": (-rows["policy_kl.k3"]).clamp(min=0),
        "check.whitened": mean(rows["advantage.whitened"]).abs(),
        "check.parts": checks.sum_distance(parts, rows["total_loss"]),
        "check.settings": batch.outside_all,
        "check.norm": batch.filled(float(str(used).lower() != str(built).lower()) for used, built in norms),
    }
    found |= checks.gae_distances(rows, values[..., :-1], 1.0, 1.0)
    add_verdicts(batch, rows, found | {"check.lambda_1": checks.to_go_distance(rows, values[..., :-1])})


def add_identities(batch: Batch, rows: Rows, values: torch.Tensor, done: torch.Tensor) -> None:
    """Adds the advantages for λ = 0, λ = 1 and γ = 0, and the discounted reward to go with what it ends in."""
    gamma, rewards, over = batch.setting("gamma"), rows["rewards"], done == 1
    # Where an episode ends the reward to go ends in V(next), unless that is cut off; at the last step in V(next) as it is.
    cut = over * (1 - rows["stop"]) * values[..., 1:]
    to_go = sums_from(rewards + gamma * cut, gamma * ~over, values[..., -1])
    rows.add(checks.identity_rows(rows, rewards - values[..., :-1], to_go, gamma * (1 - done), 0 * done))
    rows.add({"identity.after": torch.where(over, cut, to_go[..., 1:])} | checks.size_rows(rows, values[..., :-1]))
