"""Optimal transport between two lists of numbers: the k-th smallest of one against that of the other (AOT, 2406.05882)."""

import torch
from torch import Tensor

from blueprint.witness import Asked, Nodes, log_sigmoid
from blueprint.workbooks.dpo.witness.places import Places


def sorted_rows(name: str, x: Tensor, y: Tensor, r: Nodes, places: Places, use: Asked) -> None:
    """Adds both lists in order, and the smoothed logistic loss of β times their differences, [P]."""
    eps = use.number("loss.label_smoothing")
    for which, each in (("first", x), ("second", y)):
        order_rows(f"{name}.{which}", each, use.number("loss.aot_tie"), r, places)
    r[f"{name}.argument"] = use.number("beta") * (r[f"{name}.first.sorted"] - r[f"{name}.second.sorted"])
    r[f"{name}.turned"] = -r[f"{name}.argument"]
    r[f"{name}.right"] = log_sigmoid(r[f"{name}.argument"])
    r[f"{name}.wrong"] = log_sigmoid(r[f"{name}.turned"])
    r[f"loss.{name}"] = (eps - 1) * r[f"{name}.right"] - eps * r[f"{name}.wrong"]


def order_rows(name: str, x: Tensor, tie: float, r: Nodes, places: Places) -> None:
    """Adds the numbers in order, [P], and how a column finds its place among the others, [P, P].

    Of equals, which are no farther apart than `tie`, the first comes first.
    """
    r[f"{name}.down"] = places.down(x)
    down = r[f"{name}.down"]
    r[f"{name}.smaller"] = (x - down[:, None] > tie).to(x)
    r[f"{name}.same"] = ((x - down[:, None]).abs() <= tie).to(x)
    r[f"{name}.before"] = r[f"{name}.same"] * r["pair.before"]
    r[f"{name}.rank"] = 1 + (r[f"{name}.smaller"] + r[f"{name}.before"]).sum(0)
    r[f"{name}.left"] = r[f"{name}.rank"] - torch.arange(len(x) + 1).to(x)[:, None]
    r[f"{name}.here"] = (r[f"{name}.left"][1:] == 0).to(x)
    r[f"{name}.placed"] = r[f"{name}.here"] @ x
    r[f"{name}.sorted"] = places.across(r[f"{name}.placed"])
