"""From a step of GRPO that was computed again to the numbers of a workbook: some of its groups, whole, as they are."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from blueprint.dumps import Array, MinibatchError, require
from blueprint.inputs import ROWS, Numbers
from blueprint.verifying import (
    Again,
    Agreement,
    Chosen,
    Shown,
    Verdict,
    View,
    ViewOptions,
    agreement_of,
    check_length,
    digits,
    ragged,
    words_of,
)
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.schema import without
from blueprint.workbooks.grpo.verifying.feeding import cut_off, scores
from blueprint.workbooks.grpo.verifying.judge import OVER_BATCH
from blueprint.workbooks.grpo.verifying.recompute import recompute

MEASURES = {"ratio": ("ratio", 1.0), "advantage": ("advantages", 0.0), "kl": ("kl_new", 0.0)}
"""By what a token may be bad: a row, and the number from which it is far."""
ALL, FEW = 16, 2
"""Responses of a step that is shown whole unasked, and groups of a larger one."""


def picked(verdict: Verdict, options: ViewOptions) -> Array:
    """Returns the rows of the dump that are shown, group by group.

    Raises MinibatchError for a row that is not there, two wishes at once, groups of several sizes, or more than fit.
    """
    found: Again = verdict.replayed
    batch, groups = found.batch, found.batch.groups
    require(groups is not None, f"{batch.path}: nothing tells which responses answer the same prompt; write group, [B]")
    assert groups is not None
    require(
        options.rows is None or options.worst is None,
        "--rows names the responses, --worst finds them: use one of the two",
    )
    chosen = _groups(verdict, options, groups)
    sizes = {int((groups == each).sum()) for each in chosen}
    require(
        len(sizes) == 1,
        f"{batch.path} has groups of {sorted(sizes)} responses there: a workbook shows groups of one size",
    )
    rows = np.concatenate([np.flatnonzero(groups == each) for each in chosen])
    require(len(rows) <= ROWS[1], f"{len(rows)} responses are asked for: a workbook shows up to {ROWS[1]}")
    return rows


def _groups(verdict: Verdict, options: ViewOptions, groups: Array) -> list[int]:
    batch: GroupedStep = verdict.replayed.batch
    count = int(groups.max()) + 1
    if options.rows is not None:
        return list(dict.fromkeys(int(groups[_place(batch, row)]) for row in options.rows))
    if options.worst is None and len(groups) <= ALL and len(set(batch.sizes.tolist())) == 1:
        return list(range(count))
    worst = _worst(verdict.replayed, options.by, groups)
    spot = verdict.first.compared.spot if verdict.first else None
    first = [int(groups[spot.episode])] if spot and options.worst is None else []
    alike = [each for each in worst if batch.sizes[each] == batch.sizes[(first or worst)[0]]]
    return list(dict.fromkeys([*first, *alike]))[: options.worst or FEW]


def _place(batch: GroupedStep, row: int) -> int:
    """Returns the response that stands in a row of the file."""
    places = list(range(len(batch.mask))) if batch.rows is None else np.asarray(batch.rows).tolist()
    if row not in places:
        raise MinibatchError(f"{batch.path} has no row {row}, or leaves it out: it has rows 0 … {max(places)}")
    return places.index(row)


def _worst(found: Again, by: str | None, groups: Array) -> list[int]:
    """Returns the groups, that with the worst token first."""
    row, usual = MEASURES[by or ("ratio" if "logprobs_new" in found.batch.tensors else "advantage")]
    values = found.rows.get(row, found.rows["advantages"])
    off = np.where(found.batch.mask, np.abs(values - usual), 0.0).max(axis=1)
    worst = np.array([off[groups == each].max() for each in range(int(groups.max()) + 1)])
    return [int(each) for each in np.argsort(-worst, kind="stable")]


NEAR = 1e-12
"""How far |a − b| may be, over 1 + the largest of a row, and over the smallest spread: both are float64, a cell has 15 digits."""
GIVEN = {
    "policy.logprobs": "logprobs_new", "old.logprobs": "logprobs_old", "reference.logprobs": "logprobs_ref",
    "engine.logprobs": "logprobs_rollout", "policy.entropy": "entropy",
}  # fmt: skip
"""By key of a numbers file, the tensor that is typed there."""
COMPARED = {"advantages": "advantages", "ratio": "ratio", "policy.token_loss": "token_loss", "kl_new.counts": "kl_new"}
LOSSES = ("policy_loss", "total_loss")


def shown(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows whole groups of a step. Raises MinibatchError for rows that are not there, or groups that are not whole."""
    view = _view(verdict, chosen, options)
    again = recompute(view.step, view.settings, sized=True)
    return view.shown(
        [*view.partly, *_stand_ins(verdict.replayed.batch)],
        lambda name: numbers_of(view, name),
        lambda arrays: agreement(arrays, again, view),
    )


