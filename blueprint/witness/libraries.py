"""Libraries side by side: which stand in a file, what each does, and where that is not as in use."""

import numpy as np
import torch

from blueprint.witness.batch import Batch, Rows
from blueprint.witness.settings import Setting, alternative, block, column, held, is_word, of_preset
from blueprint.witness.tensors import Named

LIBRARY = "library."
NAMES = f"{LIBRARY}names"
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
