"""Level "rankings": a small model reads every text and scores it, and learns which responses were preferred."""

from typing import TYPE_CHECKING, Any

import numpy as np

from blueprint.inputs import Draft, Level, Numbers
from blueprint.language import link
from blueprint.page.outline import Blueprint, Line, Section, Sheet
from blueprint.workbooks.common import (
    InView,
    Rows,
    Witnessed,
    epochs,
    head_weights,
    j,
    k,
    memory_weights,
    one,
    rnn,
    scalar_head,
    sheet_of,
    weights,
)
from blueprint.workbooks.common.rollout import block_name
from blueprint.workbooks.common.sheets.critics import memory_sections
from blueprint.workbooks.reward_model.definitions.axes import n, t
from blueprint.workbooks.reward_model.epochs import EPOCHS
from blueprint.workbooks.reward_model.inputs import texts, typed_texts
from blueprint.workbooks.reward_model.schema import (
    MOST_RESPONSES,
    OF_PAIRS,
    RAGGED,
    REWARD_MODEL,
    TABLES,
    TEXTS,
    checked,
    parts_in,
    rm_presets,
)
from blueprint.workbooks.reward_model.whole import Start, whole

if TYPE_CHECKING:
    from blueprint.reopening.saved import Saved

WORDS, UPDATE = "ranked.word", "update"
"""The block of the typed texts, at this level alone; and under what numbers hold how the weights move."""
KEYS = tuple(f"reward_model.{part}" for part in ("E", "W", "w", "b"))
LEAD = "r_φ, the model in training, reads each text; its head says a number after every token. The loss moves all its weights"


def weights_level(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint; witnessed: numbers of an outside witness, to stand beside the workbook's own on Checks."""
    given = texts(WORDS)
    sheet, given["head"] = _model(given)
    columns = max(map(len, numbers["text.texts"]))
    embedding, hidden = np.shape(numbers["reward_model.E"])[1], np.shape(numbers["reward_model.W"])[1]
    start = Start(
        numbers=numbers,
        given=given,
        words=WORDS,
        models=(sheet,),
        sizes={n: len(numbers["text.texts"]), t: columns, k: embedding, j: hidden},
        names={k: "x{}", j: "h{}", one: "1"},
        typed={**typed_texts(numbers, WORDS, columns), **{block_name(key): numbers[key] for key in KEYS}},
    )
    return epochs.with_epochs(whole(start, witnessed), numbers[UPDATE], EPOCHS)


def _model(given: Rows) -> tuple[Sheet, Any]:
    """Outlines the network over the texts; returns its sheet, and the score after every token."""
    read = link("reward_model.read", given["token.id"])
    memory, head = memory_weights("reward_model"), head_weights("reward_model")
    network = rnn("reward_model", read, memory)
    out = scalar_head("reward_model", "RM", "number after the token just read", network.h, head)
    sections = (
        *memory_sections(memory, head.w, read, network),
        Section("One number from the hidden state", (Line((head.b,), "weights"), out)),
    )
    here = InView(given[WORDS], given["text.there"]).on("reward_model")
    return sheet_of("Reward model", LEAD, sections, here), out


def numbers_in(file: "Saved") -> Numbers:
    """Return what is typed in a saved workbook, or, of a blank one, numbers of its sizes."""
    parts = {**parts_in(file, WORDS), **{key: file.array(block_name(key)) for key in KEYS}}
    parts[UPDATE] = epochs.update_in(file)
    return Numbers(kind="reward_model", level="rankings", **file.head(), ppo=file.settings(), parts=parts)


def _numbers(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, a token is unknown, a pair names a response that there is not, or W has not a row
            for each number of x and of h, and one for 1.
    """
    parts, update = checked(draft.fitted()), epochs.update_of(draft)
    weights.check_inputs(parts, "reward_model")
    kept = {key: value for key, value in parts.items() if not key.startswith("update.")}
    return draft.numbers({**kept, UPDATE: update})


def _values(numbers: Numbers) -> dict[str, Any]:
    """Return what a file of this level says."""
    parts = dict(numbers.parts)
    update = parts.pop(UPDATE)
    return parts | epochs.values_of(update)


LEVEL = Level(
    "reward_model",
    "rankings",
    "a small model reads texts, and learns which responses were preferred",
    parts=(*TEXTS, *OF_PAIRS, *epochs.PARTS, *map(weights.weight, KEYS)),
    tables={**TABLES, "update": epochs.ABOUT, "reward_model": "the model in training, and its head"},
    settings=REWARD_MODEL,
    of_settings="reward",
    presets=rm_presets,
    limits={**weights.LIMITS, "response": (1, MOST_RESPONSES)},
    ragged=RAGGED,
    make=_numbers,
    values=_values,
)