def _view(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> View:
    found: Again = verdict.replayed
    batch, settings = found.batch, found.settings
    lacks = found.lacks.get("advantages")
    require(
        not lacks,
        f"{batch.path} is shown group by group, and lacks {lacks}: name all files of the step, with their scores",
    )
    rows = picked(verdict, options)
    every = len(rows) == len(batch.mask)
    over = settings["advantage.whiten"] != "none" or settings["group.std"] in OVER_BATCH
    require(
        every or not (over or settings["group.baseline"] == "batch"),
        f"{batch.path} is whitened, or compared, over all {len(batch.mask)} responses: a workbook shows up to {ROWS[1]}, "
        "all of them or none",
    )
    require(
        not batch.unsure < 1 or not float(settings["loss.ent_coef"]),
        f"{batch.path} pays a bonus for the entropy of the tokens that top_entropy_quantile leaves, and a workbook for that of all "
        "tokens: --set loss.ent_coef=0 shows the step without it",
    )
    step = replace(batch.some(rows), share=None)
    check_length(batch.path, int(step.mask.sum(axis=1).max()), "a response")
    groups, shown = step.groups, range(len(rows)) if step.rows is None else step.rows
    count = f"{0 if groups is None else len(np.unique(groups))} with {len(rows)} responses"
    preset = chosen.preset
    return View(step, np.asarray(shown), settings, preset.name, preset.values, every, "groups", count)


def numbers_of(view: View, name: str) -> Numbers:
    """Makes the numbers of a workbook that begins at log-probs, 15 digits of each."""
    step, groups = view.step, view.step.groups
    assert groups is not None
    given = _given(step)
    parts: dict[str, object] = {
        "preset": view.preset,
        "compare": (),
        "text.prompts": tuple(f"prompt {each + 1}" for each in range(int(groups.max()) + 1)),
        "text.responses": words_of(step.tensors.get("response_ids"), step.mask, lambda at: f"token {at + 1}"),
        "text.truncated": cut_off(step),
        "reward.scores": digits(scores(step)),
        "reward.greedy": digits(_first_of(step, groups)),
        **{key: ragged(_logged(step, tensor), step.mask) for key, tensor in given.items()},
    }
    asked = {key: view.settings[key] for key in without(given) if key in view.asked}
    what = f"{len(step.mask)} responses of a step of {step.library or 'GRPO'}, whole groups"
    return view.numbers("rollouts", name, what, asked, parts)


def _given(step: GroupedStep) -> dict[str, str]:
    """Returns by key the tensors that are typed: where the file has but one of old and new log-probs, those of the policy."""
    found = {key: tensor for key, tensor in GIVEN.items() if tensor in step.tensors}
    if "logprobs_new" not in step.tensors:
        found["policy.logprobs"] = "logprobs_old"
    if found["policy.logprobs"] == "logprobs_old" or step.called.get("logprobs_old") == step.called.get("logprobs_new"):
        del found["old.logprobs"]
    return found


def _logged(step: GroupedStep, tensor: str) -> Array:
    """Returns a tensor of tokens, [B, T]; rounding may have lifted a log-prob above 0, which it is not."""
    array = np.asarray(step.tensors[tensor], np.float64)
    return np.minimum(array, 0.0) if tensor.startswith("logprobs") else array


def _first_of(step: GroupedStep, groups: Array) -> Array:
    """Returns the score of the greedy response to each prompt, 0 where the file has none."""
    each = np.asarray(step.tensors.get("greedy", np.zeros(len(groups))), np.float64)
    return np.asarray(each[np.unique(groups, return_index=True)[1]])


def _stand_ins(step: GroupedStep) -> tuple[str, ...]:
    return tuple(f"The dump has no {tensor}: {STANDS[tensor]}." for tensor in STANDS if tensor not in step.tensors)


STANDS = {
    "logprobs_new": "those of the old policy stand there, as on a first step, so that every ratio is 1",
    "logprobs_ref": "the workbook has no KL", "entropy": "the workbook has no entropy",
}  # fmt: skip


def agreement(arrays: Mapping[str, Array], ours: Again, view: View) -> Agreement:
    """Compares rows and losses of a workbook with the groups computed again."""
    here = np.asarray(arrays["mask"], float) == 1
    theirs = {block: np.asarray(arrays[block])[:, : here.shape[1]][here] for block in COMPARED if block in arrays}
    theirs |= {name: arrays[name] for name in LOSSES if name in arrays}
    rows = {block: ours.rows[row][view.step.mask] for block, row in COMPARED.items() if row in ours.rows}
    numbers = {name: np.asarray(ours.numbers[name]) for name in LOSSES if name in ours.numbers}
    known = {name: row for name, row in (rows | numbers).items() if COMPARED.get(name, name) not in ours.lacks}
    room = ours.room["advantages"]
    most = float(np.max(room, initial=0.0, where=np.isfinite(room)))
    found = agreement_of(theirs, known, NEAR * max(1.0, most / 1e-15))
    if not found.distances:
        raise MinibatchError(f"{view.step.path} has nothing that a workbook and verify both compute")
    return found
