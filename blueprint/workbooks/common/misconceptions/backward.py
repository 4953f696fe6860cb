"""Misconceptions on the way back: in which row, what they are called, how they are said, and what the row then shows, made of
the other rows. A change of the one equation does not say them: much of what is forgotten stands in the sums of others.

In the name of a row {model} is policy or critic, {weight} the name of a weight, {step} the number of a step; of a row that stands
once more in every epoch all others are that epoch's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Made = tuple[str, str, str, Callable[[Any], Array]]
"""Row, name, sentence, and what the row then shows."""


def _later(x: Array) -> Array:
    """Returns what stands one position later, 0 at the last."""
    return np.concatenate([x[:, 1:], np.zeros_like(x[:, :1])], axis=1)


def _earlier(x: Array) -> Array:
    return np.concatenate([np.zeros_like(x[:, :1]), x[:, :-1]], axis=1)


def _own(r: Any) -> Array:
    """Returns what the memory feels from the output of its own position."""
    if "{model}.logits.grad" in r:
        return np.asarray(r["{model}.logits.grad"] @ r["{model}.Y"].T)
    return np.asarray(r["{model}.out.grad"][..., None] * r["{model}.head.w"])


def _sent_back(r: Any) -> Array:
    """Returns what the memory that each position reads feels from it."""
    first, size = r["{model}.E"].shape[-1], r["{model}.memory"].shape[-1]
    return np.asarray(r["{model}.inputs.grad"][..., first : first + size])


def _hot(r: Any, name: str) -> Array:
    return np.asarray(r[name][..., None] == r["rollout.written.grad.id"])


def _per_token(r: Any) -> Array:
    return np.asarray(r["loss.mask"] / r["response.words"])


def _of_logits(r: Any, slope: Callable[..., Array], entropy: float = 1.0, hot: str = "rollout.written") -> Array:
    """Returns what logits feel, with another slope of the token written, another sign of the entropy, or another token."""
    m = r["policy.slots" if "policy.slots" in r else "policy.mask"][..., None]
    p, plain = r["policy.p"], np.zeros(r["policy.p"].shape)

    def felt(name: str) -> Array:
        return np.asarray(r[f"{name}.grad"][..., None] * m if f"{name}.grad" in r else plain)

    of_entropy = felt("policy.entropy") * p * (r["policy.log_p"] - r["policy.p_log_p"][..., None])
    of_kl = felt("policy_kl.exact") * (p - r["old.p"])
    return np.asarray(felt("policy.logprobs") * slope(_hot(r, hot), p) - entropy * of_entropy + of_kl)


def _soft_max(hot: Array, p: Array) -> Array:
    return np.asarray(hot - p)


LOSS: tuple[Made, ...] = (
    ("surrogate.grad", "mean-forgotten", "The mean is forgotten: what each token adds is not divided by how many there are.",
     lambda r: -r["loss.mask"]),
    ("surrogate.grad", "sign-of-the-loss", "The policy loss is −U, and its sign is forgotten.", _per_token),
    ("ratio.grad", "clip-ignored", "The clip is ignored: a token that is clipped pulls no more.",
     lambda r: r["surrogate.grad"] * r["loss.advantages"]),
    ("ratio.grad", "taken-for-clipped",
     "Every ratio outside of its range is taken for clipped: it is only where the clipped surrogate is the smaller.",
     lambda r: r["surrogate.grad"] * r["loss.advantages"] * (r["ratio"] == r["ratio.clipped"])),
    ("ratio.grad", "wrong-branch", "The wrong branch of the minimum pulls.",
     lambda r: r["surrogate.grad"] * r["loss.advantages"] * (r["surrogate.clipped"] < r["surrogate.unclipped"])),
    ("ratio.grad", "advantage-forgotten", "The advantage is forgotten.",
     lambda r: r["surrogate.grad"] * (r["surrogate.unclipped"] <= r["surrogate.clipped"])),
    ("log_ratio.grad", "slope-of-exp-forgotten",
     "The slope of ρ = e^d is ρ itself, and it is forgotten.", lambda r: r["ratio.grad"]),
    ("value.word_loss.grad", "half-forgotten", "The ½ of the value loss is forgotten.", lambda r: 2 * r["vf_coef"] * _per_token(r)),
    ("value.word_loss.grad", "mean-forgotten", "The mean is forgotten: what each token adds is not divided by how many there are.",
     lambda r: r["vf_coef"] * r["loss.mask"]),
    ("value.word_loss.grad", "vf-coef-forgotten", "vf_coef is forgotten.", _per_token),
    ("critic.values.grad", "half-forgotten", "The ½ of the value loss is forgotten: the slope of ½·e² is e, not 2·e.",
     lambda r: 2 * r.meant),
    ("critic.values.grad", "value-clip-ignored",
     "The value clip is ignored: a value whose clipped square is the larger is not moved.",
     lambda r: r["value.word_loss.grad"] * r["loss.mask"] * r["value.error"]),
    ("critic.values.grad", "clipped-value-moves", "The clipped value is taken to move with the value.",
     lambda r: r["value.word_loss.grad"] * np.where(
         r["value.square_clipped"] <= r["value.square"], r["value.error"], r["value.error_clipped"])),
    ("policy.entropy.grad", "entropy-turned", "The sign of the entropy is turned: the loss has −ent_coef·H.",
     lambda r: r["ent_coef"] * _per_token(r)),
    ("policy.entropy.grad", "mean-forgotten", "The mean is forgotten: what each token adds is not divided by how many there are.",
     lambda r: -r["ent_coef"] * r["loss.mask"]),
    ("policy_kl.exact.grad", "kl-turned", "The sign of the KL is turned: the loss has +policy_kl_coef·KL.",
     lambda r: -r["policy_kl_coef"] * _per_token(r)),
)  # fmt: skip
"""Between the loss and the log-probs and values."""

LOGITS: tuple[Made, ...] = tuple(
    (row, name, said, made)
    for row in ("policy.logits.grad", "policy.tempered.grad")
    for name, said, made in (
        ("softmax-forgotten",
         "The Σ of the soft-max is forgotten: the slope of log π by the logits is 1 for the token − p, not 1 alone.",
         lambda r: _of_logits(r, lambda hot, p: hot * 1.0)),
        ("entropy-turned", "The sign of the entropy is turned.", lambda r: _of_logits(r, _soft_max, entropy=-1)),
        ("entropy-forgotten", "The entropy is left out.", lambda r: _of_logits(r, _soft_max, entropy=0)),
        ("token-read-for-written", "The one-hot is that of the token read, not of the token written.",
         lambda r: _of_logits(r, _soft_max, hot="rollout.read")),
        ("softmax-turned", "The slope of log π is 1 for the token − p, and the other way round it stands there.",
         lambda r: _of_logits(r, lambda hot, p: p - hot)),
    )
)  # fmt: skip
"""Between the log-probs and the logits, which stand divided by a temperature where there is one."""

MODELS: tuple[Made, ...] = (
    ("rollout.written.grad.is", "token-read-for-written", "The one-hot is that of the token read, not of the token written.",
     lambda r: _hot(r, "rollout.read")),
    ("rollout.read.grad.is", "token-written-for-read", "The one-hot is that of the token written, not of the token read.",
     lambda r: np.asarray(r["rollout.written"][..., None] == r["rollout.read.grad.id"])),
    ("{model}.memory.grad", "not-through-time",
     "Nothing comes back from the next position: there is no backpropagation through time.", _own),
    ("{model}.memory.grad", "time-turned",
     "Backpropagation through time runs the wrong way: the position before sends back, not the next.",
     lambda r: _own(r) + _earlier(_sent_back(r))),
    ("{model}.memory.grad", "own-output-forgotten",
     "Only the next position counts: what the position's own output feels is left out.",
     lambda r: _later(_sent_back(r))),
    ("{model}.memory.grad.in", "slope-of-tanh-not-squared", "The slope of tanh is 1 − h², not 1 − h.",
     lambda r: r["{model}.memory.grad"] * (1 - r["{model}.memory"])),
    ("{model}.memory.grad.in", "slope-of-tanh-forgotten",
     "The slope of tanh, 1 − h², is forgotten.", lambda r: r["{model}.memory.grad"]),
    ("{model}.memory.grad.in", "slope-of-sigmoid", "The slope is that of a sigmoid, h·(1 − h), not that of tanh, 1 − h².",
     lambda r: r["{model}.memory.grad"] * r["{model}.memory"] * (1 - r["{model}.memory"])),
    ("{model}.memory.grad.in", "memory-of-before", "h is that of the position before.",
     lambda r: r["{model}.memory.grad"] * (1 - _earlier(r["{model}.memory"]) ** 2)),
)  # fmt: skip
"""Between the logits and values and the weights."""

FACTORS: tuple[Made, ...] = (
    ("{row}.grad", "sign", "Its sign is turned.", lambda r: -r.meant),
    ("{row}.grad", "twice", "It is twice what it should be: a ½ is forgotten.", lambda r: 2 * r.meant),
    ("{row}.grad", "half", "It is half of what it should be: a ½ is one too many.", lambda r: r.meant / 2),
    ("{row}.grad", "mean-forgotten", "It is not divided by the number of tokens: the mean is forgotten.",
     lambda r: r.meant * r["response.words"]),
    ("{row}.grad", "mean-twice",
     "It is divided by the number of tokens, which is done already.", lambda r: r.meant / r["response.words"]),
)  # fmt: skip
"""In any row of the way back."""
