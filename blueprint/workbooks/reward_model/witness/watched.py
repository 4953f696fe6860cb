"""What is watched: accuracy, scores and margins; and what happens to all of it if scores are shifted or multiplied."""

import torch

from blueprint.witness import Nodes


def watched_rows(r: Nodes) -> None:
    """Adds the metrics, over the pairs that count."""
    chosen, rejected, counts = r["chosen.score"], r["rejected.score"], r["pair.counts"]
    r["right"] = (chosen > rejected).to(counts)
    for name, each in (
        ("accuracy", r["right"]), ("rewards.chosen", chosen), ("rewards.rejected", rejected), ("rewards.margins", r["difference"]),
    ):  # fmt: skip
        r[name] = counts @ each / r["pairs.divisor"]
    r["rewards.mean"] = torch.stack([r["rewards.chosen"], r["rewards.rejected"]]).mean()
    r["rewards.higher"] = torch.maximum(chosen, rejected)
    r["rewards.max"] = r["rewards.higher"].amax()
    r["rewards.lower"] = -torch.minimum(chosen, rejected)
    r["rewards.min"] = -r["rewards.lower"].amax()


def shown_rows(r: Nodes) -> None:
    """Adds the scores after a shift, and the differences after a factor."""
    for side in ("chosen", "rejected"):
        r[f"shifted.{side}"] = r[f"{side}.score"] + r["shift"]
    r["shifted.difference"] = r["shifted.chosen"] - r["shifted.rejected"]
    r["scaled.difference"] = r["scale"] * r["difference"]
    r["scaled.probability"] = r["scaled.difference"].sigmoid()
