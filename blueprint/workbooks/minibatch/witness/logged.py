"""What a file of a minibatch has, where its computation begins and which parts its loss has; and what stands beside a window:
means over the words shown, how far off the library's log is, checks, and charts."""

from typing import NamedTuple

import torch

from blueprint.witness import (
    Batch,
    File,
    Rows,
    WitnessError,
    add_clip_curve,
    add_dots,
    add_verdicts,
    checks,
    masked_mean,
    shown_words,
    sums_from,
)

BEGINNINGS = ("score.given", "score.placed", "rewards", "advantages_used")
"""Rows in which a computation begins. The first that a file has is typed; those behind it follow from it."""

ROWS = ("old.logprobs", "policy.logprobs", "reference.logprobs")
RESPONSES = (
    "response.ended", "response.padded", "policy.weight.length", "value.weight.length",
    "after.words", "after.ahead", "after.advantages",
)  # fmt: skip
WHOLE = (
    "reward.mean", "reward.variance", "advantage.mean", "advantage.variance", "response.most", "loss.mean_ratio",
    "policy.words", "policy.responses", "value.words", "value.responses",
    "rest.policy", "rest.value", "rest.entropy", "rest.kl",
)  # fmt: skip
"""What every file types: rows of words, numbers of responses, numbers of the whole batch."""


class Kind(NamedTuple):
    """What a file has.

    begins: the row in which it begins. advantages: whether they follow from rewards and values. kept: whether old values
    are looked at. value_loss, entropy: parts of the loss. logged: what a library logged, in the order of the file.
    """

    begins: str
    advantages: bool
    kept: bool
    value_loss: bool
    entropy: bool
    logged: tuple[str, ...]

    @property
    def typed(self) -> tuple[str, ...]:
        """The names of what is typed, apart from settings, mask and slots."""
        optional = {
            "returns": self.kept and not self.advantages,
            "old_critic.values": self.kept,
            "critic.values": self.value_loss,
            "policy.entropy": self.entropy,
        }
        return (*ROWS, *RESPONSES, *WHOLE, self.begins, *(name for name, has in optional.items() if has))


def kind_of(file: File) -> Kind:
    """Returns what a file has. Raises WitnessError for one without scores, rewards and advantages."""
    begins = next((name for name in BEGINNINGS if name in file), None)
    if begins is None:
        raise WitnessError(f"the file has none of {', '.join(BEGINNINGS)}, in one of which a minibatch begins")
    advantages = begins != "advantages_used"
    kept = "old_critic.values" in file and (advantages or "returns" in file)
    logged = tuple(name.removeprefix("logged.") for name in file if name.startswith("logged."))
    return Kind(begins, advantages, kept, kept and "critic.values" in file, "policy.entropy" in file, logged)


MEANS = (
    "advantages", "advantages_used", "clip_fraction.flag", "kl.used", "ratio", "returns", "reward.penalty", "rewards",
    "score.placed", "surrogate", "td_errors", "value.word_loss",
)  # fmt: skip
PARTS = ("policy_loss", "adds.value_loss", "adds.entropy", "adds.kl_loss")
POLICIES = {"old_policy": "old", "new_policy": "policy", "reference": "reference"}


def add_means(rows: Rows, kind: Kind) -> None:
    """Adds how many response words are shown, and means over them; returns have one where they follow from advantages."""
    mask = rows["mask"]
    words, columns = mask.sum(dim=(-2, -1)).clamp(min=1), mask.shape[-1]
    shown = (name for name in MEANS if name in rows and (name != "returns" or kind.advantages))
    means = {f"mean.{name}": masked_mean(rows[name][..., :columns], mask, words) for name in shown}
    rows.add({"window.words": words} | means)


def add_logged(batch: Batch, rows: Rows, kind: Kind) -> None:
    """Adds how far what the library logged is off: row by row, where the row is read, and the numbers of the whole batch.

    Scores count in every slot, advantages on the response, rewards and returns where a value is kept.
    """
    for name in kind.logged:
        logged, allowed = batch.typed(f"logged.{name}"), batch.typed(f"allowed.{name}")
        ours = rows[name] if name in rows else batch.typed(f"batch.{name}")
        if logged.dim() == 1:
            apart = (logged - ours).abs()
            rows.add({f"off.{name}": apart, f"deviates.{name}": (apart > allowed).to(apart.dtype)})
        else:
            apart = _read(rows, name) * (logged - ours[..., : logged.shape[-1]]).abs()
            far = (apart > allowed[:, None, None]).to(apart.dtype)
            rows.add({f"off.{name}": apart, f"off.{name}.worst": apart.amax(dim=(-2, -1))})
            rows.add({f"deviates.{name}": far, f"deviates.{name}.count": far.sum(dim=(-2, -1))})


def _read(rows: Rows, name: str) -> torch.Tensor:
    """Returns 1 where a row means something, [F, N, T]."""
    if name == "score.placed":
        return rows["slots"][..., :-1]
    return rows["response"] if name.startswith("advantages") else rows["kept"]


def add_checks(batch: Batch, rows: Rows, kind: Kind) -> None:
    """Adds every check in the order of the file."""
    mask = rows["mask"]
    found = {f"check.log_{name}": mask * rows[f"{policy}.logprobs"].clamp(min=0) for name, policy in POLICIES.items()}
    parts = _adding(rows)
    rows.add({"check.parts_size": parts.abs().sum(dim=-1)})
    found |= {
        "check.mask": (mask * (1 - mask)).abs(),
        "check.parts": checks.sum_distance(parts, rows["total_loss"]),
        "check.settings": batch.outside_all,
    }
    if kind.advantages:
        slots, over = rows["slots"][..., :-1], rows["gae.over"]
        gamma_0 = slots * (1 - over) * (rows["rewards"] - rows["values.kept"][..., :-1])
        rows.add({"identity.lambda_0": sums_from(rows["td_errors"], over * slots), "identity.gamma_0_td": gamma_0})
        rows.add({"identity.gamma_0": sums_from(gamma_0, over * slots)})
        found |= checks.gae_distances(rows, rows["values.kept"][..., :-1], slots, slots * (1 - over))
    add_verdicts(batch, rows, found)


def add_charts(batch: Batch, rows: Rows, kind: Kind) -> None:
    """Adds the curve of the clip with its dots, the words of the bars, and the parts of the loss."""
    add_clip_curve(batch, rows)
    add_dots(batch, rows, rows["ratio"], rows["advantages_used"], rows["mask"])
    if kind.advantages:
        rows.add_words("bar.word", shown_words(batch))
    rows.add({"parts": torch.cat([_adding(rows), rows["total_loss"][:, None]], dim=-1)}, whole=True)


def _adding(rows: Rows) -> torch.Tensor:
    """Returns what each part adds to the total, [F, Q]."""
    return torch.stack([rows[name] for name in PARTS if name in rows], dim=-1)
