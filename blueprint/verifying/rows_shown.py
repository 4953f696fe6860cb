"""Some rows of a dump as a workbook: which of them, what is said of that, and their numbers as cells hold them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blueprint.dumps import Array, MinibatchError, require
from blueprint.inputs import LONGEST, Numbers
from blueprint.verifying.in_memory import Again
from blueprint.verifying.settings import Chosen, Settings
from blueprint.verifying.verdict import Agreement, Shown, ViewOptions, picked

SMALLEST_SHARE = 1e-300
"""In the place of 1 − p where that is 0, so that a logarithm of it exists."""


@dataclass(frozen=True)
class View:
    """Some rows of a step. step: these alone; rows: which of the file they are; called: what is shown, in the plural; count: how
    many of them.

    preset: its name; usual: its values, settings: those in force. all: whether all rows are shown.
    """

    step: Any
    rows: Array
    settings: Settings
    preset: str
    usual: Settings
    all: bool
    called: str
    count: str

    @property
    def label(self) -> str:
        """Says what is shown."""
        every = "all" if self.all else "some"
        return f"{every} {self.called} of the step, {self.count}: rows {', '.join(map(str, self.rows))}"

    @property
    def partly(self) -> list[str]:
        """Says that losses are those of the rows shown, where these are not all."""
        of = f"The losses are those of the {self.called} shown; of the whole step they are what verify says."
        return [] if self.all else [of]

    @property
    def asked(self) -> dict[str, float | str]:
        """The settings that are not as the preset has them."""
        return {key: value for key, value in self.settings.items() if value != self.usual[key]}

    def numbers(self, level: str, name: str, what: str, asked: Settings, parts: Mapping[str, object]) -> Numbers:
        """Makes the numbers of a workbook. what: it is of, such as `4 pairs of a step of TRL`; asked: its settings."""
        title = name if self.step.step is None else f"{name}, step {self.step.step}"
        about = f"{what}, by preset {self.preset}"
        return Numbers(
            kind=self.step.kind, level=level, name=name, title=title, about=about, ppo=dict(asked), parts=parts
        )

    def shown(
        self,
        remarks: list[str],
        numbers: Callable[[str], Numbers],
        agreement: Callable[[Mapping[str, Array]], Agreement],
    ) -> Shown:
        """Returns what is shown, with remarks on what of the workbook is not as the library had it."""
        return Shown(self.label, tuple(remarks), numbers, agreement)


def view_of(found: Again, chosen: Chosen, options: ViewOptions, badness: Array, most: int, called: str) -> View:
    """Picks rows as `picked`, at most so many. Raises MinibatchError as it does."""
    batch = found.batch
    rows = picked(batch.path, badness, most, options, called)
    tensors = {name: each[rows] for name, each in batch.tensors.items()}
    step, preset = replace(batch, tensors=tensors, logged={}, place=None), chosen.preset
    return View(
        step, rows, found.settings, preset.name, preset.values, len(rows) == len(badness), called, str(len(rows))
    )


def check_length(path: str, longest: int, what: str) -> None:
    """Raises MinibatchError for more tokens than a workbook shows; what: has them, such as `a response`."""
    require(
        longest <= LONGEST, f"{path} has {what} of {longest} tokens there: a workbook shows {LONGEST}; --rows others"
    )


def computable(found: Again, name: str, missing: str = "") -> None:
    """Raises MinibatchError where the file lacks something for a quantity."""
    if lacks := found.lacks.get(name):
        raise MinibatchError(f"{found.batch.path} cannot be made into a workbook: {lacks}{missing}")


def digits(values: Array) -> Array:
    """Rounds to the 15 digits that a cell holds; what is no number is 0."""
    made = np.nan_to_num(np.asarray(values, np.float64))
    return np.array([float(f"{value:.15g}") for value in made.ravel()]).reshape(made.shape)


def ragged(array: Array, mask: Array) -> tuple[tuple[float, ...], ...]:
    """Returns a number of each token, row by row, as cells hold them; array, mask: [N, T]."""
    return tuple(tuple(digits(row[there]).tolist()) for row, there in zip(array, mask, strict=True))


def words_of(ids: Array | None, mask: Array, unknown: Callable[[int], str]) -> tuple[tuple[str, ...], ...]:
    """Returns what stands for each token: its id, else what is said of the first, the second … of a row.

    ids: [N, S] of whole texts, of which mask, [N, T], has the last columns; None where they are not known.
    """
    rows = [np.flatnonzero(there) for there in mask]
    if ids is None:
        return tuple(tuple(unknown(at) for at, _ in enumerate(row)) for row in rows)
    later = ids.shape[1] - mask.shape[1]
    return tuple(tuple(f"#{int(ids[at, column + later])}" for column in row) for at, row in enumerate(rows))


def logits_of_two(logprobs: Array) -> tuple[Array, Array]:
    """Returns ln p, and ln(1 − p) of all other tokens together: two logits that give the log-prob."""
    return logprobs, np.log(np.maximum(-np.expm1(logprobs), SMALLEST_SHARE))
