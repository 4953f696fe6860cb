"""What rows of charts hold, and others that no result of a page is made of, said once more in numpy: by workbook and row.

Each reads the rows before it as the workbook has them: one that is wrong parts from what is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tests.page.workshop import Array

Rows = Mapping[str, Array]
Say = Callable[[Rows], Array]


def tops(**logits: str) -> dict[str, Say]:
    """Returns the largest logits, which are subtracted before exp and added again behind ln: in the end they cancel."""
    return {name.replace("__", "."): (lambda b, z=z: b[z].max(-1)) for name, z in logits.items()}  # type: ignore[misc]


def counted(form: Say) -> Say:
    """Returns how many cells are 1."""
    return lambda b: np.asarray(form(b).sum())


def inside(mask: Array, positions: int) -> Array:
    """Returns a mask without the cells at its edges, if it has some."""
    cut = (mask.shape[1] - positions) // 2
    return mask[:, cut : cut + positions]


def falls(b: Rows) -> Array:
    return np.asarray(b["policy.logprobs.grad"] < -b["loss.grad.tiny"], float)


def grows(b: Rows) -> Array:
    return np.asarray(b["policy.logprobs.grad"] > b["loss.grad.tiny"], float)


def still(b: Rows) -> Array:
    slope = b["policy.logprobs.grad"]
    mask = inside(b["policy.mask"] if "policy.mask" in b else b["loss.mask"], slope.shape[1])
    return np.asarray(mask * (np.abs(slope) <= b["loss.grad.tiny"]))


PULLED: dict[str, Say] = {
    **{f"loss.grad.{way}": form for way, form in (("up", falls), ("down", grows), ("still", still))},
    **{f"loss.grad.{way}.count": counted(form) for way, form in (("up", falls), ("down", grows), ("still", still))},
}
"""Which tokens the loss moves up, down, and not at all."""


def surrogate(name: str, sign: float, low: str, high: str) -> dict[str, Say]:
    """Returns the picture of the clip for an advantage of 1 or −1, and its pull. low, high: how far the ratio may go."""

    def held(b: Rows) -> Array:
        return np.asarray(np.clip(b["curve.ratio"], 1 - b[low], 1 + b[high]))

    return {
        f"curve.{name}": lambda b: np.full(b["curve.ratio"].shape, sign),
        f"curve.{name}.ratio.clipped": held,
        f"curve.{name}.surrogate.unclipped": lambda b: sign * b["curve.ratio"],
        f"curve.{name}.surrogate.clipped": lambda b: sign * held(b),
        f"curve.{name}.surrogate": lambda b: np.minimum(sign * b["curve.ratio"], sign * held(b)),
        f"curve.grad.{name}.ratio": lambda b: b["curve.ratio"][b[f"curve.grad.{name}.corner"].astype(int)],
        f"curve.grad.{name}.pull": lambda b: b[f"curve.grad.{name}.times"] * b[f"curve.grad.{name}.ratio"],
    }


def clip(advantage: str, low: str, high: str) -> dict[str, Say]:
    """Returns the picture of the clip, and the tokens in it as dots; behind the response they lie at a ratio of −1."""

    def by_size(b: Rows, over: Array) -> Array:
        size = np.abs(b[advantage])
        return np.asarray(np.divide(over, size, out=np.zeros_like(size), where=size > 0))

    def pull(b: Rows) -> Array:
        passed = np.abs(b["surrogate.grad"] * b[advantage]) > b["loss.grad.tiny"]
        slope = np.where(passed, b["ratio.grad"] * b["ratio"] / np.where(passed, b["surrogate.grad"], 1), 0)
        return by_size(b, slope)

    def ratio(b: Rows) -> Array:
        held = np.clip(b["ratio"], b["dot.low"], b["dot.high"])
        return np.where(inside(b["mask"], held.shape[1]) == 1, held, -1)

    return {
        **surrogate("good", 1.0, low, high),
        **surrogate("bad", -1.0, low, high),
        "curve.ratio": lambda b: b["curve.from"] + b["curve.by"] * np.where(b["curve.by"] > 0, b[high], b[low]),
        "dot.ratio": ratio,
        "dot.size": lambda b: np.abs(b[advantage]),
        "dot.surrogate": lambda b: by_size(b, b["surrogate"]),
        "dot.grad.pull": pull,
    }


def discounted(terms: int) -> Say:
    """Returns the sums of TD errors with another λ that the picture of GAE shows."""

    def found(b: Rows) -> Array:
        delta, decay = b["td_errors"], b["gamma"] * b[f"gae_at.lambda{terms}"]
        sums = np.zeros((delta.shape[0], delta.shape[1] + 1))
        for t in reversed(range(delta.shape[1])):
            sums[:, t] = delta[:, t] + b["signal.mask"][:, t + 1] * decay * sums[:, t + 1]
        return sums

    return found


def room(b: Rows) -> Array:
    """Returns how many tokens more may be written, before the first and at every position."""
    used = b["mask"][:, : b["rollout.room"].shape[1] - 1].cumsum(1)
    return np.asarray(b["max_new_tokens"] - np.pad(used, ((0, 0), (1, 0))))


def stacked(*names: str) -> Say:
    return lambda b: np.array([b[name].item() for name in names])


def less_surprise(name: str) -> Say:
    """Returns Σ p·log p of a model."""
    return lambda b: (np.exp(b[f"{name}.log_p"]) * b[f"{name}.log_p"]).sum(-1)


NORMS = "policy.E policy.W policy.Y policy critic.head.b critic.E critic.W critic.head.w critic"


def seen_weight(b: Rows) -> Array:
    return np.asarray(b["draws.share"] * b["moved.ratio"] * b["advantage.down"])


def around(form: Callable[[Rows], Array]) -> Say:
    """Returns Σ_v w[v]·∇log π_θ[v] at each policy."""
    return lambda b: form(b) - b["moved.p"] * form(b).sum(-1, keepdims=True)


def all_tokens(b: Rows) -> Array:
    return np.broadcast_to(b["policy.p_down"] * b["advantage.down"], b["moved.p"].shape)


def of_baseline(name: str) -> Say:
    """Returns the variance with baselines: a parabola around the best."""
    return lambda b: b["least.variance"] + b["slope.square_mean"] * (b[name] - b["baseline.optimal"]) ** 2


def seen_variance(b: Rows) -> Array:
    squares = seen_weight(b) * b["moved.ratio"] * b["advantage.down"] * b["moved.slope_square"]
    return np.asarray(squares.sum(-1) - (around(seen_weight)(b) ** 2).sum(-1))


def allowance(row: str) -> dict[str, Say]:
    """Returns how far a logged number is off the workbook's, and whether that is more than rounding allows."""
    return {
        f"off.{row}": lambda b: np.abs(
            b[f"logged.{row}"] - b[f"beside.{row}" if f"beside.{row}" in b else f"batch.{row}"]
        ),
        f"deviates.{row}": lambda b: np.asarray(b[f"off.{row}"] > b[f"allowed.{row}"], float),
    }


