"""What was computed of files, by the names of their blocks: the settings, every quantity, and the verdicts of the checks."""

from collections.abc import Iterable, Mapping

import numpy as np
from torch import Tensor

from blueprint.witness.batch import Batch
from blueprint.witness.settings import TABLE, Array, Setting, in_use, is_word, of_preset


class Rows:
    """What was recomputed, by the name of its block and in the order of derivation."""

    def __init__(self, batch: Batch) -> None:
        """Starts with nothing computed."""
        self._batch = batch
        self._found: dict[str, tuple[Tensor | list[Array], bool]] = {}
        self._hidden: set[str] = set()

    def __getitem__(self, name: str) -> Tensor:
        """Returns a quantity computed earlier."""
        found = self._found[name][0]
        assert isinstance(found, Tensor), name
        return found

    def __contains__(self, name: object) -> bool:
        """Returns whether a quantity has been computed."""
        return name in self._found

    def get(self, name: str, otherwise: Tensor) -> Tensor:
        """Returns a quantity computed earlier, if there is one of that name."""
        return self[name] if name in self._found else otherwise

    def add(self, tensors: Mapping[str, Tensor], whole: bool = False) -> None:
        """Takes quantities: [F], [F, N], [F, N, T (and edges), …]; whole: without episodes and decisions, [F, …].

        What is typed stays as it is.
        """
        self._found |= {
            name: (each, whole) for name, each in tensors.items() if name not in self._hidden or name not in self._found
        }

    def know(self, tensors: Mapping[str, Tensor]) -> None:
        """Takes what is typed, to be looked at and not to be shown."""
        self.add(tensors)
        self.hide(tensors)

    def hide(self, names: Iterable[str]) -> None:
        """Keeps quantities to be looked at which the files do not show."""
        self._hidden.update(names)

    def add_words(self, name: str, words: Iterable[Array | str]) -> None:
        """Takes one array of words, or one word, for each file."""
        self._found[name] = ([np.asarray(each, dtype=object) for each in words], True)

    def of_each_file(self) -> list[dict[str, Array]]:
        """Returns the quantities of each file, cut to its own episodes and decisions; edges keep their places."""
        columns = self._batch.exists.shape[-1]
        found: list[dict[str, Array]] = [{} for _ in self._batch.files]
        for name, (together, whole) in self._found.items():
            if name not in self._hidden:
                arrays = together.cpu().numpy() if isinstance(together, Tensor) else together
                for each, array, (episodes, decisions) in zip(found, arrays, self._batch.sizes, strict=True):
                    each[name] = array if whole else _cut(array, episodes, decisions - columns)
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
        said = [of_preset(file, name, place) for file, place in zip(batch.files, places, strict=True)] if table else []
        _add(batch, rows, f"{name}.preset", said)
        _add(batch, rows, name, batch.used(name))
        if is_word(batch.files[0], name):
            rows.add({f"{name}.number": batch.setting(name).flatten()})
        else:
            rows.add({f"{name}.outside": batch.filled(each[name] for each in batch.outside)})


def _add(batch: Batch, rows: Rows, name: str, values: list[Setting]) -> None:
    """Adds a setting of every file: numbers, or words; nothing where there are none."""
    numbers = [value for value in values if not isinstance(value, str)]
    if numbers:
        rows.add({name: batch.filled(numbers)})
    elif values:
        rows.add_words(name, [str(value) for value in values])


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
