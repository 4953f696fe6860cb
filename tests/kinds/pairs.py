"""A kind of one's own, from a folder of the tests: pairs of responses, two sides each, a log-prob for each token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from blueprint.language import Axis, Sum, block, exp, log, typed
from blueprint.page.outline import Blueprint, Section, Sheet
from blueprint.reopening.saved import Saved
from blueprint.workbooks import Kind


@dataclass(frozen=True)
class PairNumbers:
    """All numbers of a workbook: log-probs by pair, side (preferred, other) and token, and the strength β."""

    kind: ClassVar = "pairs"

    name: str
    title: str
    about: str
    logprobs: tuple[tuple[tuple[float, ...], ...], ...]
    beta: float


NUMBERS = PairNumbers(
    "two", "Two pairs", "", (((-1.0, -0.5, -2.0), (-1.5, -1.0, -2.5)), ((-0.25, -3.0, -1.0), (-0.5, -1.0, -0.75))), 0.5
)


def build(numbers: PairNumbers, _: object = None) -> Blueprint:
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
    shape = np.shape(numbers.logprobs)
    return Blueprint(
        numbers.title,
        (sheet,),
        {p: shape[0], s: shape[1], t: shape[2]},
        {logp: numbers.logprobs, beta: numbers.beta, sign: [1, -1]},
        facts={"numbers": numbers.name, "level": "pairs"},
        result=loss,
    )


def numbers_in(file: Saved) -> PairNumbers:
    """Returns what is typed in a file, or numbers of its sizes."""
    return PairNumbers(**file.head(), logprobs=file.rows("logprobs", 3), beta=file.rows("beta", 0))


def kind(**parts: Any) -> Kind:
    """The record, with more parts if there are any."""
    whole = {"sign": (1, "1 for the preferred side")} if parts.pop("strict", False) else None
    return Kind(
        "pairs", "pairs", {"pairs": None}, build, saved={"pairs": ("logprobs", numbers_in)}, whole=whole, **parts
    )
