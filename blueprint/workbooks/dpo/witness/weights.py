"""The weight of a pair by how likely the policy writes its responses: WPO, 2406.11827, eq. 2; it is a number to the gradient."""

import torch

from blueprint.witness import Asked, Nodes
from blueprint.workbooks.dpo.witness.places import Places, per_token


def weight_rows(r: Nodes, places: Places, use: Asked) -> None:
    """Adds the weights of pairs, [P]: as in the paper, as TRL 0.24.0 has them (a token late, 1 at most), and those in use."""
    m, x = r["response.tokens"], r["policy.logprobs"]
    r["weight.away"] = r["policy.square"].log()
    r["weight.own"] = m * x
    r["weight.late"] = torch.nn.functional.pad(r["weight.own"], (1, 0))
    r["weight.shifted"] = m * (r["weight.late"][:, :-1] - r["weight.away"])
    r["weight.right"] = m * (x - r["weight.away"])
    for name, of in (("wpo", "right"), ("wpo_shifted", "shifted")):
        r[f"weight.{name}_mean"] = per_token(r[f"weight.{of}"].sum(1), r["logp.length"])
        places.sides(r, f"{name}_mean", r[f"weight.{name}_mean"])
        r[f"weight.{name}"] = (r[f"chosen.{name}_mean"] + r[f"rejected.{name}_mean"]).exp()
    r["weight.held"] = r["weight.wpo_shifted"].clamp(max=1)
    used = {"wpo": "weight.wpo", "wpo_shifted": "weight.held"}
    word = use.word("loss.weight")
    r["weight.pair"] = r[used[word]] if word in used else torch.ones_like(r["weight.wpo"])