def divisors(name: str) -> dict[str, Say]:
    """Returns the divisors of whitening rewards of a minibatch that keep σ² or σ away from 0."""
    spread, least = f"{name}.variance", "whiten_eps"
    return {
        f"{name}.clamp": lambda b: np.sqrt(np.clip(b[spread], b[least], None)),
        f"{name}.std_plus": lambda b: b[spread] ** 0.5 + b[least],
        f"{name}.std_max": lambda b: np.fmax(b[spread] ** 0.5, b[least]),
    }


def clamps(of: str, estimator: str) -> Say:
    """Returns whether a KL is clamped: every estimate is, or k3 alone, the estimate of number 2, and it is k3."""
    return lambda b: np.asarray((b[f"{of}.number"] == 0) | (b[f"{estimator}.number"] == 2), float)


WHOLE = ("entropy", "total_loss", "clip_fraction.used")
MINIBATCH: dict[str, Say] = {
    **PULLED,
    **clip("advantages_used", "clip_range", "loss.clip_range_high"),
    **divisors("reward"),
    **{name: say for row in ("advantages_used", *WHOLE) for name, say in allowance(row).items()},
    "off.advantages_used": lambda b: (
        np.abs(b["logged.advantages_used"] - b["beside.advantages_used"]) * (b["response"] == 1)
    ),
    "off.advantages_used.worst": lambda b: b["off.advantages_used"].max(),
    "deviates.advantages_used.count": counted(lambda b: b["deviates.advantages_used"]),
    "clip_fraction.changed": lambda b: np.asarray(b["surrogate.unclipped"] > b["surrogate.clipped"], float),
    "clip_fraction.outside": lambda b: np.asarray(b["ratio"] != b["ratio.clipped"], float),
    "clip_fraction.flag": lambda b: b["clip_fraction.changed"],
    "mean.clip_fraction.flag": lambda b: b["clip_fraction.flag"][b["mask"] == 1].mean(),
    "critic_loss": lambda b: b["vf_coef.critic"] * b["value_loss"],
    "share.policy": lambda b: (
        b["policy.weight.row"] * (b["kl_coef.loss"] * b["kl_new.used"] - b["loss.keep"] * b["surrogate"])
    ),
    "share.value": lambda b: b["value.weight.row"] * b["vf_coef.used"] * b["loss.keep"] * b["value.word_loss"],
    "share.entropy": lambda b: -b["ent_coef"] * b["entropy.weight.row"] * b["loss.entropy"],
    "share": lambda b: np.sum([b[f"share.{part}"] for part in ("policy", "value", "entropy")], axis=0),
    "parts": stacked("policy_loss", "adds.value_loss", "adds.entropy", "adds.kl_loss", "total_loss"),
    "curve.lowest": lambda b: 1 - b["clip_range"],
    "curve.reach": lambda b: np.where(b["curve.by"] > 0, b["loss.clip_range_high"], b["clip_range"]),
    "kl.holds": clamps("reward.kl_clamp_of", "kl_estimator"),
    "kl_new.holds": clamps("loss.kl_clamp_of", "loss.kl_estimator"),
    "reward.counted": lambda b: b["kept"],
    "reward.centred": lambda b: (b["rewards.raw"] - b["reward.mean"]) * (b["reward.counted"] == 1),
    "place.second_past": lambda b: b["place.first_past"][:, :-1] * b["signal.S"][:, :-1],
    "loss.mean_ratio.largest": lambda b: np.where(
        np.isinf(b["loss.ratio_threshold"]), b["loss.mean_ratio"], b["loss.ratio_threshold"]
    ),
    **{f"{part}.weight.token_sum": lambda _: np.ones(()) for part in ("policy", "value", "entropy")},
}


