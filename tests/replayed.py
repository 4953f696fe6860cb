"""A minibatch as a run would have left it, in float32, with a mask that ends early, and the workbook of a part of it."""

from __future__ import annotations

import numpy as np

from blueprint.book import Book
from blueprint.dumps import Array, Minibatch
from blueprint.verifying.compare import lines_of
from blueprint.verifying.logged import ALL
from blueprint.verifying.verdict import Agreement, Verdict
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.minibatch.given import MinibatchNumbers
from blueprint.workbooks.rlhf_ppo.verifying import numbers_of
from blueprint.workbooks.rlhf_ppo.verifying.judge import Judge
from blueprint.workbooks.rlhf_ppo.verifying.replay import Replay, replay
from blueprint.workbooks.rlhf_ppo.verifying.window import Window, agreement, worst_window

RESPONSES, SLOTS, FIRST = 12, 40, 7
LOGGED = {"total_loss": 0.5, "entropy": 1.0, "clip_fraction.used": 0.2}


def minibatch(*without: str, **instead: Array) -> Minibatch:
    """Makes one of 12 responses of up to 40 words; TRL's log-prob 1.0 stands outside the mask.

    without: tensors that the dump lacks. instead: tensors that it has instead of these, or besides.
    """
    rng = np.random.default_rng(3)
    length = rng.integers(1, SLOTS + 1, RESPONSES)
    length[:2] = SLOTS, 1
    mask, shape = np.arange(SLOTS) < length[:, None], (RESPONSES, SLOTS)
    old = -rng.exponential(1.5, shape)
    tensors: dict[str, Array] = {
        "logprobs_old": np.where(mask, old, 1.0),
        "logprobs_ref": np.minimum(old + rng.normal(0, 0.4, shape), -1e-3),
        "logprobs_new": np.minimum(old + rng.normal(0, 0.3, shape), -1e-3),
        "values_old": rng.normal(0, 1, shape),
        "values_new": rng.normal(0, 1, shape),
        "entropy": rng.exponential(1, shape),
        "scores": rng.normal(0, 3, RESPONSES),
        "advantages": rng.normal(0, 1, shape),
    }
    tensors = {name: each.astype(np.float32) for name, each in tensors.items()}
    tensors |= {"response_mask": mask, "response_ids": rng.integers(0, 150_000, shape)} | instead
    kept = {name: each for name, each in tensors.items() if name not in without}
    where = np.full(RESPONSES, SLOTS), np.full(RESPONSES, FIRST)
    dtypes = {name: str(each.dtype) for name, each in kept.items()}
    return Minibatch("run.safetensors", kept, dtypes, {}, *where, step=120, logged=LOGGED)


def replayed(preset: str = "verl", batch: Minibatch | None = None, **options: float | str) -> Replay:
    """Computes a minibatch again by a preset and changes of it, `loss_dual_clip=3` for `loss.dual_clip`."""
    values = dict(rlhf().preset(preset).values)
    changes = {key if key in values else key.replace("_", ".", 1): value for key, value in options.items()}
    return replay(batch or minibatch(), values | changes)


def with_everything_logged(preset: str = "verl") -> Minibatch:
    """Returns a minibatch whose library logged every row: scores on their slots, and raw advantages."""
    rows = replayed(preset).rows(range(RESPONSES))
    logged = {"rewards": "rewards", "returns": "returns", "scores": "score.placed"}
    found = {name: rows[row].astype(np.float32) for name, row in logged.items()}
    return minibatch(advantages=rows["advantages"][:, :SLOTS].astype(np.float32), **found)


def compared(found: Replay, preset: str = "verl") -> Verdict:
    """Compares a replay with what was logged, and looks for no cause."""
    judge = Judge(found.batch, found)
    lines = lines_of(ALL, judge.called, judge.compared(), {})
    return Verdict(preset, found, tuple(lines), {}, None, (), ())


def window_numbers(preset: str = "verl", columns: int = 16, batch: Minibatch | None = None) -> MinibatchNumbers:
    """Returns the numbers of a workbook of the three worst responses."""
    found = replayed(preset, batch)
    return numbers_of(found, worst_window(found, 3, "ratio", columns), "run", preset, compared(found, preset))


def window_book(preset: str = "verl", columns: int = 16, batch: Minibatch | None = None) -> Book:
    """Makes the workbook of the three worst responses."""
    return Book(blueprint_of(window_numbers(preset, columns, batch)))


def part_of(found: Replay, window: Window, preset: str) -> MinibatchNumbers:
    """Returns the numbers of a workbook of some words."""
    return numbers_of(found, window, "run", preset, compared(found, preset))


def values_of(numbers: MinibatchNumbers) -> dict[str, Array]:
    """Returns the values of every block, by name."""
    return {block.name: array for block, array in Book(blueprint_of(numbers)).values.arrays.items()}


def agreed(found: Replay, window: Window, preset: str) -> Agreement:
    """Compares a workbook of some words with the replay."""
    return agreement(values_of(part_of(found, window, preset)), found, window)
