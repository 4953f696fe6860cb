"""What a file of numbers of DPO and its relatives may hold, a level each: logits of pairs ("preferences"), prompts and weights of
two models ("choices"), and log-probs of pairs of one's own ("pair-logprobs"); with settings and presets that say something there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.inputs import (
    LONGEST,
    ROWS,
    Catalogue,
    Draft,
    Level,
    Numbers,
    NumbersError,
    Part,
    Values,
    catalogue,
    check_one_more,
    padded,
    refusal,
    settings_in,
    shown,
    within,
)
from blueprint.inputs.catalogue import Preset
from blueprint.inputs.entries import About, Flag, LogProb, Number, Positive, Prompt, Text, Word, Written
from blueprint.workbooks.common import numbers_file, rollout, update
from blueprint.workbooks.common.numbers_file import compared_by_name, parts_of_presets

FOLDER = Path(__file__).parent
RECORDS = settings_in(FOLDER)
DPO = RECORDS.settings
"""The settings, their records being `conventions.toml`."""
PRESETS = parts_of_presets("trl_1.16", "openrlhf")
FIRST = "the first token of a text, which nothing predicts, has no entry"
"""Why a text has one position less than tokens."""
SETTINGS = "settings; one that is left out is as in the preset"
_SLOTS = ("response", "position")
MODELS = {"policy": "the policy in training", "reference": "the reference"}
Readers = tuple[tuple[str, tuple[str, ...]], ...]
"""Settings that read something: with these words, or, where there are none, if it is not the default."""
READ_BY: Mapping[str, Readers] = {
    "rewards": (("loss.form", ("rpo_squared", "rpo_backward", "rpo_forward")),),
    "mismatched": (("loss.form", ("kto",)),),
}
"""By table of a numbers file what reads it; to all others it may be left out."""


def reader_in(readers: Readers, in_force: Mapping[str, float | str]) -> tuple[str, float | str] | None:
    """Return the first setting in force that reads something, with its word; None where none does."""
    for key, words in readers:
        if in_force[key] in words if words else in_force[key] != DPO[key].value:
            return key, in_force[key]
    return None


@cache
def dpo_presets() -> Catalogue:
    """Read the presets of DPO and its relatives: the default and the libraries, by version."""
    return catalogue(FOLDER, RECORDS)


def _checked_preferences(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, tables differ in shape, a token is unknown, or a pair is not one chosen and
            one rejected response.
    """
    parts = compared_by_name(draft.fitted(), dpo_presets())
    check_one_more(parts, "text.texts", "text.response", FIRST)
    _check_logits_read(parts, draft.settings)
    numbers_file.check_words(parts, "text.texts", "mismatched.texts")
    found = sorted(zip(parts["text.pair"], parts["text.chosen"], strict=True))
    pairs = [(number, chosen) for number in range(1, len(found) // 2 + 1) for chosen in (0, 1)]
    if not np.array_equal(np.array(found, dtype=float), np.array(pairs, dtype=float)):
        raise refusal("text.pair", "pairs that are not one chosen and one rejected response each", "1, 1, 2, 2, …")
    return draft.numbers(parts)


def _check_logits_read(parts: Mapping[str, Any], settings: Mapping[str, float | str]) -> None:
    """Check that everything is given that a loss in use reads, and of mismatched texts all or nothing.

    Raises:
        NumbersError: with what reads what is missing.
    """
    used: list[Mapping[str, float | str]] = [{**dpo_presets().preset(parts["preset"]).values, **settings}]
    used += [dpo_presets().preset(name).values for name in parts["compare"]]
    for table, readers in READ_BY.items():
        keys = [part.key for part in PREFERENCES.parts if part.key.startswith(f"{table}.")]
        missing = [key for key in keys if key not in parts]
        asked = next(filter(None, (reader_in(readers, in_force) for in_force in used)), None)
        if missing and asked:
            key, word = asked
            raise refusal(
                missing[0], f"nothing, and {key} = {shown(word)} reads it", f"{', '.join(missing)}; or another loss"
            )
        if missing and len(missing) < len(keys):
            raise refusal(missing[0], "nothing", f"all of {', '.join(keys)}, or none of them")


def _unasked(numbers: Numbers) -> Values:
    """Return what stands for what no loss in use reads: true rewards of 0, and each text itself, as both models alike see it."""
    own = np.array(numbers["policy.logits"])
    unasked = {
        "rewards.true": np.zeros(len(own)),
        "mismatched.texts": np.array([row[1:] for row in numbers["text.texts"]], dtype=object),
        "mismatched.response": numbers["text.response"],
        **dict.fromkeys((f"mismatched.{name}" for name in MODELS), own),
    }
    missing = [part for part in PREFERENCES.parts if part.key in unasked and part.key not in numbers.parts]
    return {
        "pair.column": np.arange(1.0, 1 + len(own) // 2),
        **{part.block: unasked[part.key] for part in missing},
    }


PREFERENCES = Level(
    "dpo",
    "preferences",
    "logits of pairs of responses, one chosen and one rejected, are given",
    parts=(
        *PRESETS,
        Part("text.vocabulary", Word, ("token",), "tokens differ by more than capitals", noun="token", block="vocabulary"),
        Part("text.texts", Word, ("response", "token of the text"), "a text per row, its prompt first, pads last",
             noun="token", block="word_written"),
        Part("text.response", Flag, _SLOTS, "1 on the tokens of the response; the first token of a text has no entry",
             block="mask"),
        Part("text.there", Flag, _SLOTS, "1 on prompt and response, 0 on pads; the first token of a text has no entry",
             block="text.mask"),
        Part("text.pair", Positive, ("response",), "the number of the pair", block="pair.number"),
        Part("text.chosen", Flag, ("response",), "1 on the chosen response of the pair", block="response.chosen"),
        Part("rewards.true", Number, ("response",), "the true reward of each response, which RPO alone reads; else 0", None,
             block="true.reward"),
        Part("mismatched.texts", Word, _SLOTS, "for KTO alone: each prompt with the response to another one", None, noun="token",
             block="mismatched.word_written"),
        Part("mismatched.response", Flag, _SLOTS, "1 on the tokens of the mismatched response", None,
             block="mismatched.tokens"),
        *(Part(f"{name}.logits", Number, (*_SLOTS, "token"), f"{says}: a list per response, a row per position",
                block=f"{name}.logits")
          for name, says in MODELS.items()),
        *(Part(f"mismatched.{name}", Number, (*_SLOTS, "token"), f"{says} on the mismatched texts", None,
                block=f"mismatched.{name}.logits")
          for name, says in MODELS.items()),
    ),
    tables={
        **dict.fromkeys(RECORDS.titles, SETTINGS), "text": "what was asked, chosen and rejected", "rewards": "what was meant",
        "mismatched": "each prompt with another response", **MODELS, "reference": "logits, and settings",
    },
    settings=DPO,
    of_settings="dpo",
    presets=dpo_presets,
    limits={"response": ROWS, "position": (1, LONGEST), "token": (2, 64), "token of the text": (2, LONGEST + 1)},
    why={"position": FIRST},
    make=_checked_preferences,
    more_typed=_unasked,
)  # fmt: skip


LETTERS = ("E", "W", "Y")
REFERENCE = tuple(f"reference.{letter}" for letter in LETTERS)
DELTAS = tuple(f"policy.delta_{letter}" for letter in LETTERS)
STEP = "policy.update_step"
OTHERS = "mismatched.responses"
Texts = tuple[tuple[str, ...], ...]


def each_response(numbers: Numbers) -> tuple[Texts, Texts, Texts]:
    """Returns the prompt, the response and the mismatched response of each column: chosen and rejected ones in turn."""
    prompts = tuple(prompt for prompt in numbers["text.prompts"] for _ in range(2))
    return prompts, in_turn(numbers["text.chosen"], numbers["text.rejected"]), numbers[OTHERS]


def in_turn(chosen: Sequence[Any], rejected: Sequence[Any]) -> tuple[Any, ...]:
    """Lays what chosen and rejected responses have out in the order of the sheet."""
    return tuple(each for pair in zip(chosen, rejected, strict=True) for each in pair)


def side_by_side(pairs: int) -> Values:
    """Return which response is which, and which column that of which pair, where both of each pair stand side by side."""
    places = np.arange(1.0, 1 + pairs)
    return {
        "pair.number": np.repeat(places, 2),
        "pair.column": places,
        "response.chosen": np.tile([1.0, 0.0], pairs),
    }


def _checked_choices(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, tables differ in shape, a token is unknown, or steps are described where none
            is taken.
    """
    parts = compared_by_name(draft.fitted(), dpo_presets())
    numbers_file.check_texts(parts, "text.chosen", "text.rejected", *([OTHERS] if OTHERS in parts else []))
    numbers_file.check_inputs(parts, "reference")
    responses = in_turn(parts["text.chosen"], parts["text.rejected"])
    # As KTO in TRL: the response of the next row stands behind the prompt of this one.
    parts.setdefault(OTHERS, (*responses[1:], responses[0]))
    if len(parts[OTHERS]) != len(responses):
        raise refusal(OTHERS, f"{len(parts[OTHERS])} responses", f"{len(responses)}, two per prompt")
    for side in ("chosen", "rejected"):
        parts.setdefault(f"rewards.{side}", np.zeros(len(parts["text.prompts"])))
    parts = update.with_update(draft, parts)
    none = {key: np.zeros_like(parts[of], dtype=float) for key, of in zip(DELTAS, REFERENCE, strict=True)}
    if parts[update.UPDATE].by != update.TYPED:  # Where an optimiser moves the policy, nothing else does.
        parts |= none | {STEP: 1.0}
    return draft.numbers(none | parts)


def _saved_choices(file: Any, parts: Values) -> Values:
    """Return the texts of each pair, its true rewards, and what moves the policy."""
    number, good = (np.nan_to_num(file.array(name, 1)) for name in ("pair.number", "response.chosen"))
    order = np.lexsort((-good, number)) if number.any() else np.arange(len(number))
    columns = file.array("given", 2).shape[1]
    # Of a blank workbook one knows how many columns there are, and takes each prompt for one token long.
    prompts, responses, others = (
        tuple(
            tuple(filter(None, row)) or parts["text.vocabulary"][-1:] * blank
            for row in np.array(file.array(name, 2))[order]
        )
        for name, blank in (("given", 1), ("text.response", columns - 1), ("mismatched.response", columns - 1))
    )
    true = file.array("true.reward", 1)[order]
    return {
        "text.prompts": prompts[::2],
        "text.chosen": responses[::2],
        "text.rejected": responses[1::2],
        OTHERS: others,
        "rewards.chosen": true[::2],
        "rewards.rejected": true[1::2],
        STEP: float(file.array("update_step", 0)) if "update_step" in file else 1.0,
        **{
            key: file.array(block) if (block := numbers_file.block_name(key)) in file else np.zeros_like(parts[of])
            for key, of in zip(DELTAS, REFERENCE, strict=True)
        },
        **update.saved_update(file, parts),
    }  # fmt: skip


def _typed_choices(numbers: Numbers) -> Values:
    """Return the texts of each pair, which response is which, and what moves the policy where no optimiser does."""
    prompts, responses, others = each_response(numbers)
    columns = rollout.columns_of(prompts, responses, others)
    given, answers = rollout.laid_out(prompts, responses, columns)
    moves = numbers[update.UPDATE].by == update.TYPED
    deltas = {numbers_file.block_name(key): numbers[key] for key in DELTAS}
    return {
        "given": given,
        rollout.GIVEN_RESPONSE: answers,
        "mismatched.response": rollout.laid_out(prompts, others, columns)[1],
        "true.reward": np.array(in_turn(numbers["rewards.chosen"], numbers["rewards.rejected"])),
        **side_by_side(len(prompts) // 2),
        **({"update_step": numbers[STEP], **deltas} if moves else {}),
    }


CHOICES = Level(
    "dpo",
    "choices",
    "prompts with a chosen and a rejected response each, and the weights of the models that read them",
    parts=(
        *PRESETS,
        *update.PARTS,
        Part("text.vocabulary", Word, ("token",), "the first token ends a text; tokens differ by more than capitals", noun="token",
             block="vocabulary"),
        *(Part(f"text.{key}", Prompt, ("pair",), about, noun="text") for key, about in (
            ("prompts", "tokens of the vocabulary, blanks between them; a prompt for each pair"),
            ("chosen", "the chosen response of each pair, its end token included"),
            ("rejected", "the rejected response of each pair"),
        )),
        Part("rewards.chosen", Number, ("pair",), "the true reward of each chosen response, which RPO alone reads", None, 1.0, "0"),
        Part("rewards.rejected", Number, ("pair",), "the same of each rejected response", None, 0.0, "0"),
        Part(OTHERS, Prompt, ("response",), "for KTO: what stands behind each prompt in place of its response, chosen and rejected "
             "in turn", None, noun="text", otherwise="the response of the next row"),
        *map(numbers_file.weight, REFERENCE),
        Part(STEP, Number, (), "policy = reference + update_step · delta", 1.0),
        *(numbers_file.weight(key)._replace(default=None, block="", otherwise="0: the policy is the reference") for key in DELTAS),
    ),
    tables={
        **dict.fromkeys(RECORDS.titles, SETTINGS), "update": update.ABOUT, "text": "what was asked, chosen and rejected",
        "rewards": "what was meant", "mismatched": "each prompt with another response", **MODELS,
        "reference": "the frozen model from before: weights, and settings", "policy": "policy = reference + update_step · delta",
    },
    settings=DPO,
    of_settings="dpo",
    presets=dpo_presets,
    limits={"pair": (1, ROWS[1] // 2), "response": (2, ROWS[1]), **numbers_file.LIMITS},
    make=_checked_choices,
    values=update.stated,
    more_typed=_typed_choices,
    more_saved=_saved_choices,
)  # fmt: skip


BY_RESPONSE = "response"
PER = ("token", BY_RESPONSE)
"""What a log-prob is of."""
WITHOUT: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "token": {"loss.weight": ("off",), "loss.nll_region": ("response",), "logp.ld_from": ("response",),
              "logp.of": ("sum", "mean", "mean_nonzero"), "loss.nll_mean": ("token", "sequence_mean", "sequence_sum")},
    BY_RESPONSE: {"loss.weight": ("off",), "loss.nll_region": ("response",), "logp.ld_from": ("response",), "logp.of": ("sum",),
                  "logp.ld": ("off",), "logp.ld_alpha": (1,), "loss.nll_mean": ("sequence_sum", "sequence_mean"),
                  "loss.form": tuple(word for word in DPO["loss.form"].words if word != "orpo_tokens")},
}  # fmt: skip
"""What a setting may still be; one of which a single value is left cannot be chosen. Else it would read logits (WPO), the prompt,
pads, or, where a number is that of a whole response, tokens."""
GIVEN_AS = "logp.of"
"""Where a number is that of a whole response, the sum or the mean is taken already: whichever the library takes."""
READS: Mapping[str, Readers] = {
    "policy.chosen": (("reference.used", ("off",)), ("loss.form", ("orpo", "orpo_tokens")),
                      ("loss.nll_coef", ()), ("logp.alpha", ())),
    "rewards.chosen": READ_BY["rewards"],
    "mismatched.chosen": READ_BY["mismatched"],
}  # fmt: skip
"""By what may be missing the settings that read it."""


@cache
def presets_of(per: str) -> Catalogue:
    """Read the presets and settings that say something where log-probs of tokens, or of responses, are given."""
    whole, left = dpo_presets(), WITHOUT[per]
    settings = {key: each for key, each in whole.settings.items() if len(left.get(key, "two")) > 1}
    for key in settings.keys() & left.keys():
        setting, words = settings[key], left[key]
        settings[key] = replace(setting, words=words, value=setting.value if setting.value in words else words[0])
    presets = {name: each for name, each in whole.presets.items() if not lost(each, per)}
    for name, preset in presets.items():
        stray = [key for key in settings.keys() & left.keys() if preset.values[key] not in left[key]]
        presets[name] = replace(preset, values={**preset.values, **{key: settings[key].value for key in stray}})
    return replace(whole, settings=settings, presets=presets)


def lost(preset: Preset, per: str) -> str:
    """Return the first setting of a preset that says something else than what is left of it; "" if there is none."""
    means = preset.values[GIVEN_AS] != "sum"
    if per == BY_RESPONSE and means and preset.values["watch.rewards"] == "sum":
        return "watch.rewards"
    for key, words in WITHOUT[per].items():
        silent = key.startswith("loss.nll") and preset.values["loss.nll_coef"] == 0
        if preset.values[key] not in words and not silent and not (per == BY_RESPONSE and key == GIVEN_AS):
            return key
    return ""


def check_asked(parts: Mapping[str, Any], asked: Mapping[str, float | str]) -> None:
    """Check that preset and settings read nothing that is not given.

    Raises:
        NumbersError: if there is no such preset, or one reads what is not given.
    """
    per, name = parts["per"], parts["preset"]
    preset = dpo_presets().preset(name)
    if key := lost(preset, per):
        raise NumbersError(
            f'preset {name}: its {key} is "{preset.values[key]}", which log-probs of each {per} do not say; '
            f'choose another preset, or begin with logits, at level "preferences".'
        )
    for key, value in asked.items():
        words = WITHOUT[per].get(key, ())
        if words and value not in words:
            allowed = " or ".join(map(str, words))
            raise refusal(key, str(value), f"{allowed}, which is all that log-probs of each {per} say")
    given, in_force = set(parts), {**presets_of(per).presets[name].values, **asked}
    if "reference.chosen" not in given:
        given = given | {"mismatched.chosen"}  # the policy is the reference: there is no KL on any response
    for part, readers in READS.items():
        if part not in given and (reader := reader_in(readers, in_force)):
            key, word = reader
            raise refusal(key, f"{word} without {part}", f"{part} in the file, which it reads, or another setting")


SIDES = ("chosen", "rejected")
LOGPROBS = {
    "policy": "the policy in training; without them this is a first step, and 0 stands for each",
    "reference": "the reference; without them this is a first step, and the policy stands there",
}
"""Whose log-probs may be given, and what holds without them."""
SINGLES = {"mismatched": "mismatched.ratio", "rewards": "true.reward"}
"""By table of a file the block of its numbers, one for each response."""
NUMBERS = {
    "mismatched": "log-ratio of the policy to the reference on the prompt with another response, which KTO alone reads; else 0",
    "rewards": "true reward of the response, which RPO alone reads; else 0",
}
"""Numbers of each response, and what holds without them."""
MOST_PAIRS = (1, 32)
"""The least and the most pairs: both responses of each stand side by side."""


def _checked_pair_logprobs(draft: Draft) -> Numbers:
    """Make the numbers of a checked file.

    Raises:
        NumbersError: if there is no such preset, lists differ in length, nothing was written, only one side of something is
            given, or a setting reads what is not given.
    """
    parts = draft.fitted()
    if parts["per"] not in PER:
        raise refusal("per", parts["per"], "token or response")
    for table in (*LOGPROBS, *NUMBERS):
        one, other = (f"{table}.{side}" for side in SIDES)
        if (one in parts) != (other in parts):
            raise refusal(table, "numbers of one side of the pairs", f"both {one} and {other}, or neither")
    if "reference.chosen" in parts and "policy.chosen" not in parts:
        raise refusal("reference.chosen", "log-probs", "those of policy.chosen, too, with which they are compared")
    if not any(len(row) for side in SIDES for row in parts[f"text.{side}"]):
        raise refusal("text.chosen", "no token in any response", "a token in at least one of them")
    for side in SIDES if parts["per"] == BY_RESPONSE else ():
        for place, row in enumerate(parts[f"text.{side}"], start=1):
            if len(row) != 1:
                raise refusal(f"text.{side}, row {place}", f"{len(row)} tokens", 'one text, where per is "response"')
    check_asked(parts, draft.settings)
    return draft.numbers(parts)


def _saved_pair_logprobs(file: Any, parts: Values) -> Values:
    """Return texts and log-probs of both sides; what they are of is known by the settings on offer."""
    mask = file.array("mask", 2)
    found = {"text": within(file.array("word_written", 2), mask, str)}
    found |= {
        name: within(file.array(f"{name}.logprobs", 2), mask, float) for name in LOGPROBS if f"{name}.logprobs" in file
    }
    if not any(map(any, found["policy"])):
        del found["policy"]  # a probability of 1 on every token: nobody gave them
    found |= {table: file.array(block, 1).tolist() for table, block in SINGLES.items()}
    sides = {f"{table}.{side}": tuple(rows[at::2]) for table, rows in found.items() for at, side in enumerate(SIDES)}
    per = PER[0] if "logp.of" in file else BY_RESPONSE
    return {"per": per, "preset": file.preset(presets_of(per)), **sides}


def _typed_pair_logprobs(numbers: Numbers) -> Values:
    """Return texts and log-probs of each response, chosen and rejected ones in turn; behind them 0 or nothing."""
    rows = {
        table: in_turn(*(numbers[f"{table}.{side}"] for side in SIDES))
        for table in ("text", *LOGPROBS, *NUMBERS)
        if f"{table}.{SIDES[0]}" in numbers.parts
    }
    count, width = len(rows["text"]), max(map(len, rows["text"]))
    return {
        "word_written": padded(rows["text"], width),
        "mask": padded([[1.0] * len(row) for row in rows["text"]], width, 0.0),
        "policy.logprobs": np.zeros((count, width)),
        **{f"{name}.logprobs": padded(rows[name], width, 0.0) for name in LOGPROBS if name in rows},
        **{block: np.array(rows.get(table, [0.0] * count)) for table, block in SINGLES.items()},
        **side_by_side(count // 2),
    }


def _of(side: str) -> tuple[str, str]:
    return "pair", f"token of the {side} response"


PAIR_LOGPROBS = Level(
    "dpo",
    "pair-logprobs",
    "pairs of one's own are given, with log-probs where there are any",
    parts=(
        PRESETS[0],
        Part("per", Text, (), 'what has a log-prob: each "token", or each "response", as the loss takes it', PER[0]),
        Part("text.prompts", About, ("pair",), "a line for each pair", noun="prompt", block="prompt"),
        *(Part(f"text.{side}", Written, _of(side), f"the {side} response to each prompt, its tokens; ? for one that is not known",
               noun="token") for side in SIDES),
        *(Part(f"{name}.{side}", LogProb, _of(side), f"{side}: {says}", None) for name, says in LOGPROBS.items() for side in SIDES),
        *(Part(f"{name}.{side}", Number, ("pair",), f"{side}: {says}", None) for name, says in NUMBERS.items() for side in SIDES),
    ),
    tables={
        **dict.fromkeys(RECORDS.titles, SETTINGS), "text": "what was asked, chosen and rejected",
        **{name: f"log-probs: {says.partition(';')[0]}" for name, says in LOGPROBS.items()},
        "reference": "log-probs, and settings", **{name: says.partition(",")[0] for name, says in NUMBERS.items()},
    },
    settings=presets_of(PER[0]).settings,
    accepts=DPO,
    of_settings="dpo",
    presets=lambda: presets_of(PER[0]),
    limits={"pair": MOST_PAIRS, **{_of(side)[1]: (0, LONGEST) for side in SIDES}},
    ragged=tuple(_of(side)[1] for side in SIDES),
    make=_checked_pair_logprobs,
    more_typed=_typed_pair_logprobs,
    more_saved=_saved_pair_logprobs,
)  # fmt: skip
