"""The loss of a window of a minibatch: the losses of its words, their weights in the whole batch, and the total."""

import torch

from blueprint.witness import Options, Rows, Texts, losses, metrics, rewards, totals
from blueprint.workbooks.minibatch.witness.logged import Kind


def add_loss(rows: Rows, texts: Texts, options: Options, kind: Kind) -> None:
    """Adds the losses of words, their weights, the parts of the loss, and what each word adds to the total."""
    rows.add(losses.ratio_rows(texts, rows, options))
    rows.add(losses.surrogate_rows(rows, options))
    rows.add(metrics.clip_rows(rows, options))
    counted, modes = losses.counted_rows(rows, options), totals.mode_rows(options)
    rows.add({name: counted[name] for name in ("loss.kept", "loss.counted")})
    rows.add(totals.weight_rows("policy", rows, options, rows["policy.weight.length"]))
    rows.add(totals.guard_rows(rows["loss.mean_ratio"], options))
    if kind.value_loss:
        rows.add({"value.counted": counted["value.counted"], "value.mode": modes["value.mode"]})
        rows.add(losses.value_rows(texts.values, rows, options))
        rows.add(totals.weight_rows("value", rows, options, rows["value.weight.length"]))
    if kind.entropy:
        rows.add({"entropy.mode": modes["entropy.mode"]})
        rows.add(totals.weight_rows("entropy", rows, options, rows["policy.weight.length"]))
    add_estimates(rows, "kl_new", "policy", options)
    rows.add(totals.part_rows(texts, rows, options))
    rows.add({"kl_coef.loss": rewards.price_rows(rows, options)["kl_coef.loss"]})
    rows.add(totals.total_rows(rows, options))
    rows.add(totals.share_rows(texts, rows, options))


def add_estimates(rows: Rows, name: str, policy: str, options: Options) -> None:
    """Adds the estimates of a policy's KL to the reference, of the log-probs as they are typed, padding included."""
    log_ratio = rows[f"{policy}.logprobs"] - rows["reference.logprobs"]
    rows.add(rewards.estimate_rows(name, log_ratio, torch.zeros_like(log_ratio), options))
