"""Numbers of the level and the sizes of a file, all of them empty: what is typed in the file is laid over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from blueprint.inputs.catalogue import Catalogue
from blueprint.inputs.errors import name_of
from blueprint.inputs.load import Numbers
from blueprint.page.opened import Opened
from blueprint.page.read import ReadError
from blueprint.quoting import quoted
from blueprint.reopening.dumped import FIRST_BLOCK, minibatch
from blueprint.workbooks.classic_ppo.presets import classic_presets
from blueprint.workbooks.classic_ppo.schema import ClassicNumbers
from blueprint.workbooks.common.conventions.data import Conventions, rlhf
from blueprint.workbooks.kl_controller.schema import ControllerNumbers
from blueprint.workbooks.minibatch.schema import MinibatchNumbers
from blueprint.workbooks.rlhf_ppo.inputs.logits import LogitNumbers
from blueprint.workbooks.rlhf_ppo.inputs.result import TokenNumbers, WeightNumbers

LIBRARIES = "library.names"
HEADED = " by hand"
"""How the heading of the first sheet ends; title and text of the numbers stand below it."""
TOP_ROWS = 40
"""Rows in which that heading is looked for: people insert rows above."""


AnyNumbers = Numbers | MinibatchNumbers


class Level(NamedTuple):
    """A block that only files of this level have, and what makes empty numbers for such a file."""

    sign: str
    empty: Callable[[Opened], AnyNumbers]


def numbers_of(file: Opened) -> AnyNumbers:
    """Returns empty numbers of a file's level and sizes. Raises ReadError for a file of another blueprint."""
    level = file.noted.get("level") or next((name for name, each in LEVELS.items() if each.sign in file.places), "")
    if level not in LEVELS or LEVELS[level].sign not in file.places:
        raise ReadError(
            f"{file.path} is a workbook of another blueprint than RLHF PPO: ask its own book, book.explain(…)"
        )
    return LEVELS[level].empty(file)


def _weights(file: Opened) -> WeightNumbers:
    """Begins at weights: embedding and memory of the old policy say how long its vectors are."""
    (episodes, decisions), (words,) = _shape(file, "rollout.draw", 2), _shape(file, "vocabulary", 1)
    models = {f"old.{letter}": np.zeros(_shape(file, f"old.{letter}", 2)) for letter in ("E", "W")}
    title, about = told(file)
    seed = file.noted.get("seed", "")
    most = float(np.nan_to_num(file.array("max_new_tokens.high")))
    return WeightNumbers(
        name=_name(file),
        title=title,
        about=about,
        seed=int(seed) if seed.isdecimal() and seed.isascii() and len(seed) < 11 else 1,
        vocabulary=("",) * words,
        prompts=(("",),) * episodes,
        max_new_tokens=max(1, int(most)),
        draws=np.zeros((episodes, decisions)),
        ppo={},
        weights=models,
        conventions=_conventions(file),
        responses=((),) * episodes if "rollout.response" in file.places else (),
    )


def _logits(file: Opened) -> LogitNumbers:
    """Begins at logits, a number per word in every slot."""
    episodes, slots, words = _shape(file, "old.logits", 3)
    title, about = told(file)
    each = np.zeros((episodes, slots))
    return LogitNumbers(
        name=_name(file),
        title=title,
        about=about,
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
    episodes, words = _shape(file, "word_written", 2)
    row = ((0.0,) * words,) * episodes
    cases = (0.0,) * (_shape(file, "case.ratio", 1)[0] if "case.ratio" in file.places else 0)
    written = (("",) * words,) * episodes
    return TokenNumbers(_name(file), *told(file), written, row, row, row, row, cases, cases, {})


def _classic(file: Opened) -> ClassicNumbers:
    """Begins at rewards; the rows of the value loss are those of one norm or of the other."""
    environments, steps, actions = _shape(file, "old.logits", 3)
    row = ((0.0,) * steps,) * environments
    scores = (((0.0,) * actions,) * steps,) * environments
    norm = "smooth_l1" if "value.size" in file.places else "l2"
    last = (0.0,) * environments
    return ClassicNumbers(
        _name(file), *told(file), _preset(file, classic_presets()), {"value_norm": norm},
        row, row, row, row, row, row, last, scores, scores,
    )  # fmt: skip


def _controller(file: Opened) -> ControllerNumbers:
    """Begins at the KL of whole responses."""
    updates, responses = _shape(file, "responses.kl", 2)
    row = ((0.0,) * responses,) * updates
    return ControllerNumbers(_name(file), *told(file), {}, row, row)


def _minibatch(file: Opened) -> MinibatchNumbers:
    """Begins at the log-probs of a dump."""
    return minibatch(file, _name(file), told(file), _preset(file, rlhf()))


LEVELS = {
    "logits": Level("end_word", _logits),
    "weights": Level("old.E", _weights),
    "classic": Level("terminated", _classic),
    "controller": Level("responses.kl", _controller),
    "minibatch": Level(FIRST_BLOCK, _minibatch),
    "tokens": Level("old_critic.values", _tokens),
}
"""By the name that a file has for its level; a file that lost its properties is the first of which it has the sign."""


def _conventions(file: Opened) -> Conventions:
    """Returns live conventions, with as many libraries side by side as there are, for a file that has any."""
    if LIBRARIES not in file.places:
        return Conventions()
    return Conventions(True, _preset(file, rlhf()), ("",) * _shape(file, LIBRARIES, 1)[0])


def _preset(file: Opened, known: Catalogue) -> str:
    """Returns the preset that is chosen in the file, as it is spelled in the catalogue; another word is refused later."""
    word = str(file.array("preset")[()]).casefold()
    return next((name for name in known.presets if name.casefold() == word), file.noted.get("preset", "default"))


def _name(file: Opened) -> str:
    return file.noted.get("numbers", name_of(file.path))


def told(file: Opened) -> tuple[str, str]:
    """Returns title and text of a file's numbers, which stand below the heading of its first sheet: `title: text`.

    Where the document's own title was dropped, the title ends at the first colon; where the line was changed, there is no
    text.
    """
    for sheet in file.sheets:
        words = {(row, column): text for row, column, text in file.words_on(sheet, TOP_ROWS)}
        leads = (words.get((row + 1, column), "") for (row, column), text in words.items() if text.endswith(HEADED))
        if lead := next(filter(None, leads), ""):
            begin = file.title if lead.startswith(f"{file.title}: ") else lead.partition(": ")[0]
            return begin, lead.removeprefix(f"{begin}: ") if ": " in lead else ""
    return file.title, ""


def _shape(file: Opened, name: str, axes: int) -> tuple[int, ...]:
    """Returns how many cells a block has along each axis, without its edges.

    Raises ReadError if it is not there, or if Contents says that it lies along another number of axes.
    """
    shape = tuple(along.size for along in file.block(name).shape)
    if len(shape) != axes or 0 in shape:
        lies = " ".join(map(str, file.block(name).shape))
        raise ReadError(f"{file.path}: the Contents sheet says that {name} lies as {quoted(lies)}, which it cannot")
    return shape
