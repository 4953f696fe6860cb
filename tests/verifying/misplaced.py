"""A step of PPO whose numbers stand, or were read, in another place: other rows, columns, files, epochs, other tensors.

The rollout is drawn, and everything that a library logs of it is made by the definitions, in float32. What is planted is data: the
tensor, whether it was read so, used so, or only written so, and the place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps import Array, Minibatch, save
from blueprint.verifying import StepVerdict, verify_step
from blueprint.verifying.settings import laid_over
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying.feeding import fed

EPOCHS, FILES, ROWS, SLOTS = 2, 2, 8, 10
LIBRARY, VERSION, PRESET = "trl", "0.11.4", "trl_0.11.4"
USE = {"gamma": 0.97, "lam": 0.9, "whiten_rewards": False, "kl_coef": 0.2}
SETTINGS = laid_over(rlhf().preset(PRESET).values, {"gamma": 0.97, "gae_lambda": 0.9, "kl_coef": 0.2})
OF_ROLLOUT = ("logprobs_old", "logprobs_ref", "values_old", "scores", "response_mask")
OF_PASS = ("logprobs_new", "values_new", "entropy")
SIGNAL = {"rewards": "rewards", "advantages": "advantages_used", "returns": "returns"}
NUMBERS = {
    "loss/policy": "policy_loss", "loss/value": "value_loss", "loss/total": "total_loss", "policy/entropy": "entropy",
    "policy/approxkl": "approx_kl.used", "policy/clipfrac": "clip_fraction.used", "val/clipfrac": "clip_fraction.value",
}  # fmt: skip
ALL = "all numbers"
Step = dict[str, Array]
"""By tensor [E, F, N, T] or [E, F, N], of all epochs and files; by logged number [E, F]."""
Move = Callable[[Array], Array]


def drawn(seed: int = 0) -> Step:
    """Draws what is read: a rollout, its rows in another order in each epoch, and what the models then say of it."""
    draw, count = np.random.default_rng(seed), FILES * ROWS
    shape = (count, SLOTS)
    of: dict[str, Array] = {"logprobs_old": -2 - draw.exponential(1.0, shape), "values_old": draw.normal(size=shape)}
    of["logprobs_ref"] = of["logprobs_old"] - 0.3 * draw.uniform(-1, 1, shape)
    of |= {
        "scores": draw.normal(size=count),
        "response_mask": np.arange(SLOTS) < draw.integers(5, SLOTS + 1, (count, 1)),
    }
    orders = [np.arange(count), *(draw.permutation(count) for _ in range(EPOCHS - 1))]
    made = {name: np.stack([each[order] for order in orders]) for name, each in of.items()} | {
        "row_index": np.stack(orders)
    }
    made["logprobs_new"] = made["logprobs_old"] + 0.3 * draw.uniform(-1, 1, (EPOCHS, *shape))
    made["values_new"] = made["values_old"] + 0.3 * draw.uniform(-1, 1, (EPOCHS, *shape))
    made["entropy"] = draw.exponential(1.0, (EPOCHS, *shape))
    for new, old in (("logprobs_new", "logprobs_old"), ("values_new", "values_old")):
        made[new][0, :ROWS] = made[old][0, :ROWS]  # no update yet
    return {name: _single(each).reshape(EPOCHS, FILES, ROWS, *each.shape[2:]) for name, each in made.items()}


def _single(each: Array) -> Array:
    return each.astype(np.float32).astype(float) if each.dtype.kind == "f" else each


def signal(step: Step) -> Step:
    """Returns rewards, advantages and returns, made of each epoch's whole rollout."""
    made = [_rows(step, epoch) for epoch in range(EPOCHS)]
    return {name: _single(np.stack([each[name] for each in made])) for name in SIGNAL}


def _rows(step: Step, epoch: int) -> Step:
    tensors = {name: step[name][epoch].reshape(-1, *step[name].shape[3:]) for name in (*OF_ROLLOUT, *OF_PASS)}
    found = fed(_batch(tensors), SETTINGS).values(SIGNAL.values())
    return {name: found[row].reshape(FILES, ROWS, -1)[..., :SLOTS] for name, row in SIGNAL.items()}


