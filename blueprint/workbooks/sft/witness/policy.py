"""What the policy says of every label; the slopes of the loss, down to its weights where it is run."""

from typing import NamedTuple

import torch
from torch import Tensor

from blueprint.witness import GRAD, Asked, Batch, Held, Named, distribution_rows, logprobs, shown_slopes, weight_rows
from blueprint.witness import networks as models
from blueprint.workbooks.sft.witness.once import loss_rows, watched_rows
from blueprint.workbooks.sft.witness.texts import WEIGHTS, Texts


class Policy(NamedTuple):
    """The logits [B, T, V]; every row of a network that made them, and its weights, [1, …], if there is one."""

    logits: Tensor
    rows: Named
    weights: Held


def policy_in(batch: Batch, of: Texts) -> Policy:
    """Returns the policy of a file: run where its weights are typed, else given by its logits."""
    if "policy.E" not in batch.files[0]:
        return Policy(batch.typed("policy.logits")[0], {}, {})
    return run({part: batch.typed(f"policy.{part}") for part in WEIGHTS}, of)


def run(weights: Held, of: Texts) -> Policy:
    """Runs the network over the texts."""
    read = of.tokens[None, :, :-1]
    memory = models.memory(weights, read)
    logits = models.logits(weights, memory)[0]
    rows = {
        "policy.inputs": models.inputs(weights, read, memory)[0],
        "policy.memory": memory[0],
        "policy.logits": logits,
    }
    return Policy(logits, rows, weights)


def every_row(batch: Batch, of: Texts, label: Named, policy: Policy, use: Asked) -> Named:
    """Returns all that hangs on the policy, with the slopes of the loss where the file shows gradients."""
    id = label["label.id"].long()
    made = distribution_rows(policy.logits)
    said = {f"policy.{name}": each for name, each in made.items()} | {
        "policy.logprobs": logprobs(made["log_p"], id), "policy.entropy": -made["p_log_p"],
        "policy.label_logit": policy.logits.gather(-1, id[..., None])[..., 0],
    }  # fmt: skip
    found = policy.rows | said | loss_rows(of, label, said["policy.logprobs"], use) | watched_rows(of, label, said)
    return found | (_slopes(batch, of, label, policy, use) if f"policy.logprobs{GRAD}" in batch.files[0] else {})


def _slopes(batch: Batch, of: Texts, label: Named, policy: Policy, use: Asked) -> Named:
    """Returns ∂L/∂x by `x.grad` for every row x of which the file shows one."""
    id = label["label.id"].long()
    with torch.enable_grad():
        logits = policy.logits.detach().clone().requires_grad_()
        logp = logits.log_softmax(-1).gather(-1, id[..., None])[..., 0]
        found = shown_slopes(
            batch, {**loss_rows(of, label, logp, use), "policy.logprobs": logp, "policy.logits": logits}
        )
    tokens = torch.arange(logits.shape[-1])
    found |= {f"label.id{GRAD}.id": tokens, f"label.id{GRAD}.is": id[..., None] == tokens}
    read = of.tokens[None, :, :-1]
    return found | (weight_rows(read, found[f"policy.logits{GRAD}"], policy.weights) if policy.weights else {})
