"""What is watched of a gradient: which way each token is pulled, and norms."""

import torch

from blueprint.witness import Batch, Named, pull_rows

JOINT = {"policy": ("policy.",), "critic": ("critic.",), "loss": ("policy.", "critic.")}
"""Over whose weights a norm is taken, by how its name begins."""


def watched(batch: Batch, slopes: Named, mask: torch.Tensor) -> Named:
    """Returns what the files show of slopes, which are given by their names. mask: 1 on the response."""
    found = pull_rows(batch, slopes["policy.logprobs.grad"], mask) if "loss.grad.tiny" in batch.files[0] else {}
    shown = [name for name in slopes if f"{name}.norm" in batch.files[0]]
    found |= {
        f"{name}.norm": torch.linalg.vector_norm(slopes[name].reshape(len(slopes[name]), -1), dim=1) for name in shown
    }
    for name, models in JOINT.items():
        parts = [slopes[each].reshape(len(slopes[each]), -1) for each in shown if each.startswith(models)]
        if parts:
            found[f"{name}.grad.norm"] = torch.linalg.vector_norm(torch.cat(parts, dim=1), dim=1)
    return found
