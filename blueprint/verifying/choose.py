"""The conventions to hold a minibatch against: a preset, what the file says over it, and what the user says over both."""

from dataclasses import dataclass

from blueprint.dumps import Dump, MinibatchError, catalogue_of
from blueprint.inputs.catalogue import Catalogue, Preset
from blueprint.inputs.errors import NumbersError, nearest, suggestion
from blueprint.inputs.setting import OFF, Setting, dotted, says_off
from blueprint.quoting import unquoted
from blueprint.verifying.neighbours import shown
from blueprint.verifying.settings import Settings, laid_over, plain
from blueprint.verifying.verdict import VerifyOptions

DEFAULT = VerifyOptions()


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
        f"{dotted(key)} = {shown(values[key])} ({'as asked' if key in yours else 'the file says so'}; "
        f"{found.name}: {shown(found.values[key])})"
        for key in {**said, **yours}
        if _number(values[key]) != _number(found.values[key])
    ]
    return Chosen(found, values, why, tuple(differs))


def check_asked(options: VerifyOptions, known: Catalogue) -> None:
    """Raises MinibatchError for a preset that a catalogue has not, or an override that is none, whatever the file."""
    if options.preset is not None:
        _preset(known, options.preset)
    for each in options.overrides:
        _override(known, each)


def _unnamed(known: Catalogue, library: str | None) -> str:
    """Says why no preset goes with a file's library."""
    if library is None:
        return "does not say which library wrote it: name one with --preset"
    asked = unquoted(library)
    if any(name.startswith(f"{library.lower()}_") for name in known.presets):
        return f"is of {asked} and does not say of which version: add version to its metadata, or name a preset with --preset"
    return f"is of {asked}, for which there is no preset: name one that does as it does with --preset"


def _preset(known: Catalogue, name: str) -> Preset:
    try:
        return known.preset(name)
    except NumbersError as error:
        raise MinibatchError(str(error)) from error


def _override(known: Catalogue, text: str) -> tuple[str, float | str]:
    key, equals, value = text.partition("=")
    name = plain(key.strip())
    if not equals:
        raise MinibatchError(
            f"--set {unquoted(text)}: expected a key, an equals sign and a value, as in ppo.gamma=0.99"
        )
    if name not in known.settings:
        keys = [dotted(each) for each in known.settings]
        raise MinibatchError(f"--set {unquoted(key)}: unknown, {suggestion(nearest(key, keys), keys)}")
    return name, _value(dotted(name), known.settings[name], value.strip())


def _value(key: str, setting: Setting, text: str) -> float | str:
    if setting.words:
        if text not in setting.words:
            raise MinibatchError(f"--set {key}: found {unquoted(text)}, expected one of {', '.join(setting.words)}")
        return text
    try:
        number = float(_number(text))
    except ValueError:
        or_off = ', or "off"' if setting.limit else ""
        raise MinibatchError(f"--set {key}: found {unquoted(text)}, expected a number{or_off}") from None
    if not setting.holds(number):
        highest = "off" if setting.limit else shown(setting.high)
        raise MinibatchError(f"--set {key}: found {unquoted(text)}, expected {shown(setting.low)} to {highest}")
    return number


def _number(value: float | str) -> float | str:
    """Returns a limit that is off as the number that it is, and all else as it is."""
    return OFF if says_off(value) else value
