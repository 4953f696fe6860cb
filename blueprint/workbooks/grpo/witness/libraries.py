"""Libraries side by side: the same responses once more by the conventions of every library of a file, one after the other."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from blueprint.witness import (
    GRAD,
    LIBRARY,
    NAMES,
    Array,
    Asked,
    Batch,
    Named,
    Rows,
    Stated,
    add_preferred,
    alternative,
    place_of,
)
from blueprint.workbooks.grpo.witness.given import UNSET
from blueprint.workbooks.grpo.witness.once import once
from blueprint.workbooks.grpo.witness.places import Places
from blueprint.workbooks.grpo.witness.start import Start

OFFERED = ".offered"
LOGITS = f"policy.logits{GRAD}"
LOGPROBS = f"policy.logprobs{GRAD}"
WEIGHTS: tuple[str, ...] = tuple(f"policy.{part}{GRAD}" for part in ("E", "W", "Y"))


def add_libraries(batch: Batch, rows: Rows, start: Start, places: Places, read: Tensor | None) -> None:
    """Adds what every library does, all that follows from it, and how its gradient lies to the one in use."""
    file = batch.files[0]
    if NAMES not in file:
        return
    stated, numbers = add_preferred(batch, rows)
    _add_offered(batch, rows, stated)
    shown = {name.removeprefix(LIBRARY): each for name, each in file.items() if name.startswith(LIBRARY)}
    plain = {name: each for name, each in file.items() if not name.startswith(LIBRARY) and not name.endswith(GRAD)}
    slopes = {name: each for name, each in shown.items() if name.endswith(GRAD)}
    alone = Batch([{**plain, **slopes}], batch.frame, batch.dtype, batch.device)
    found = [once(alone, start, places, use, read) for use in _asked(batch, stated, numbers)]
    rows.add(
        {f"{LIBRARY}{name}": _together(name, found, each)[None] for name, each in shown.items() if name in found[0]},
        whole=True,
    )
    if slopes:
        rows.add(_measured(batch, found, rows), whole=True)


def _asked(batch: Batch, stated: Stated, numbers: Named) -> Iterator[Asked]:
    """Yields the conventions of each library."""
    average = "loss.aggregation"
    place = float(alternative(batch.files[0], average, "token_mean"))
    for number, mode in enumerate(numbers[average][0].tolist()):
        said = {name: each[0][number] for name, each in stated.items()}
        words = {name: each.lower() if isinstance(each, str) else each for name, each in said.items()}
        yield Asked(UNSET | words | {f"{average}.token_mean": place, f"{average}.number": mode})


def _together(name: str, found: list[Named], shown: Array) -> Tensor:
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


def _measured(batch: Batch, found: list[Named], rows: Rows) -> Named:
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
