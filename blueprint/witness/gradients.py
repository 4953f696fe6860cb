"""The gradient of the total loss by automatic differentiation, for every parameter of the new policy and the new critic.

The texts, the old models, the advantages and the returns are data of the step and carry no gradient, as in every library.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from blueprint.witness import from_weights, loss, signal
from blueprint.witness.batch import Batch, Rows, is_weights
from blueprint.witness.device import chosen_device, chosen_dtype, ieee_products
from blueprint.witness.errors import WitnessError
from blueprint.witness.live.compute import compute
from blueprint.witness.live.gradients import total_loss as live_loss
from blueprint.witness.live.presets import is_live
from blueprint.witness.models import Policy, Scored, distribution, logprobs
from blueprint.witness.settings import Array, File


def gradients(files: Sequence[File], device: str = "auto", dtype: str = "float64") -> list[dict[str, Array]]:
    """Returns dL/dθ for each file by the name of the parameter's block, such as `policy.Y` or `critic.head.w`.

    Shapes are those of the parameters; L is `total_loss`. Where a minimum or maximum has two equal arguments, torch gives
    each half of the gradient. Raises WitnessError for a file without weights, and as `witness` does.
    """
    number_format = chosen_dtype(dtype)
    place = chosen_device(device, number_format)
    with ieee_products():
        return [_of_file(Batch([file], number_format, place)) for file in files]


def _of_file(batch: Batch) -> dict[str, Array]:
    if not is_weights(batch.files[0]):
        raise WitnessError(
            "the file starts at log-probs or logits, so there are no parameters to differentiate: give one with weights"
        )
    rows = Rows(batch)
    live = is_live(batch.files[0])
    with torch.no_grad():
        (compute if live else from_weights.compute)(batch, rows, [0])
    policy = Policy({part: rows[f"policy.{part}"] for part in from_weights.POLICY})
    critic = Scored({part: rows[f"critic.{part}"] for part in from_weights.SCORED})
    parameters = {
        "policy.E": policy.E,
        "policy.W": policy.W,
        "policy.Y": policy.Y,
        "critic.E": critic.E,
        "critic.W": critic.W,
        "critic.head.w": critic.w,
        "critic.head.b": critic.b,
    }
    of_models = live_loss if live else total_loss
    found = torch.autograd.grad(of_models(batch, rows, policy, critic), list(parameters.values()))
    return {name: each[0].cpu().numpy() for name, each in zip(parameters, found, strict=True)}


def total_loss(batch: Batch, rows: Rows, policy: Policy, critic: Scored) -> Tensor:
    """Returns the total loss, a number, of a new policy and a new critic on the texts that the rows hold."""
    mask, setting = rows["mask"][..., 1:-1], batch.setting
    read, written = rows["rollout.read"].long(), rows["rollout.written"][..., 1:].long()
    found = distribution(policy.logits(policy.memory(read)))
    values = mask * critic.score(critic.memory(read))
    chosen = logprobs(found["log_p"], written, mask)
    of_policy = loss.policy_rows(chosen, rows["old.logprobs"], rows["advantages_used"], mask, setting("clip_range"))
    old = rows["old_critic.values"][..., :-1]
    of_value = loss.value_rows(values, old, rows["returns"], mask, setting("value_clip_range"))
    _, kl = signal.exact_kl(rows["old.p"], rows["old.p_log_p"], found["log_p"], mask)
    entropy = -mask * (found["p"] * found["log_p"]).sum(dim=-1)
    of_words = of_policy | of_value | {"policy.entropy": entropy, "policy_kl.exact": kl}
    coefficients = {name: setting(name) for name in ("vf_coef", "ent_coef", "policy_kl_coef")}
    return loss.total_rows(of_words, coefficients, mask, rows["response.words"])["total_loss"].sum()
