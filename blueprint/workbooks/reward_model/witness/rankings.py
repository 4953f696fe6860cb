"""Rankings: the best response of each, what each pair weighs, and the soft-max over the responses of a ranking."""

import torch

from blueprint.witness import Asked, Nodes
from blueprint.workbooks.reward_model.witness.places import Places


def ranking_rows(r: Nodes, places: Places, use: Asked) -> None:
    """Adds which pairs are of the best response of their ranking, and the weight of every pair, [P]."""
    chosen, below, of = r["chosen.number"], r["rejected.number.column"], places.ranking
    r["pair.ranking.column"] = r["pair.ranking"][places.columns.argsort()]
    r["ranking.beaten"] = (below[:, None] == chosen).to(of)
    r["ranking.fellow"] = (r["pair.ranking.column"][:, None] == r["pair.ranking"]).to(of)
    r["ranking.lost"] = (r["ranking.beaten"] * r["ranking.fellow"]).sum(0)
    r["ranking.best"] = (r["ranking.lost"] == 0).to(of)
    counts = r["pair.counts"]
    r["pairs.counted"] = counts.sum()
    r["pairs.divisor"] = counts.sum().clamp(min=1) + use.number("loss.mean_eps")
    r["ranking.pairs"] = of @ counts
    r["ranking.there"] = (r["ranking.pairs"] > 0).to(of)
    r["rankings.counted"] = r["ranking.there"].sum()
    r["ranking.size"] = r["ranking.pairs"] @ of
    r["weight.per_ranking"] = 1 / (r["ranking.size"].clamp(min=1) * r["rankings.counted"].clamp(min=1))
    r["weight.pair.pairs"] = counts / r["pairs.divisor"]
    r["weight.pair.rankings"] = counts * r["weight.per_ranking"]
    r["weight.pair"] = r[f"weight.pair.{use.word('loss.average')}"]


def softmax_rows(r: Nodes, places: Places) -> None:
    """Adds −log of the soft-max at the best response of each ranking, [Q], and the same for each of its pairs, [P]."""
    of = places.ranking
    r["softmax.behind"] = -r["ranking.best"] * r["difference"]
    r["softmax.laid"] = of * r["softmax.behind"]
    r["softmax.most"] = r["softmax.laid"].amax(-1).clamp(min=0)
    top = r["softmax.most"].detach()
    r["softmax.counts"] = of * r["ranking.best"]
    r["softmax.exponentials"] = (r["softmax.laid"] - top[:, None]).exp()
    r["softmax.own"] = (-top).exp()
    r["softmax.loss"] = top + (r["softmax.own"] + (r["softmax.counts"] * r["softmax.exponentials"]).sum(-1)).log()
    r["softmax.there"] = (r["softmax.counts"].sum(-1) > 0).to(of)
    r["softmax.kept"] = torch.where(r["softmax.there"] > 0, r["softmax.loss"], 0.0)
    r["loss.softmax_best"] = r["softmax.kept"] @ of
