"""From a step of GRPO that was computed again to the numbers of a workbook: some of its groups, whole, as they are."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from blueprint.dumps import Array, MinibatchError, require
from blueprint.inputs import ROWS, Numbers, counted
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
    batch: GroupedStep = verdict.replayed.batch
    if (groups := batch.groups) is None:
        raise MinibatchError(f"{batch.path}: nothing tells which responses answer the same prompt; write group, [B]")
    require(
        options.rows is None or options.worst is None,
        "--rows names the responses, --worst finds them: use one of the two",
    )
    members = [np.flatnonzero(groups == each) for each in _groups(verdict, options, groups)]
    sizes = sorted({len(each) for each in members})
    require(len(sizes) == 1, f"{batch.path} has groups of {sizes} responses there: a workbook shows groups of one size")
    rows = np.concatenate(members)
    require(len(rows) <= ROWS[1], f"{len(rows)} responses are asked for: a workbook shows up to {ROWS[1]}")
    return rows


def _groups(verdict: Verdict, options: ViewOptions, groups: Array) -> list[int]:
    """Returns the groups that are shown: those of rows that are asked for, all of a small step, else the worst of one size."""
    batch: GroupedStep = verdict.replayed.batch
    places = list(range(len(batch.mask))) if batch.rows is None else np.asarray(batch.rows).tolist()
    for row in options.rows or ():
        require(
            row in places,
            f"{batch.path} has no row {row}, or leaves it out: it has rows 0 … {max(places)}",
        )
    if options.rows is not None:
        return list(dict.fromkeys(int(groups[places.index(row)]) for row in options.rows))
    if options.worst is None and len(groups) <= ALL and len(set(batch.sizes.tolist())) == 1:
        return list(range(len(batch.sizes)))
    by, usual = MEASURES[options.by or ("ratio" if "logprobs_new" in batch.tensors else "advantage")]
    values = verdict.replayed.rows.get(by, verdict.replayed.rows["advantages"])
    off = np.where(batch.mask, np.abs(values - usual), 0.0).max(axis=1)
    worst = np.argsort([-off[groups == each].max() for each in range(len(batch.sizes))], kind="stable").tolist()
    spot = verdict.first.compared.spot if verdict.first else None
    first = [int(groups[spot.episode])] if spot and options.worst is None else []
    alike = [each for each in worst if batch.sizes[each] == batch.sizes[(first or worst)[0]]]
    return list(dict.fromkeys([*first, *alike]))[: options.worst or FEW]


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
    tensors = verdict.replayed.batch.tensors
    stand_ins = (f"The dump has no {tensor}: {says}." for tensor, says in STANDS.items() if tensor not in tensors)
    return view.shown(
        [*view.partly, *stand_ins],
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
    count = f"{0 if groups is None else len(np.unique(groups))} with {counted(len(rows), 'response')}"
    preset = chosen.preset
    return View(step, np.asarray(shown), settings, preset.name, preset.values, every, "groups", count)


def numbers_of(view: View, name: str) -> Numbers:
    """Makes the numbers of a workbook that begins at log-probs, 15 digits of each."""
    step, groups = view.step, view.step.groups
    assert groups is not None
    given, greedy = _given(step), np.asarray(step.tensors.get("greedy", np.zeros(len(groups))), np.float64)
    of_tokens = {key: np.asarray(step.tensors[tensor], np.float64) for key, tensor in given.items()}
    # rounding may have lifted a log-prob above 0, which it is not
    of_tokens = {key: each if given[key] == "entropy" else np.minimum(each, 0.0) for key, each in of_tokens.items()}
    parts: dict[str, object] = {
        "preset": view.preset,
        "compare": (),
        "text.prompts": tuple(f"prompt {each + 1}" for each in range(int(groups.max()) + 1)),
        "text.responses": words_of(step.tensors.get("response_ids"), step.mask, lambda at: f"token {at + 1}"),
        "text.truncated": cut_off(step),
        "reward.scores": digits(scores(step)),
        "reward.greedy": digits(greedy[np.unique(groups, return_index=True)[1]]),
        **{key: ragged(each, step.mask) for key, each in of_tokens.items()},
    }
    asked = {key: view.settings[key] for key in without(given) if key in view.asked}
    what = f"{counted(len(step.mask), 'response')} of a step of {step.library or 'GRPO'}, whole groups"
    return view.numbers("rollouts", name, what, asked, parts)


def _given(step: GroupedStep) -> dict[str, str]:
    """Returns by key the tensors that are typed: where the file has but one of old and new log-probs, those of the policy."""
    found = {key: tensor for key, tensor in GIVEN.items() if tensor in step.tensors}
    if "logprobs_new" not in step.tensors:
        found["policy.logprobs"] = "logprobs_old"
    if found["policy.logprobs"] == "logprobs_old" or step.called.get("logprobs_old") == step.called.get("logprobs_new"):
        del found["old.logprobs"]
    return found


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
