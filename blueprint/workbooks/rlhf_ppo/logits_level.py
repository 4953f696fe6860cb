"""The blueprint that begins at logits: three policies' logits, critics' values and scores are given; no model is run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from blueprint.language import Axis, Block
from blueprint.page.outline import Blueprint, Sheet
from blueprint.workbooks.common.axes import n, t, v
from blueprint.workbooks.common.conventions.inputs import chosen_of
from blueprint.workbooks.common.definitions import checks
from blueprint.workbooks.common.definitions.metrics import EQUAL_RETURNS
from blueprint.workbooks.common.sheets.witness_section import Witnessed
from blueprint.workbooks.rlhf_ppo.inputs.logits import CRITICS, POLICIES
from blueprint.workbooks.rlhf_ppo.inputs.result import RlhfNumbers
from blueprint.workbooks.rlhf_ppo.live.plan import live_plan
from blueprint.workbooks.rlhf_ppo.sheets.given import given_models, given_texts, texts_sheet
from blueprint.workbooks.rlhf_ppo.whole import whole

LEAD = "everything typed that is not a logit, a value or a score; those stand on their own sheets"


def logits_level(numbers: RlhfNumbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint that begins at logits; with a witness's numbers if there are any."""
    chosen = chosen_of(numbers.ppo, numbers.conventions, without=("update_step",))
    texts = given_texts()
    inputs = Sheet("Inputs", LEAD, texts_sheet(texts), (n, t))
    made = live_plan(given_models(texts, chosen.temperature), chosen, numbers.conventions, inputs, texts.vocabulary)
    plan = replace(
        made,
        name=numbers.name, title=numbers.title, about=numbers.about, level="logits",
        sizes=_sizes(numbers) | dict(made.sizes), names={v: texts.vocabulary} | dict(made.names),
        checked=([_mask(texts.texts.mask)], []), by_name=_typed(numbers),
        choices=dict.fromkeys((texts.texts.word_written, texts.end_word), texts.vocabulary) | dict(made.choices),
        ranges={texts.texts.mask: (0, 1)} | dict(made.ranges),
    )  # fmt: skip
    return whole(plan, witnessed)


def _sizes(numbers: RlhfNumbers) -> dict[Axis, int]:
    episodes, slots, words = numbers["old.logits"].shape
    return {n: episodes, t: slots, v: words}


def _typed(numbers: RlhfNumbers) -> dict[str, object]:
    """Lists what is typed by the names of its blocks."""
    return {
        "vocabulary": list(numbers["text.vocabulary"]),
        "end_word": numbers["text.end_word"],
        "mask": numbers["text.mask"],
        "word_written": np.array(numbers["text.responses"], dtype=object),
        "reward_model.score": numbers["reward_model.scores"],
        **{f"{name}.logits": numbers[f"{name}.logits"] for name in POLICIES},
        **{f"{name}.out": numbers[f"{name}.values"] for name in CRITICS},
        "explained_variance.floor": EQUAL_RETURNS,
    }


def _mask(m: Block) -> Block:
    """Measures how far a cell of the mask is from 0 and from 1."""
    return checks.is_0_or_1("mask", m)
