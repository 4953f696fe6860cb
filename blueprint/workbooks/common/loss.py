"""From log-probs, advantages and values to the total loss: every step in order, for one set of conventions."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, cast

from blueprint.language import Arithmetic, Block, Sum, maximum
from blueprint.workbooks.common.definitions import (
    EVERYWHERE,
    L2,
    NEW,
    Average,
    Choices,
    Clip,
    Counting,
    Estimates,
    Filter,
    Guard,
    Part,
    Row,
    Total,
    Totals,
    ValueLoss,
    Weights,
    clip,
    counted_values,
    filtered,
    guard,
    kl_estimates,
    mean,
    price,
    rows,
    total,
    value_loss,
    weights,
)

WEIGHED = {
    "policy_loss": "policy",
    "value_loss": "value",
    "entropy": "entropy",
    "policy_kl": "entropy",
    "kl_loss": "policy",
}
"""By whose weights each part is averaged, by the name of its mean."""
GUARDED = ("policy_loss", "value_loss")
"""The parts that the guard of the mean ratio switches off."""


class Rest(NamedTuple):
    """What is typed of the whole batch, of which only a part stands here: counts, and the sums over words not shown.

    sums: by the name of the mean of which each is a part.
    """

    mean_ratio: Block
    policy: Totals
    value: Totals
    sums: Mapping[str, Block]


class Counts(NamedTuple):
    """Where conventions choose which words count: the response (a row), the slot behind it (n, t), which responses ended (n).

    most: slots of the longest response.
    """

    response: Block
    first_past: Block
    ended: Block
    most: Block
    rest: Rest | None = None


class Given(NamedTuple):
    """What the loss is made of: rows (n, t); None for what there is not, and so is no part of the total.

    policy_kl: the exact KL of the old policy to the new one. logp_ref: where the KL to the reference may be paid in the
    loss; exact: the same, exactly. counting: where conventions choose what counts; else `m` is 1 on what counts, which is
    `words` in number, and elsewhere log-probs and values are 0.
    """

    logp_new: Block
    logp_old: Block
    advantages: Block
    V_new: Block | None = None
    V_old: Block | None = None
    returns: Block | None = None
    entropy: Block | None = None
    policy_kl: Block | None = None
    logp_ref: Block | None = None
    exact: Block | None = None
    counting: Counts | None = None
    m: Row = EVERYWHERE
    words: Block | None = None


class Averaging(NamedTuple):
    """How each part is averaged, by its name; and, where conventions choose, the words kept, the guard and the weights."""

    of: Mapping[str, Average]
    filter: Filter | None = None
    guard: Guard | None = None
    weights: Mapping[str, Weights] = MappingProxyType({})


@dataclass(frozen=True)
class Loss:
    """From the ratio to the total; None for what there is nothing to make of.

    value_counted: where the value loss counts. coefficients: those that are made for the total.
    """

    given: Given
    clip: Clip
    value_counted: Row
    value: ValueLoss | None
    kl: Estimates | None
    averaging: Averaging
    coefficients: tuple[Block, ...]
    total: Total

    @property
    def critic(self) -> ValueLoss:
        """The value loss, in a workbook that has one."""
        assert self.value is not None
        return self.value


def loss(given: Given, use: Choices, *, norm: str = L2, shared: bool = True) -> Loss:
    """Runs the definitions from the ratio to the total. norm: of the value loss. shared: whether words have shares of it."""
    by, counted, value, kl = given.counting, cast(Row, EVERYWHERE), None, None
    held = clip(given.logp_new, given.logp_old, given.advantages, use, by.response if by else EVERYWHERE)
    if given.V_new is not None and given.V_old is not None and given.returns is not None:
        counted = counted_values(by.response, by.first_past, use) if by else EVERYWHERE
        value = value_loss(given.V_new, given.V_old, given.returns, use, counted, given.m, norm)
    if given.logp_ref is not None:
        kl = kl_estimates(NEW, given.logp_new, given.logp_ref, given.exact, use)
    averaging = _averaging(given, held, counted, use)
    parts, coefficients = _parts(given, held, value, kl, averaging, use)
    return Loss(given, held, counted, value, kl, averaging, coefficients, total(parts, use, shared=shared))


def _averaging(given: Given, held: Clip, of_value: Row, use: Choices) -> Averaging:
    """Weighs the words: all alike, or as the conventions say."""
    by = given.counting
    if by is None:
        assert given.words is not None
        return Averaging(dict.fromkeys(WEIGHED, Average(given.m, given.words)))
    rest, words = by.rest, maximum(Sum((use.n, use.t), by.response[use.at]), 1)
    ratio = rest.mean_ratio if rest else mean("loss.mean_ratio", held.ratio, Counting(by.response, words, words), use)
    kept, guarded = filtered(by.response, by.ended, use), guard(ratio, use)
    counted = {
        "policy": kept.counted,
        "value": of_value,
        "entropy": kept.counted if given.entropy is not None else None,
    }
    found = {
        of: weights(of, row, by.most, use, rest and (rest.value if of == "value" else rest.policy))
        for of, row in counted.items()
        if isinstance(row, Block)
    }
    keep, others = guarded.keep[use.lead], rest.sums if rest else {}
    averages = {
        name: Average(found[of].row, 1, others.get(name, 0), keep if name in GUARDED else 1)
        for name, of in WEIGHED.items()
        if of in found
    }
    return Averaging(averages, kept, guarded, found)


def _parts(
    given: Given, held: Clip, value: ValueLoss | None, kl: Estimates | None, averaging: Averaging, use: Choices
) -> tuple[list[Part], tuple[Block, ...]]:
    """Lists the parts that there are, and the coefficients made for them. A critic trained apart is in no total."""
    joint, vf_coef = use.switch["loss.joint"].says("on"), use.used["vf_coef"]
    vf = use.step(value is not None and not use.is_fixed("loss.joint"), "vf_coef.used", joint * vf_coef, use.lead)
    beta = use.step(True, "kl_coef.loss", price(use, "loss"), use.lead) if kl else None
    listed: dict[str, tuple[Block | None, Arithmetic | int]] = {
        "policy_loss": (held.smaller, 1),
        "value_loss": (value.loss if value else None, vf.cell),
        "entropy": (given.entropy, use.used["ent_coef"]),
        "policy_kl": (given.policy_kl, use.used.get("policy_kl_coef", 0)),
        "kl_loss": (kl.used if kl else None, beta.cell if beta else 0),
    }
    parts = [Part(name, x, averaging.of[name], coef) for name, (x, coef) in listed.items() if x is not None]
    return parts, rows(vf, beta)
