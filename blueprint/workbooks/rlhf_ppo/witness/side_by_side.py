"""Gradients of libraries side by side: each library is the same file once more, with that library as its preset."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from blueprint.witness import Array, Batch, File, Named, Rows, Setting, held
from blueprint.workbooks.rlhf_ppo.witness.backward import GRAD, MODELS, add_lookups, gradients_of

LIBRARY = "library."
OF_THE_BATCH = ("batch.temperature", "batch.temperature_eps", "update_step")
"""Settings that made the texts and the policies: a library does not sample or update anew."""
STARTS = {"policy": "logits", "critic": "out"}
"""What is differentiated by where a file has no weights."""


def add_library_gradients(batch: Batch, rows: Rows, mask: Tensor) -> None:
    """Adds the way back of every library, if the files show it, and how its gradient lies to that of the settings in use."""
    if not any(name.startswith(LIBRARY) and name.endswith(GRAD) for name in batch.files[0]):
        return
    count = len(np.atleast_1d(batch.files[0]["library.names"]))
    files = [each for file, used in zip(batch.files, batch.settings, strict=True) for each in _of_each(file, used)]
    texts = {name: each for name, each in rows.items() if isinstance(each, Tensor) and not name.startswith(LIBRARY)}
    again = {name: each.repeat_interleave(count, dim=0) for name, each in texts.items()}
    alone = Batch(files, batch.frame, batch.dtype, batch.device)
    weights = {
        model: {part: again[f"{model}.{part}"] for part in parts}
        for model, parts in MODELS.items()
        if f"{model}.E" in again
    }
    found = gradients_of(alone, again, mask.repeat_interleave(count, dim=0), weights)
    apart = {name: each.view(-1, count, *each.shape[1:]) for name, each in found.items()}
    joint = alone.options.says("loss.joint", "on", 1)
    weight = torch.where(joint, alone.options.number("vf_coef", 1), 1.0).view(-1, count)
    apart |= {"vf_coef.critic": weight, "critic_loss": weight * rows["library.value_loss"]}
    apart |= {name: each[:, 0] for name, each in apart.items() if name.endswith("transposed")}
    add_lookups(batch, rows, LIBRARY)
    shown = {f"{LIBRARY}{name}": each for name, each in apart.items() if f"{LIBRARY}{name}" in batch.files[0]}
    rows.add(shown, whole=True)
    for model, parts in MODELS.items():
        names = [f"{model}.{part}{GRAD}" for part in (parts if weights else (STARTS[model],))]
        ours = _flat(rows, names, 1)
        if not weights:
            rows.add({f"{names[0]}.norm": torch.linalg.vector_norm(ours, dim=-1)})
        rows.add(_measured(model, _flat(apart, names, 2), ours), whole=True)


def _of_each(file: File, used: dict[str, Setting]) -> list[dict[str, Array]]:
    """Returns a file once for each of its libraries, with that one as its preset and nothing else chosen."""
    nothing = {f"{name}.yours": np.array("" if isinstance(used[name], str) else np.nan) for name in held(file)}
    nothing |= {f"{name}.yours": np.array(used[name]) for name in OF_THE_BATCH if name in used}
    shows = {name.removeprefix(LIBRARY): each for name, each in file.items() if name.startswith(LIBRARY)}
    plain = {name: each for name, each in file.items() if not name.startswith(LIBRARY) and not name.endswith(GRAD)}
    slopes = {name: each for name, each in shows.items() if name.endswith(GRAD)}
    return [
        {**plain, **slopes, **nothing, "preset": np.array(name, dtype=object)} for name in np.atleast_1d(shows["names"])
    ]


def _flat(rows: Named, names: Sequence[str], axes: int) -> Tensor:
    """Returns several gradients as one row for each file, or for each library of each file."""
    return torch.cat(
        [rows[name].flatten(axes) if rows[name].dim() > axes else rows[name][..., None] for name in names], -1
    )


def _measured(model: str, theirs: Tensor, ours: Tensor) -> Named:
    """Returns the norms of libraries' gradients, and how they lie to the one in use; theirs [F, L, P], ours [F, P]."""
    norms, used = torch.linalg.vector_norm(theirs, dim=-1), torch.linalg.vector_norm(ours, dim=-1)
    inner, both = torch.einsum("flp,fp->fl", theirs, ours), norms * used[:, None]
    cosine = torch.where(both > 0, inner / both, 0.0)
    found = {"norm_l": norms, "inner": inner, "cosine": cosine}
    return {f"{LIBRARY}{model}{GRAD}.{name}": each for name, each in found.items()}
