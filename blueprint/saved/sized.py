"""Numbers of the level and the sizes of a file, all of them empty: what is typed in the file is laid over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from blueprint.numbers import (
    ClassicNumbers,
    ControllerNumbers,
    Conventions,
    LogitNumbers,
    Numbers,
    TokenNumbers,
    WeightNumbers,
)
from blueprint.page.opened import Opened
from blueprint.page.read import ReadError

LIBRARIES = "library.names"


class Level(NamedTuple):
    """A block that only files of this level have, and what makes empty numbers for such a file."""

    sign: str
    empty: Callable[[Opened], Numbers]


def numbers_of(file: Opened) -> Numbers:
    """Returns empty numbers of a file's level and sizes. Raises ReadError for a file of another blueprint."""
    level = file.noted.get("level") or next((name for name, each in LEVELS.items() if each.sign in file.places), "")
    if level not in LEVELS or LEVELS[level].sign not in file.places:
        raise ReadError(
            f"{file.path} is a workbook of another blueprint than RLHF PPO: ask its own book, book.explain(…)"
        )
    return LEVELS[level].empty(file)


def _weights(file: Opened) -> WeightNumbers:
    """Begins at weights: embedding and memory of the old policy say how long its vectors are."""
    (episodes, decisions), (words,) = _shape(file, "rollout.draw"), _shape(file, "vocabulary")
    models = {f"old.{letter}": np.zeros(_shape(file, f"old.{letter}")) for letter in ("E", "W")}
    most = float(np.nan_to_num(file.array("max_new_tokens.high")))
    return WeightNumbers(
        name=_name(file),
        title=file.title,
        about="",
        seed=int(file.noted.get("seed", "1")),
        vocabulary=("",) * words,
        prompts=(("",),) * episodes,
        max_new_tokens=max(1, int(most)),
        draws=np.zeros((episodes, decisions)),
        ppo={},
        weights=models,
        conventions=_conventions(file),
    )


def _logits(file: Opened) -> LogitNumbers:
    """Begins at logits, a number per word in every slot."""
    episodes, slots, words = _shape(file, "old.logits")
    each = np.zeros((episodes, slots))
    return LogitNumbers(
        name=_name(file),
        title=file.title,
        about="",
        vocabulary=("",) * words,
        end_word="",
        words=(("",) * slots,) * episodes,
        mask=each,
        logits={},
        values={},
        scores=np.zeros(episodes),
        ppo={},
        conventions=_conventions(file),
    )


def _tokens(file: Opened) -> TokenNumbers:
    """Begins at log-probs; only some files have cases of the clip."""
    episodes, words = _shape(file, "word_written")
    row = ((0.0,) * words,) * episodes
    cases = (0.0,) * (_shape(file, "case.ratio")[0] if "case.ratio" in file.places else 0)
    written = (("",) * words,) * episodes
    return TokenNumbers(_name(file), file.title, "", written, row, row, row, row, cases, cases, {})


def _classic(file: Opened) -> ClassicNumbers:
    """Begins at rewards; the rows of the value loss are those of one norm or of the other."""
    environments, steps, actions = _shape(file, "old.logits")
    row = ((0.0,) * steps,) * environments
    scores = (((0.0,) * actions,) * steps,) * environments
    norm = "smooth_l1" if "value.size" in file.places else "l2"
    last = (0.0,) * environments
    return ClassicNumbers(
        _name(file), file.title, "", _preset(file), {"value_norm": norm},
        row, row, row, row, row, row, last, scores, scores,
    )  # fmt: skip


def _controller(file: Opened) -> ControllerNumbers:
    """Begins at the KL of whole responses."""
    updates, responses = _shape(file, "responses.kl")
    row = ((0.0,) * responses,) * updates
    return ControllerNumbers(_name(file), file.title, "", {}, row, row)


LEVELS = {
    "logits": Level("end_word", _logits),
    "weights": Level("old.E", _weights),
    "classic": Level("terminated", _classic),
    "controller": Level("responses.kl", _controller),
    "tokens": Level("old_critic.values", _tokens),
}
"""By the name that a file has for its level; a file that lost its properties is the first of which it has the sign."""


def _conventions(file: Opened) -> Conventions:
    """Returns live conventions, with as many libraries side by side as there are, for a file that has any."""
    if LIBRARIES not in file.places:
        return Conventions()
    return Conventions(True, _preset(file), ("",) * _shape(file, LIBRARIES)[0])


def _preset(file: Opened) -> str:
    return file.noted.get("preset", "default")


def _name(file: Opened) -> str:
    return file.noted.get("numbers", file.path.stem)


def _shape(file: Opened, name: str) -> tuple[int, ...]:
    """Returns how many cells a block has along each axis, without its edges. Raises ReadError if it is not there."""
    return tuple(along.size for along in file.block(name).shape)
