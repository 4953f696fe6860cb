"""Minibatches of RLHF: verified in `blueprint.verifying`, and shown, a few words of them and what the whole batch says of these, as
a workbook; and a file taken for the part of a larger batch that it is, with the mean and deviation with which its numbers were
whitened, and what its losses were divided by.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import inf

import numpy as np

from blueprint.dumps import Array, Minibatch, Moments, Share, joined_pass, require, rounding
from blueprint.inputs import counted
from blueprint.inputs.catalogue import dotted
from blueprint.verifying import Chosen, Shown, Verdict, Verifier, ViewOptions, known_device
from blueprint.verifying.logged import PARTS
from blueprint.verifying.settings import Setting, number_of
from blueprint.workbooks.common.conventions import Conventions, rlhf
from blueprint.workbooks.rlhf_ppo.minibatch.given import MinibatchNumbers
from blueprint.workbooks.rlhf_ppo.verifying.feeding import INPUTS, padded, per_word
from blueprint.workbooks.rlhf_ppo.verifying.parts import Straight
from blueprint.workbooks.rlhf_ppo.verifying.replay import Replay
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify_steps
from blueprint.workbooks.rlhf_ppo.verifying.window import (
    Window,
    agreement,
    compared_with,
    logged_numbers,
    logged_rows,
    window_of,
)

STAND_IN = {
    "logprobs_new": "The dump has no logprobs_new: those of the old policy stand there, so that every ratio is 1.",
    "logprobs_ref": "The dump has no logprobs_ref: those of the old policy stand there, so that the KL is 0.",
    "entropy": "The dump has no entropy: the workbook has no entropy bonus.",
    "values_new": "The dump has no values_new: the workbook has no value loss.",
}
"""What is said of a tensor that the dump has not."""

STATISTICS = (
    "loss.mean_ratio", "reward.count", "reward.mean", "reward.variance", "advantage.count",
    "advantage.mean", "advantage.variance", "response.most",
)  # fmt: skip
WEIGHED = {
    "policy": ("policy.weight.row", "surrogate"),
    "value": ("value.weight.row", "value.word_loss"),
    "kl": ("policy.weight.row", "kl_new.used"),
}
"""By part of the loss its rows: the weight, and what is weighed."""


def shown(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows a few words of a minibatch. Raises MinibatchError for rows that are not there, and other such wishes."""
    found, window = verdict.replayed, window_of(verdict, options)
    return Shown(
        window.label,
        said_of(found),
        lambda name: numbers_of(found, window, name, verdict.preset, verdict),
        lambda arrays: agreement(arrays, found, window),
    )


def numbers_of(
    replay: Replay, window: Window, name: str, preset: str, verdict: Verdict | None = None
) -> MinibatchNumbers:
    """Gathers what a workbook types, 15 digits of each number: all that a cell holds.

    verdict: what of the replay was compared with what the library logged, and what came of it.
    Raises MinibatchError where the file has too little for a loss, and for an exact KL, which needs every word's probability.
    """
    _check(replay)
    batch, lines = replay.batch, verdict.lines if verdict else ()
    rows = replay.rows(window.episodes)
    typed = _given(replay, window, rows) | _responses(replay, window, rows) | _whole(replay)
    typed |= _rest(replay, window, rows, typed)
    typed |= logged_rows(replay, lines, window, typed) | logged_numbers(replay, lines, typed)
    notes = (*(compared_with(verdict) if verdict else ()), f"Shown: {window.label}.", *said_of(replay), *batch.notes)
    return MinibatchNumbers(
        name=name,
        title=name if batch.step is None else f"{name}, step {batch.step}",
        about=f"{len(window.episodes)} of {counted(len(batch.slots), 'response')} of a training minibatch, by preset {preset}",
        words=_words(batch, window),
        typed={key: _fifteen_digits(value) for key, value in typed.items()},
        ppo=_differences(replay.options, preset),
        conventions=Conventions(True, preset),
        focus=window.focus + 1,
        notes=notes,
    )


def said_of(replay: Replay) -> tuple[str, ...]:
    """Returns sentences on what of the workbook is not as a whole minibatch with every tensor would have it."""
    return (*stand_ins(replay.batch), *_shares(replay))


def _shares(replay: Replay) -> tuple[str, ...]:
    """Says of a part of a larger minibatch which numbers on Batch are of that, and where they come from."""
    length, share = replay["policy.weight.length"], replay.batch.share or Share()
    if share.slots is None and replay.counted("policy") == (length.sum(), (length > 0).sum()):
        return ()
    known = {"N_π": share.tokens, "N_V": share.tokens, "B_π_all": share.responses, "B_V_all": share.responses}
    symbols = [symbol for symbol, number in (known | {"T_most": share.slots}).items() if number is not None]
    whence = f", inferred from the {share.inferred_from} that the file logged" if share.inferred_from else ""
    return (
        "The file is a part of a larger minibatch, and its losses are its share of means over that: on Batch, "
        f"{', '.join(symbols)} are what the library divides by{whence}, and not counted here.",
    )


