"""From a step of a reward model that was computed again to the numbers of a workbook: some of its pairs, as they are."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from blueprint.dumps import SIDES, Array, MinibatchError, require
from blueprint.inputs import LONGEST, Numbers
from blueprint.verifying import (
    Again,
    Agreement,
    Chosen,
    Settings,
    Shown,
    Verdict,
    ViewOptions,
    agreement_of,
    picked,
)
from blueprint.workbooks.reward_model.dumps import ScoredPairs
from blueprint.workbooks.reward_model.schema import MOST_RESPONSES, rm_presets
from blueprint.workbooks.reward_model.verifying.recompute import recompute

NEAR = 1e-11
"""How far |a − b| may be, over 1 + the largest of a row: both are float64, a cell has 15 digits."""
ROWS = {"chosen.score": "chosen.score", "difference": "difference", "loss.pair": "loss.pair"}
NUMBERS = ("accuracy", "preference_loss", "total_loss")
PAD, END, TOKEN = "<pad>", "<end>", "token"
MOST_WORDS = 62
"""Different tokens that a vocabulary may have besides the pad and the end."""


@dataclass(frozen=True)
class View:
    """Some pairs of a step. step: these alone; rows: which of the file they are."""

    step: ScoredPairs
    rows: Array
    settings: Settings
    preset: str
    all: bool

    @property
    def label(self) -> str:
        """Says what is shown."""
        every = "all" if self.all else "some"
        return f"{every} pairs of the step, {len(self.rows)}: rows {', '.join(map(str, self.rows))}"


def shown(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows pairs of a step. Raises MinibatchError for rows that are not there, or more than fit."""
    found: Again = verdict.replayed
    batch: ScoredPairs = found.batch
    if lacks := found.lacks.get("total_loss"):
        raise MinibatchError(f"{batch.path} cannot be made into a workbook: {lacks}")
    rows = picked(batch.path, -found.rows["difference"], MOST_RESPONSES // 2, options, "pairs")
    step = replace(batch, tensors={name: each[rows] for name, each in batch.tensors.items()}, logged={}, place=None)
    _check(step, rows, found.settings)
    view = View(step, rows, found.settings, chosen.preset.name, len(rows) == batch.pairs)
    again, remarks = recompute(step, found.settings), list[str]()
    if not view.all:
        remarks.append("The losses are those of the pairs shown; of the whole step they are what verify says.")
    if "chosen.position_scores" not in step.tensors:
        remarks.append(
            "The dump has no scores of other positions: each text is one token, after which its score stands."
        )
    return Shown(
        view.label, tuple(remarks), lambda name: numbers_of(view, name), lambda arrays: agreement(arrays, again)
    )


def _check(step: ScoredPairs, rows: Array, settings: Settings) -> None:
    """Raises MinibatchError for texts that are too long, or of which no token has the score that is read."""
    longest = int(step.mask.sum(axis=1).max())
    require(
        longest <= LONGEST,
        f"{step.path} has a text of {longest} tokens there: a workbook shows {LONGEST}; --rows others",
    )
    _check_rows(step, rows, np.asarray(step.mask.any(axis=1)), "without a token there,")
    if settings["score.read"] == "before_end" and "chosen.position_scores" in step.tensors:
        texts, _, end = _texts(step)
        others = np.array([any(word != end for word in text) for text in texts])
        lacking = "that is nothing but its end, and score.read = before_end reads the score in front of that,"
        _check_rows(step, rows, others, lacking)


def _check_rows(step: ScoredPairs, rows: Array, there: Array, lacking: str) -> None:
    gone = np.flatnonzero(~there) % len(rows)
    where = f"in row {rows[gone[0]]}" if len(gone) else ""
    require(not len(gone), f"{step.path} has a text {lacking} {where}: name others with --rows")


def numbers_of(view: View, name: str) -> Numbers:
    """Makes the numbers of a workbook that begins at scores, 15 digits of each."""
    step, usual = view.step, rm_presets().preset(view.preset).values
    count = step.pairs
    texts, vocabulary, end = _texts(step)
    parts = {
        "preset": view.preset,
        "text.vocabulary": vocabulary,
        "text.end": end,
        "text.texts": texts,
        "pairs.chosen": np.arange(count) + 1.0,
        "pairs.rejected": np.arange(count) + 1.0 + count,
        "pairs.margin": _digits(step.tensors.get("pair.margin", np.zeros(count))),
        "pairs.ranking": np.arange(count) + 1.0,
        "pairs.counts": np.ones(count),
        "scores.head": _head(step, view.settings["score.read"]),
    }
    title = name if step.step is None else f"{name}, step {step.step}"
    about = f"{count} pairs of a step of {step.library or 'a reward model'}, by preset {view.preset}"
    asked = {key: value for key, value in view.settings.items() if value != usual[key]}
    return Numbers(kind="reward_model", level="scores", name=name, title=title, about=about, ppo=asked, parts=parts)


def _head(step: ScoredPairs, read: float | str) -> Array:
    """Returns the score after each token, [2P, S], texts first, then pads, as a workbook has them; one of each text where nothing
    else is known. read: where scores are read; in the last column stands that of the last one of the file, if it is there."""
    if "chosen.position_scores" not in step.tensors:
        return _digits(np.concatenate([step.tensors[f"{side}.score"] for side in SIDES]))[:, None]
    found = np.concatenate([step.tensors[f"{side}.position_scores"] for side in SIDES])
    laid = np.take_along_axis(found, np.argsort(~step.mask, axis=1, kind="stable"), axis=1)[:, :LONGEST]
    if read == "last_column":
        laid[:, -1] = found[:, -1]
    return _digits(laid)


def _texts(step: ScoredPairs) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...], str]:
    """Returns the texts, the vocabulary, and the token that ends texts: ids, where they are known and few enough."""
    mask = step.mask
    if "chosen.position_scores" not in step.tensors:
        return tuple((TOKEN,) for _ in range(2 * step.pairs)), (PAD, END, TOKEN), END
    if step.end is None:
        lengths = mask.sum(axis=1)
        return tuple((*[TOKEN] * (int(each) - 1), END) for each in lengths), (PAD, END, TOKEN), END
    ids = np.concatenate([step.tensors[f"{side}.tokens"] for side in SIDES])
    used, end = np.unique([*ids[mask], step.end]), step.end
    if len(used) > MOST_WORDS:
        words = [[END if each == end else TOKEN for each in row[of]] for row, of in zip(ids, mask, strict=True)]
        return tuple(map(tuple, words)), (PAD, END, TOKEN), END
    texts = tuple(tuple(f"#{int(each)}" for each in row[of]) for row, of in zip(ids, mask, strict=True))
    return texts, (PAD, *(f"#{int(each)}" for each in used)), f"#{end}"


def _digits(values: Array) -> Array:
    made = np.asarray(values, np.float64)
    return np.array([float(f"{value:.15g}") for value in made.ravel()]).reshape(made.shape)


def agreement(arrays: Mapping[str, Array], ours: Again) -> Agreement:
    """Compares rows and losses of a workbook with the pairs computed again."""
    rows = {block: ours.rows[row] for block, row in ROWS.items() if row in ours.rows}
    shift, scale = (
        float(ours.settings["score.subtract"]),
        float(ours.settings["score.divide"]),
    )  # scores as they are used
    rows |= {"difference": rows["difference"] / scale}
    rows |= {"chosen.score": (rows["chosen.score"] - shift) / scale} if "chosen.score" in rows else {}
    return agreement_of(arrays, rows | {name: np.asarray(ours.numbers[name]) for name in NUMBERS}, NEAR)