def _batch(tensors: Mapping[str, Any]) -> Minibatch:
    rows, slots = tensors["response_mask"].shape
    dtypes = dict.fromkeys(tensors, "float32")
    return Minibatch("made", {**tensors}, dtypes, {}, np.full(rows, slots), np.zeros(rows, int))


def logged(step: Step) -> Step:
    """Returns the numbers that are logged of each file, made of its own advantages and returns."""
    found = np.zeros((len(NUMBERS), EPOCHS, FILES))
    for at in np.ndindex(EPOCHS, FILES):
        tensors = {name: step[name][at] for name in (*OF_ROLLOUT, *OF_PASS, *SIGNAL)}
        made = fed(_batch(tensors), SETTINGS, (*SIGNAL,)).values(NUMBERS.values())
        found[(slice(None), *at)] = [float(np.float32(made[row])) for row in NUMBERS.values()]
    return dict(zip(NUMBERS, found, strict=True))


@dataclass(frozen=True)
class Planted:
    """A mistake. name: the tensor or number, or "all numbers".

    how: "read" where all is made of it as it is misplaced, and the file has it as it is; "used" where what follows is made of
        it so; "written" where the file alone has it so.
    move: of [E, F, N, T] or, of a number, [E, F]; of: the tensor or number that is moved, where that is another.
    """

    name: str
    how: str
    move: Move
    of: str = ""

    def step(self, seed: int = 0) -> Step:
        """Returns what the files of the step then are."""
        step = drawn(seed)
        read = step | signal(step)
        other = {self.name: self.move(read[self.of or self.name])} if self.name in read else {}
        if self.how == "read":
            moved = step | other
            made = moved | signal(moved)
            return made | logged(made) | step
        step |= signal(step)
        step |= logged(step | (other if self.how == "used" else {}))
        names = NUMBERS if self.name == ALL else (self.name,)
        return step | (other or {name: self.move(step[self.of or name]) for name in names})

    def verified(self, folder: Path, seed: int = 0) -> StepVerdict:
        """Verifies the step."""
        return verify_step(written(self.step(seed), folder))


def written(step: Step, folder: Path) -> list[Path]:
    """Writes the files of a step."""
    paths = list[Path]()
    for epoch, file in np.ndindex(EPOCHS, FILES):
        tensors = {name: step[name][epoch, file] for name in (*OF_ROLLOUT, *OF_PASS, *SIGNAL, "row_index")}
        tensors = {name: each.astype(np.float32) if each.dtype.kind == "f" else each for name, each in tensors.items()}
        said = {
            "library": LIBRARY, "version": VERSION, "step": 0, "hyperparameters": USE, "rank": 0, "world_size": 1,
            "epoch": epoch, "epochs": EPOCHS, "minibatch": file, "minibatches": FILES,
            "optimizer_step": epoch * FILES + file, "logged": {name: float(step[name][epoch, file]) for name in NUMBERS},
        }  # fmt: skip
        paths.append(folder / f"{epoch}_{file}.npz")
        save(paths[-1], tensors, said)
    return paths


def _older(like: Array) -> Array:
    """Returns numbers of a step that is not there."""
    return _single(np.random.default_rng(9).normal(size=like.shape))


def _across(each: Array, by: int) -> Array:
    found = np.roll(each, by, axis=3)
    found[..., 0 if by > 0 else -1] = 0
    return found


def _some(each: Array, at: Any, other: Array) -> Array:
    found = each.copy()
    found[at] = other[at]
    return found


def _stale(each: Array) -> Array:
    flat = each.reshape(-1, *each.shape[2:])
    return np.concatenate([_older(flat[:1]), flat[:-1]]).reshape(each.shape)


def _exchanged(each: Array) -> Array:
    order = np.arange(ROWS)
    order[[1, 4]] = 4, 1
    return each[:, :, order]


def _everywhere(order: Callable[[Array], Array]) -> Move:
    return lambda each: order(each.reshape(EPOCHS, FILES * ROWS, *each.shape[3:])).reshape(each.shape)


