"""From a step of DPO that was computed again to the numbers of a workbook: some of its pairs, as they are."""

from collections.abc import Collection, Mapping

import numpy as np

from blueprint.dumps import SIDES, Array, MinibatchError, require
from blueprint.inputs import Numbers, NumbersError
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
    computable,
    ragged,
    view_of,
    words_of,
)
from blueprint.workbooks.dpo.schema import MOST_PAIRS, PER, WITHOUT, check_asked, presets_of
from blueprint.workbooks.dpo.verifying.recompute import recompute

NEAR = 1e-10
"""How far |a − b| may be, over 1 + the largest of a row: both are float64, a cell has 15 digits, and losses are steep."""
ROWS = {"chosen.logged": "chosen.reward", "rejected.logged": "rejected.reward", "loss.pair": "loss.pair"}
NUMBERS = ("rewards.margins", "rewards.accuracies", "preference_loss", "total_loss")
WATCHED = ("chosen.logged", "rejected.logged", "rewards.margins", "rewards.accuracies")
"""What is made of rewards as they are watched."""
SUMS = (
    "The rewards shown are of log-probs per token, which the loss takes; those that the library logs are of sums, and only verify "
    "has them: with the log-probs of all tokens, of the reference too, a workbook would."
)
IDS_SHOWN = 30


def shown(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows pairs of a step. Raises MinibatchError for rows that are not there, more than fit, or conventions that read more."""
    view = _view(verdict.replayed, chosen, options)
    again, other = recompute(view.step, view.settings), WATCHED if _watches_sums(view) else ()
    return view.shown(
        [*view.partly, *([SUMS] if other else [])],
        lambda name: numbers_of(view, name),
        lambda arrays: agreement(arrays, again, other),
    )


def per_of(view: View) -> str:
    """Returns what has a log-prob, a word of `PER`: each token, where those of both models are known, else each response."""
    known = all(f"chosen.{name}" in view.step.tensors for name in ("logprobs", "logprobs_ref"))
    return PER[0] if known else PER[1]


def _watches_sums(view: View) -> bool:
    """Whether the library watches rewards of sums, and only the means that its loss takes can be given."""
    return per_of(view) == PER[1] and view.settings["logp.of"] != "sum" and view.settings["watch.rewards"] == "sum"


def _view(found: Again, chosen: Chosen, options: ViewOptions) -> View:
    batch = found.batch
    computable(found, "total_loss", " missing")
    require(
        not batch.terms,
        f"{batch.path} cannot be made into a workbook: its loss is {batch.mixture}, and a workbook has one loss: "
        "verify computes the sum",
    )
    view = view_of(found, chosen, options, -found.rows["margin"], MOST_PAIRS[1], "pairs")
    longest = int(view.step.mask.sum(axis=1).max())
    if per_of(view) == PER[0]:
        check_length(batch.path, longest, "a response")
    require(
        longest > 0, f"{batch.path} has no token in any of the responses there: a workbook needs one; --rows others"
    )
    try:
        check_asked(_parts(view), _asked(view))
    except NumbersError as error:
        raise MinibatchError(f"{batch.path} cannot be made into a workbook: {error}") from error
    return view


def _asked(view: View) -> dict[str, float | str]:
    """Returns the settings that are not as the preset has them, of those that log-probs alone say."""
    per = per_of(view)
    usual, offered = presets_of(per).presets.get(view.preset), presets_of(per).settings
    alone = {key: words[0] for key, words in WITHOUT[per].items() if len(words) == 1 and key != "logp.of"}
    odd = [key for key, word in alone.items() if view.settings[key] != word and _read(view, key)]
    instead = "".join(f"{key}={alone[key]}" for key in odd[:1])
    require(
        not odd,
        f"{view.step.path} cannot be made into a workbook: {''.join(odd[:1])} reads more than log-probs; "
        f"--set {instead} shows the step without it",
    )
    return {
        key: view.settings[key]
        for key in offered
        if _read(view, key) and (usual is None or view.settings[key] != usual.values.get(key))
    }


def _read(view: View, key: str) -> bool:
    """Whether a setting counts: those of the NLL do only where it has a weight, and those of LD-DPO where that is on."""
    if key.startswith("loss.nll"):
        return bool(float(view.settings["loss.nll_coef"]))
    return not key.startswith("logp.ld_") or view.settings["logp.ld"] != "off"


def numbers_of(view: View, name: str) -> Numbers:
    """Makes the numbers of a workbook that begins at log-probs, 15 digits of each."""
    what = f"{len(view.rows)} pairs of a step of {view.step.library or 'DPO'}"
    return view.numbers("pair-logprobs", name, what, _asked(view), _parts(view))


def _parts(view: View) -> dict[str, object]:
    """Returns what is typed, by the keys of a numbers file."""
    step, per = view.step, per_of(view)
    parts: dict[str, object] = {"preset": view.preset, "per": per, "text.prompts": _prompts(view)}
    for at, side in enumerate(SIDES):
        mask, ids = step.mask[at * step.pairs :][: step.pairs], step.tensors.get(f"{side}.tokens")
        of_tokens = per == PER[0]
        whole = tuple((f"{side} response {row}",) for row in view.rows)
        parts[f"text.{side}"] = words_of(ids, mask, lambda at: "?") if of_tokens else whole
        for model, tokens, name in (("policy", "logprobs", "logp"), ("reference", "logprobs_ref", "logp_ref")):
            if of_tokens:
                logprobs, there = step.tensors[f"{side}.{tokens}"], mask
            else:
                logprobs, there = _whole(view, side, tokens, name, mask)[:, None], np.ones((step.pairs, 1), np.bool_)
            parts[f"{model}.{side}"] = ragged(np.minimum(logprobs, 0.0), there)
    return parts


def _whole(view: View, side: str, tokens: str, whole: str, mask: Array) -> Array:
    """Returns the log-prob of each response as the loss takes it, a sum or a mean; 0 where there is no reference."""
    tensors = view.step.tensors
    if f"{side}.{tokens}" in tensors:
        found = (tensors[f"{side}.{tokens}"].astype(np.float64) * mask).sum(axis=1)
    else:
        found = tensors.get(f"{side}.{whole}", np.zeros(len(mask)))
    return np.asarray(found / np.maximum(mask.sum(axis=1), 1) if view.settings["logp.of"] != "sum" else found, float)


def _prompts(view: View) -> tuple[str, ...]:
    """Returns the prompt of each pair, the ids of its tokens as far as they fit."""
    ids, mask = view.step.tensors.get("chosen.tokens"), view.step.tensors.get("chosen.mask")
    if ids is None or mask is None:
        return tuple(f"prompt {row}" for row in view.rows)
    ends = mask.argmax(axis=1) + ids.shape[1] - mask.shape[1]
    return tuple(" ".join(f"#{each}" for each in row[:end][-IDS_SHOWN:]) for row, end in zip(ids, ends, strict=True))


def agreement(arrays: Mapping[str, Array], ours: Again, other: Collection[str] = ()) -> Agreement:
    """Compares rows and losses of a workbook with the pairs computed again. other: rows that are something else there."""
    found = {block: ours.rows[row] for block, row in ROWS.items()} | {
        name: np.asarray(ours.numbers[name]) for name in NUMBERS
    }
    return agreement_of(arrays, {name: row for name, row in found.items() if name not in other}, NEAR)
