"""Which words of a minibatch are shown: the responses that are asked for, or the worst, and a window around the worst word; and
what the library logged of them, beside a workbook's own rows and numbers.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from heapq import nlargest
from types import MappingProxyType

import numpy as np

from blueprint.dumps import Array, Minibatch, MinibatchError, require
from blueprint.verifying import Agreement, Line, Verdict, ViewOptions, text_of
from blueprint.workbooks.rlhf_ppo.minibatch.given import LOGGED_NUMBERS
from blueprint.workbooks.rlhf_ppo.verifying.replay import Replay

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
    worst = _off({MEASURES[by].row: replay[MEASURES[by].row]}, by, replay.batch.mask).max(axis=1)
    found = nlargest(count, ((float(off), -at) for at, off in enumerate(worst)))
    many = "response" if len(found) == 1 else f"{len(found)} responses"
    label = f"the {many} with the largest {MEASURES[by].label}"
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


NEAR = 1e-12
"""How far |a − b| may be, over 1 + the largest of the row. Both are float64; a cell has 15 digits."""

SHIFTED = "place."
"""What begins the names of rows that do not begin in the same column on both sides."""


FLAGS = ("clip_fraction.changed", "clip_fraction.outside", "clip_fraction.flag")
"""Rows of 0 and 1 that rounding may tip: two surrogates that are equal but for their last digit."""

OF_VALUES = ("value_loss", "adds.value_loss", "vf_coef.used", "value.")
"""Names, or their beginnings, of what a workbook lacks whose dump has too little for a value loss."""


def agreement(values: Mapping[str, Array], replay: Replay, window: Window) -> Agreement:
    """Compares the values of a workbook's blocks, by their names, with the replay of the whole minibatch."""
    rows, left_out = replay.rows(window.episodes), _left_out(replay)
    slots = np.asarray(values["slots"], dtype=float)[:, :-1]
    found = {
        name: _distance(np.asarray(array, dtype=float), name, replay, rows, window, slots)
        for name, array in values.items()
        if array.dtype != object and not name.startswith(left_out)
    }
    return Agreement({name: off for name, off in found.items() if off is not None}, NEAR * _stretch(replay))


def _left_out(replay: Replay) -> tuple[str, ...]:
    """Returns the beginnings of names that are not compared: a part of the total that the dump has too little for counts 0
    in the replay, and is not in the workbook."""
    total = ("total_loss", "share") if "total_loss" in replay.missing else ()
    return (SHIFTED, *FLAGS, *total, *(OF_VALUES if "value_loss" in replay.missing else ()))


def _stretch(replay: Replay) -> float:
    """Returns by how much whitening may magnify a rounding error: 1 over the smaller deviation, if that is below 1."""
    deviations = [replay.statistic(f"{of}.divisor") for of in ("advantage", "reward")]
    return max(1.0, *(1 / each for each in deviations if each > 0))


def _distance(
    values: Array, name: str, replay: Replay, rows: Mapping[str, Array], window: Window, slots: Array
) -> float | None:
    """Returns how far a row is, in the slots of its window, or a number; None if the replay has none of that name."""
    if values.ndim == 0:
        with suppress(KeyError):
            number = replay.statistic(name)
            return abs(float(values) - number) / (1 + abs(number))
    if values.ndim == 2 and name in rows and rows[name].ndim == 2:
        theirs = window.row(rows[name])
        off = np.abs(values[:, : slots.shape[1]] - theirs) * slots
        terms = [theirs, *([window.row(rows[VALUES])] if name in FROM_REWARDS and VALUES in rows else [])]
        return float(off.max() / (1 + max(np.abs(each * slots).max() for each in terms)))
    return None


PLACED = {"score.place": "score.placed"}
"""Rows that a workbook shows as another one, which says the same: the score on its slot."""

VALUES = "values.kept"
"""What returns and advantages are made of, too, and may be small beside."""
FROM_REWARDS = {"advantages", "advantages_used", "returns"}


def logged_rows(replay: Replay, lines: Sequence[Line], window: Window, typed: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the library's rows of the words shown and what rounding allows, as far as the workbook computes such a row.

    lines: what was compared, and with which row.
    """
    found: dict[str, Array] = {}
    here = _computed_rows(typed)
    for compared in (line.compared for line in lines if line.compared.logged is None):
        row, tensor = PLACED.get(compared.row, compared.row), replay.batch.tensors.get(compared.name)
        if tensor is not None and tensor.ndim == 2 and row in here:
            logged = window.row(window.of(tensor).astype(float))
            found |= {f"logged.{row}": logged, f"allowed.{row}": np.asarray(compared.allowed)}
    return found


def logged_numbers(replay: Replay, lines: Sequence[Line], typed: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the library's numbers and what rounding allows; beside those that only the whole batch gives, what they come to."""
    found: dict[str, Array] = {}
    here = _computed_numbers(typed)
    for row, logged, allowed in ((each.row, each.logged, each.allowed) for each in (line.compared for line in lines)):
        if row in LOGGED_NUMBERS and logged is not None and np.isfinite(logged):
            found |= {f"logged.{row}": np.asarray(logged), f"allowed.{row}": np.asarray(allowed)}
            found |= {} if row in here else {f"batch.{row}": np.asarray(replay.whole[row])}
    return found


def _computed_rows(typed: Mapping[str, Array]) -> set[str]:
    """Returns the rows that the workbook computes, of what is typed in it: it begins at scores, rewards or advantages."""
    if "advantages_used" in typed:
        return set()
    if "rewards" in typed:
        return FROM_REWARDS
    return FROM_REWARDS | {"rewards", "rewards.raw"} | ({"score.placed"} if "score.given" in typed else set())


def _computed_numbers(typed: Mapping[str, Array]) -> set[str]:
    """Returns the numbers of the whole batch that the workbook computes, of what is typed in it."""
    found = {"policy_loss", "kl_loss", "adds.kl_loss", "total_loss", "loss.mean_ratio"}
    has_returns = "advantages_used" not in typed or "returns" in typed
    if has_returns and {"critic.values", "old_critic.values"} <= typed.keys():
        found |= {"value_loss", "adds.value_loss"}
    return found | ({"entropy"} if "policy.entropy" in typed else set())


def compared_with(verdict: Verdict) -> tuple[str, ...]:
    """Returns in sentences what came of comparing with what the library logged: a summary, then what deviates, and why."""
    found = text_of(verdict).splitlines()[len(verdict.lines) + 1 :]
    compared = f"Compared: {', '.join(f'{line.called} {line.says}' for line in verdict.lines)}."
    more = [line.strip() for line in found if line.strip() and not line.startswith("Note: ")]
    return (compared, *more) if verdict.lines else ("The library logged no results.",)
