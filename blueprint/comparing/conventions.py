"""Which convention makes the numbers of two dumps differ: each dump computed again by its own settings, then by the other's.

What the second dump logged is compared with what the first one's settings make of the second one's own log-probs and scores. So
conventions are told from inputs: where the inputs differ, too, both are said. Settings are then put back one by one, until only
those are left without which the second dump's numbers do not come out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from blueprint.dumps import Dump, MinibatchError
from blueprint.inputs import dotted
from blueprint.verifying import Chosen, Settings, StepVerdict, VerifyOptions, choose, shown, verify_dumps

AGREE = ("agrees", "too coarse", "needs the others")
MOST_TRIED = 40
"""Settings that are put back one by one; presets of one kind differ in fewer."""


@dataclass(frozen=True)
class Setting:
    """A setting in which two dumps differ. one, other: its values, as they are typed; moves: the first quantity that it changes."""

    key: str
    one: str
    other: str
    moves: str = ""

    def __str__(self) -> str:
        """Says both values."""
        return f"{self.key} = {self.other} instead of {self.one}"


@dataclass(frozen=True)
class Conventions:
    """What settings explain.

    chosen: by what each dump was computed. own: by dump, what it logged that its own settings do not give, and what explains that;
    crossed: by name, what is said of the second dump's quantities under the first one's settings. needed: the settings that make
    the difference; idle: those that differ without making one. missing: why conventions could not be compared, "" if they were.
    """

    chosen: tuple[Chosen, ...] = ()
    own: tuple[Mapping[str, tuple[str, ...]], ...] = ({}, {})
    follows: tuple[Mapping[str, str], ...] = ({}, {})
    crossed: Mapping[str, str] = field(default_factory=dict)
    needed: tuple[Setting, ...] = ()
    idle: tuple[Setting, ...] = ()
    missing: str = ""


def conventions(one: Dump, other: Dump, presets: tuple[str | None, str | None]) -> Conventions:
    """Compares the settings of two dumps by what they make of the second one's numbers; presets: those that are asked for."""
    try:
        chosen = tuple(choose(dump, VerifyOptions(preset)) for dump, preset in zip((one, other), presets, strict=True))
        own = [_computed(dump, each.values, each, causes=True) for dump, each in zip((one, other), chosen, strict=True)]
        crossed = _computed(other, chosen[0].values, chosen[0])
    except MinibatchError as error:
        return Conventions(missing=str(error))
    keys = [key for key in chosen[0].values if chosen[0].values[key] != chosen[1].values[key]]
    settings = {key: _setting(key, chosen) for key in keys}
    needed = dict[str, str]()
    if _wrong(crossed) and not _wrong(own[1]) and len(keys) <= MOST_TRIED:
        needed = _needed(other, chosen, keys)
    return Conventions(
        chosen,
        tuple({name: _causes(each) for name in _wrong(each)} for each in own),
        tuple(_says(each) for each in own),
        _says(crossed),
        tuple(replace(settings[key], moves=name) for key, name in needed.items()),
        tuple(settings[key] for key in keys if key not in needed),
    )


def _setting(key: str, chosen: tuple[Chosen, ...]) -> Setting:
    return Setting(dotted(key), shown(chosen[0].values[key]), shown(chosen[1].values[key]))


def _computed(dump: Dump, values: Settings, chosen: Chosen, causes: bool = False) -> StepVerdict:
    """Computes a dump again by settings, whatever its file says of them; causes: whether to look for what explains a deviation."""
    as_asked = replace(dump, preset=chosen.preset.name, hyperparameters=dict(values))
    found = verify_dumps([as_asked], VerifyOptions(causes=causes))
    if not found.parts:
        raise MinibatchError(next(iter(found.unread.values())))
    return found


def _says(found: StepVerdict) -> dict[str, str]:
    """Returns what is said of each quantity that was computed again; two forwards of one policy are no convention."""
    return {each.name: each.line.says for each in found.lines if not each.of_forwards}


def _wrong(found: StepVerdict) -> list[str]:
    return [name for name, says in _says(found).items() if says not in AGREE]


def _causes(found: StepVerdict) -> tuple[str, ...]:
    return tuple(each.said for each in found.causes)


def _needed(other: Dump, chosen: tuple[Chosen, ...], keys: list[str]) -> dict[str, str]:
    """Returns the settings without which the second dump's numbers do not come out, and the first quantity that each of them moves.

    One after another is put back to the first dump's value; what makes no difference then stays back.
    """
    values, needed = dict(chosen[1].values), dict[str, str]()
    for key in keys:
        tried = {**values, key: chosen[0].values[key]}
        try:
            wrong = _wrong(_computed(other, tried, chosen[1]))
        except MinibatchError:
            wrong = ["what cannot be computed without it"]
        if wrong:
            needed[key] = wrong[0]
        else:
            values = tried
    order = list(_says(_computed(other, chosen[1].values, chosen[1])))
    return dict(sorted(needed.items(), key=lambda each: order.index(each[1]) if each[1] in order else -1))
