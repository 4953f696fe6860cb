"""A file of classic PPO, from what is typed to its last check."""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness.batch import Batch, Rows
from blueprint.witness.errors import WitnessError
from blueprint.witness.live.rows import add_settings
from blueprint.witness.models import Named
from blueprint.witness.settings import single
from blueprint.workbooks.classic_ppo.witness import advantage, loss
from blueprint.workbooks.classic_ppo.witness.checks import add_checks
from blueprint.workbooks.classic_ppo.witness.settings import WORDS


def compute(batch: Batch, rows: Rows) -> None:
    """Adds every quantity of the files to the rows. Raises WitnessError for an action that there is not."""
    add_settings(batch, rows)
    for policy in ("old", "policy"):
        rows.add(policy_rows(batch, policy))
    add_counts(batch, rows)
    add_signal(batch, rows)
    add_loss(batch, rows)
    add_watched(batch, rows)
    add_checks(batch, rows)


def policy_rows(batch: Batch, name: str) -> Named:
    """Returns the soft-max of the scores of the actions, its Σ p log p, and the log-prob of the action taken."""
    logits = batch.typed(f"{name}.logits")
    top = logits.amax(dim=-1)
    logsumexp = torch.logsumexp(logits, dim=-1)
    log_p = torch.log_softmax(logits, dim=-1)
    p = log_p.exp()
    return {
        f"{name}.top": top,
        f"{name}.exponentials": (logits - top[..., None]).exp(),
        f"{name}.logsumexp": logsumexp,
        f"{name}.log_p": log_p,
        f"{name}.p": p,
        f"{name}.p_log_p": (p * log_p).sum(dim=-1),
        f"{name}.logprobs": log_p.gather(-1, _actions(batch, logits.shape[-1])[..., None]).squeeze(-1),
    }


def _actions(batch: Batch, known: int) -> Tensor:
    """Returns the actions taken as places. Raises WitnessError for one that is no whole number from 0 to known − 1."""
    actions = batch.typed("actions")
    wrong = (actions < 0) | (actions > known - 1) | (actions != actions.round())
    if bool(wrong.any()):
        found = float(actions[wrong][0])
        raise WitnessError(f"an action is {found:g}: write a whole number from 0 to {known - 1}")
    return actions.long()


def add_counts(batch: Batch, rows: Rows) -> None:
    """Adds how many environments, steps and actions there are."""
    environments, steps = batch.sizes[0]
    counts = {
        "count.environments": environments,
        "count.steps": steps,
        "count": environments * steps,
        "count.actions": rows["old.log_p"].shape[-1],
    }
    rows.add({name: batch.filled([count] * len(batch.files)) for name, count in counts.items()})


def picked(batch: Batch, name: str, alternatives: dict[str, Tensor]) -> Tensor:
    """Returns for each file the alternative of the word at which its switch stands."""
    first, *others = (alternatives[word] for word in WORDS[name])
    for place, each in enumerate(others, start=1):
        number = batch.setting(name).view(-1, *[1] * (each.dim() - 1))
        first = torch.where(number == place, each, first)
    return first


def add_signal(batch: Batch, rows: Rows) -> None:
    """Adds TD errors, advantages, returns, and the advantages that the loss uses."""
    done, gamma = batch.typed("done"), batch.setting("gamma")
    stop = picked(batch, "bootstrap", {"done": done, "terminated": batch.typed("terminated")})
    ends = (stop, done)
    decay = gamma * batch.setting("gae_lambda")
    rows.add({"stop": stop} | advantage.gae_rows(batch.typed("rewards"), batch.typed("values.old"), ends, gamma, decay))
    advantages = rows["advantages"][..., :-1]
    found = advantage.normalised_rows(advantages, batch.setting("whiten_eps"))
    divisors = {word: found[f"advantage.{word}"] for word in WORDS["whiten_form"]}
    divisor = picked(batch, "whiten_form", divisors)
    white = found["advantage.centred"] / divisor[:, None, None]
    rows.add(found | {"advantage.divisor": divisor, "advantage.whitened": white})
    rows.add({"advantages_used": picked(batch, "whiten_advantages", {"on": white, "off": advantages})})


