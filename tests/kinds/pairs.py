"""A kind of one's own, from a folder of the tests: pairs of responses, two sides each, a log-prob for each token."""

from __future__ import annotations

from typing import Any

import numpy as np

from blueprint.inputs import Numbers
from blueprint.language import Axis, Sum, block, exp, log, typed
from blueprint.page.outline import Blueprint, Section, Sheet
from blueprint.reopening.saved import Saved
from blueprint.workbooks import Kind

LOGPROBS = (((-1.0, -0.5, -2.0), (-1.5, -1.0, -2.5)), ((-0.25, -3.0, -1.0), (-0.5, -1.0, -0.75)))


def pairs(name: str, logprobs: Any, beta: float, title: str = "Two pairs", about: str = "") -> Numbers:
    """Makes numbers: a log-prob by pair, side (preferred, other) and token, and the strength β."""
    parts = {"pairs.logprobs": np.array(logprobs), "pairs.beta": beta}
    return Numbers(kind="pairs", level="pairs", name=name, title=title, about=about, parts=parts)


NUMBERS = pairs("two", LOGPROBS, 0.5)


def build(numbers: Numbers, _: object = None) -> Blueprint:
    """Makes the blueprint: what each response says for itself, and how far the preferred one is ahead."""
    p, s, t = Axis("p", "pair", start=1), Axis("s", "side", start=1), Axis("t", "token", start=1)
    logp = typed("logprobs", (p, s, t), "logp", "log-prob of a token")
    beta = typed("beta", (), "β", "strength of the preference")
    sign = typed("sign", (s,), "sgn", "+1 preferred, −1 the other")
    whole = block("response.logprob", (p, s), "L", "log-prob of a response")
    margin = block("margin", (p,), "Δ", "how far the preferred one is ahead")
    of_pair, loss = block("pair.loss", (p,), "l", "loss of a pair"), block("loss", (), "loss", "loss")
    whole[p, s] = Sum(t, logp[p, s, t])
    margin[p] = Sum(s, sign[s] * whole[p, s])
    of_pair[p] = log(1 + exp(-beta * margin[p]))
    loss[()] = Sum(p, of_pair[p])
    sheet = Sheet("Pairs", "", (Section("1  Pairs", (beta, sign, logp, whole, margin, of_pair, loss)),), (t,))
    shape = numbers["pairs.logprobs"].shape
    return Blueprint(
        numbers.title,
        (sheet,),
        {p: shape[0], s: shape[1], t: shape[2]},
        {logp: numbers["pairs.logprobs"], beta: numbers["pairs.beta"], sign: [1, -1]},
        facts={"numbers": numbers.name, "level": "pairs"},
        result=loss,
    )


def numbers_in(file: Saved) -> Numbers:
    """Returns what is typed in a file, or numbers of its sizes."""
    return pairs(**file.head(), logprobs=file.array("logprobs", 3), beta=file.rows("beta", 0))


def kind(**parts: Any) -> Kind:
    """The record, with more parts if there are any."""
    whole = {"sign": (1, "1 for the preferred side")} if parts.pop("strict", False) else None
    return Kind(
        "pairs", "pairs", {"pairs": None}, build, saved={"pairs": ("logprobs", numbers_in)}, whole=whole, **parts
    )
