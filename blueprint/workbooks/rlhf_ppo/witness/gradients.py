"""The gradient of the total loss by automatic differentiation, for every parameter of the new policy and the new critic.

The texts, the old models, the advantages and the returns are data of the step and carry no gradient, as in every library.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from blueprint.witness import (
    Array,
    Batch,
    File,
    Named,
    Rows,
    WitnessError,
    chosen_device,
    chosen_dtype,
    distribution_rows,
    ieee_products,
    kl_rows,
    logprobs,
)
from blueprint.witness.ppo import signal, update
from blueprint.workbooks.rlhf_ppo.witness import models
from blueprint.workbooks.rlhf_ppo.witness.compute import compute_ppo
from blueprint.workbooks.rlhf_ppo.witness.start import POLICY, SCORED, slots_of, temperature_of, texts_of, texts_read


def gradients(files: Sequence[File], device: str = "auto", dtype: str = "float64") -> list[dict[str, Array]]:
    """Returns dL/dθ for each file by the name of the parameter's block, such as `policy.Y` or `critic.head.w`.

    Shapes are those of the parameters; L is `total_loss`. Where a minimum or maximum has two equal arguments, torch gives
    each half of the gradient. Raises WitnessError for a file without weights, and as `witness` does.
    """
    number_format = chosen_dtype(dtype)
    place = chosen_device(device, number_format)
    with ieee_products():
        return [_of_file(Batch([file], "rollout.draw", number_format, place)) for file in files]


def _of_file(batch: Batch) -> dict[str, Array]:
    if "old.W" not in batch.files[0]:
        raise WitnessError(
            "the file starts at log-probs or logits, so there are no parameters to differentiate: give one with weights"
        )
    rows = Rows(batch)
    with torch.no_grad():
        compute_ppo(batch, rows)
    policy, critic = (
        {part: rows[f"{model}.{part}"].detach().requires_grad_() for part in parts}
        for model, parts in (("policy", POLICY), ("critic", SCORED))
    )
    found = torch.autograd.grad(total_loss(batch, rows, policy, critic), [*policy.values(), *critic.values()])
    names = (*(f"policy.{part}" for part in policy), *(f"critic.{part}" for part in critic))
    return {name: each[0].cpu().numpy() for name, each in zip(names, found, strict=True)}


def total_loss(batch: Batch, rows: Rows, policy: Named, critic: Named) -> Tensor:
    """Returns the total loss, a number, of a new policy and a new critic on the texts that the rows hold."""
    read, written = texts_read(rows)
    slots, options = slots_of(rows), batch.options
    logits = models.logits(policy, models.memory(policy, read))
    new = distribution_rows(logits / temperature_of(batch)[..., None])
    old = {part: rows[f"old.{part}"] for part in ("p", "p_log_p")}
    texts = replace(
        texts_of(rows, rows["mask"][..., 1:-1]),
        logprobs=logprobs(new["log_p"], written, slots),
        kl_new_reference=kl_rows(new, rows["reference.log_p"], slots)["exact"],
        kl_old_new=kl_rows(old, new["log_p"], slots)["exact"],
        entropy=-slots * new["p_log_p"],
        values=slots * models.score(critic, models.memory(critic, read)),
    )
    return update(texts, signal(texts, options), options)["total_loss"].sum()
