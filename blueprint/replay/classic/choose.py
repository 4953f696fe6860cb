"""The settings to hold a rollout against: a preset, what the file says over it, and what the user says over both."""

from __future__ import annotations

from collections.abc import Sequence

from blueprint.minibatch import MinibatchError
from blueprint.minibatch.classic import Rollout
from blueprint.numbers import CLASSIC, NumbersError, Preset, classic_presets
from blueprint.numbers.conventions import OFF, says_off
from blueprint.numbers.errors import nearest, suggestion
from blueprint.quoting import unquoted
from blueprint.replay.choose import Chosen
from blueprint.replay.neighbours import shown
from blueprint.replay.settings import Settings


def choose(rollout: Rollout, preset: str | None = None, overrides: Sequence[str] = ()) -> Chosen:
    """Chooses the preset that is named, else that of the file's library; overrides such as `ppo.gamma=0.98` go over it.

    Raises MinibatchError for an unknown preset, a file that does not say its library, or an override that is none.
    """
    named = preset or rollout.preset
    if named is None:
        raise MinibatchError(
            f"{rollout.path} does not say which library wrote it: name one with --preset, "
            f"of {', '.join(classic_presets().presets)}"
        )
    found = _preset(named)
    yours = dict(_override(each) for each in overrides)
    values = {**found.values, **rollout.hyperparameters, **yours}
    why = "as asked" if preset else f"because the file says {rollout.library or named}"
    differs = [
        f"ppo.{key} = {shown(value)} ({'as asked' if key in yours else 'the file says so'}; {found.name}: "
        f"{shown(found.values[key])})"
        for key, value in _said(rollout.hyperparameters, yours).items()
        if value != found.values[key]
    ]
    return Chosen(found, values, why, tuple(differs))


def check_asked(preset: str | None = None, overrides: Sequence[str] = ()) -> None:
    """Raises MinibatchError for an unknown preset, or an override that is none, whatever the file."""
    if preset is not None:
        _preset(preset)
    for each in overrides:
        _override(each)


def _preset(name: str) -> Preset:
    try:
        return classic_presets().preset(name)
    except NumbersError as error:
        raise MinibatchError(str(error)) from error


def _said(file: Settings, yours: Settings) -> Settings:
    return {**file, **yours}


def _override(text: str) -> tuple[str, float | str]:
    said, equals, value = text.partition("=")
    key, value = said.strip().removeprefix("ppo."), value.strip()
    if not equals:
        raise MinibatchError(
            f"--set {unquoted(text)}: expected a key, an equals sign and a value, as in ppo.gamma=0.98"
        )
    if key not in CLASSIC:
        keys = [f"ppo.{each}" for each in CLASSIC]
        raise MinibatchError(f"--set {unquoted(said)}: unknown, {suggestion(nearest(said, keys), keys)}")
    setting = CLASSIC[key]
    if setting.words:
        if value not in setting.words:
            raise MinibatchError(
                f"--set ppo.{key}: found {unquoted(value)}, expected one of {', '.join(setting.words)}"
            )
        return key, value
    try:
        number = OFF if setting.limit and says_off(value) else float(value)
    except ValueError:
        number = float("nan")
    if not setting.holds(number):
        highest = "off" if setting.limit else shown(setting.high)
        raise MinibatchError(f"--set ppo.{key}: found {unquoted(value)}, expected {shown(setting.low)} to {highest}")
    return key, number
