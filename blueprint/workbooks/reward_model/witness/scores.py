"""Where the score of a response is read, and what becomes of it."""

import torch

from blueprint.witness import Asked, Nodes


def score_rows(r: Nodes, use: Asked) -> None:
    """Adds the score of each response, [N]: at the last position, of those where it may be read."""
    there = r["text.there"]
    r["read.of.before_end"] = there * (r["token.is_end"] == 0)
    may = {"last_token": there, "before_end": r["read.of.before_end"], "last_column": torch.ones_like(there)}
    r["read.of"] = may[use.word("score.read")]
    ahead = r["read.of"].flip(-1).cummax(-1).values.flip(-1)
    r["read.from"] = torch.nn.functional.pad(ahead, (0, 1))
    r["read.here"] = r["read.of"] * (r["read.from"][:, 1:] == 0)
    r["score"] = (r["read.here"] * r["head"]).sum(-1)
    r["score.used"] = (r["score"] - use.number("score.subtract")) / use.number("score.divide")
    x = r["score.used"]
    r["score.average"] = x.mean()
    r["score.centred"] = x - x.mean()
    r["score.variance"] = x.var(unbiased=False)
    r["score.deviation"] = r["score.variance"].sqrt()
    spread = r["score.deviation"]
    r["score.standard"] = torch.where(spread > 0, r["score.centred"] / spread, 0.0)
