"""Misconceptions in the models, on the way back from the loss to their weights, and in an optimiser's steps.

On the way back: in which row, what they are called, how they are said, and what the row then shows, made of the other rows. A
change of the one equation does not say them: much of what is forgotten stands in the sums of others. In the name of a row {model}
is policy or critic, {weight} the name of a weight, {step} the number of a step; of a row that stands once more in every epoch all
others are that epoch's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from blueprint.language import Expr, Operand, Sum, constant, exp, log
from blueprint.misconceptions import (
    Misconception,
    applied,
    at,
    base_2,
    equation,
    instead,
    of,
    operand,
    turned,
    whole,
    without,
    zero,
)
from blueprint.workbooks.common.misconceptions.losses import WEIGHTS

POLICIES = ("old", "reference", "policy")


def in_bits(x: Expr) -> Operand:
    """Returns to base 2 what is a natural logarithm."""
    return x / log(constant(2))


# fmt: off
MEMORY = (
    *of("{model}.inputs",
        ("token-written-for-read", "The embedding is that of the token written: column t reads the token that t − 1 wrote.",
         instead("rollout.read", "rollout.written")),
        ("memory-of-now", "The memory is that of its own column: what is read is the memory of the column before.",
         at("{model}.memory", 0)),
        ("memory-not-passed-on", "The memory of the column before is left out: it is a part of what is read.",
         zero("{model}.memory"))),
    *of("{model}.memory",
        ("tanh-forgotten", "The tanh is forgotten: h = tanh(Σ W·x).", operand("tanh")),
        ("sigmoid-for-tanh", "This is the sigmoid: h = tanh(Σ W·x).", applied("tanh", lambda tanh: 1 / (1 + exp(-tanh.args[0]))))),
    *of("{model}.out",
        ("bias-forgotten", "The bias is left out: v = Σ w·h + b.", without("{model}.head.b")),
        ("memory-of-before", "The memory is that of the column before: the head reads the memory that has read its column.",
         at("{model}.memory", -1))),
    *of("{model}.values",
        ("not-masked", "It is not masked: a value outside the response is 0.", without("mask|slots"))),
    *of("{model}.logits",
        ("memory-of-before", "The memory is that of the column before: a token is chosen from the memory that has read its column.",
         at("{model}.memory", -1))),
)
SOFTMAX = (
    *of("{policy}.top",
        ("sum-for-largest", "The logits are added up: the largest of them is taken off before exp.",
         equation(lambda b: Sum(b("{policy}.logits").block.axes[-1], b("{policy}.logits"))))),
    *of("{policy}.exponentials",
        ("exp-forgotten", "exp is forgotten: this is z − z_max.", operand("exp")),
        ("largest-not-taken-off", "The largest logit is not taken off, but it is put back behind the logarithm.",
         zero("{policy}.top"))),
    *of("{policy}.logsumexp",
        ("largest-not-put-back", "The largest logit is not put back: it was taken off before exp.", zero("{policy}.top")),
        ("base-2", "The logarithm is to base 2: it is the natural one.", base_2),
        ("log-forgotten", "The logarithm is forgotten: lse = z_max + ln Σ e^(z − z_max).", operand("log")),
        ("largest-subtracted", "The largest logit is subtracted: it was taken off before exp, and is put back.",
         turned("{policy}.top"))),
    *of("{policy}.log_p",
        ("largest-for-logsumexp", "z_max is subtracted: it is the logarithm of the sum of all e^z, lse.",
         instead("{policy}.logsumexp", "{policy}.top")),
        ("not-normalised", "The logit is not normalised: log p = z − lse.", zero("{policy}.logsumexp")),
        ("normaliser-added", "lse is added: log p = z − lse, and never above 0.", turned("{policy}.logsumexp")),
        ("base-2", "The logarithm is to base 2: it is the natural one.",
         whole(in_bits))),
    *of("{policy}.p",
        ("exp-forgotten", "This is the log-probability: p = e^(log p).", operand("exp")),
        ("exp-of-logit", "This is not normalised: p = e^(log p), and e^z is not yet divided by the sum.",
         instead("{policy}.log_p", "{policy}.logits"))),
    *of("{policy}.p_log_p",
        ("weights-forgotten", "The log-probs are added up without their probabilities.", without("{policy}.p")),
        ("logs-forgotten", "The probabilities alone add up to 1: each is to be multiplied by its logarithm.",
         without("{policy}.log_p"))),
    *of("{policy}.logprobs",
        ("token-read-for-written", "The log-prob is that of the token read, not of the token written.",
         instead("rollout.written", "rollout.read")),
        ("not-masked", "It is not masked: outside the response the log-prob is 0.", without("mask|slots")),
        ("probability-for-log", "This is the probability of the token, not its logarithm.",
         instead("{policy}.log_p", "{policy}.p")),
        ("logit-for-log-prob", "This is the logit of the token: it is not normalised.",
         instead("{policy}.log_p", "{policy}.logits")),
        ("base-2", "The logarithm is to base 2: it is the natural one.", whole(in_bits)),
        ("best-token-for-written", "This is the log-prob of the likeliest token, not of the one written.",
         equation(lambda b: b("{policy}.top") - b("{policy}.logsumexp"))),
        *((f"log-prob-of-{other}", f"This is the log-prob under another policy ({other}), of the same token.",
           instead("{policy}.log_p", f"{other}.log_p")) for other in POLICIES)),
    *of("policy.entropy",
        ("entropy-turned", "The minus is forgotten: an entropy is never negative.", turned()),
        ("base-2", "The entropy is in bits: here it is in nats, with the natural logarithm.", whole(in_bits)),
        ("of-the-token-alone", "This is −log p of the token written: the entropy is over all tokens.",
         equation(lambda b: -b("policy.logprobs")))),
    *of("|".join(WEIGHTS),
        ("step-ignored", "The update is left out: θ_new = θ + step·Δ.", zero("update_step")),
        ("step-forgotten", "The step is forgotten: θ_new = θ + step·Δ.", without("update_step")),
        ("update-subtracted", "The update is subtracted: θ_new = θ + step·Δ.", turned("update_step"))),
)
NETWORKS = (*MEMORY, *SOFTMAX)
# fmt: on


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


def _weight(r: Any) -> Array:
    """Returns a weight before the step."""
    later = "epoch{step}.{weight}"
    return np.asarray(r[later if later in r else "{weight}"])


def _held_alone(r: Any) -> Array:
    """Returns the gradient of a weight, held at the limit by its own norm."""
    raw = r.meant / r["update{step}.scale"]
    norm = np.sqrt(r["update{step}.square.{weight}"]) + r["optimiser.norm_eps"]
    return np.asarray(raw * np.minimum(1, r["optimiser.max_norm"] / norm))


def _logprobs_before(r: Any) -> Array:
    before = r.before("epoch{step}.loss.logp_new", "step")
    return np.asarray(r["loss.logp_new"] if before is None else before)


def _mean_over(r: Any, mask: str, words: str) -> Array:
    """Returns the mean of the advantages over tokens."""
    return np.asarray((r[mask] * r["advantages"]).sum() / r[words])


def _gradient(r: Any) -> Array:
    return np.asarray(r["update{step}.gradient.{weight}"])


def _decayed(r: Any) -> Array:
    return np.asarray(_gradient(r) + r["optimiser.weight_decay"] * _weight(r))


def _mean(r: Any, name: str, beta: str, of: Array) -> Array:
    """Returns a mean moved towards numbers; before the first step it is 0."""
    kept, before = r[f"optimiser.{beta}"], r.before(f"update{{step}}.{name}.{{weight}}", "step")
    return np.asarray((0 if before is None else kept * before) + (1 - kept) * of)


def _way(r: Any, first: bool = True, second: bool = True, inside: bool = False) -> Array:
    """Returns the direction, with or without the corrections of both means, and ε inside the root."""
    m, v = r["update{step}.m.{weight}"], r["update{step}.v.{weight}"]
    m = m / (1 - r["update{step}.power1"]) if first else m
    v = v / (1 - r["update{step}.power2"]) if second else v
    eps = r["optimiser.eps"]
    return np.asarray(m / (np.sqrt(v + eps) if inside else np.sqrt(v) + eps))


def _new(r: Any, decay: float = 1.0, rate: float = 1.0) -> Array:
    """Returns a new weight, with other parts of decay and learning rate."""
    lr, held = r["optimiser.lr"], r["optimiser.weight_decay"] * _weight(r)
    return np.asarray(_weight(r) - rate * lr * r["update{step}.direction.{weight}"] - decay * held)


STEPS: tuple[Made, ...] = (
    ("update{step}.norm", "root-forgotten",
     "The root is forgotten: |g| is the root of the sum of all squares.", lambda r: r.meant**2),
    ("update{step}.gradient.{weight}", "not-held", "The gradient is not held: it is not multiplied by what its norm leaves of it.",
     lambda r: r.meant / r["update{step}.scale"]),
    ("update{step}.m.{weight}", "decay-coupled",
     "The weight decay is coupled: it is part of the gradient that the means are taken of, as in Adam.",
     lambda r: _mean(r, "m", "beta1", _decayed(r))),
    ("update{step}.v.{weight}", "decay-coupled",
     "The weight decay is coupled: it is part of the gradient that the means are taken of, as in Adam.",
     lambda r: _mean(r, "v", "beta2", _decayed(r) ** 2)),
    ("update{step}.m.{weight}", "decay-decoupled",
     "The weight decay is left out of the mean, as in AdamW: Adam takes it for a part of the gradient.",
     lambda r: _mean(r, "m", "beta1", _gradient(r))),
    ("update{step}.m.{weight}", "beta2-for-beta1", "β2 stands where β1 should.", lambda r: _mean(r, "m", "beta2", _gradient(r))),
    ("update{step}.v.{weight}", "beta1-for-beta2",
     "β1 stands where β2 should.", lambda r: _mean(r, "v", "beta1", _gradient(r) ** 2)),
    ("update{step}.v.{weight}", "not-squared", "The gradient is not squared.", lambda r: _mean(r, "v", "beta2", _gradient(r))),
    ("update{step}.power1", "power-forgotten", "The power is not that of the number of the step.", lambda r: r["optimiser.beta1"]),
    ("update{step}.power2", "power-forgotten", "The power is not that of the number of the step.", lambda r: r["optimiser.beta2"]),
    ("update{step}.direction.{weight}", "bias-corrections-forgotten",
     "The bias correction is forgotten: both means begin at 0, and are divided by 1 − βᵏ.",
     lambda r: _way(r, first=False, second=False)),
    ("update{step}.direction.{weight}", "first-correction-forgotten",
     "The bias correction of the mean gradient is forgotten.", lambda r: _way(r, first=False)),
    ("update{step}.direction.{weight}", "second-correction-forgotten",
     "The bias correction of the mean square is forgotten.", lambda r: _way(r, second=False)),
    ("update{step}.direction.{weight}", "eps-inside-the-root",
     "ε stands inside the root: it is added to it.", lambda r: _way(r, inside=True)),
    ("update{step}.{weight}", "decay-forgotten", "The weight decay is left out.", lambda r: _new(r, decay=0)),
    ("update{step}.{weight}", "decay-without-the-rate",
     "The weight decay is not multiplied by the learning rate.", lambda r: _new(r)),
    ("update{step}.{weight}", "uphill", "The step goes up the slope: its sign is turned.",
     lambda r: _new(r, decay=-r["optimiser.lr"], rate=-1)),
)  # fmt: skip
"""From the gradients to the new weights."""


def _of_the_first_step(weight: str, r: Any) -> Array:
    return np.asarray(r[weight])


MEANS = ("policy_loss", "value_loss", "entropy", "policy_kl")
EPOCHS: tuple[Made, ...] = (
    ("update{step}.gradient.{weight}", "held-by-its-own-norm",
     "The gradient is held by the norm of this weight alone, not by that of the whole gradient.",
     _held_alone),
    ("epoch{step}.log_ratio", "ratio-to-the-step-before",
     "The ratio is to the policy of the step before, not to the one that wrote the responses.",
     lambda r: r["epoch{step}.policy.logprobs"] - _logprobs_before(r)),
    *((f"epoch{{step}}.{weight}", "weights-of-the-first-step",
       "It is that of the first step: the weights are θ_old again, not those after the step before.",
       partial(_of_the_first_step, weight)) for weight in WEIGHTS),
    ("advantage.mean", "whitened-over-the-batch", "Advantages are whitened over the whole batch, not over the minibatch.",
     lambda r: _mean_over(r, "mask", "response.words")),
    ("advantage.mean", "whitened-over-the-minibatch", "Advantages are whitened over the minibatch, not over the whole batch.",
     lambda r: _mean_over(r, "minibatch.mask", "minibatch.words")),
    *((mean, "tokens-of-the-whole-batch", "It is divided by the number of tokens of the whole batch, not of the minibatch.",
       lambda r: r.meant * r["minibatch.words"] / r["response.words"]) for mean in MEANS),
)  # fmt: skip
"""Between the steps of several epochs, and within a minibatch."""

BACKWARD = tuple(
    Misconception(row, name, says, made=made)
    for row, name, says, made in (*LOSS, *LOGITS, *MODELS, *STEPS, *EPOCHS, *FACTORS)
)
