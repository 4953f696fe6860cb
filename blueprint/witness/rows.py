"""What was computed of files, by the names of their blocks: the settings, every quantity, and the verdicts of the checks."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from torch import Tensor

from blueprint.witness.batch import Batch
from blueprint.witness.settings import TABLE, Array, Setting, in_use, is_word, of_preset


class Rows(dict[str, Tensor]):
    """What was recomputed, by the name of its block and in the order of derivation; arrays of words stand among the tensors."""

    def __init__(self, batch: Batch) -> None:
        """Starts with nothing computed."""
        super().__init__()
        self._batch, self._whole, self._hidden = batch, set[str](), set[str]()

    def add(self, tensors: Mapping[str, Tensor], whole: bool = False) -> None:
        """Takes quantities: [F], [F, N], [F, N, T (and edges), …]; whole: without episodes and positions, [F, …].

        What is typed stays as it is.
        """
        self.update({name: each for name, each in tensors.items() if name not in self._hidden or name not in self})
        self._whole |= tensors.keys() if whole else set()

    def know(self, tensors: Mapping[str, Tensor]) -> None:
        """Takes what is typed, to be looked at and not to be shown."""
        self.add(tensors)
        self.hide(tensors)

    def hide(self, names: Iterable[str]) -> None:
        """Keeps quantities to be looked at which the files do not show."""
        self._hidden.update(names)

    def add_words(self, name: str, words: Iterable[Array | str]) -> None:
        """Takes one array of words, or one word, for each file."""
        self[name] = [np.asarray(each, dtype=object) for each in words]  # type: ignore[assignment]

    def of_each_file(self) -> list[dict[str, Array]]:
        """Returns the quantities of each file, cut to its own episodes and positions; edges keep their places."""
        columns = self._batch.exists.shape[-1]
        found: list[dict[str, Array]] = [{} for _ in self._batch.files]
        for name in (each for each in self if each not in self._hidden):
            together: Any = self[name]
            words = isinstance(together, list)
            arrays = together if words else together.cpu().numpy()
            for each, array, (episodes, positions) in zip(found, arrays, self._batch.sizes, strict=True):
                each[name] = array if words or name in self._whole else _cut(array, episodes, positions - columns)
        return found


def _cut(array: Array, episodes: int, padding: int) -> Array:
    if array.ndim < 2:
        return array[:episodes] if array.ndim else array
    return array[:episodes, : array.shape[1] + padding]


def add_settings(batch: Batch, rows: Rows) -> None:
    """Adds every setting that the files have: its value, a word's number, or by how much it and those above leave their ranges.

    With a table of presets also the number of the one in use, and what it says.
    """
    places = [in_use(file) for file in batch.files]
    table = TABLE in batch.files[0]
    if table:
        rows.add({"preset.number": batch.filled(float(place or 0) for place in places)})
    for name in batch.settings[0]:
        if table:
            pairs = zip(batch.files, places, strict=True)
            _add(batch, rows, f"{name}.preset", [of_preset(file, name, place) for file, place in pairs])
        _add(batch, rows, name, batch.used(name))
        if is_word(batch.files[0], name):
            rows.add({f"{name}.number": batch.setting(name).flatten()})
        else:
            rows.add({f"{name}.outside": batch.filled(each[name] for each in batch.outside)})


def _add(batch: Batch, rows: Rows, name: str, values: list[Setting]) -> None:
    """Adds a setting of every file: numbers, or words."""
    if is_word(batch.files[0], name.removesuffix(".preset")):
        rows.add_words(name, map(str, values))
    else:
        rows.add({name: batch.filled(map(float, values))})


def add_verdicts(batch: Batch, rows: Rows, distances: Mapping[str, Tensor]) -> None:
    """Adds the checks that the files have, in their order: the distance, its largest, whether that is too large.

    Beside each stands how many checks failed so far.
    """
    failed = batch.filled([0.0] * len(batch.files))
    checks = (name.removesuffix(".tolerance") for name in batch.files[0] if name.endswith(".tolerance"))
    for name in (each for each in checks if each in distances):
        distance = distances[name]
        inside = distance * _exists(batch, distance.dim())
        worst = inside.flatten(1).amax(dim=1) if distance.dim() > 1 else inside
        fails = worst > batch.typed(f"{name}.tolerance")
        failed = failed + fails
        rows.add({name: distance, f"{name}.worst": worst, f"{name}.failed": failed})
        rows.add_words(f"{name}.verdict", _verdicts(fails))
    rows.add_words("check.master", _verdicts(failed > 0))


def _exists(batch: Batch, axes: int) -> Tensor | float:
    """Returns ones where a file has the episode and decision, for distances of so many axes."""
    return batch.exists if axes == 3 else batch.exists[..., 0] if axes == 2 else 1.0


def _verdicts(fails: Tensor) -> list[str]:
    return ["LOOK" if each else "OK" for each in fails.tolist()]
