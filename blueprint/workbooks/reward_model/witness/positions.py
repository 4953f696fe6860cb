"""Both texts of a pair, position by position, from the first token in which they differ to the end of the longer one."""

import torch

from blueprint.witness import Nodes, log_sigmoid
from blueprint.workbooks.reward_model.witness.places import SIDES, Places


def position_rows(r: Nodes, places: Places) -> None:
    """Adds the mean loss over the positions of each pair, [P] downwards; tables are [P, T]."""
    ids, there = r["token.id"], r["text.there"]
    width = ids.shape[1]
    place = torch.arange(1, 1 + width).to(there)
    r["position.columns"] = there.new_tensor(float(width))
    r["position.number"] = torch.cat([place.new_zeros(1), place])
    r["position.here"] = torch.eye(width).to(there)[:, None].expand(width, *ids.shape)
    r["position.id"] = ids.T
    r["text.length"] = there.sum(-1)
    r["position.score"] = r["head"].T
    for side in SIDES:
        at = getattr(places, side)
        r[f"position.{side}.id"] = ids[at]
        r[f"position.{side}.length"] = r["text.length"][at]
        r[f"position.{side}.score"] = r["position.score"][:, at].T
    _compared(r, place)
    r["position.gap"] = r["position.chosen.score"] - r["position.rejected.score"]
    r["position.right"] = log_sigmoid(r["position.gap"])
    r["position.loss"] = -r["position.counted"] * r["position.right"]
    r["position.count"] = r["position.counted"].sum(-1)
    r["position.mean"] = r["position.loss"].sum(-1) / r["position.count"]


def _compared(r: Nodes, place: torch.Tensor) -> None:
    """Adds which positions count: of two equal texts only the last column."""
    differ = (r["position.chosen.id"] != r["position.rejected.id"]).to(place)
    r["position.apart"] = differ
    r["position.since"] = torch.nn.functional.pad(differ.cummax(-1).values, (1, 0))
    r["position.longer"] = torch.maximum(r["position.chosen.length"], r["position.rejected.length"])
    r["position.inside"] = (place <= r["position.longer"][:, None]).to(place)
    r["position.alike"] = (differ.sum(-1) == 0).to(place)
    r["position.last"] = (place == len(place)).to(place)
    r["position.counted"] = torch.where(
        r["position.alike"][:, None] > 0, r["position.last"], r["position.since"][:, 1:] * r["position.inside"]
    )