def add_loss(batch: Batch, rows: Rows) -> None:
    """Adds ratio and surrogates, the value loss of every step, the entropy, their means, and the total."""
    low = 1 - batch.setting("clip_range")
    high = 1 + batch.setting("clip_range") + batch.setting("clip_more")
    apart = rows["policy.logprobs"] - rows["old.logprobs"]
    rows.add(loss.surrogate_rows(apart, rows["advantages_used"], low, high))
    values, old = batch.typed("values.new"), batch.typed("values.old")[..., :-1]
    held = loss.clipped_values(values, old, batch.setting("value_clip_range"))
    rows.add({"value.clipped": held} | loss.value_rows(values, held, rows["returns"], built_norm(batch)))
    either = {"max": rows["value.larger"], "clipped_only": rows["value.clipped.distance"]}
    rows.add({"value.step_loss": batch.setting("value_factor") * picked(batch, "value_combine", either)})
    rows.add({"policy.entropy": -rows["policy.p_log_p"]})
    rows.add(total_rows(batch, rows))


def built_norm(batch: Batch) -> str:
    """Returns the norm whose rows the files have, which they share. Raises WitnessError for a word that is none."""
    norm = str(single(batch.files[0], "value_norm.built"))
    if norm not in WORDS["value_norm"]:
        raise WitnessError(f"value_norm.built is {norm!r:.40}: write one of {', '.join(WORDS['value_norm'])}")
    return norm


def mean(row: Tensor) -> Tensor:
    """Returns the mean over all steps of all environments, [F]."""
    return row.mean(dim=(-2, -1))


def total_rows(batch: Batch, rows: Rows) -> Named:
    """Returns the parts of the loss and their sum: L_policy + c1·L_value − c2·H."""
    policy, value, entropy = -mean(rows["surrogate"]), mean(rows["value.step_loss"]), mean(rows["policy.entropy"])
    of_value = batch.setting("vf_coef").flatten() * value
    of_entropy = -batch.setting("ent_coef").flatten() * entropy
    return {
        "policy_loss": policy,
        "value_loss": value,
        "entropy": entropy,
        "adds.value_loss": of_value,
        "adds.entropy": of_entropy,
        "total_loss": policy + of_value + of_entropy,
    }


def add_watched(batch: Batch, rows: Rows) -> None:
    """Adds approximate KL, clip fractions, the ratios as weights, explained variances, and means."""
    tiny = batch.typed("rounding")
    rows.add(loss.kl_rows(rows["log_ratio"]))
    outside = ((rows["ratio"] - rows["ratio.clipped"]).abs() > tiny[:, None, None]).to(batch.dtype)
    beyond = ((batch.typed("values.new") - rows["value.clipped"]).abs() > tiny[:, None, None]).to(batch.dtype)
    rows.add({"clip_fraction.outside": outside, "value_fraction.outside": beyond})
    rows.add({"clip_fraction": mean(outside), "value_fraction": mean(beyond)} | loss.weight_rows(rows["ratio"]))
    rows.add({f"approx_kl.{name}": mean(rows[f"policy_kl.{name}"]) for name in ("k1", "k3")})
    rows.add(loss.spread_rows("returns", rows["returns"]))
    critics = {"old": batch.typed("values.old")[..., :-1], "new": batch.typed("values.new")}
    for name, values in critics.items():
        residual = rows["returns"] - values
        rows.add({f"residual.{name}": residual} | loss.spread_rows(f"residual.{name}", residual))
        share = loss.explained(rows[f"residual.{name}.variance"], rows["returns.variance"], tiny)
        rows.add({f"explained_variance.{name}": share})
    rows.add({"mean.rewards": mean(batch.typed("rewards")), "mean.td_errors": mean(rows["td_errors"])})
