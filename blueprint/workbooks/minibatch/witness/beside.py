"""What stands beside a window: means over the words shown, how far off the library's log is, checks, and charts."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from blueprint.witness import checks
from blueprint.witness.batch import Rows
from blueprint.witness.charts import dot_rows
from blueprint.witness.gae import masked_sums
from blueprint.witness.live.watched import clip_curve_rows
from blueprint.witness.models import Named
from blueprint.witness.setting_rows import outside_all
from blueprint.witness.settings import block, numbers
from blueprint.witness.signal import masked_mean, with_end
from blueprint.workbooks.minibatch.witness.window import Window

MEANS = (
    "kl.used", "reward.penalty", "score.placed", "rewards", "td_errors", "advantages", "returns", "advantages_used", "ratio",
    "surrogate", "clip_fraction.flag", "value.word_loss",
)  # fmt: skip
PARTS = ("policy_loss", "adds.value_loss", "adds.entropy", "adds.kl_loss", "total_loss")
POLICIES = {"old_policy": "old", "new_policy": "policy", "reference": "reference"}


def add_means(window: Window) -> None:
    """Adds how many response words are shown, and means over them; returns have one where they follow from advantages."""
    words, columns = window.mask.sum(dim=(-2, -1)).clamp(min=1), window.mask.shape[-1]
    shown = (name for name in MEANS if name in window and (name != "returns" or window.kind.advantages))
    means = {f"mean.{name}": masked_mean(window[name][..., :columns], window.mask, words) for name in shown}
    window.add({"window.words": words} | means)


def add_logged(window: Window) -> None:
    """Adds how far what the library logged is off: row by row, where the row is read, and the numbers of the whole batch.

    Scores count in every slot, advantages on the response, rewards and returns where a value is kept.
    """
    for name in window.kind.logged:
        logged, allowed = window.batch.typed(f"logged.{name}"), window.batch.typed(f"allowed.{name}")
        ours = window[name] if name in window else window.batch.typed(f"batch.{name}")
        if logged.dim() == 1:
            apart = (logged - ours).abs()
            window.add({f"off.{name}": apart, f"deviates.{name}": (apart > allowed).to(apart.dtype)})
        else:
            apart = _read(window, name) * (logged - ours[..., : logged.shape[-1]]).abs()
            far = (apart > allowed[:, None, None]).to(apart.dtype)
            worst, count = apart.amax(dim=(-2, -1)), far.sum(dim=(-2, -1))
            window.add({f"off.{name}": apart, f"off.{name}.worst": worst})
            window.add({f"deviates.{name}": far, f"deviates.{name}.count": count})


def _read(window: Window, name: str) -> Tensor:
    """Returns 1 where a row means something, [F, N, T]."""
    if name == "score.placed":
        return window.texts.slots
    return window["response"] if name.startswith("advantages") else window["kept"]


def add_checks(window: Window, rows: Rows) -> None:
    """Adds every check in the order of its level."""
    mask, found = window.mask, {"check.mask": (window.mask * (1 - window.mask)).abs()}
    for name, policy in POLICIES.items():
        found[f"check.log_{name}"] = mask * window[f"{policy}.logprobs"].clamp(min=0)
    if window.kind.advantages:
        window.add(identity_rows(window))
        values = window["values.kept"][..., :-1]
        advantages = window["advantages"][..., :-1]
        apart = (window["returns"] - values - advantages).abs() / (advantages.abs() + values.abs()).clamp(min=1)
        found["check.returns"] = window.texts.slots * apart
    window.add({"check.parts_size": _adding(window).abs().sum(dim=-1)})
    found["check.parts"] = checks.sum_distance(_adding(window), window["total_loss"])
    found["check.settings"] = outside_all(window.batch)
    if window.kind.advantages:
        found |= identity_distances(window)
    checks.add_verdicts(window.batch, rows, found)


def identity_rows(window: Window) -> Named:
    """Returns the advantages for λ = 0 and for γ = 0; what enters behind the last column does not reach them."""
    slots, over = window.texts.slots, window["gae.over"]
    gamma_0 = slots * (1 - over) * (window["rewards"] - window["values.kept"][..., :-1])
    return {
        "identity.lambda_0": with_end(masked_sums(window["td_errors"], over, slots)),
        "identity.gamma_0_td": gamma_0,
        "identity.gamma_0": with_end(masked_sums(gamma_0, over, slots)),
    }


def identity_distances(window: Window) -> Named:
    """Returns how far the two identities of GAE are from holding, where no slot is passed over."""
    inside = window.texts.slots * (1 - window["gae.over"])
    lambda_0, gamma_0 = (window[f"identity.{name}"][..., :-1] for name in ("lambda_0", "gamma_0"))
    return {
        "check.lambda_0": inside * (lambda_0 - window["td_errors"]).abs(),
        "check.gamma_0": inside * (gamma_0 - window["rewards"] + window["values.kept"][..., :-1]).abs(),
    }


def add_charts(window: Window, rows: Rows) -> None:
    """Adds the curve of the clip with its dots, the words of the bars, and the parts of the loss."""
    rows.add_whole(clip_curve_rows(window.batch))
    window.add(dot_rows(window.batch, window["ratio"], window["advantages_used"], window["surrogate"], window.mask))
    if window.kind.advantages:
        words = [np.where(numbers(file, "mask") > 0, block(file, "word_written"), "") for file in window.batch.files]
        rows.add_words("bar.word", [each.astype(object) for each in words])
    total = window["total_loss"][:, None]
    rows.add_whole({"parts": torch.cat([_adding(window), total], dim=-1)})


def _adding(window: Window) -> Tensor:
    """Returns what each part adds to the total, [F, Q]."""
    return torch.stack([window[name] for name in PARTS[:-1] if name in window], dim=-1)
