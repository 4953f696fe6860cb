"""From tokens to a response: DPO, 2305.18290; SimPO, 2405.14734; LD-DPO, 2409.06411; AlphaPO, 2501.03884."""

import torch
from torch import Tensor

from blueprint.witness import Asked, Nodes
from blueprint.workbooks.dpo.witness.places import Places

MODELS = ("policy", "reference")


def sequence_rows(r: Nodes, places: Places, use: Asked) -> None:
    """Adds the log-prob of each response under both models, [B], and of each pair, [P]."""
    m, text = r["response.tokens"], r["text.tokens"]
    r["logp.length"] = m.sum(1)
    r["logp.after"] = text[:, :-1] * (1 - text[:, 1:])
    places.sides(r, "length", r["logp.length"])
    shared_rows(r, places)
    far_rows(r, m, use)
    compared_rows(r, m, use)
    for name in MODELS:
        model_rows(name, r, m, use)
    alpha, S = use.limit("logp.alpha"), r["policy.logp"]
    r["policy.curved"] = S if alpha is None else -torch.expm1(-alpha * S) / alpha
    places.sides(r, "logp", r["policy.curved"])
    places.sides(r, "logp_ref", r["reference.logp"])


def shared_rows(r: Nodes, places: Places) -> None:
    """Adds the length of the shorter response of each pair, and, by response, of its own pair."""
    r["logp.shorter"] = r["chosen.length"].minimum(r["rejected.length"])
    r["logp.shared.column"] = places.down(r["logp.shorter"])
    r["logp.shared"] = r["logp.shared.column"][places.pair.long() - 1]


def far_rows(r: Nodes, m: Tensor, use: Asked) -> None:
    """Adds what tokens weigh beyond that length: counted in the response, or (TRL 0.24.0) from the start of the row."""
    alpha, shared, length = use.number("logp.ld_alpha"), r["logp.shared"][:, None], r["logp.length"][:, None]
    one = torch.ones_like(m)
    r["logp.place"] = torch.nn.functional.pad(m.cumsum(1), (1, 0))
    r["logp.column"] = one.cumsum(1)
    r["logp.beyond"] = torch.where(r["logp.place"][:, 1:] <= shared, one, alpha * one)
    r["logp.cut"] = alpha * (r["logp.column"] < length).to(m)
    r["logp.from_row"] = torch.where(r["logp.column"] < shared, one, r["logp.cut"])
    r["logp.far"] = r["logp.beyond" if use.word("logp.ld_from") == "response" else "logp.from_row"]
    who = use.word("logp.ld")
    r["policy.ld"] = one if who == "off" else r["logp.far"]
    r["reference.ld"] = r["logp.far"] if who == "both" else one


def compared_rows(r: Nodes, m: Tensor, use: Asked) -> None:
    """Adds where a token's reward is not 0: HALOs 4831988, get_sequence_rewards, counts (policy − reference) ≠ 0, masked tokens
    being 0 in both; without a reference (SimPO) that has zeros."""
    policy, reference = (r[f"{name}.logprobs"].detach() for name in MODELS)
    alone = use.word("reference.used") == "off"
    r["logp.compared"] = torch.zeros_like(reference) if alone else reference
    r["logp.differs"] = ((policy - r["logp.compared"]) * m != 0).to(m)
    one = m.new_ones(())
    r["logp.differing"] = r["logp.differs"].sum(1)
    r["mean.least_of_plain"] = 0 * one if alone else one
    r["mean.least"] = {"sum": one, "mean": r["mean.least_of_plain"]}.get(use.word("logp.of"), 0 * one)


def model_rows(name: str, r: Nodes, m: Tensor, use: Asked) -> None:
    """Adds the sum over the tokens that count, and the mean; of a response without tokens, 0/0 but in TRL's DPO."""
    x, of = r[f"{name}.logprobs"], use.word("logp.of")
    r[f"{name}.counted.mean_with_pad"] = m + r["logp.after"]
    r[f"{name}.counted"] = r[f"{name}.counted.mean_with_pad"] if of == "mean_with_pad" else m
    r[f"{name}.weighed"] = r[f"{name}.counted"] * r[f"{name}.ld"]
    r[f"{name}.sum"] = (r[f"{name}.weighed"] * x).sum(1)
    r[f"{name}.added"] = r[f"{name}.counted"].sum(1)
    r[f"{name}.count"] = r["logp.differing" if of == "mean_nonzero" else f"{name}.added"]
    r[f"{name}.over"] = r[f"{name}.count"].clamp(min=float(r["mean.least"]))
    r[f"{name}.mean"] = r[f"{name}.sum"] / r[f"{name}.over"]
    r[f"{name}.logp"] = r[f"{name}.sum" if of == "sum" else f"{name}.mean"]