def stand_ins(batch: Minibatch) -> tuple[str, ...]:
    """Returns a sentence for every tensor that the dump lacks, on what stands there instead."""
    return tuple(sentence for name, sentence in STAND_IN.items() if name not in batch.tensors)


def _check(replay: Replay) -> None:
    for key in ("kl_estimator", "loss.kl_estimator"):
        require(
            replay.options[key] != "full",
            f"{key} is full: an exact KL needs every token's probability; --set {dotted(key)}=k1",
        )
    require(
        not number_of("policy_kl_coef", replay.options["policy_kl_coef"]),
        "policy_kl_coef is not 0: the policy KL needs every token's probability, which no dump has",
    )
    for quantity in ("advantages", "ratio"):
        lacking = replay.missing.get(quantity)
        require(
            not lacking or quantity in replay.started or lacking == "logprobs_new",
            f"{replay.batch.path} has no {lacking}, of which {quantity} are made: save it with the others",
        )


def _given(replay: Replay, window: Window, rows: Mapping[str, Array]) -> dict[str, Array]:
    """Returns what the dump says of each word, as the replay read it; where computation starts, that row instead."""
    batch, episodes = replay.batch, np.asarray(window.episodes)
    known = {name: np.asarray(each)[episodes] for name, each in replay.fed.known.items() if np.ndim(each)}
    slots = window.row(known["slots"][:, :-1], 1)
    columns = window.row(batch.first[episodes][:, None] + np.arange(batch.mask.shape[1])[None, :])
    found = {
        "episode.number": np.array([float(batch.file_row(each)) for each in window.episodes]),
        "mask": window.row(known["mask"]),
        "slots": slots,
        "slot.column": np.where(slots[:, :-1] > 0, columns, -1),
        "response.ended": known["response.ended"],
    }
    if "score.given" in _starts(replay):  # only a score of a response can pay for its length
        found["response.length"] = batch.mask[episodes].sum(axis=1).astype(float)
    there = [name for name, each in INPUTS.items() if name.endswith(".logprobs") or each in batch.tensors]
    found |= {name: window.row(known[name]) for name in there}
    score = known["score.given"]
    return found | {name: score if name == "score.given" else window.row(rows[name]) for name in _starts(replay)}


def _starts(replay: Replay) -> tuple[str, ...]:
    """Names the rows in which the computation starts: scores, or what the dump has of later ones."""
    if "advantages" in replay.started:
        return ("advantages_used", "returns") if "returns" in replay.started else ("advantages_used",)
    if "rewards" in replay.started:
        return ("rewards",)
    return ("score.placed",) if per_word(replay.batch) else ("score.given",)


def _responses(replay: Replay, window: Window, rows: Mapping[str, Array]) -> dict[str, Array]:
    """Returns what enters behind the window, and what is counted of each response."""
    names = ("policy.weight.length", "value.weight.length")
    known = replay.fed.known
    return {
        "response.padded": window.of(padded(np.asarray(known["slots"])[:, :-1], np.asarray(known["mask"]))),
        "after.words": window.behind(rows["place.until"]),
        "after.ahead": window.behind(rows["gae.ahead"]),
        "after.advantages": window.behind(rows["advantages"]),
        **{name: window.of(replay[name]) for name in names},
    }


def _whole(replay: Replay) -> dict[str, Array]:
    """Returns statistics and counts of the whole batch, and by how much rounding may lift a log-prob above 0.

    The checks allow what the dump's number format makes of a log-prob of 0.
    """
    rooms = {"old_policy": "logprobs_old", "new_policy": "logprobs_new", "reference": "logprobs_ref"}
    found = {name: replay.statistic(name) for name in STATISTICS}
    for policy, name in rooms.items():
        found[f"check.log_{policy}.tolerance"] = rounding(replay.batch.dtypes.get(name, "float64"))
    for part in ("policy", "value"):
        found |= dict(zip((f"{part}.words", f"{part}.responses"), replay.counted(part), strict=True))
    return {name: np.asarray(each) for name, each in found.items()}


