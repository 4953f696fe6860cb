"""From a step of fine-tuning computed again to the numbers of a workbook: some of its texts, from two logits a token on."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from blueprint.dumps import Array, require
from blueprint.inputs import LONGEST, ROWS, Numbers
from blueprint.verifying import Again, Agreement, Chosen, Settings, Shown, Verdict, ViewOptions, agreement_of, picked
from blueprint.workbooks.sft.dumps import FineTuned
from blueprint.workbooks.sft.schema import sft_presets
from blueprint.workbooks.sft.verifying.recompute import recompute

NEAR = 1e-11
"""How far |a − b| may be, over 1 + the largest of a row: both are float64, a cell has 15 digits."""
OTHER, TOKEN = "<other>", "token"
SMALLEST_SHARE = 1e-300
"""In the place of 1 − p where that is 0, so that a logarithm of it exists."""
TWO_TOKENS = (
    "The dump has no logits: each label is “token” and all others together “<other>”, so that the entropy and the accuracy are not "
    "the library's."
)
SHOWN_ALONE = "The loss is that of the texts shown; of the whole step it is what verify says."


@dataclass(frozen=True)
class View:
    """Some texts of a step. step: these alone, up to their last token; rows: which of the file they are; all: whether all are."""

    step: FineTuned
    rows: Array
    settings: Settings
    preset: str
    all: bool

    @property
    def label(self) -> str:
        """Says what is shown."""
        every = "all" if self.all else "some"
        return f"{every} texts of the step, {len(self.rows)}: rows {', '.join(map(str, self.rows))}"


def shown(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows texts of a step. Raises MinibatchError for rows that are not there, or more or longer ones than fit."""
    found: Again = verdict.replayed
    batch: FineTuned = found.batch
    rows = picked(batch.path, found.rows["text_loss"], ROWS[1], options, "texts")
    columns = np.flatnonzero(batch.mask[rows].any(axis=0))
    require(len(columns) > 0, f"{batch.path} has no token to be learned there: name other texts with --rows")
    first, behind = int(columns[0]), int(columns[-1]) + 1
    require(
        behind - first <= LONGEST,
        f"{batch.path} has {behind - first} positions there: a workbook shows {LONGEST}; --rows others",
    )
    some = {name: each[rows] for name, each in batch.tensors.items()}
    tensors = {name: each[:, first:behind] if each.ndim > 1 else each for name, each in some.items()}
    step = replace(batch, tensors=tensors, logged={}, place=None, share=None)
    view = View(step, rows, found.settings, chosen.preset.name, len(rows) == len(batch.mask))
    again = recompute(step, found.settings)
    remarks = [TWO_TOKENS, *([SHOWN_ALONE] if not view.all or batch.share else [])]
    return Shown(
        view.label, tuple(remarks), lambda name: numbers_of(view, name), lambda arrays: agreement(arrays, again)
    )


def numbers_of(view: View, name: str) -> Numbers:
    """Makes the numbers of a workbook that begins at logits, 15 digits of each."""
    step, usual = view.step, sft_presets().preset(view.preset).values
    texts, positions = step.mask.shape
    p = np.where(step.mask, np.asarray(step.tensors["logprobs"], np.float64), -np.log(2.0))
    others = np.log(np.maximum(-np.expm1(p), SMALLEST_SHARE))
    there = np.flip(np.maximum.accumulate(np.flip(step.mask, 1), axis=1), 1)
    parts = {
        "preset": view.preset,
        "text.vocabulary": (OTHER, TOKEN),
        "text.end_word": OTHER,
        "text.texts": tuple((TOKEN,) * (positions + 1) for _ in range(texts)),
        "text.response": step.mask * 1.0,
        "text.there": there * 1.0,
        "policy.logits": _digits(np.stack([others, p], axis=-1)),
    }
    title = name if step.step is None else f"{name}, step {step.step}"
    about = f"{texts} texts of a step of {step.library or 'fine-tuning'}, by preset {view.preset}"
    asked = {key: value for key, value in view.settings.items() if value != usual[key]}
    asked |= {"region": "response", "packing": "none", "end_token": "in"}  # the mask says which tokens count
    return Numbers(kind="sft", level="labelled", name=name, title=title, about=about, ppo=asked, parts=parts)


def _digits(values: Array) -> Array:
    made = np.asarray(values, np.float64)
    return np.array([float(f"{value:.15g}") for value in made.ravel()]).reshape(made.shape)


def agreement(arrays: Mapping[str, Array], ours: Again) -> Agreement:
    """Compares the sums of the texts and the losses of a workbook with the texts computed again."""
    rows = {"watch.logp": -ours.rows["text_loss"]}
    return agreement_of(arrays, rows | {name: np.asarray(ours.numbers[name]) for name in ("nll", "total_loss")}, NEAR)
