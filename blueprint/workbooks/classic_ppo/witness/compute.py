"""A file of classic PPO, from what is typed to its last metric.

Tensors are [F, N, T]: file, environment, step; settings [F, 1, 1], numbers of a batch [F].
"""

from collections.abc import Sequence
from types import MappingProxyType

import torch
from torch import Tensor

from blueprint.witness import Tie, WitnessError, advantages, losses
from blueprint.witness.batch import Batch
from blueprint.witness.metrics import explained
from blueprint.witness.options import picked
from blueprint.witness.rewards import estimates, within
from blueprint.witness.rows import Rows, add_settings
from blueprint.witness.settings import single
from blueprint.witness.tensors import Named, distribution_rows, logprobs, wide
from blueprint.witness.totals import summed_rows
from blueprint.workbooks.classic_ppo.witness.checks import add_checks

WORDS = MappingProxyType(
    {
        "bootstrap": ("done", "terminated"),
        "whiten_advantages": ("on", "off"),
        "whiten_form": ("std_plus", "std_max"),
        "value_combine": ("max", "clipped_only"),
        "value_norm": ("l2", "smooth_l1"),
    }
)
"""The words of every switch."""
TYPED = ("rewards", "values.old", "values.new", "done", "terminated", "actions")


def compute(batch: Batch, rows: Rows) -> Sequence[Tie]:
    """Adds every quantity of the files to the rows. Raises WitnessError for an action that there is not."""
    add_settings(batch, rows)
    rows.know({name: batch.typed(name) for name in TYPED})
    for policy in ("old", "policy"):
        add_policy(batch, rows, policy)
    add_counts(batch, rows)
    add_signal(batch, rows)
    add_loss(batch, rows)
    add_metrics(batch, rows)
    add_checks(batch, rows)
    return ()


def add_policy(batch: Batch, rows: Rows, name: str) -> None:
    """Adds the soft-max of the scores of the actions, and the log-prob of the action taken."""
    found = distribution_rows(batch.typed(f"{name}.logits"))
    taken = _actions(rows["actions"], found["p"].shape[-1])
    found |= {"logprobs": logprobs(found["log_p"], taken)}
    rows.add({f"{name}.{row}": each for row, each in found.items()})


def _actions(actions: Tensor, known: int) -> Tensor:
    """Returns the actions taken as places. Raises WitnessError for one that is no whole number from 0 to known − 1."""
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


def pick(batch: Batch, name: str, *alternatives: Tensor) -> Tensor:
    """Returns for each file the alternative of the word at which its switch stands."""
    return picked(batch.option(name, WORDS[name]), list(alternatives))


def add_signal(batch: Batch, rows: Rows) -> None:
    """Adds TD errors, advantages, returns, and the advantages that the loss uses."""
    done, values, gamma = rows["done"], rows["values.old"], batch.setting("gamma")
    stop = pick(batch, "bootstrap", done, rows["terminated"])
    decay = gamma * batch.setting("gae_lambda") * (1 - done)
    # Nothing behind the end of an episode counts (Schulman et al. 2016, eq. 11 and 16, with the end as a factor).
    ahead = values[..., 1:] * (1 - stop)
    rows.add({"stop": stop} | advantages.gae(rows["rewards"], values[..., :-1], ahead, 1.0, gamma, decay))
    raw = rows["advantages"][..., :-1]
    moments = advantages.moment_rows("advantage", raw, torch.ones_like(raw), batch.options)
    mean, variance = moments["mean"], moments["variance"]
    forms = advantages.divisors(variance, batch.setting("whiten_eps").flatten())
    divisor = pick(batch, "whiten_form", *(forms[word] for word in WORDS["whiten_form"]))
    centred = raw - wide(mean)
    found = {"mean": mean, "centred": centred, "variance": variance}
    found |= {word: forms[word] for word in WORDS["whiten_form"]}
    found |= {"divisor": divisor, "whitened": centred / wide(divisor)}
    rows.add({f"advantage.{name}": each for name, each in found.items()})
    rows.add({"advantages_used": pick(batch, "whiten_advantages", found["whitened"], raw)})


def add_loss(batch: Batch, rows: Rows) -> None:
    """Adds ratio and surrogates, the value loss of every step, the entropy, their means, and the total."""
    near, log_ratio = batch.setting("clip_range"), rows["policy.logprobs"] - rows["old.logprobs"]
    ratio = log_ratio.exp()
    clipped = losses.between(ratio, 1 - near, 1 + near + batch.setting("clip_more"))
    rows.add({"log_ratio": log_ratio, "ratio": ratio, "ratio.clipped": clipped})
    rows.add(losses.surrogates(ratio, clipped, rows["advantages_used"]))
    values, old = rows["values.new"], rows["values.old"][..., :-1]
    rows.add({"value.clipped": within(values, batch.setting("value_clip_range"), old)})
    add_distances(batch, rows)
    either = pick(batch, "value_combine", rows["value.larger"], rows["value.clipped.distance"])
    rows.add({"value.step_loss": batch.setting("value_factor") * either})
    rows.add({"policy.entropy": -rows["policy.p_log_p"]})
    parts = {"policy_loss": -mean(rows["surrogate"]), "value_loss": mean(rows["value.step_loss"])}
    rows.add(parts | {"entropy": mean(rows["policy.entropy"])})
    weights = {"value_loss": batch.setting("vf_coef").flatten(), "entropy": -batch.setting("ent_coef").flatten()}
    rows.add(summed_rows(rows, weights))


def add_distances(batch: Batch, rows: Rows) -> None:
    """Adds error and distance of the values and of the clipped ones, in the norm that the files were built with.

    Raises WitnessError for a word that is no norm.
    """
    norm = str(single(batch.files[0], "value_norm.built"))
    if norm not in WORDS["value_norm"]:
        raise WitnessError(f"value_norm.built is {norm!r:.40}: write one of {', '.join(WORDS['value_norm'])}")
    for name, values in (("value", rows["values.new"]), ("value.clipped", rows["value.clipped"])):
        error = values - rows["returns"]
        rows.add({f"{name}.error": error})
        if norm == "smooth_l1":
            rows.add({f"{name}.size": error.abs()})
        rows.add({f"{name}.distance": losses.distance(error, norm)})
    rows.add({"value.larger": torch.maximum(rows["value.distance"], rows["value.clipped.distance"])})


def mean(row: Tensor) -> Tensor:
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
        share = explained(rows[f"residual.{name}.variance"], rows["returns.variance"], tiny)
        rows.add({f"explained_variance.{name}": share})
    rows.add({"mean.rewards": mean(rows["rewards"]), "mean.td_errors": mean(rows["td_errors"])})


def spread_rows(name: str, row: Tensor) -> Named:
    """Returns mean, distances from it, and variance over N."""
    centred = row - wide(mean(row))
    return {f"{name}.mean": mean(row), f"{name}.centred": centred, f"{name}.variance": mean(centred.square())}