MOVES: Mapping[str, Move] = {
    "rows reversed": lambda each: each[:, :, ::-1],
    "row before": lambda each: np.roll(each, 1, axis=2),
    "row behind": lambda each: np.roll(each, -1, axis=2),
    "halves swapped": lambda each: np.roll(each, ROWS // 2, axis=2),
    "pairs interleaved": lambda each: each.reshape(EPOCHS, FILES, 2, ROWS // 2, *each.shape[3:]).swapaxes(2, 3).reshape(each.shape),
    "pairs taken apart": lambda each: each.reshape(EPOCHS, FILES, ROWS // 2, 2, *each.shape[3:]).swapaxes(2, 3).reshape(each.shape),
    "within pairs": lambda each: each.reshape(EPOCHS, FILES, ROWS // 2, 2, *each.shape[3:])[:, :, :, ::-1].reshape(each.shape),
    "two rows exchanged": _exchanged,
    "two rows exchanged in one file": lambda each: _some(each, (0, 1), _exchanged(each)),
    "one row stale": lambda each: _some(each, (slice(None), slice(None), 2), _stale(each)),
    "half of each file stale": lambda each: _some(each, (slice(None), slice(None), slice(0, 4)), _stale(each)),
    "file before": _stale,
    "file behind": lambda each: np.roll(each.reshape(-1, *each.shape[2:]), -1, axis=0).reshape(each.shape),
    "one file stale": lambda each: _some(each, (0, 1), _stale(each)),
    "rollout reversed": _everywhere(lambda each: each[:, ::-1]),
    "rollout shifted by one": _everywhere(lambda each: np.roll(each, 1, axis=1)),
}  # fmt: skip
ACROSS: Mapping[str, Move] = {
    "column before": lambda each: _across(each, 1),
    "column behind": lambda each: _across(each, -1),
    "column before in one row": lambda each: _some(each, (slice(None), slice(None), 3), _across(each, 1)),
    "column behind in one row": lambda each: _some(each, (slice(None), slice(None), 3), _across(each, -1)),
}  # fmt: skip
OTHERS: Mapping[str, tuple[str, ...]] = {
    "rewards": ("returns", "values_old"),
    "advantages": ("returns", "values_old", "rewards"),
    "returns": ("advantages", "values_new", "rewards"),
    "values_old": ("values_new", "returns"),
    "values_new": ("values_old", "returns"),
    "logprobs_old": ("logprobs_ref", "logprobs_new"),
    "logprobs_ref": ("logprobs_old", "logprobs_new"),
    "logprobs_new": ("logprobs_ref", "entropy"),
    "entropy": ("logprobs_new",),
}
OF_NUMBERS: Mapping[str, Move] = {
    "file before": _stale,
    "file behind": lambda each: np.roll(each.reshape(-1), -1).reshape(each.shape),
    "epoch before": lambda each: np.stack([_older(each[0]), *each[:-1]]),
}


def _epoch_before(name: str) -> Move:
    """Returns how a tensor is that of the same responses in the epoch before."""

    def move(each: Array) -> Array:
        rows = drawn()["row_index"].reshape(EPOCHS, -1)
        flat = each.reshape(EPOCHS, FILES * ROWS, *each.shape[3:])
        found = [flat[0]]
        for epoch in range(1, EPOCHS):
            found.append(flat[epoch - 1][rows[epoch - 1].argsort()][rows[epoch]])
        return np.stack(found).reshape(each.shape)

    return move


def table() -> dict[str, Planted]:
    """Returns all that is planted, by how a person would say it."""
    found = dict[str, Planted]()
    for name in (
        *SIGNAL,
        "values_old",
        "scores",
        "logprobs_old",
        "logprobs_ref",
        "logprobs_new",
        "values_new",
        "entropy",
    ):
        moves = {**MOVES, **(ACROSS if name != "scores" else {})}
        for how in ("used", "written") if name in SIGNAL else ("read",):
            found |= {f"{name} {how}: {said}": Planted(name, how, move) for said, move in moves.items()}
            for other in OTHERS.get(name, ()):
                found[f"{name} {how}: {other}"] = Planted(name, how, lambda each: each, other)
        if name in OF_PASS:
            found[f"{name} read: epoch before"] = Planted(name, "read", _epoch_before(name))
    for name in NUMBERS:
        found |= {f"{name}: {said}": Planted(name, "written", move) for said, move in OF_NUMBERS.items()}
        for other in NUMBERS:
            if other != name:
                found[f"{name}: {other}"] = Planted(name, "written", lambda each: each, other)
    return found | {f"{ALL}: file before": Planted(ALL, "written", _stale)}
