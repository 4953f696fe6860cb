"""From pairs to the batch, with the likelihood of chosen responses: CPO, 2401.08417; ORPO, 2403.07691, eq. 6."""

import torch
from torch import Tensor

from blueprint.witness import Asked, Nodes, with_weight
from blueprint.workbooks.dpo.witness.losses import OF_ITS_OWN
from blueprint.workbooks.dpo.witness.places import per_token


def likelihood_rows(r: Nodes, use: Asked) -> None:
    """Adds the NLL of the chosen responses: of their tokens, of prompts too, or of all that stands in the rows; and its means."""
    m, text = r["response.tokens"], r["text.tokens"][:, 1:]
    r["nll.every"] = torch.ones_like(m)
    r["nll.region"] = {"response": m, "text": text, "everything": r["nll.every"]}[use.word("loss.nll_region")]
    r["nll.counted"] = r["response.chosen"][:, None] * r["nll.region"]
    r["nll.of_token"] = -r["nll.counted"] * r["policy.logprobs"]
    r["nll.sum"], r["nll.length"] = r["nll.of_token"].sum(1), r["nll.counted"].sum(1)
    r["nll.row_mean"] = per_token(r["nll.sum"], r["nll.length"])
    r["nll.over"] = r["count.pairs"] + use.number("loss.mean_eps")
    r["nll.columns"] = m.new_tensor(float(m.shape[1]))
    r["nll.all_cells"] = r["count.pairs"] * r["nll.columns"]
    whole = r["nll.sum"].sum()
    r["nll.token"] = whole / r["nll.length"].sum()
    r["nll.sequence_mean"] = r["nll.row_mean"].sum() / r["nll.over"]
    r["nll.sequence_sum"], r["nll.cells"] = whole / r["nll.over"], whole / r["nll.all_cells"]
    r["nll"] = r[f"nll.{use.word('loss.nll_mean')}"]


def total_rows(r: Nodes, use: Asked) -> None:
    """Adds the mean over pairs or responses, with BCO mixed in, and the total."""
    eps, pairs = use.number("loss.mean_eps"), r["count.pairs"]
    r["weight.used"] = r["weight.pair"].detach()
    r["loss.weighed"] = r["weight.used"] * r["loss.pair"]
    r["loss.over"], r["loss.responses"] = pairs + eps, 2 * pairs + eps
    r["loss.paired"] = r["loss.weighed"].sum() / r["loss.over"]
    alone = {form: name for form, name in OF_ITS_OWN.items() if f"loss.{form}" in r}
    for form, name in alone.items():
        r[name] = r[f"loss.{form}"].sum() / r["loss.responses"]
    r["loss.preference"] = r[alone.get(use.word("loss.form"), "loss.paired")]
    r["loss.bco_whole"] = r["loss.bco"].sum() / r["loss.over"]
    r["preference_loss"] = mixed(r["loss.preference"], r["loss.bco_whole"], use.number("loss.bco_mix"))
    r["adds.nll"] = with_weight(use.number("loss.nll_coef"), r["nll"])
    r["total_loss"] = r["preference_loss"] + r["adds.nll"]


def mixed(one: Tensor, other: Tensor, share: float) -> Tensor:
    """Returns a mean in which the other counts so much (LLaMA-Factory 0.9.5)."""
    return (one + share * other) / (1 + share)
