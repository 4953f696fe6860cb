"""Libraries side by side: which stand in a file, what each does, where that is not as in use, and what comes of it."""

from collections.abc import Callable, Mapping

import numpy as np
import torch

from blueprint.witness.batch import Batch, Rows
from blueprint.witness.settings import Array, Setting, alternative, block, column, held, is_word, of_preset, place_of
from blueprint.witness.slopes import GRAD
from blueprint.witness.tensors import Named

LIBRARY = "library."
NAMES = f"{LIBRARY}names"
OFFERED = ".offered"
LOGITS, LOGPROBS = f"policy.logits{GRAD}", f"policy.logprobs{GRAD}"
WEIGHTS: tuple[str, ...] = tuple(f"policy.{part}{GRAD}" for part in ("E", "W", "Y"))
Alone = Callable[[Batch, Mapping[str, Setting], Mapping[str, float]], Named]
"""Computes a file by the conventions of one library: as stated, and as numbers of the file."""
Stated = dict[str, list[list[Setting]]]
"""By setting, for each file, what each of its libraries does."""


def add_preferred(batch: Batch, rows: Rows) -> tuple[Stated, Named]:
    """Adds the conventions of every library; returns them as they are stated, and as numbers of the file, [F, L]."""
    places = [[column(file, each) for each in np.atleast_1d(file[NAMES])] for file in batch.files]
    of_files = list(zip(batch.files, places, strict=True))
    stated = {
        name: [[of_preset(file, name, each) for each in of_file] for file, of_file in of_files]
        for name in held(batch.files[0])
    }
    rows.add({f"{LIBRARY}number": batch.padded([np.array(each, dtype=float) for each in places])}, whole=True)
    found = _add_settings(batch, rows, stated)
    rows.add_words(f"{LIBRARY}why", [block(file, "presets.why")[of_file] for file, of_file in of_files])
    differs = [number != batch.setting(name)[..., 0] for name, number in found.items()]
    together = torch.stack(differs, dim=1).to(batch.dtype)
    rows.add({f"{LIBRARY}differs": together, f"{LIBRARY}differences": together.sum(dim=1)}, whole=True)
    return stated, found


def _add_settings(batch: Batch, rows: Rows, stated: Stated) -> Named:
    """Adds every convention of every library, and returns it as a number of the file, [F, L]."""
    found = {}
    for name, of_files in stated.items():
        words = is_word(batch.files[0], name)
        numbers = [
            [float(alternative(file, name, str(each)) if words else each) for each in of_file]
            for file, of_file in zip(batch.files, of_files, strict=True)
        ]
        found[name] = batch.padded([np.array(each) for each in numbers])
        if words:
            rows.add_words(f"{LIBRARY}{name}", [np.array(of_file, dtype=object) for of_file in of_files])
        rows.add({f"{LIBRARY}{name}.number" if words else f"{LIBRARY}{name}": found[name]}, whole=True)
    return found


def add_alone(batch: Batch, rows: Rows, alone: Alone) -> None:
    """Adds what every library of a file does, all that follows from it, and how its gradient lies to the one in use.

    batch: one file. rows: those of the conventions in use.
    """
    file = batch.files[0]
    if NAMES not in file:
        return
    stated, numbers = add_preferred(batch, rows)
    _add_offered(batch, rows, stated)
    shown = {name.removeprefix(LIBRARY): each for name, each in file.items() if name.startswith(LIBRARY)}
    plain = {name: each for name, each in file.items() if not name.startswith(LIBRARY) and not name.endswith(GRAD)}
    slopes = {name: each for name, each in shown.items() if name.endswith(GRAD)}
    bare = Batch([{**plain, **slopes}], batch.frame, batch.dtype, batch.device)
    found = []
    for number in range(len(np.atleast_1d(file[NAMES]))):
        said = {name: each[0][number] for name, each in stated.items()}
        words = {name: each.lower() if isinstance(each, str) else each for name, each in said.items()}
        found.append(alone(bare, words, {name: float(each[0][number]) for name, each in numbers.items()}))
    own = {f"{LIBRARY}{name}": _together(name, found, each)[None] for name, each in shown.items() if name in found[0]}
    rows.add(own, whole=True)
    if slopes:
        rows.add(_measured(found, rows), whole=True)


def _together(name: str, found: list[Named], shown: Array) -> torch.Tensor:
    """Lays a row of every library side by side; one that stands in the file once is the same for all of them."""
    first = found[0][name]
    return first if np.ndim(shown) == first.dim() else torch.stack([each[name] for each in found])


def _add_offered(batch: Batch, rows: Rows, stated: Stated) -> None:
    """Adds the number of each library's word among those that libraries have, where that is a list of its own."""
    file = batch.files[0]
    for name, (own,) in stated.items():
        if f"{LIBRARY}{name}{OFFERED}" in file:
            words = [str(each) for each in np.atleast_1d(file[f"{LIBRARY}{name}{OFFERED}"])]
            found = np.array([float(place_of(str(each), words, name)) for each in own])
            rows.add({f"{LIBRARY}{name}.place": batch.padded([found])}, whole=True)


def _measured(found: list[Named], rows: Rows) -> Named:
    """Returns the norms of libraries' gradients, and how they lie to the one in use, each [1, L]."""
    weights: list[str] = [name for name in WEIGHTS if name in found[0]]
    moved = weights or [LOGITS if LOGITS in found[0] else LOGPROBS]
    theirs = torch.stack([torch.cat([each[name].flatten() for name in moved]) for each in found])
    ours = torch.cat([rows[name].flatten() for name in moved])
    norms, used = torch.linalg.vector_norm(theirs, dim=-1), torch.linalg.vector_norm(ours)
    inner, both = theirs @ ours, norms * used
    cosine = torch.where(both > 0, inner / both, 0.0)
    named = {"norm_l": norms, "inner": inner, "cosine": cosine}
    in_use = {} if len(moved) > 1 else {f"{moved[0]}.norm": used[None]}
    return in_use | {f"{LIBRARY}policy{GRAD}.{name}": each[None] for name, each in named.items()}