SAID: dict[str, dict[str, Say]] = {
    "default": {
        **tops(old__top="old.logits", reference__top="reference.logits", policy__top="policy.logits"),
        **PULLED,
        **clip("advantages_used", "clip_range", "clip_range"),
        **{f"gae_at.{terms}": discounted(terms) for terms in (1, 2, 3, 4)},
        "decisions": lambda b: np.asarray(b["ratio"].shape[1]),
        "rollout.room": room,
        "reference.p_log_p": less_surprise("reference"),
        "parts": stacked("policy_loss", "adds.value_loss", "adds.entropy", "adds.policy_kl", "total_loss"),
        "norms.grad.bars": stacked(*(f"{name}.grad.norm" for name in NORMS.split())),
    },
    "classic": {
        **tops(old__top="old.logits", policy__top="policy.logits"),
        "old.p_log_p": less_surprise("old"),
    },
    "reinforce": {
        **tops(policy__top="policy.logits", moved__top="moved.logits"),
        "chart.id": lambda _: np.zeros(()),
        "chart.draw": lambda b: np.arange(1.0, 1 + len(b["draws.uniform"])),
        "chart.without": lambda b: b["without.running"][1:, 0],
        "chart.with": lambda b: b["with.running"][1:, 0],
        "chart.exact": lambda b: np.full(b["draws.uniform"].shape, b["gradient"][0]),
        "chart.reach": lambda b: np.maximum(1, np.abs(b["baseline.optimal"])),
        "chart.baseline": lambda b: b["baseline.optimal"] + b["chart.share"] * b["chart.reach"],
        "chart.variance": of_baseline("chart.baseline"),
        "chart.known": lambda b: np.array([0.0, b["baseline.fixed"].item()]),
        "chart.known_variance": of_baseline("chart.known"),
        "reused.adds": lambda b: b["reused.variance"] - b["fresh.variance"],
        "seen.weight": seen_weight,
        "seen.sum": lambda b: seen_weight(b).sum(-1),
        "seen.gradient": around(seen_weight),
        "seen.second": lambda b: seen_weight(b) * b["moved.ratio"] * b["advantage.down"],
        "seen.square": lambda b: (around(seen_weight)(b) ** 2).sum(-1),
        "seen.variance": seen_variance,
        "bare.weight": lambda b: all_tokens(b)[0],
        "bare.sum": lambda b: all_tokens(b)[0].sum(),
        "bare.gradient": around(all_tokens),
    },
    "optimum": {
        **tops(first__top="reference.first", second__top="second.logits", optimum__top="optimum.logits"),
        **tops(policy__top="policy.theta", way__top="way.logits"),
        "first.p": lambda b: np.exp(b["first.log_p"]),
        "second.p": lambda b: np.exp(b["second.log_p"]),
        "implicit.left": lambda b: b["reward.scores"] - b["implicit.reward"],
    },
    "minibatch": MINIBATCH,
    "bandit": {
        **tops(boltzmann__top="boltzmann.logits", tau__top="tau.logits"),
        "pull.number": lambda b: np.arange(1, 1 + b["pull.reward"].size),
    },
    "advantage": {
        **{f"long.line.{i + 1}": lambda b, i=i: b["long.gae"][:-1, i] for i in range(4)},  # type: ignore[misc]
        "long.number": lambda b: np.arange(1, 1 + b["long.delta"].size),
        "trace.step": lambda b: np.arange(1, 1 + b["trace.mean"].size),
    },
    "frontier": {
        **tops(optimum__top="optimum.tilted", sweep__top="sweep.logits"),
        "down.count": lambda b: np.asarray(b["reference.chance"].size),
        "sweep.is_likeliest": lambda b: np.asarray(
            np.round(b["sweep.p"], 2) >= np.round(b["sweep.p"], 2).max(-1)[:, None], float
        ),
        "sweep.earliness": lambda b: b["sweep.is_likeliest"] * np.arange(b["reference.chance"].size, 0, -1),
        "sweep.likeliest_id": lambda b: b["sweep.is_likeliest"].argmax(-1),
        "sweep.best_betas": lambda b: b["sweep.beta"] * (b["sweep.gold"] == b["sweep.gold"].max()),
        "best.best_draws_each": lambda b: b["best.draws"] * (b["best.gold"] == b["best.gold"].max()),
    },
    "dpo-batch": PULLED,
    "grpo-batch": {**PULLED, **clip("advantages", "loss.clip_low", "loss.clip_high")},
}
