"""From a step of KTO that was computed again to the numbers of a workbook: some of its responses, as they are."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from blueprint.dumps import Array, MinibatchError, require
from blueprint.inputs import LONGEST, ROWS, Numbers
from blueprint.verifying import Again, Agreement, Chosen, Settings, Shown, Verdict, ViewOptions, agreement_of, picked
from blueprint.workbooks.kto.build import KTO
from blueprint.workbooks.kto.dumps import SingleResponses
from blueprint.workbooks.kto.verifying.recompute import NUMBERS, recompute

NEAR = 1e-11
"""How far |a − b| may be, over 1 + the largest of a row: both are float64, and a cell has 15 digits."""
SHOWN_ALONE = "Loss and KL are those of the responses shown; of the whole step they are what verify says."


def shown(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows responses of a step. Raises MinibatchError for rows that are not there, or more or longer ones than fit."""
    found: Again = verdict.replayed
    batch: SingleResponses = found.batch
    if lacks := found.lacks.get("total_loss"):
        raise MinibatchError(f"{batch.path} cannot be made into a workbook: {lacks} missing")
    rows = picked(batch.path, found.rows["loss.response"], ROWS[1], options, "responses")
    step = replace(batch, tensors={name: each[rows] for name, each in batch.tensors.items()}, logged={}, place=None)
    longest = int(step.mask.sum(axis=1).max())
    require(
        0 < longest <= LONGEST,
        f"{batch.path} has a longest response of {longest} tokens there: a workbook shows 1 to {LONGEST}; --rows others",
    )
    every = len(rows) == batch.responses
    label = f"{'all' if every else 'some'} responses of the step, {len(rows)}: rows {', '.join(map(str, rows))}"
    again, alone = recompute(step, found.settings), not every or batch.of_all_ranks
    return Shown(
        label,
        (SHOWN_ALONE,) if alone else (),
        lambda name: numbers_of(step, rows, found.settings, chosen.preset.name, name),
        lambda arrays: agreement(arrays, again),
    )


def numbers_of(step: SingleResponses, rows: Array, settings: Settings, preset: str, name: str) -> Numbers:
    """Makes the numbers of a workbook, 15 digits of each; a log-prob of a whole response stands as its only token."""
    title = name if step.step is None else f"{name}, step {step.step}"
    parts: dict[str, object] = {
        "responses.prompts": tuple(f"row {row}" for row in rows),
        "responses.good": step.tensors["good"] * 1.0,
    }
    for model, tokens, whole, other in (
        ("policy", "logprobs", "logp", "elsewhere.logp"), ("reference", "logprobs_ref", "logp_ref", "elsewhere.logp_ref"),
    ):  # fmt: skip
        both = "logprobs" in step.tensors and "logprobs_ref" in step.tensors
        each = (
            [row[of] for row, of in zip(step.tensors[tokens], step.mask, strict=True)]
            if both
            else _whole(step, tokens, whole)
        )
        parts[f"{model}.logprobs"] = tuple(tuple(_digits(row).tolist()) for row in each)
        parts[f"{model}.elsewhere"] = _digits(step.tensors.get(other, np.zeros(len(rows))))
    return Numbers(
        kind="kto", level="single-responses", name=name, title=title,
        about=f"{len(rows)} responses of a step of {step.library or 'KTO'}, by preset {preset}",
        ppo={key: value for key, value in settings.items() if value != KTO[key].value}, parts=parts,
    )  # fmt: skip


def _whole(step: SingleResponses, tokens: str, whole: str) -> list[Array]:
    """Returns the log-prob of each response, alone in its row."""
    summed = (
        (step.tensors[tokens].astype(np.float64) * step.mask).sum(axis=1)
        if tokens in step.tensors
        else step.tensors[whole]
    )
    return [np.array([each]) for each in summed]


def _digits(values: Array) -> Array:
    return np.array([float(f"{min(value, 0.0):.15g}") for value in np.asarray(values, np.float64)])


def agreement(arrays: Mapping[str, Array], ours: Again) -> Agreement:
    """Compares rows and losses of a workbook with the responses computed again."""
    rows = {"single.reward": ours.rows["reward"], "single.loss": ours.rows["loss.response"]}
    return agreement_of(arrays, rows | {row: np.asarray(ours.numbers[name]) for name, row in NUMBERS.items()}, NEAR)
