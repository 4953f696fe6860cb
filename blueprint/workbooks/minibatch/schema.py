"""Hold a few responses of a training minibatch, a window of columns each, and what the rest of the batch adds."""

from collections.abc import Mapping
from dataclasses import dataclass

from blueprint.inputs import Array, Numbers
from blueprint.workbooks.common.conventions.data import PLAIN, Conventions


@dataclass(frozen=True, eq=False, kw_only=True)
class MinibatchNumbers(Numbers):
    """Hold all numbers of a minibatch; no numbers file holds them.

    Attributes:
        words: what stands for the word of each column, (episodes, columns).
        typed: by the name of its block, every other number: rows (episodes, columns), numbers of responses (episodes,),
            numbers of the whole batch (). Which rows are there decides where the workbook begins.
        conventions: the preset in use; ppo: the settings in which the run differs from it.
        focus: the column of the first response, from 1, that one looks at first.
        notes: sentences on where the numbers come from, and on what the dump has not.
    """

    kind: str = "minibatch"
    level: str = "minibatch"
    words: tuple[tuple[str, ...], ...]
    typed: Mapping[str, Array]
    conventions: Conventions = PLAIN
    focus: int = 1
    notes: tuple[str, ...] = ()
