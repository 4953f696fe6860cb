"""Files of one step whose rows have nothing to do with each other, as one: below each other, columns as wide as the widest."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from blueprint.dumps.batch import Dump
from blueprint.dumps.formats import Array
from blueprint.dumps.step_files import AnyDump, key_of


def together(steps: Sequence[AnyDump]) -> AnyDump:
    """Returns the rows of several files, with the tensors that all of them have; what was logged of each is left out."""
    if len(steps) == 1:
        return steps[0]
    common = [name for name in steps[0].tensors if all(name in each.tensors for each in steps)]
    tensors = {name: _stacked([each.tensors[name] for each in steps]) for name in common}
    return replace(steps[0], tensors=tensors, logged={}, notes=(), place=None)


def whole_of(dump: Dump, steps: Sequence[AnyDump]) -> AnyDump | None:
    """Returns the files of the step as one; None where the file is alone."""
    same = [each for each in steps if key_of(each)[1] == key_of(dump)[1]]
    return together(same) if len(same) > 1 else None


def _stacked(arrays: Sequence[Array]) -> Array:
    if arrays[0].ndim == 1:
        return np.concatenate(arrays)
    width = max(each.shape[1] for each in arrays)
    return np.concatenate([np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in arrays])
