"""The losses of the whole batch: the sum over the words shown plus the typed sum over the others, and their total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from blueprint.language import Block, Sum, block
from blueprint.language.nodes import Arithmetic
from blueprint.workbooks.common import sources
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.choices import Choices
from blueprint.workbooks.common.definitions.reward import price


@dataclass(frozen=True)
class Part:
    """A part of the loss: the weight of each word and what is weighed (rows), and the rest, typed.

    keep: 1, or 0 where a guard switches the part off.
    """

    name: str
    weight: Block
    weighed: Block
    rest: Block
    keep: Block | None = None


class Told(NamedTuple):
    """What a part is called: its block, symbol and meaning, and what it adds to the total."""

    block: str
    symbol: str
    meaning: str
    adds: str
    adds_symbol: str


TOLD = {
    "policy": Told("policy_loss", "L_policy", "policy loss of the batch", "", ""),
    "value": Told("value_loss", "L_value", "value loss of the batch", "adds.value_loss", "value_part"),
    "entropy": Told("entropy", "H_mean", "entropy of the batch", "adds.entropy", "entropy_part"),
    "kl": Told("kl_loss", "L_KL", "KL to the reference", "adds.kl_loss", "ref_KL_part"),
}


LOSS, BONUS = "policy", "entropy"
"""Of these two more is better: the policy loss carries its minus itself, the entropy is subtracted from the total."""


class Sums(NamedTuple):
    """The losses by part, their coefficients, what they add, the total; the words' shares by part, and together."""

    losses: dict[str, Block]
    coefficients: tuple[Block, ...]
    adds: tuple[Block, ...]
    total: Block
    of_parts: tuple[Block, ...]
    share: Block

    @property
    def items(self) -> tuple[Block, ...]:
        """Everything but the shares, in order."""
        return (*self.losses.values(), *self.coefficients, *self.adds, self.total)


def sums(parts: Sequence[Part], use: Choices) -> Sums:
    """Adds up; a part that the dump has no tensor for adds nothing. The policy loss comes first."""
    losses = {part.name: _summed(part) for part in parts}
    by, made = _coefficients(losses, use)
    adds = []
    total = block("total_loss", (), "L", "total loss of the batch", source=sources.TOTAL)
    whole: Arithmetic = losses[LOSS]
    for part in parts[1:]:
        told, weighed = TOLD[part.name], by[part.name] * losses[part.name]
        each = block(told.adds, (), told.adds_symbol, f"what it adds: {told.meaning}")
        each[()] = -weighed if part.name == BONUS else weighed
        whole = whole - weighed if part.name == BONUS else whole + weighed
        adds.append(each)
    total[()] = whole
    return Sums(losses, made, tuple(adds), total, *_shares(parts, by))


def _summed(part: Part) -> Block:
    told = TOLD[part.name]
    made = block(told.block, (), told.symbol, told.meaning)
    summed: Arithmetic = Sum((n, t), part.weight[n, t] * part.weighed[n, t]) + part.rest
    kept = summed if part.keep is None else part.keep * summed
    made[()] = -kept if part.name == LOSS else kept
    return made


def _coefficients(losses: dict[str, Block], use: Choices) -> tuple[dict[str, Arithmetic], tuple[Block, ...]]:
    """Returns what each part is multiplied by in the total, and the blocks made for that."""
    by: dict[str, Arithmetic] = {}
    made = []
    if "value" in losses:
        vf = block("vf_coef.used", (), "c1_used", "weight of the value loss in the total")
        vf[()] = use.switch["loss.joint"].says("on") * use.used["vf_coef"]
        by["value"], made = vf, [vf]
    if "entropy" in losses:
        by["entropy"] = use.used["ent_coef"]
    if "kl" in losses:
        beta = block("kl_coef.loss", (), "β_L", "price of drifting within the loss")
        beta[()] = price(use, "loss")
        by["kl"] = beta
        made.append(beta)
    return by, tuple(made)


def _shares(parts: Sequence[Part], by: dict[str, Arithmetic]) -> tuple[tuple[Block, ...], Block]:
    """Splits the total over the words shown."""
    of_parts = []
    share = block("share", (n, t), "share", "what the word adds to the total")
    whole: Arithmetic | None = None
    for part in parts:
        symbol = TOLD[part.name].symbol
        each = block(f"share_of.{part.name}", (n, t), f"share_{symbol}", f"what it adds: {TOLD[part.name].meaning}")
        weighed: Arithmetic = part.weight[n, t] * part.weighed[n, t]
        kept = weighed if part.keep is None else part.keep * weighed
        added = by[part.name] * kept if part.name in by else kept
        each[n, t] = -added if part.name in (LOSS, BONUS) else added
        whole = each[n, t] if whole is None else whole + each[n, t]
        of_parts.append(each)
    assert whole is not None
    share[n, t] = whole
    return tuple(of_parts), share
