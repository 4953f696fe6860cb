"""Which words of a minibatch are shown: the responses that are asked for, or the worst, and a window around the worst word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from types import MappingProxyType

import numpy as np

from blueprint.dumps import Array, Minibatch, MinibatchError, require
from blueprint.verifying import Replay, Verdict, ViewOptions

NOWHERE: Mapping[int, int] = MappingProxyType({})
WORST = 2
"""Responses that are shown where nobody asks for some, and nothing deviates."""

MOST_RESPONSES = 64
FEWEST_TOKENS, MOST_TOKENS = 16, 64


@dataclass(frozen=True)
class Measure:
    """A way to tell how far off a word is: the row that says it, how far from which number, and in words."""

    row: str
    from_: float
    label: str


MEASURES = {
    "ratio": Measure("ratio", 1.0, "|ratio − 1|"),
    "advantage": Measure("advantages_used", 0.0, "|advantage|"),
    "kl": Measure("kl.used", 0.0, "|KL to the reference|"),
}


@dataclass(frozen=True)
class Window:
    """What is shown: responses of the dump, from 0; the first slot of each, and how many columns.

    focus: the column, from 0, of the word in the first response around which the window was laid.
    """

    episodes: tuple[int, ...]
    first: tuple[int, ...]
    columns: int
    focus: int
    label: str

    def slots(self, more: int = 0) -> Array:
        """Returns which slots of each response are shown, [N, columns], and so many behind them."""
        return np.asarray(np.add.outer(self.first, np.arange(self.columns + more)))

    def of(self, array: Array) -> Array:
        """Returns what an array of the minibatch has of the responses shown."""
        return np.asarray(array[list(self.episodes)])

    def row(self, values: Array, more: int = 0) -> Array:
        """Cuts the columns of the window, and so many behind it, out of a row of the responses shown; 0 where there are none."""
        at = self.slots(more)
        wide = np.pad(values, ((0, 0), (0, max(0, int(at.max()) + 1 - values.shape[1]))))
        return np.asarray(np.take_along_axis(wide, at, axis=1), dtype=float)

    def behind(self, values: Array) -> Array:
        """Returns the column behind the window."""
        return self.row(values, 1)[:, -1]


def window_of(verdict: Verdict, options: ViewOptions) -> Window:
    """Picks what is shown; unasked, the word that deviates first.

    Raises MinibatchError for a row that is not there, and for two wishes at once.
    """
    found, spot = verdict.replayed, verdict.first.compared.spot if verdict.first else None
    by = options.by or ("ratio" if "logprobs_new" in found.batch.tensors else "advantage")
    require(
        options.rows is None or options.worst is None,
        "--rows names the responses, --worst finds them: use one of the two",
    )
    if options.rows is not None:
        return chosen_window(found, options.rows, by, options.tokens)
    if options.worst is None and spot is not None:
        return deviating_window(found, spot.episode, spot.first, by, options.tokens)
    count = min(WORST, len(found.batch.slots)) if options.worst is None else options.worst
    return worst_window(found, count, by, options.tokens)


def worst_window(replay: Replay, count: int, by: str, tokens: int) -> Window:
    """Takes the responses with the worst words of the whole minibatch, the worst first.

    Raises MinibatchError for a count that is not 1 to 64.
    """
    _check_count(count)
    found: list[tuple[float, int]] = []
    for first, rows in replay.tiles((MEASURES[by].row,)):
        worst = _off(rows, by, replay.batch.mask[first : first + len(rows[MEASURES[by].row])]).max(axis=1)
        found = nlargest(count, [*found, *((float(off), -first - at) for at, off in enumerate(worst))])
    label = f"the {len(found)} responses with the largest {MEASURES[by].label}"
    return _around(replay, [-at for _, at in found], by, tokens, label)


def deviating_window(replay: Replay, row: int, column: int, by: str, tokens: int) -> Window:
    """Takes the response in which a column of the dump deviates, around it, and beside it the one with the worst word.

    row: the response, as the minibatch counts them.
    """
    worst = [each for each in worst_window(replay, min(2, len(replay.batch.slots)), by, tokens).episodes if each != row]
    label = f"the response that deviates first, row {replay.batch.file_row(row)}"
    label += f", and the one with the largest {MEASURES[by].label}" if worst else ""
    return _around(replay, [row, *worst[:1]], by, tokens, label, {row: column - int(replay.batch.first[row])})


def episodes_in(batch: Minibatch, rows: Sequence[int]) -> list[int]:
    """Returns the responses that stand in rows of the file. Raises MinibatchError for a row that is left out."""
    if batch.rows is None:
        return list(rows)
    found = {int(row): episode for episode, row in enumerate(batch.rows)}
    missing = next((row for row in rows if row not in found), None)
    if missing is not None:
        raise MinibatchError(f"{batch.path} has no row {missing}, or leaves it out (sample_mask): inspect says which")
    return [found[row] for row in rows]


def chosen_window(replay: Replay, rows: Sequence[int], by: str, tokens: int) -> Window:
    """Takes the responses that stand in the rows of the file that are asked for, in that order.

    Raises MinibatchError for one that is not there, or is asked for twice, and for more than 64.
    """
    _check_count(len(rows))
    episodes = episodes_in(replay.batch, rows)
    twice = next((each for at, each in enumerate(episodes) if each in episodes[:at]), None)
    if twice is not None:
        raise MinibatchError(f"row {replay.batch.file_row(twice)} is asked for twice: name each row once")
    return _around(replay, episodes, by, tokens, f"rows {', '.join(map(str, rows))}")


def _check_count(count: int) -> None:
    require(1 <= count <= MOST_RESPONSES, f"{count} responses are asked for: a workbook shows 1 to {MOST_RESPONSES}")


def _around(
    replay: Replay, episodes: Sequence[int], by: str, tokens: int, label: str, at: Mapping[int, int] = NOWHERE
) -> Window:
    """Lays a window of so many columns around the worst word of each response, within its slots.

    at: by response, the slot around which it is laid instead.
    """
    require(
        FEWEST_TOKENS <= tokens <= MOST_TOKENS,
        f"{tokens} tokens are asked for: a window has {FEWEST_TOKENS} to {MOST_TOKENS}",
    )
    computed = replay.rows(episodes)  # refuses what no row is
    mask = replay.batch.mask[list(episodes)]
    off = _off(computed, by, mask)
    slots = replay.batch.slots[list(episodes)]
    columns = int(min(tokens, slots.max()))
    wished = [at.get(episode, int(worst)) for episode, worst in zip(episodes, off.argmax(axis=1), strict=True)]
    middle = [_with_a_word(slot, row, columns) for slot, row in zip(wished, mask, strict=True)]
    first = np.clip(np.asarray(middle) - columns // 2, 0, np.maximum(slots - columns, 0))
    around = f"the token that deviates, or has the largest {MEASURES[by].label}" if at else "its worst token"
    shown = f"; {columns} columns of each, around {around}" if columns < slots.max() else ""
    return Window(tuple(map(int, episodes)), tuple(map(int, first)), columns, int(wished[0] - first[0]), label + shown)


def _with_a_word(slot: int, mask: Array, columns: int) -> int:
    """Returns a slot around which a window has a word of the response: itself, or one as near to it as that allows.

    A response without a word is shown from its first slot on, where some presets keep a value and a score.
    """
    words = np.flatnonzero(mask)
    if not len(words):
        return 0
    nearest = int(words[np.abs(words - slot).argmin()])
    room = columns // 2 - 1
    return int(np.clip(slot, nearest - room, nearest + room))


def _off(rows: dict[str, Array], by: str, mask: Array) -> Array:
    """Returns how far off each word is, below 0 outside the mask; padding may count as response, but is no word."""
    measure = MEASURES[by]
    return np.asarray(np.where(mask, np.abs(rows[measure.row] - measure.from_)[:, : mask.shape[1]], -1.0))
