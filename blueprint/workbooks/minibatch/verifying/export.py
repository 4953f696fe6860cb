"""From a minibatch that was computed again to the numbers of a workbook: a few words, and what the whole batch says of them."""

from collections.abc import Mapping

import numpy as np

from blueprint.dumps import Array, Minibatch, MinibatchError, rounding
from blueprint.inputs.setting import dotted
from blueprint.verifying import Chosen, Replay, Shown, Verdict, ViewOptions, text_of
from blueprint.verifying.file_inputs import TENSORS, per_word, texts_of
from blueprint.verifying.settings import Setting, number_of, options_of
from blueprint.workbooks.common.conventions.data import Conventions, rlhf
from blueprint.workbooks.minibatch.numbers import MinibatchNumbers
from blueprint.workbooks.minibatch.verifying.logged_values import agreement, logged_numbers, logged_rows
from blueprint.workbooks.minibatch.verifying.window import Picked, Window, window_of

ROWS = {
    "old.logprobs": "old_logprobs",
    "policy.logprobs": "logprobs",
    "reference.logprobs": "reference_logprobs",
    "old_critic.values": "old_values",
    "critic.values": "values",
    "policy.entropy": "entropy",
}
"""By name of a block, the input of the replay that is typed there."""

ALWAYS = ("old.logprobs", "policy.logprobs", "reference.logprobs")
STAND_IN = {
    "logprobs_new": "The dump has no logprobs_new: those of the old policy stand there, so that every ratio is 1.",
    "logprobs_ref": "The dump has no logprobs_ref: those of the old policy stand there, so that the KL is 0.",
    "entropy": "The dump has no entropy: the workbook has no entropy bonus.",
    "values_new": "The dump has no values_new: the workbook has no value loss.",
}
"""What is said of a tensor that the dump has not."""

STATISTICS = (
    "loss.mean_ratio", "reward.count", "reward.mean", "reward.variance", "advantage.count",
    "advantage.mean", "advantage.variance",
)  # fmt: skip


