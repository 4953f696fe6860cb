"""A step of DPO through the page of libraries: its results, and what verify looks at on the way to them."""

from collections.abc import Mapping

import torch
from torch import Tensor

from blueprint.papers.libraries.dpo import Batch, Options, dpo, losses_of_pairs, of_responses, tokens_counted
from blueprint.verifying import Settings
from blueprint.workbooks.dpo.paper import options

Fed = dict[str, Tensor]
"""What a step is computed from, by the names of the blocks of a workbook."""
Rows = Mapping[str, Tensor]


def derived(given: Fed, settings: Settings) -> Rows:
    """Returns rows by name: of responses in the order in which they are fed, [2P], of pairs [P], and numbers."""
    use, good = options(settings), given["response.chosen"] > 0
    order = torch.cat([good.nonzero()[:, 0], (~good).nonzero()[:, 0]])
    batch = _batch({name: each[order] for name, each in given.items()})
    made = dpo(batch, use)
    pairs = made.losses
    if use.weight != "off":
        pairs = losses_of_pairs(made.ratio, made.margin, batch, made.logp, made.logp_ref, use)
    return {
        **{name: each[order.argsort()] for name, each in _sequences(batch, use).items()},
        "chosen.logged": made.rewards[0],
        "rejected.logged": made.rewards[1],
        "margin.argument": use.beta * made.margin - use.gamma,
        "loss.pair": pairs,
        "preference_loss": made.preference_loss,
        "nll": made.nll,
    }


def _batch(given: Fed) -> Batch:
    """Returns what the page takes; of responses to other prompts and of true rewards a dump says nothing."""
    logp, nothing = given["policy.logprobs"], given["mismatched.ratio"]
    squares = given.get("policy.square", torch.ones_like(logp))
    mask, text = given["response.tokens"] > 0, given["text.tokens"][:, 1:] > 0
    return Batch(logp, given["reference.logprobs"], mask, text, squares.log(), nothing, given["true.reward"])


def _sequences(batch: Batch, use: Options) -> Rows:
    """Returns sums and means over tokens under both models, and of how many tokens a mean is."""
    tails = {"policy": ("policy", "both"), "reference": ("both",)}
    found: dict[str, Tensor] = {}
    for model, logp in (("policy", batch.logp), ("reference", batch.logp_ref)):
        value, total = of_responses(logp, batch, use, use.ld in tails[model])
        found |= {f"{model}.sum": total, f"{model}.mean": value, f"{model}.count": tokens_counted(batch, use)[1]}
    return found
