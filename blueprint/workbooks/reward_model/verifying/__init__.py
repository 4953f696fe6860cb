"""Steps of a reward model, verified; and some of their pairs as a workbook."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from blueprint.dumps import SIDES, Array, require
from blueprint.inputs import LONGEST, Numbers, counted
from blueprint.verifying import (
    Again,
    Agreement,
    Axes,
    Chosen,
    Settings,
    Shown,
    SmallKind,
    Verdict,
    View,
    ViewOptions,
    agreement_of,
    check_length,
    computable,
    digits,
    view_of,
)
from blueprint.workbooks.reward_model.dumps import MOST_PAIRS, ScoredPairs
from blueprint.workbooks.reward_model.verifying.causes import tries
from blueprint.workbooks.reward_model.verifying.recompute import ALL, AT_POSITIONS, LOSSES, recompute

PAIRS = Axes("pair", "", "pair")
NEAR = 1e-11
"""How far |a − b| may be, over 1 + the largest of a row: both are float64, a cell has 15 digits."""
COMPARED = {"chosen.score": "chosen.score", "difference": "difference", "loss.pair": "loss.pair"}
NUMBERS = ("accuracy", "preference_loss", "total_loss")
PAD, END, TOKEN = "<pad>", "<end>", "token"
MOST_WORDS = 62
"""Different tokens that a vocabulary may have besides the pad and the end."""


def shown(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows pairs of a step. Raises MinibatchError for rows that are not there, or more than fit."""
    found: Again = verdict.replayed
    computable(found, "total_loss")
    view = view_of(found, chosen, options, -found.rows["difference"], MOST_PAIRS, "pairs")
    _check(view.step, view.rows, found.settings)
    again, remarks = recompute(view.step, found.settings), view.partly
    if AT_POSITIONS[0] not in view.step.tensors:
        remarks.append(
            "The dump has no scores of other positions: each text is one token, after which its score stands."
        )
    return view.shown(remarks, lambda name: numbers_of(view, name), lambda arrays: agreement(arrays, again))


def _check(step: ScoredPairs, rows: Array, settings: Settings) -> None:
    """Raises MinibatchError for texts that are too long, or of which no token has the score that is read."""
    check_length(step.path, int(step.mask.sum(axis=1).max()), "a text")
    there = {"without a token there,": step.mask.any(axis=1)}
    if settings["score.read"] == "before_end" and AT_POSITIONS[0] in step.tensors:
        texts, _, end = _texts(step)
        lacking = "that is nothing but its end, and score.read = before_end reads the score in front of that,"
        there[lacking] = np.array([any(word != end for word in text) for text in texts])
    for lacking, has in there.items():
        gone = np.flatnonzero(~has) % len(rows)
        where = f"in row {rows[gone[0]]}" if len(gone) else ""
        require(not len(gone), f"{step.path} has a text {lacking} {where}: name others with --rows")


def numbers_of(view: View, name: str) -> Numbers:
    """Makes the numbers of a workbook that begins at scores, 15 digits of each."""
    step, count = view.step, view.step.pairs
    texts, vocabulary, end = _texts(step)
    parts = {
        "preset": view.preset,
        "text.vocabulary": vocabulary,
        "text.end": end,
        "text.texts": texts,
        "pairs.chosen": np.arange(count) + 1.0,
        "pairs.rejected": np.arange(count) + 1.0 + count,
        "pairs.margin": digits(step.tensors.get("pair.margin", np.zeros(count))),
        "pairs.ranking": np.arange(count) + 1.0,
        "pairs.counts": np.ones(count),
        "scores.head": _head(step, view.settings["score.read"]),
    }
    what = f"{counted(count, 'pair')} of a step of {step.library or 'a reward model'}"
    return view.numbers("scores", name, what, view.asked, parts)


def _head(step: ScoredPairs, read: float | str) -> Array:
    """Returns the score after each token, [2P, S], texts first, then pads, as a workbook has them; one of each text where nothing
    else is known. read: where scores are read; in the last column stands that of the last one of the file, if it is there."""
    if AT_POSITIONS[0] not in step.tensors:
        return digits(_both(step, "score"))[:, None]
    found = _both(step, "position_scores")
    laid = np.take_along_axis(found, np.argsort(~step.mask, axis=1, kind="stable"), axis=1)[:, :LONGEST]
    if read == "last_column":
        laid[:, -1] = found[:, -1]
    return digits(laid)


def _both(step: ScoredPairs, name: str) -> Array:
    """Returns what both sides have, chosen ones first."""
    return np.concatenate([step.tensors[f"{side}.{name}"] for side in SIDES])


def _texts(step: ScoredPairs) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...], str]:
    """Returns the texts, the vocabulary, and the token that ends texts: ids, where they are known and few enough."""
    mask, end, unknown = step.mask, step.end, ((PAD, END, TOKEN), END)
    if AT_POSITIONS[0] not in step.tensors:
        return tuple((TOKEN,) for _ in range(2 * step.pairs)), *unknown
    if end is None:
        return tuple((*[TOKEN] * (int(each) - 1), END) for each in mask.sum(axis=1)), *unknown
    ids = _both(step, "tokens")
    used, rows = np.unique([*ids[mask], end]), [row[of].tolist() for row, of in zip(ids, mask, strict=True)]
    if len(used) > MOST_WORDS:
        return tuple(tuple(END if each == end else TOKEN for each in row) for row in rows), *unknown
    return (
        tuple(tuple(f"#{each}" for each in row) for row in rows),
        (PAD, *(f"#{each}" for each in used.tolist())),
        f"#{end}",
    )


def agreement(arrays: Mapping[str, Array], ours: Again) -> Agreement:
    """Compares rows and losses of a workbook with the pairs computed again."""
    rows = {block: ours.rows[row] for block, row in COMPARED.items() if row in ours.rows}
    shift, scale = (float(ours.settings[f"score.{key}"]) for key in ("subtract", "divide"))  # scores as they are used
    rows["difference"] = rows["difference"] / scale
    if "chosen.score" in rows:
        rows["chosen.score"] = (rows["chosen.score"] - shift) / scale
    return agreement_of(arrays, rows | {name: np.asarray(ours.numbers[name]) for name in NUMBERS}, NEAR)


KIND = SmallKind(ALL, lambda device: partial(recompute, device=device, read_before={}), tries, LOSSES, PAIRS)
VERIFIER = KIND.verifier(shown)
