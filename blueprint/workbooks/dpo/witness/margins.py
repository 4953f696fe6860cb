"""Log-ratios, the margin and the implicit rewards: DPO, 2305.18290, eq. 5 and 7; SimPO, 2405.14734; f-DPO, 2309.16240."""

from math import log

import torch

from blueprint.witness import Asked, Nodes, log_sigmoid
from blueprint.workbooks.dpo.witness.places import SIDES


def margin_rows(r: Nodes, use: Asked) -> None:
    """Adds the margin of each pair, [P], and the log of how likely either response is preferred."""
    for side in SIDES:
        ratio_rows(side, r, use)
    r["margin"] = r["chosen.shaped"] - r["rejected.shaped"]
    r["margin.scaled"] = use.number("beta") * r["margin"]
    r["margin.argument"] = r["margin.scaled"] - use.number("loss.gamma")
    r["margin.turned"] = -r["margin.argument"]
    r["margin.right"] = log_sigmoid(r["margin.argument"])
    r["margin.wrong"] = log_sigmoid(r["margin.turned"])
    for side in SIDES:
        r[f"{side}.reward"] = use.number("beta") * r[f"{side}.ratio"]


def ratio_rows(side: str, r: Nodes, use: Asked) -> None:
    """Adds the log-ratio to the reference, or the log-prob where there is none, and f of it."""
    r[f"{side}.against"] = r[f"{side}.logp"] - r[f"{side}.logp_ref"]
    r[f"{side}.ratio"] = r[f"{side}.against" if use.word("reference.used") == "on" else f"{side}.logp"]
    x = r[f"{side}.ratio"]
    asked = use.word("margin.divergence")
    r[f"{side}.forward"] = -(-x).expm1() if asked == "forward_kl" else torch.zeros_like(x)
    r[f"{side}.log_sigmoid"] = log_sigmoid(x)
    r[f"{side}.mixed"] = log(2) + r[f"{side}.log_sigmoid"]
    shape = {"reverse_kl": "ratio", "forward_kl": "forward", "js": "mixed"}[asked]
    r[f"{side}.shaped"] = r[f"{side}.{shape}"]
