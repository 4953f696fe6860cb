"""KTO, 2402.01306, eq. 7 and 8: every response by itself, against how far the policy is from the reference on mismatched ones."""

import torch

from blueprint.witness import Asked, Nodes


def unpaired_rows(r: Nodes, use: Asked) -> None:
    """Adds the loss of each response, [B], with z, which is a number, and with 0 for it (APO, 2408.06266)."""
    good, beta = r["response.chosen"], use.number("beta")
    r["kto.log_ratio"] = r["policy.logprobs"] - r["reference.logprobs"]
    r["kto.ratio"] = (r["response.tokens"] * r["kto.log_ratio"]).sum(1)
    if "mismatched.ratio" in r:
        elsewhere = r["mismatched.ratio"]
    else:
        r["kto.away"] = r["mismatched.tokens"] * (r["mismatched.policy.logprobs"] - r["mismatched.reference.logprobs"])
        elsewhere = r["kto.elsewhere"] = r["kto.away"].sum(1)
    r["kto.z"] = elsewhere.mean().clamp(min=0)
    r["kto.held"] = r["kto.z"].detach()
    r["kto.sign"] = torch.where(good == 1, good, -torch.ones_like(good))
    wanted, unwanted = (good.new_tensor(use.number(f"loss.{name}")) for name in ("desirable", "undesirable"))
    r["kto.weight"] = torch.where(good == 1, wanted, unwanted)
    for name, loss, point in (("against", "kto", r["kto.held"]), ("zero", "apo_zero_unpaired", 0)):
        r[f"kto.{name}.argument"] = beta * r["kto.sign"] * (r["kto.ratio"] - point)
        r[f"kto.{name}.likely"] = r[f"kto.{name}.argument"].sigmoid()
        r[f"loss.{loss}"] = r["kto.weight"] * (1 - r[f"kto.{name}.likely"])
