"""Which settings and presets say something where log-probs of responses alone are given: no logits, no prompts, no pads."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from blueprint.inputs import Catalogue, NumbersError, Setting, refusal
from blueprint.inputs.catalogue import Preset
from blueprint.workbooks.common import Choices, fixed
from blueprint.workbooks.common.settings import Settings
from blueprint.workbooks.dpo.schema import DPO, READ_BY, Readers, dpo_presets, reader_in

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
    settings = {
        key: _fewer(each, left.get(key)) for key, each in whole.settings.items() if len(left.get(key, "two")) > 1
    }
    presets = {name: _fitting(each, per, settings) for name, each in whole.presets.items() if not lost(each, per)}
    return replace(whole, settings=settings, presets=presets)


def _fewer(setting: Setting, words: tuple[Any, ...] | None) -> Setting:
    """Return a setting with the words that are left; the default is the first of them, if it was none of them."""
    if words is None:
        return setting
    return replace(setting, words=words, value=setting.value if setting.value in words else words[0])


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


def _fitting(preset: Preset, per: str, settings: Mapping[str, Setting]) -> Preset:
    """Return a preset whose words are all among those that are left."""
    words = WITHOUT[per]
    fitted = {key: settings[key].value for key in settings if key in words and preset.values[key] not in words[key]}
    return replace(preset, values={**preset.values, **fitted})


def completed(use: Choices, per: str) -> Choices:
    """Return choices with a number or a word for every setting of the kind; those that cannot be chosen stand where they may."""
    single = {key: replace(DPO[key], value=words[0]) for key, words in WITHOUT[per].items() if len(words) == 1}
    rest = fixed(Settings(), {**DPO, **single})
    return replace(use, used={**rest.used, **use.used}, switch={**rest.switch, **use.switch})


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
    _check_read(set(parts), {**presets_of(per).presets[name].values, **asked})


def _check_read(given: set[str], in_force: Mapping[str, float | str]) -> None:
    """Check that no setting in force reads what is not given. Raises NumbersError, with what it reads."""
    if "reference.chosen" not in given:
        given = given | {"mismatched.chosen"}  # the policy is the reference: there is no KL on any response
    for part, readers in READS.items():
        if part not in given and (asked := reader_in(readers, in_force)):
            key, word = asked
            raise refusal(key, f"{word} without {part}", f"{part} in the file, which it reads, or another setting")