def shown(verdict: Verdict, chosen: Chosen, options: ViewOptions) -> Shown:
    """Shows a few words of a minibatch. Raises MinibatchError for rows that are not there, and other such wishes."""
    found, window = verdict.replayed, window_of(verdict, options)
    return Shown(
        window.told,
        stand_ins(found.batch),
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
    batch, picked = replay.batch, Picked(window)
    rows = replay.rows(window.episodes)
    typed = _given(replay, window, picked, rows) | _responses(replay, window, picked, rows) | _whole(replay)
    lines = verdict.lines if verdict else ()
    typed |= _rest(replay, picked, rows, typed) | _room(batch)
    typed |= logged_rows(replay, lines, picked, typed) | logged_numbers(replay, lines, typed)
    step = f", step {batch.step}" if batch.step is not None else ""
    said = told(verdict) if verdict else ()
    notes = (*said, f"Shown: {window.told}.", *stand_ins(batch), *batch.notes)
    return MinibatchNumbers(
        name=name,
        title=f"{name}{step}",
        about=f"{len(window.episodes)} of {len(batch.slots)} responses of a training minibatch, by preset {preset}",
        words=_words(batch, window, picked),
        typed={key: _fifteen_digits(value) for key, value in typed.items()},
        ppo=_differences(replay.options, preset),
        conventions=Conventions(True, preset),
        focus=window.focus + 1,
        notes=notes,
    )


def stand_ins(batch: Minibatch) -> tuple[str, ...]:
    """Returns a sentence for every tensor that the dump lacks, on what stands there instead."""
    return tuple(sentence for name, sentence in STAND_IN.items() if name not in batch.tensors)


def told(verdict: Verdict) -> tuple[str, ...]:
    """Returns in sentences what came of comparing with what the library logged: a summary, then what deviates, and why."""
    says = (f"{line.called} {line.says}" for line in verdict.lines)
    found = (
        text_of(verdict).splitlines()[len(verdict.lines) + 1 :] if verdict.lines else ["The library logged no results."]
    )
    more = [line.strip() for line in found if line.strip() and not line.startswith("Note: ")]
    return (*([f"Compared: {', '.join(says)}."] if verdict.lines else []), *more)


def _room(batch: Minibatch) -> dict[str, Array]:
    """Returns by how much a log-prob may lie above 0 by rounding: the checks allow that of the dump's number format."""
    rooms = {"old_policy": "logprobs_old", "new_policy": "logprobs_new", "reference": "logprobs_ref"}
    return {
        f"check.log_{policy}.tolerance": np.asarray(rounding(batch.dtypes.get(name, "float64")))
        for policy, name in rooms.items()
    }


def _check(replay: Replay) -> None:
    for key in ("kl_estimator", "loss.kl_estimator"):
        if replay.options[key] == "full":
            raise MinibatchError(f"{key} is full: an exact KL needs every word's probability; --set {dotted(key)}=k1")
    if number_of("policy_kl_coef", replay.options["policy_kl_coef"]):
        raise MinibatchError("policy_kl_coef is not 0: the policy KL needs every word's probability, which no dump has")
    for quantity in ("advantages", "ratio"):
        lacking = replay.missing.get(quantity)
        if lacking and quantity not in replay.started and lacking != "logprobs_new":
            raise MinibatchError(
                f"{replay.batch.path} has no {lacking}, of which {quantity} are made: save it with the others"
            )


def _given(replay: Replay, window: Window, picked: Picked, rows: Mapping[str, Array]) -> dict[str, Array]:
    """Returns what the dump says of each word, as the replay read it; where computation starts, that row instead."""
    batch, episodes = replay.batch, np.asarray(window.episodes)
    texts = texts_of(batch, episodes, options_of(replay.options))
    found = {
        "episode.number": np.array([float(batch.file_row(each)) for each in window.episodes]),
        "mask": picked.row(texts.mask[0].numpy()),
        "slots": picked.row(texts.slots[0].numpy(), 1),
        "response.ended": texts.ended[0].numpy(),
    }
    columns = picked.row(batch.first[episodes][:, None] + np.arange(batch.mask.shape[1])[None, :])
    found["slot.column"] = np.where(found["slots"][:, :-1] > 0, columns, -1)
    for name, each in ROWS.items():
        if name in ALWAYS or TENSORS[each] in batch.tensors:
            found[name] = picked.row(getattr(texts, each)[0].numpy())
    return found | _starts(replay, picked, rows, texts.score[0].numpy())


def _starts(replay: Replay, picked: Picked, rows: Mapping[str, Array], score: Array) -> dict[str, Array]:
    """Returns the rows in which the computation starts: scores, or what the dump has of later ones."""
    started, found = replay.started, {}
    if "advantages" in started:
        found["advantages_used"] = picked.row(rows["advantages_used"])
        return found | ({"returns": picked.row(rows["returns"])} if "returns" in started else {})
    if "rewards" in started:
        return {"rewards": picked.row(rows["rewards"])}
    return {"score.placed": picked.row(rows["score.placed"])} if per_word(replay.batch) else {"score.given": score}


def _responses(replay: Replay, window: Window, picked: Picked, rows: Mapping[str, Array]) -> dict[str, Array]:
    """Returns what enters behind the window, and what is counted of each response."""
    episodes = list(window.episodes)
    found = {
        "after.words": picked.behind(rows["place.until"]),
        "after.ahead": picked.behind(rows["gae.ahead"]),
        "after.advantages": picked.behind(rows["advantages"]),
        "response.padded": replay.responses["response.padded"][episodes],
    }
    return found | {
        f"{part}.weight.length": replay.responses[f"{part}.weight.length"][episodes] for part in ("policy", "value")
    }


def _whole(replay: Replay) -> dict[str, Array]:
    found = {name: np.asarray(replay.whole[name]) for name in STATISTICS}
    found["response.most"] = np.asarray(replay.whole["response.most"])
    for part in ("policy", "value"):
        length = replay.responses[f"{part}.weight.length"]
        found |= {f"{part}.words": np.asarray(length.sum()), f"{part}.responses": np.asarray((length > 0).sum())}
    return found


def _rest(replay: Replay, picked: Picked, rows: Mapping[str, Array], typed: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the weighted sums over the words that are not shown: those of all words less those of the words shown."""
    of_value, of_policy = _sums(replay)
    entropy = typed.get("policy.entropy", 0.0)
    shown = {
        "policy": picked.row(rows["policy.weight.row"]) * picked.row(rows["surrogate"]),
        "value": picked.row(rows["value.weight.row"]) * picked.row(rows["value.word_loss"]),
        "entropy": picked.row(rows["entropy.weight.row"]) * entropy,
        "kl": picked.row(rows["policy.weight.row"]) * picked.row(rows["kl_new.used"]),
    }
    whole = {"policy": of_policy, "value": of_value, "entropy": replay.whole["entropy"], "kl": replay.whole["kl_loss"]}
    return {f"rest.{part}": np.asarray(whole[part] - float(shown[part].sum())) for part in shown}


def _sums(replay: Replay) -> tuple[float, float]:
    """Returns the weighted sums of value losses and surrogates; a guard that switches the losses off hides them."""
    if replay.whole["loss.keep"]:
        return replay.whole["value_loss"], -replay.whole["policy_loss"]
    pairs = (("value.weight.row", "value.word_loss"), ("policy.weight.row", "surrogate"))
    names = tuple(name for pair in pairs for name in pair)
    found = [0.0, 0.0]
    for _, rows in replay.tiles(names):
        for at, (weight, weighed) in enumerate(pairs):
            found[at] += float((rows[weight] * rows[weighed]).sum())
    return found[0], found[1]


def _words(batch: Minibatch, window: Window, picked: Picked) -> tuple[tuple[str, ...], ...]:
    """Returns what stands for each word: its id, or its number within the response."""
    episodes = list(window.episodes)
    if "response_ids" in batch.tensors:
        ids = picked.row(batch.tensors["response_ids"][episodes].astype(float))
        return tuple(tuple(f"#{int(each)}" for each in row) for row in ids)
    return tuple(tuple(f"word {each + 1}" for each in row) for row in picked.at)


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
