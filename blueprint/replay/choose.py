"""The conventions to hold a minibatch against: a preset, what the file says over it, and what the user says over both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blueprint.minibatch import Minibatch, MinibatchError
from blueprint.numbers import Preset, Setting, rlhf
from blueprint.numbers.errors import NumbersError, nearest, suggestion
from blueprint.quoting import unquoted
from blueprint.replay.neighbours import shown
from blueprint.replay.settings import Settings, laid_over, number_of, plain


@dataclass(frozen=True)
class Chosen:
    """A preset with changes. why: how it came to be chosen; differs: what is not as the preset says, and who said so."""

    preset: Preset
    values: Settings
    why: str
    differs: tuple[str, ...]

    def __str__(self) -> str:
        """Says which preset is held against, why, and what differs from it."""
        title = f"Preset {self.preset.name} ({self.preset.title}, read at {self.preset.version}), {self.why}"
        return "\n".join([f"{title}.", *(f"  {each}" for each in self.differs)])


def choose(batch: Minibatch, preset: str | None = None, overrides: Sequence[str] = ()) -> Chosen:
    """Chooses the preset that is named, else that of the file's library; overrides such as `ppo.gamma=0.99` go over it.

    Raises MinibatchError for an unknown preset, a file that does not say its library, or an override that is none.
    """
    named = preset or batch.preset
    if named is None:
        raise MinibatchError(f"{batch.path} {_unnamed(batch.library)}, of {', '.join(name for name in rlhf().presets)}")
    found = _preset(named)
    yours = dict(_override(each) for each in overrides)
    file = {plain(key): value for key, value in batch.hyperparameters.items() if plain(key) in rlhf().settings}
    values = laid_over(found.values, file, yours)
    why = "as asked" if preset else f"because the file says {batch.library or named}"
    return Chosen(found, values, why, tuple(_differing(found, values, file, yours)))


def _unnamed(library: str | None) -> str:
    """Says why no preset goes with a file's library."""
    if library is None:
        return "does not say which library wrote it: name one with --preset"
    asked = unquoted(library)
    versions = [name for name in rlhf().presets if name.startswith(f"{library.lower()}_")]
    if versions:
        return f"is of {asked} and does not say of which version: add version to its metadata, or name a preset with --preset"
    return f"is of {asked}, for which there is no preset: name one that does as it does with --preset"


def check_asked(preset: str | None = None, overrides: Sequence[str] = ()) -> None:
    """Raises MinibatchError for an unknown preset, or an override that is none, whatever the file."""
    if preset is not None:
        _preset(preset)
    for each in overrides:
        _override(each)


def _preset(name: str) -> Preset:
    try:
        return rlhf().preset(name)
    except NumbersError as error:
        raise MinibatchError(str(error)) from error


def _differing(preset: Preset, values: Settings, file: Settings, yours: Settings) -> list[str]:
    return [
        f"{dotted(key)} = {shown(values[key])} ({'as asked' if key in yours else 'the file says so'}; "
        f"{preset.name}: {shown(preset.values[key])})"
        for key in {**file, **yours}
        if _other(key, values[key], preset.values[key])
    ]


def _other(key: str, one: float | str, other: float | str) -> bool:
    if rlhf().settings[key].words:
        return one != other
    return number_of(key, one) != number_of(key, other)


def dotted(key: str) -> str:
    """Returns a key of a preset as a numbers file writes it."""
    return key if "." in key else f"ppo.{key}"


def _override(text: str) -> tuple[str, float | str]:
    key, equals, value = text.partition("=")
    name, known = plain(key.strip()), rlhf().settings
    if not equals:
        raise MinibatchError(
            f"--set {unquoted(text)}: expected a key, an equals sign and a value, as in ppo.gamma=0.99"
        )
    if name not in known:
        keys = [dotted(each) for each in known]
        raise MinibatchError(f"--set {unquoted(key)}: unknown, {suggestion(nearest(key, keys), keys)}")
    return name, _value(dotted(name), known[name], value.strip())


def _value(key: str, setting: Setting, text: str) -> float | str:
    if setting.words:
        if text not in setting.words:
            raise MinibatchError(f"--set {key}: found {unquoted(text)}, expected one of {', '.join(setting.words)}")
        return text
    try:
        number = number_of(key, text)
    except MinibatchError:
        raise MinibatchError(f'--set {key}: found {unquoted(text)}, expected a number, or "off" for a limit') from None
    if not setting.holds(number):
        raise MinibatchError(
            f"--set {key}: found {unquoted(text)}, expected {shown(setting.low)} to {shown(setting.high)}"
        )
    return number
