"""The folder of a run: its numbers, the models learned before, and a file for every ten iterations.

Every file appears whole or not at all. So a run that is killed at any moment goes on from its last file, and since the draws of
an iteration depend on seed and iteration alone, it ends with the same digits. What cannot be read or written is a sentence that
names the iteration.
"""

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blueprint.files import SaveError, saved_whole
from blueprint.inputs import NumbersError
from blueprint.quoting import unquoted
from blueprint.training.run_toml import Arrays, RunNumbers, run_numbers, toml_of

NUMBERS, MODELS, ITERATIONS = "numbers.toml", "models.npz", "iterations"
PER_FILE = 10
"""Iterations that a file holds; what is lost when a run is killed is at most so much."""


class RunError(ValueError):
    """Says in a sentence why a run cannot go on, or cannot be read; it names the iteration and the quantity."""


class Stretch(NamedTuple):
    """Some iterations in a row: from `first` up to, and without, `end`; and what is kept of them."""

    first: int
    end: int
    arrays: Arrays


def is_run(path: Path) -> bool:
    """Tells whether a folder holds a run."""
    return (path / NUMBERS).is_file()


class Folder:
    """A run on disk."""

    def __init__(self, path: Path) -> None:
        """Names the folder; nothing is read or made yet."""
        self.path = path

    def begin(self, numbers: RunNumbers) -> None:
        """Makes the folder, or finds in it a run of the same numbers. Raises RunError where it holds anything else."""
        if is_run(self.path):
            self._refuse_others(numbers)
            return
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise RunError(
                f"{self.path} is there already, and is no folder of a run: name another one, or an empty one"
            )
        try:
            (self.path / ITERATIONS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SaveError(f"{self.path} cannot be made: {(error.strerror or str(error)).lower()}") from error
        with saved_whole(self.path / NUMBERS) as unfinished:
            unfinished.write_text(toml_of(numbers), encoding="utf-8", newline="\n")

    def _refuse_others(self, numbers: RunNumbers) -> None:
        """Refuses to go on with other numbers; only more iterations may be asked for, which change nothing before."""
        kept, asked = _flat(self.numbers().model_dump()), _flat(numbers.model_dump())
        longer = asked["update.iterations"] > kept["update.iterations"]
        for key, value in asked.items():
            if kept.get(key) != value and not (longer and key == "update.iterations"):
                raise RunError(
                    f"{self.path} holds a run with {key} = {kept.get(key)}, and {key} = {value} is asked for: name another"
                    f" folder, or leave {key} as it is"
                )
        if longer:
            with saved_whole(self.path / NUMBERS) as unfinished:
                unfinished.write_text(toml_of(numbers), encoding="utf-8", newline="\n")

    def numbers(self) -> RunNumbers:
        """Returns the numbers of the run. Raises RunError where they are damaged."""
        try:
            return run_numbers(self.path / NUMBERS)
        except NumbersError as error:
            raise RunError(
                f"{error} It is what the run in {self.path} began with: mend it, or begin anew in another folder"
            ) from None

    def save_models(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keeps what was learned before the first iteration."""
        _save(self.path / MODELS, arrays, "before iteration 0")

    def models(self) -> Arrays | None:
        """Returns what was learned before, or None where that is not finished."""
        path = self.path / MODELS
        return _load(path, f"delete {path}, and the same command learns it again") if path.exists() else None

    def save(self, stretch: Stretch) -> None:
        """Keeps some iterations."""
        place = self.path / ITERATIONS / f"{stretch.first:06d}-{stretch.end:06d}.npz"
        _save(place, stretch.arrays, f"iterations {stretch.first} to {stretch.end - 1}")

    def stretches(self) -> Iterator[Stretch]:
        """Yields the iterations that are kept, in order, as far as there is none missing. Raises RunError for a damaged file."""
        expected = 0
        for path in sorted((self.path / ITERATIONS).glob("[0-9]*-[0-9]*.npz")):
            first, end = map(int, path.stem.split("-"))
            if first != expected:
                break
            yield Stretch(
                first,
                end,
                _load(path, f"delete {path} and those after it, and the same command goes on at iteration {first}"),
            )
            expected = end

    def finished(self) -> tuple[RunNumbers, Arrays, list[Stretch]]:
        """Returns the numbers, the models learned before and the iterations. Raises RunError where there is none of the last."""
        numbers, models, stretches = self.numbers(), self.models(), [*self.stretches()]
        if models is None or not stretches:
            raise RunError(
                f"{self.path} holds a run that has no finished iteration: blueprint run {self.path} goes on with it"
            )
        return numbers, models, stretches


def _flat(tables: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Returns every value of nested tables by its dotted key."""
    found: dict[str, Any] = {}
    for key, value in tables.items():
        found |= _flat(value, f"{before}{key}.") if isinstance(value, Mapping) else {before + key: value}
    return found


def _save(path: Path, arrays: Mapping[str, NDArray[Any]], what: str) -> None:
    try:
        with saved_whole(path) as unfinished, unfinished.open("wb") as file:
            np.savez(file, **dict(arrays))  # type: ignore[arg-type]
    except OSError as error:
        raise RunError(
            f"{what}: {error}; what was finished before is kept, and the same command goes on from there"
        ) from error


def _load(path: Path, mend: str) -> Arrays:
    """Reads a file to its end, so that a damaged one is seen."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, NotImplementedError) as error:
        raise RunError(f"{path} is damaged ({unquoted(error, 120)}): {mend}") from error