def _rest(replay: Replay, window: Window, rows: Mapping[str, Array], typed: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the weighted sums over the words that are not shown: those of all words less those of the words shown.

    A guard that switches the losses off hides their sums; then all words are added up here.
    """
    numbers = replay.whole
    whole = {"entropy": numbers["entropy"], "kl": numbers["kl_loss"]}
    whole |= {"policy": -numbers["policy_loss"], "value": numbers["value_loss"]}
    if not numbers["loss.keep"]:
        for part in ("policy", "value"):
            weight, row = WEIGHED[part]
            whole[part] = float((replay[weight] * replay[row]).sum())
    shown = {part: window.row(rows[weight]) * window.row(rows[row]) for part, (weight, row) in WEIGHED.items()}
    shown["entropy"] = window.row(rows["entropy.weight.row"]) * typed.get("policy.entropy", 0.0)
    return {f"rest.{part}": np.asarray(whole[part] - float(each.sum())) for part, each in shown.items()}


def _words(batch: Minibatch, window: Window) -> tuple[tuple[str, ...], ...]:
    """Returns what stands for each word: its id, or its number within the response."""
    if "response_ids" not in batch.tensors:
        return tuple(tuple(f"token {each + 1}" for each in row) for row in window.slots())
    ids = window.row(window.of(batch.tensors["response_ids"]).astype(float))
    return tuple(tuple(f"#{int(each)}" for each in row) for row in ids)


def _differences(options: Mapping[str, Setting], preset: str) -> dict[str, float | str]:
    """Returns the settings in which the run differs from its preset."""
    of_preset = rlhf().preset(preset).values
    return {
        key: value for key, value in options.items()
        if key in of_preset and number_of(key, value) != number_of(key, of_preset[key])
    }  # fmt: skip


def _fifteen_digits(values: Array) -> Array:
    """Rounds to what a cell holds; what is not a number, because the dump has too little for it, is 0."""
    clean = np.nan_to_num(np.asarray(values, dtype=float), posinf=0.0, neginf=0.0)
    return np.asarray(np.vectorize(lambda value: float(f"{value:.15g}"), otypes=[float])(clean))


CALLED = {"rewards": "reward", "advantages": "advantage"}
"""By whitened tensor, the beginning of the names of its moments."""
WEIGHTS = {"policy_loss": "policy", "value_loss": "value", "kl_loss": "policy"}
"""By loss, the part whose weights it has; others have their own."""


def as_part(verdict: Verdict) -> Minibatch:
    """Returns the minibatch with moments and share as they were fitted to what its verdict leaves open; itself where nothing is.

    Computed again with them, its whitened numbers and its losses are those of the file.
    """
    found: Replay = verdict.replayed
    fitted = dict(found.batch.moments)
    fitted |= {CALLED[name]: _moments(CALLED[name], line, found) for name, line in verdict.left_open.items() if line}
    return replace(found.batch, moments=fitted, share=_share(verdict))


def _share(verdict: Verdict) -> Share | None:
    """Returns what the losses that are left open were divided by: so often more than the file has, as its own mean is larger."""
    found: Replay = verdict.replayed
    open_ = [
        each for each in (line.compared for line in verdict.lines) if each.name in {*PARTS} & verdict.left_open.keys()
    ]
    sure = max(open_, key=lambda each: abs(each.recomputed or 0.0) / (each.allowed or inf), default=None)
    if sure is None or not sure.recomputed or not sure.logged:
        return found.batch.share
    part = WEIGHTS.get(sure.name, sure.name)
    tokens, responses = (count * sure.recomputed / sure.logged for count in found.counted(part))
    return Share(tokens, responses, inferred_from=sure.name)


def _moments(name: str, line: Straight, found: Replay) -> Moments:
    """Returns count, mean and squares that give a line's mean and deviation by the conventions in force.

    How many numbers were whitened is not known: as many as are here, whose squares then come to that deviation.
    """
    known, whole = found.options, found.whole
    count = whole[f"{name}.count"]
    divided_by = max(1.0, count) + float(known["advantage.mean_eps"])
    squares = _variance(1 / line.slope, known) * divided_by / whole[f"{name}.bessel"]
    mean = line.mean * divided_by / count
    return Moments(count, mean, squares - count * (mean - line.mean) ** 2)


def _variance(deviation: float, known: Mapping[str, float | str]) -> float:
    """Returns the variance whose deviation, in the form in force, is what numbers were divided by."""
    eps = float(known["whiten_eps"])
    forms = {
        "rsqrt_var_plus": deviation**2 - eps,
        "clamp": deviation**2,
        "std_plus": (deviation - eps) ** 2,
        "std_max": deviation**2,
    }
    return max(0.0, forms[str(known["advantage.eps_form"])])


VERIFIER = Verifier(known_device, verify_steps, shown, as_part, joined_pass)
