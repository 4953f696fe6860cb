"""Misconceptions in the models: what they read, their memory, heads, and the soft-max."""

from blueprint.language import Expr, Operand, Sum, constant, exp, log
from blueprint.misconceptions import (
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
from blueprint.workbooks.common.misconceptions.rows import WEIGHTS

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
