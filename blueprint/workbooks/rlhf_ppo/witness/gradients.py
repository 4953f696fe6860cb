"""The gradient of the total loss by automatic differentiation, for every parameter of the new policy and the new critic.

The texts, the old models, the advantages and the returns are data of the step and carry no gradient, as in every library.
"""

from collections.abc import Sequence

import torch

from blueprint.witness import Array, Batch, File, Rows, WitnessError, chosen_device, chosen_dtype, ieee_products
from blueprint.workbooks.rlhf_ppo.witness.backward import GRAD, MODELS, gradients_of
from blueprint.workbooks.rlhf_ppo.witness.compute import compute_ppo


def gradients(files: Sequence[File], device: str = "auto", dtype: str = "float64") -> list[dict[str, Array]]:
    """Returns dL/dθ for each file by the name of the parameter's block, such as `policy.Y` or `critic.head.w`.

    Shapes are those of the parameters; L is `total_loss`. Raises WitnessError for a file without weights, and as `witness`
    does.
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
        weights = {name: {part: rows[f"{name}.{part}"] for part in parts} for name, parts in MODELS.items()}
        found = gradients_of(batch, rows, rows["mask"][..., 1:-1], weights)
    names = [f"{name}.{part}" for name, parts in MODELS.items() for part in parts]
    return {name: found[f"{name}{GRAD}"][0].cpu().numpy() for name in names}
