"""The conventions that a dump is held against: a preset, what the file says over it, and what the user says over both."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

import torch

from blueprint.dumps import Dump, MinibatchError, catalogue_of, require
from blueprint.inputs import OFF, Catalogue, NumbersError, Preset, nearest, says_off, suggestion
from blueprint.inputs import Setting as Known
from blueprint.quoting import unquoted
from blueprint.verifying.formulas import NUMBERS, WORDS, Options

Setting = float | str
Settings = Mapping[str, Setting]


@dataclass(frozen=True)
class VerifyOptions:
    """How dumps are verified, as the options of `blueprint verify` say it.

    preset: whose conventions, None: those of the library that the file names. overrides: other values, as `ppo.gamma=0.99`.
    tolerance: multiplies every tolerance. device: where torch computes.
    """

    preset: str | None = None
    overrides: tuple[str, ...] = ()
    tolerance: float = 1.0
    device: str = "cpu"


DEFAULT = VerifyOptions()


def shown(value: Setting) -> str:
    """Returns a value as it is typed."""
    return value if isinstance(value, str) else "off" if value == OFF else f"{value:g}"


def plain(key: str) -> str:
    """Returns a key of a numbers file as presets write it: `ppo.gamma` is `gamma`, other tables keep their name."""
    return key.removeprefix("ppo.")


def laid_over(preset: Settings, *changes: Settings) -> dict[str, Setting]:
    """Returns a preset with changes over it, later ones over earlier ones; the keys are those of presets."""
    found = dict(preset)
    for each in changes:
        found |= {plain(key): value for key, value in each.items()}
    return found


def number_of(name: str, value: Setting) -> float:
    """Returns an option as the number that is computed with: itself, or the place of its word.

    Raises MinibatchError for a word that the option does not have, or a number that is none.
    """
    if name in WORDS:
        if value not in WORDS[name]:  # asked for every tile: the sentence is only made where it is needed
            raise MinibatchError(f"{name} is {value!r}: write one of {', '.join(WORDS[name])}")
        return float(WORDS[name].index(str(value)))
    try:
        return float(_number(value))
    except ValueError:
        raise MinibatchError(f'{name} is {value!r}: write a number, or "off" for a limit') from None


def options_of(values: Settings, device: str = "cpu") -> Options:
    """Returns settings by their names as the options of one file, [1, 1, 1], on a device.

    Raises MinibatchError where one is missing.
    """
    names = (*NUMBERS, *WORDS)
    missing = [name for name in names if name not in values]
    require(not missing, f"no value for {', '.join(missing)}: start from the values of a preset")
    found = [number_of(name, values[name]) for name in names]
    numbers = torch.tensor(found, dtype=torch.float64, device=device).view(-1, 1, 1, 1)
    return Options(dict(zip(names, numbers, strict=True)))


def known_device(name: str) -> None:
    """Raises MinibatchError unless torch can compute in float64 on a device of that name."""
    try:
        torch.zeros(1, dtype=torch.float64, device=name)
    except (RuntimeError, TypeError, AssertionError, NotImplementedError) as error:
        raise MinibatchError(
            f"--device {name}: torch cannot compute in float64 there ({str(error).splitlines()[0]})"
        ) from error


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


def choose(dump: Dump, options: VerifyOptions = DEFAULT) -> Chosen:
    """Chooses the preset that is named, else that of the file's library; overrides such as `ppo.gamma=0.99` go over it.

    Raises MinibatchError for an unknown preset, a file that does not say its library, or an override that is none.
    """
    known = catalogue_of(dump)
    named = options.preset or dump.preset
    if named is None:
        raise MinibatchError(f"{dump.path} {_unnamed(known, dump.library)}, of {', '.join(known.presets)}")
    found = _preset(known, named)
    yours = dict(_override(known, each) for each in options.overrides)
    said = {plain(key): value for key, value in dump.hyperparameters.items() if plain(key) in known.settings}
    values = laid_over(found.values, said, yours)
    why = "as asked" if options.preset else f"because the file says {dump.library or named}"
    differs = [
        f"{_written(known, key)} = {shown(values[key])} ({'as asked' if key in yours else 'the file says so'}; "
        f"{found.name}: {shown(found.values[key])})"
        for key in {**said, **yours}
        if _number(values[key]) != _number(found.values[key])
    ]
    return Chosen(found, values, why, tuple(differs))


def check_options(options: VerifyOptions, known: Catalogue) -> None:
    """Raises MinibatchError for a preset that a catalogue has not, or an override that is none, whatever the file."""
    if options.preset is not None:
        _preset(known, options.preset)
    for each in options.overrides:
        _override(known, each)


def _unnamed(known: Catalogue, library: str | None) -> str:
    """Says why no preset goes with a file's library."""
    if library is None:
        return "does not say which library wrote it: name one with --preset"
    quoted = unquoted(library)
    if any(name.startswith(f"{library.lower()}_") for name in known.presets):
        return f"is of {quoted} and does not say of which version: add version to its metadata, or name a preset with --preset"
    return f"is of {quoted}, for which there is no preset: name one that does as it does with --preset"


def _preset(known: Catalogue, name: str) -> Preset:
    try:
        return known.preset(name)
    except NumbersError as error:
        raise MinibatchError(str(error)) from error


def _override(known: Catalogue, text: str) -> tuple[str, Setting]:
    key, equals, value = text.partition("=")
    keys = [_written(known, each) for each in known.settings]
    name = plain(key.strip().removeprefix(f"{_table(known)}."))
    require(equals != "", f"--set {unquoted(text)}: expected a key, an equals sign and a value, as in ppo.gamma=0.99")
    require(name in known.settings, f"--set {unquoted(key)}: unknown, {suggestion(nearest(key, keys), keys)}")
    return name, _value(_written(known, name), known.settings[name], value.strip())


def _table(known: Catalogue) -> str:
    """Returns the table of a numbers file in which settings stand whose key has no dot: the first group of the records."""
    return next(iter(known.titles), "ppo")


def _written(known: Catalogue, key: str) -> str:
    """Returns a key of a preset as numbers files of its kind have it."""
    return key if "." in key else f"{_table(known)}.{key}"


def _value(key: str, setting: Known, text: str) -> Setting:
    if setting.words:
        require(
            text in setting.words,
            f"--set {key}: found {unquoted(text)}, expected one of {', '.join(setting.words)}",
        )
        return text
    try:
        number = float(_number(text))
    except ValueError:
        or_off = ', or "off"' if setting.limit else ""
        raise MinibatchError(f"--set {key}: found {unquoted(text)}, expected a number{or_off}") from None
    allowed = f"{shown(setting.low)} to {'off' if setting.limit else shown(setting.high)}"
    require(setting.holds(number), f"--set {key}: found {unquoted(text)}, expected {allowed}")
    require(
        not setting.whole or not isfinite(number) or number == round(number),
        f"--set {key}: found {unquoted(text)}, expected a whole number, {allowed}",
    )
    return number


def _number(value: Setting) -> Setting:
    """Returns a limit that is off as the number that it is, and all else as it is."""
    return OFF if says_off(value) else value
