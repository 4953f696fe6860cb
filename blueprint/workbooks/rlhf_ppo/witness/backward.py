"""Gradients by automatic differentiation: what a file with gradients shows."""

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from blueprint.witness import GRAD as SLOPE
from blueprint.witness import (
    TABLE,
    UPPER,
    Batch,
    Held,
    Named,
    Rows,
    Texts,
    Tie,
    both_losses,
    critic_rows,
    distribution_rows,
    kl_rows,
    logprobs,
    lowest_ratio,
    shows_slopes,
)
from blueprint.witness import networks as models
from blueprint.witness.ppo import update
from blueprint.witness.rollout import ties
from blueprint.workbooks.rlhf_ppo.witness.minibatches import learnt
from blueprint.workbooks.rlhf_ppo.witness.start import POLICY, SCORED, slots_of, temperature_of, texts_of, texts_read
from blueprint.workbooks.rlhf_ppo.witness.watched import watched

GRAD = SLOPE
MODELS = {"policy": POLICY, "critic": SCORED}
Steps = Mapping[str, list[Tensor]]
Weights = Mapping[str, Named]
"""The weights of policy and critic, by the name of the model and that of the part."""


def add_gradients(batch: Batch, rows: Rows, mask: Tensor) -> None:
    """Adds ∂L/∂x for every quantity x of which the files show one, if they show any, and what is shown on the way."""
    if not shows_slopes(batch):
        return
    weights = {
        name: {part: rows[f"{name}.{part}"] for part in parts} for name, parts in MODELS.items() if f"{name}.E" in rows
    }
    add_lookups(batch, rows)
    add_critic_loss(batch, rows)
    on_weights = tuple(f"{name}.{part}{GRAD}" for name, parts in MODELS.items() for part in parts)
    for name, each in gradients_of(batch, rows, mask, weights).items():
        if name in batch.files[0]:
            rows.add({name: each}, whole=name.startswith(on_weights))


def clip_ties(batch: Batch, rows: Rows) -> list[Tie]:
    """Lists the ratios that are nearly at the end of their range behind which they pull no more.

    A ratio of 1, to the last bit, is the same for every honest computation.
    """
    if f"ratio{GRAD}" not in rows:
        return []
    ratio, advantages = rows["ratio"], rows["advantages_used"]
    end = torch.where(advantages > 0, 1 + batch.options.number(UPPER), lowest_ratio(batch.options))
    counts = (advantages != 0) & (ratio != 1)
    return ties(batch, torch.where(counts, (ratio - end).abs(), torch.inf), "ratio", "pulling and not pulling")


def gradients_of(batch: Batch, rows: Held, mask: Tensor, weights: Weights) -> Named:
    """Returns ∂L/∂x by `x.grad` for everything between the weights and the loss, or from the logits and values on.

    What is nearest to the loss comes first, as on the way back.
    """
    with torch.enable_grad():
        leaves = {
            name: {part: each.detach().requires_grad_() for part, each in of.items()} for name, of in weights.items()
        }
        parts = {f"{name}.{part}": each for name, of in leaves.items() for part, each in of.items()}
        steps = {
            f"{name}.{row}": each
            for name, of in leaves.items()
            for row, each in models.unrolled(of, texts_read(rows)[0]).items()
        }
        nodes: Named = {}
        losses = losses_of(batch, rows, texts_of(rows, mask), leaves, steps, nodes)
    flat = [*parts.values(), *(each for step in steps.values() for each in step), *nodes.values()]
    each = zip(flat, torch.autograd.grad(losses, flat, allow_unused=True), strict=True)
    slopes = (torch.zeros_like(node) if slope is None else slope for node, slope in each)
    found = {name: next(slopes) for name in parts}
    found |= {name: torch.stack([next(slopes) for _ in step], dim=2) for name, step in steps.items()}
    found |= {name: next(slopes) for name in nodes}
    shown = dict(models.called(*each) for each in reversed(found.items()))
    return models.turned(leaves) | shown | watched(batch, shown, mask)


def losses_of(
    batch: Batch, rows: Held, texts: Texts, weights: Weights, steps: Steps, nodes: Named
) -> tuple[Tensor, ...]:
    """Returns what the optimisers make smaller, numbers: see `both_losses`.

    Adds to the nodes what stands between them and the steps.
    """
    slots, options = slots_of(rows), batch.options
    written = rows["rollout.written"][..., -slots.shape[-1] :].long()
    if weights:
        policy, critic = (models.stacked(steps[f"{name}.memory"]) for name in ("policy", "critic"))
        nodes["policy.logits"] = models.logits(weights["policy"], policy)
        nodes["critic.out"] = batch.exists * models.score(weights["critic"], critic)
    else:
        nodes["policy.logits"] = batch.typed("policy.logits").requires_grad_()
        nodes["critic.out"] = batch.typed("critic.out").requires_grad_()
    nodes["policy.tempered"] = nodes["policy.logits"] / temperature_of(batch)[..., None]
    new = distribution_rows(nodes["policy.tempered"])
    old = {part: rows[f"old.{part}"] for part in ("p", "p_log_p")}
    nodes["policy.logprobs"] = _as_shown(logprobs(new["log_p"], written, slots), texts.logprobs)
    nodes["policy_kl.exact"] = kl_rows(old, new["log_p"], slots)["exact"]
    nodes["kl_new.exact"] = kl_rows(new, rows["reference.log_p"], slots)["exact"]
    nodes["policy.entropy"] = -slots * new["p_log_p"]
    nodes["critic.values"] = _as_shown(slots * nodes["critic.out"], texts.values)
    # A file whose loss pays no KL to the reference does not ask for its slope, which is no number where e^−k is infinite.
    fixed = texts
    texts = replace(
        texts,
        logprobs=nodes["policy.logprobs"],
        kl_new_reference=nodes["kl_new.exact"],
        kl_old_new=nodes["policy_kl.exact"],
        entropy=nodes["policy.entropy"],
        values=nodes["critic.values"],
    )
    found = update(texts, learnt(batch, rows, texts if TABLE in batch.files[0] else fixed), options)
    shown = {name: each for name, each in found.items() if f"{name}{GRAD}" in batch.files[0]}
    nodes |= {name: each for name, each in shown.items() if each.requires_grad}
    return both_losses(found, options)


def add_critic_loss(batch: Batch, rows: Rows) -> None:
    """Adds what the critic's optimiser makes smaller, where conventions are live."""
    rows.add(critic_rows(batch, rows))


def add_lookups(batch: Batch, rows: Rows, prefix: str = "") -> None:
    """Adds 1 for the token that is read or written, 0 for every other, and the numbers of the tokens."""
    size = rows["policy.log_p"].shape[-1]
    for name in ("rollout.read", "rollout.written"):
        if (shown := f"{prefix}{name}{GRAD}") + ".is" in batch.files[0]:
            ids = rows[name].long()[..., -batch.exists.shape[-1] :]
            rows.add({f"{shown}.is": one_hot(ids, size).to(batch.dtype)})
            rows.add(
                {f"{shown}.id": torch.arange(size, device=batch.device).expand(len(batch.files), size)}, whole=True
            )


def _as_shown(found: Tensor, shown: Tensor) -> Tensor:
    """Returns numbers to the last bit as they are shown, which decides ties, with the slopes of how they were found here."""
    return found + (shown - found).detach()
