"""How much more the policy prefers a response than the reference does, and by how much more the chosen one than the rejected.

Sources: DPO, 2305.18290, eq. 5 and 7 (β times the log-ratio is the implicit reward); SimPO, 2405.14734, eq. 5 (the margin γ);
f-DPO, 2309.16240 (other divergences).
"""

from typing import NamedTuple

from blueprint.language import Expr, exp, log, where
from blueprint.workbooks.dpo.definitions.axes import p
from blueprint.workbooks.dpo.definitions.sequences import Sequences
from blueprint.workbooks.dpo.definitions.steps import Row, Sides, Steps


class Margins(NamedTuple):
    """Of each pair: both log-ratios, their difference h, βh, and u = βh − γ with log σ of u and of −u."""

    ratio: Sides
    difference: Row
    scaled: Row
    argument: Row
    right: Row
    wrong: Row


def margins(of: Sequences, s: Steps) -> Margins:
    """Compares the chosen response with the rejected one."""
    s.under("The margin of a pair")
    used = s.use.used
    ratio = Sides(*(_ratio(side, s, *pair) for side, *pair in zip(Sides._fields, of.policy, of.reference, strict=True)))
    shaped = Sides(*(_shaped(side, each, s) for side, each in zip(Sides._fields, ratio, strict=True)))
    h = s.pair("margin", shaped.chosen[p] - shaped.rejected[p])
    scaled = s.pair("margin.scaled", used["beta"] * h[p])
    u = s.pair("margin.argument", scaled[p] - used["loss.gamma"])
    turned = s.pair("margin.turned", -u[p])
    return Margins(ratio, h, scaled, u, s.log_sigmoid("margin.right", u), s.log_sigmoid("margin.wrong", turned))


def _ratio(side: str, s: Steps, policy: Row, reference: Row) -> Row:
    """Takes the log-ratio of a response; without a reference it is the log-prob itself."""
    against = s.pair(f"{side}.against", policy[p] - reference[p])
    return s.pick(f"{side}.ratio", (p,), "reference.used", on=against[p], off=policy[p])


def _shaped(side: str, x: Row, s: Steps) -> Row:
    """Shapes a log-ratio by the divergence in use: 1 − e^−x, which is beyond every number for x < −709, or log 2 + log σ(x)."""
    asked = s.use.switch["margin.divergence"].says("forward_kl")
    moved = 1 - exp(-x[p])
    # Where libraries stand side by side and none has the word, it is the number 0, and no condition.
    forward = s.pair(f"{side}.forward", where(asked, moved, 0) if isinstance(asked, Expr) else asked * moved)
    mixed = s.pair(f"{side}.mixed", log(2) + s.log_sigmoid(f"{side}.log_sigmoid", x)[p])
    return s.pick(f"{side}.shaped", (p,), "margin.divergence", reverse_kl=x[p], forward_kl=forward[p], js=mixed[p])
