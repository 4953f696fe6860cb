"""The gradient of the total loss by automatic differentiation, for every parameter of the new policy and the new critic.

The texts, the old models, the advantages and the returns are data of the step and carry no gradient, as in every library.
"""

from collections.abc import Iterator, Sequence

import torch

from blueprint.witness import Array, Batch, File, Rows, WitnessError, chosen_device, chosen_dtype, ieee_products
from blueprint.workbooks.rlhf_ppo.witness import WITNESS
from blueprint.workbooks.rlhf_ppo.witness.backward import GRAD, MODELS, gradients_of
from blueprint.workbooks.rlhf_ppo.witness.compute import compute_ppo


def gradients(files: Sequence[File], device: str = "auto", dtype: str = "float64") -> list[dict[str, Array]]:
    """Returns dL/dθ for each file by the name of the parameter's block, such as `policy.Y` or `critic.head.w`.

    Shapes are those of the parameters; L is `total_loss`. Files of one kind and size are one computation. Raises WitnessError
    for a file without weights, and as `witness` does.
    """
    number_format = chosen_dtype(dtype)
    place = chosen_device(device, number_format)
    groups: dict[object, list[int]] = {}
    for number, file in enumerate(files):
        groups.setdefault(WITNESS.group_key(file), []).append(number)
    found: dict[int, dict[str, Array]] = {}
    with ieee_products(), torch.no_grad():
        for members in groups.values():
            batch = WITNESS.batch([files[number] for number in members], number_format, place)
            found |= zip(members, _of_each(batch), strict=True)
    return [found[number] for number in range(len(files))]


def _of_each(batch: Batch) -> Iterator[dict[str, Array]]:
    if "old.W" not in batch.files[0]:
        raise WitnessError(
            "the file starts at log-probs or logits, so there are no parameters to differentiate: give one with weights"
        )
    rows = Rows(batch)
    mask = compute_ppo(batch, rows).mask
    weights = {name: {part: rows[f"{name}.{part}"] for part in parts} for name, parts in MODELS.items()}
    found = gradients_of(batch, rows, mask, weights)
    arrays = {
        f"{name}.{part}": found[f"{name}.{part}{GRAD}"].cpu().numpy() for name in weights for part in weights[name]
    }
    for number in range(len(batch.files)):
        yield {name: array[number] for name, array in arrays.items()}
