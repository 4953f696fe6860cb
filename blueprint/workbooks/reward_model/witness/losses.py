"""The loss of each pair, of the batch, and what is added to it."""

import torch

from blueprint.witness import Asked, Nodes, log_sigmoid
from blueprint.workbooks.reward_model.witness.places import Places


def loss_rows(r: Nodes, places: Places, use: Asked) -> None:
    """Adds the loss of each pair, [P], in every form, and the one in use."""
    margins = {"off": torch.zeros_like(r["pair.margin"]), "typed": r["pair.margin"]}
    r["margin.used"] = margins[use.word("loss.margin")]
    r["argument"] = r["difference"] - r["margin.used"]
    r["argument.right"] = log_sigmoid(r["argument"])
    r["loss.logsigmoid"] = -r["argument.right"]
    r["log_exp.held"] = torch.minimum(-r["difference"], r["overflow.sheet"])
    r["loss.log_exp"] = r["log_exp.held"].exp().log1p()
    r["loss.per_position"] = r["position.mean"][places.columns]
    r["loss.pair"] = r[f"loss.{use.word('loss.form')}"]


def total_rows(r: Nodes, places: Places, use: Asked) -> None:
    """Adds the loss of the batch: a weighted sum, centring and L2."""
    chosen, rejected, weight = r["chosen.score"], r["rejected.score"], r["weight.pair"]
    r["pair.kept"] = r["pair.counts"] * r["loss.pair"]
    r["ranking.mean"] = places.ranking @ r["pair.kept"] / r["ranking.pairs"].clamp(min=1)
    r["preference_loss"] = weight @ r["loss.pair"]
    r["center.sum"] = chosen + rejected
    r["center.square"] = r["center.sum"].square()
    r["center.mean"] = weight @ r["center.square"]
    r["adds.center"] = use.number("center") * r["center.mean"]
    r["l2.of_pair"] = (chosen.square() + rejected.square()) / 2
    r["l2.mean"] = weight @ r["l2.of_pair"]
    r["adds.l2"] = use.number("l2") * r["l2.mean"]
    r["total_loss"] = r["preference_loss"] + r["adds.center"] + r["adds.l2"]
