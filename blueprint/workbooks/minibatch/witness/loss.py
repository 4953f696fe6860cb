"""The loss of the whole batch: what the words of a window add to it, and the sums over the words that are not shown.

Sources: as in the conventions. Rows are [F, N, T], numbers of responses [F, N], numbers of the batch [F].
"""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness.conventions import losses
from blueprint.witness.conventions.kl import price_rows
from blueprint.witness.conventions.totals import guard_rows
from blueprint.witness.conventions.weights import mode_rows, whole_weights
from blueprint.witness.models import Named
from blueprint.witness.signal import with_end
from blueprint.workbooks.minibatch.witness.signal import estimate_rows
from blueprint.workbooks.minibatch.witness.window import Window

SHARED = ("token_mean", "token_sum", "seq_sum", "seq_norm")
"""The weights that are the same for all responses, in the order of AGGREGATIONS; that of the last one is not."""


def add_loss(window: Window) -> None:
    """Adds the losses of words, their weights, the parts of the loss, and what each word adds to the total."""
    add_policy(window)
    if window.kind.value_loss:
        add_value(window)
    if window.kind.entropy:
        mode = mode_rows(window.options)["entropy.mode"]
        window.add({"entropy.mode": mode} | weight_rows(window, "entropy", "policy", window["loss.counted"], mode))
    window.add(estimate_rows(window, "kl_new", "policy"))
    window.add(part_rows(window))
    window.add(total_rows(window))
    window.add(share_rows(window))


def add_policy(window: Window) -> None:
    """Adds ratio, clip, surrogates, the words that count and their weights, and whether the losses count at all."""
    options = window.options
    window.add(losses.ratio_rows(window.texts, window, options))
    window.add(losses.surrogate_rows(window, options))
    window.add(clip_rows(window))
    counted = losses.counted_rows(window, options)
    window.add({name: counted[name] for name in ("loss.kept", "loss.counted")})
    mode = options.number("loss.aggregation", 1)
    window.add(weight_rows(window, "policy", "policy", window["loss.counted"], mode))
    window.add(guard_rows(window["loss.mean_ratio"], options))


def clip_rows(window: Window) -> Named:
    """Returns the words whose surrogate the clip changed, those whose ratio left its range, and the ones that count."""
    changed = window["response"] * (window["surrogate.clipped"] < window["surrogate.unclipped"])
    outside = window["response"] * (window["ratio"] != window["ratio.clipped"])
    flag = window.options.pick("metrics.clip_fraction", {"loss": changed, "ratio": outside})
    return {"clip_fraction.changed": changed, "clip_fraction.outside": outside, "clip_fraction.flag": flag}


def add_value(window: Window) -> None:
    """Adds the value losses of words, and their weights."""
    window.add({"value.counted": losses.counted_rows(window, window.options)["value.counted"]})
    # The conventions expect kept values with a column behind the last, which a file has where advantages are computed.
    kept = with_end(window["values.kept"][..., : window.mask.shape[-1]])
    read = {"values.kept": kept} | {name: window[name] for name in ("value.counted", "returns")}
    found = losses.value_rows(window.texts, read, window.options)
    window.add({name: each for name, each in found.items() if name != "value.held_counts"})
    mode = mode_rows(window.options)["value.mode"]
    window.add({"value.mode": mode} | weight_rows(window, "value", "value", window["value.counted"], mode))


def weight_rows(window: Window, name: str, of: str, counted: Tensor, mode: Tensor) -> Named:
    """Returns the weights of words that count, by the number of the way of averaging [F], and the steps to them.

    of: the loss whose typed counts they are made of, "policy" or "value": its words and responses in the whole batch, and
    the words of each response, whether shown or not.
    """
    length, options = window[f"{of}.weight.length"], window.options
    wrote = (length > 0).to(length.dtype)
    words, responses, most = window[f"{of}.words"], window[f"{of}.responses"], window["response.most"]
    shared = whole_weights(words, responses, most, options.number("loss.agg_eps", 1))
    own = wrote / (shared["rows"][:, None] * (length.clamp(min=1) + options.number("loss.seq_eps", 2)))
    ways = torch.stack([*(shared[way][:, None].expand_as(own) for way in SHARED), own], dim=-1)
    place = mode.long()[:, None, None].expand(*own.shape, 1)
    chosen = ways.gather(-1, place).squeeze(-1)
    found = {"wrote": wrote} | shared | {"seq_mean": own, "chosen": chosen, "row": counted * chosen[..., None]}
    return {f"{name}.weight.{row}": each for row, each in found.items()}


def part_rows(window: Window) -> Named:
    """Returns the parts of the loss of the whole batch: Σ w·z of the words shown, and of those that are not."""

    def whole(part: str, weights: str, row: str) -> Tensor:
        return (window[f"{weights}.weight.row"] * window[row]).sum(dim=(-2, -1)) + window[f"rest.{part}"]

    keep = window["loss.keep"]
    found = {"policy_loss": -keep * whole("policy", "policy", "surrogate")}
    if window.kind.value_loss:
        found["value_loss"] = keep * whole("value", "value", "value.word_loss")
    if window.kind.entropy:
        found["entropy"] = whole("entropy", "entropy", "policy.entropy")
    return found | {"kl_loss": whole("kl", "policy", "kl_new.used")}


def total_rows(window: Window) -> Named:
    """Returns the weights of the parts, what they add, and the total L = L_π + c₁·L_V − c₂·H + β·KL; c₁, β may be 0."""
    options, adds = window.options, {}
    price = price_rows(window, options)["kl_coef.loss"]
    weights = {"kl_coef.loss": price}
    if window.kind.value_loss:
        weights["vf_coef.used"] = options.number("vf_coef", 1) * options.says("loss.joint", "on", 1)
        adds["adds.value_loss"] = weights["vf_coef.used"] * window["value_loss"]
    if window.kind.entropy:
        adds["adds.entropy"] = -options.number("ent_coef", 1) * window["entropy"]
    adds["adds.kl_loss"] = price * window["kl_loss"]
    total = torch.stack([window["policy_loss"], *adds.values()]).sum(dim=0)
    return weights | adds | {"total_loss": total}


def share_rows(window: Window) -> Named:
    """Returns what each word adds to the total, part by part; with what is not shown the shares sum to it."""
    keep, policy = window["loss.keep"][:, None, None], window["policy.weight.row"]
    found = {"share_of.policy": -keep * policy * window["surrogate"]}
    if window.kind.value_loss:
        weight = window["vf_coef.used"][:, None, None] * keep * window["value.weight.row"]
        found["share_of.value"] = weight * window["value.word_loss"]
    if window.kind.entropy:
        weight = -window.options.number("ent_coef") * window["entropy.weight.row"]
        found["share_of.entropy"] = weight * window["policy.entropy"]
    found["share_of.kl"] = window["kl_coef.loss"][:, None, None] * policy * window["kl_new.used"]
    return found | {"share": torch.stack(list(found.values())).sum(dim=0)}
