"""Dumps of steps of a reward model: their names, their pairs, and what a library's own words say of its conventions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from blueprint.dumps import (
    SIDES,
    Array,
    Dump,
    DumpKind,
    Names,
    Needs,
    Raw,
    algorithm_said,
    check_axes,
    check_even,
    forward_option,
    halves,
    naming,
    number_said,
    one_each,
    preset_said,
    require,
    true_or_false,
    understood,
    whole_number,
    whole_numbers,
)
from blueprint.inputs import counted
from blueprint.quoting import unquoted
from blueprint.workbooks.reward_model.schema import MOST_RESPONSES, REWARD_MODEL, rm_presets


@dataclass(frozen=True)
class ScoredPairs(Dump):
    """A dump of a step of a reward model, or of a part of one: rows are pairs.

    tensors: `chosen.score`, `rejected.score` ([P]) and, as far as the file has them, of both sides
        `chosen.position_scores` ([P, S]), `chosen.text` (bool, [P, S]) and `chosen.tokens` (whole numbers, [P, S]);
        `pair.margin`, `loss.pair` ([P]).
    forward_dtype: in which dtype the model computed, as the file says, else None.
    end: the token that ends texts: the pad, where some text ends in it, else that of most texts; None where no tokens are known.
    by_pad: whether only tokens tell where scores are read: whether the pad, which the file says, ends texts, too.
    unread: whether scores of all positions were there, and nothing that tells which of them is that of the response.
    """

    forward_dtype: str | None = None
    end: int | None = None
    by_pad: bool = False
    unread: bool = False

    kind: ClassVar[str] = "reward_model"

    @property
    def pairs(self) -> int:
        """How many pairs there are."""
        return len(self.tensors["chosen.score"])

    @property
    def mask(self) -> Array:
        """1 on the tokens of the texts, chosen ones first, [2P, S]: all where no mask is known; one each where no positions are."""
        if "chosen.text" in self.tensors:
            return np.concatenate([self.tensors[f"{side}.text"] for side in SIDES])
        positions = self.tensors.get("chosen.position_scores", np.ones((1, 1))).shape[1]
        return np.ones((2 * self.pairs, positions), np.bool_)

    @property
    def head(self) -> str:
        """Says how many pairs there are."""
        nothing = "of the scores of other positions nothing is known"
        nothing = "at which position scores are read, nothing tells" if self.unread else nothing
        known = "" if "chosen.position_scores" in self.tensors else f"; {nothing}"
        more = WITHOUT_MARGIN if (self.library or "").lower() == "trl" and "pair.margin" not in self.tensors else ""
        return (
            f"A step of a reward model: {counted(self.pairs, 'pair')} of a chosen and a rejected response{known}{more}."
        )

    @cached_property
    def without_positions(self) -> ScoredPairs:
        """The same with the scores of the responses alone."""
        wide = [f"{side}.position_scores" for side in SIDES]
        return replace(
            self, tensors={name: each for name, each in self.tensors.items() if name not in wide}, unread=True
        )

    def place_lacks(self, read: float | str) -> str:
        """Says what is not there that tells at which position scores are read; "" where nothing lacks.

        read: after which token, as settings have it; TRL reads the last token that is no pad.
        """
        if "chosen.position_scores" not in self.tensors or read == "last_column":
            return ""
        mask = ["attention_mask"] * ("chosen.text" not in self.tensors)
        return " and ".join([*mask, *["input_ids"] * (self.by_pad and read == "last_token")])

    @property
    def facts(self) -> Mapping[str, Any]:
        """Says the same for programs."""
        return {"pairs": self.pairs}


NAMES = Names(Path(__file__).with_suffix(".csv"), REWARD_MODEL)
ALGORITHMS = ("reward_model", "reward_modeling", "rm")
CENTERED, PAD = "center_rewards_coefficient", "pad_token_id"
STACKED = ("tokens", "text", "position_scores")
MOST_PAIRS = MOST_RESPONSES // 2
"""So many pairs of a file a workbook has room for."""
BEFORE_END = (
    "the pad is the token that ends the texts: transformers takes the end for a pad, and reads the score in front of it"
)
WITHOUT_MARGIN = "; no margin is there, and the loss is computed without one"
PADS_COUNT = "the mask is 1 on pads: transformers reads the score at the last token that is none, and so does this"


NEEDS: Needs = {
    "the place where the score is read": (("position_scores", "text"),),
    "margin, accuracy, loss": (("chosen.score", "rejected.score"),),
}
"""What is computed of what."""


def is_scored(raw: Raw) -> bool:
    """Whether a file is a step of a reward model: it says so, or has scores of both sides, and no log-probs."""
    said = algorithm_said(raw.metadata)
    logprobs = any("logp" in name.replace("_", "") for name in raw.tensors)
    spelled = {name for name in raw.tensors for row in NAMES.meant("tensor", name, None) if row.endswith(".score")}
    return said in ALGORITHMS or (not said and not logprobs and len(spelled) >= len(SIDES))


def step_of(raw: Raw, path: Path) -> ScoredPairs:
    """Makes a step of a file as it was read.

    Raises:
        MinibatchError: as `read_dump`; sides of different shapes, scores that are missing or no numbers.
    """
    with naming(path):
        said = raw.metadata.get("hyperparameters") or {}
        hyperparameters = dict[str, Any](said) if isinstance(said, dict) else {}
        own = {key: each for key, each in hyperparameters.items() if key not in (CENTERED, PAD)}
        read = understood(raw, NAMES, rm_presets, REWARD_MODEL, own if isinstance(said, dict) else said)
        tensors, called = _laid_apart(read.arrays, read.found.called, read.lengths)
        follows, notes = _follows(hyperparameters, tensors, read.library)
        preset = {"trl": "trl_1.16_rm"}.get(str(read.library), f"{read.library}_rm")
        return read.made(
            ScoredPairs,
            path,
            tensors,
            called,
            notes,
            preset=preset_said(raw.metadata, rm_presets, preset),
            hyperparameters={**follows, **read.named.settings},
            forward_dtype=forward_option(raw.metadata, "forward_dtype"),
            end=_end(tensors, _pad(hyperparameters)),
            by_pad=read.library == "trl" and _pad(hyperparameters) is not None and "chosen.tokens" not in tensors,
        )


def _laid_apart(
    arrays: Mapping[str, Array], called: Mapping[str, str], ragged: Collection[str]
) -> tuple[dict[str, Array], dict[str, str]]:
    """Returns tensors of each side, and what the file calls them; ragged: those that were lists of different lengths.

    Raises MinibatchError where something is missing or odd.
    """
    found, names = dict[str, Array](), dict[str, str]()
    for name, array in arrays.items():
        whole = whole_numbers(array, called[name], name in ragged) if name == "tokens" else array
        made = halves(name, whole, called[name]) if name in STACKED else {name: one_each(array, called[name])}
        found |= made
        names |= dict.fromkeys(made, called[name])
    check_axes(found, names, STACKED)
    check_even(found, names)
    require("chosen.score" in found, "scores of both sides are missing: rewards_chosen and rewards_rejected, [P].")
    for side in SIDES:
        wide = [name for name in (f"{side}.{what}" for what in STACKED) if name in found]
        for name in wide:
            columns, others = found[name].shape[1], found[wide[0]].shape[1]
            says = f"{names[name]} has {counted(columns, 'column')} and {names[wide[0]]} {others}; they need the same."
            require(columns == others, says)
        if (text := f"{side}.text") in wide:
            first = len(found[text]) * (side == SIDES[1])
            found[text] = true_or_false(found[text], names[text], "text" in ragged, first)
    _check_positions(found, names)
    for name in [each for each in found if each.rpartition(".")[2] in ("score", "margin")]:
        bad = np.flatnonzero(~np.isfinite(found[name]))
        where = f"{unquoted(names[name])}, pair {bad[0] if len(bad) else 0}"
        require(not len(bad), f"{where}: found no finite number; find out where it comes from first.")
    return found, names


def _check_positions(found: Mapping[str, Array], names: Mapping[str, str]) -> None:
    """Refuses scores of positions that are no finite number where the text stands. Raises MinibatchError."""
    for name, text in [(f"{side}.position_scores", f"{side}.text") for side in SIDES]:
        if name in found and text in found:
            odd = np.argwhere(found[text] & ~np.isfinite(found[name]))
            row, column = odd[0].tolist() if len(odd) else (0, 0)
            row += len(found[name]) * name.startswith(SIDES[1])
            where = f"{unquoted(names[name])}: found no finite number in row {row}, column {column}"
            require(not len(odd), f"{where}, where a token of the text stands.")


def _follows(
    said: Mapping[str, Any], tensors: Mapping[str, Array], library: str | None
) -> tuple[dict[str, float | str], tuple[str, ...]]:
    """Returns settings that follow from hyperparameters and tensors of TRL, and notes on them."""
    if library != "trl":
        return {}, ()
    found: dict[str, float | str] = {"loss.margin": "typed" if "pair.margin" in tensors else "off"}
    if CENTERED in said:
        known, center = REWARD_MODEL["center"], number_said(said[CENTERED] or 0, CENTERED)
        expected = f"a number from {known.low:g} to {known.high:g}"
        require(known.holds(center), f"{CENTERED}: found {center:g}, expected {expected}.")
        found["center"] = center
    pad = _pad(said)
    if pad is None or (end := _end(tensors, pad)) is None:
        return found, ()
    if end != pad:
        return found | {"score.read": "last_token"}, ()
    tokens, text = _both(tensors, "tokens"), _both(tensors, "text")
    columns = np.arange(text.shape[1])
    last = np.where(text & (tokens != pad), columns, -1).max(axis=1)  # of each text, behind which pads may stand
    again = (text & (columns > last[:, None])).sum(axis=1).max() > 1
    return found | {"score.read": "before_end"}, (PADS_COUNT if again else BEFORE_END,)


def _pad(said: Mapping[str, Any]) -> int | None:
    return None if said.get(PAD) is None else whole_number(said[PAD], PAD)


def _both(tensors: Mapping[str, Array], name: str) -> Array:
    return np.concatenate([tensors[f"{side}.{name}"] for side in SIDES])


def _end(tensors: Mapping[str, Array], pad: int | None) -> int | None:
    """Returns the token that ends texts: the pad, where some text ends in it, else that of most; None where none are known."""
    if "chosen.tokens" not in tensors or "chosen.text" not in tensors:
        return None
    text = _both(tensors, "text")
    last = _both(tensors, "tokens")[np.arange(len(text)), text.shape[1] - 1 - text[:, ::-1].argmax(axis=1)]
    tokens, counts = np.unique(last, return_counts=True)
    return pad if pad is not None and pad in tokens else int(tokens[counts.argmax()]) if len(tokens) else None


DUMPS = DumpKind("a step of a reward model", rm_presets, step_of, is_scored, NAMES, NEEDS, ALGORITHMS)
