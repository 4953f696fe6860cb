"""Which convention makes the numbers of two dumps differ: each dump computed again by its own settings, then by the other's.

What the second dump logged is compared with what the first one's settings make of the second one's own log-probs and scores. So
conventions are told from inputs: where the inputs differ, too, both are said. Settings are then put back one by one, until only
those are left without which the second dump's numbers do not come out. Where the first one's settings need what the second dump
has not, as the log-probs of a reference, it is done the other way round.
"""

from collections.abc import Mapping, Sequence
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

    def turned(self) -> str:
        """Says both values the other way round."""
        return f"{self.key} = {self.one} instead of {self.other}"


@dataclass(frozen=True)
class Conventions:
    """What settings explain.

    chosen: by what each dump was computed. own: by dump, what it logged that its own settings do not give, and what explains that;
    follows: by dump, what is said of its quantities under its own settings. crossed: what is said of the second dump's under the
    first one's settings; turned: of the first dump's under the second one's. needed: the settings that make the difference;
    idle: those that differ without making one. missing: why conventions could not be compared, "" if they were.
    """

    chosen: tuple[Chosen, ...] = ()
    own: tuple[Mapping[str, tuple[str, ...]], ...] = ({}, {})
    follows: tuple[Mapping[str, str], ...] = ({}, {})
    crossed: Mapping[str, str] = field(default_factory=dict)
    needed: tuple[Setting, ...] = ()
    idle: tuple[Setting, ...] = ()
    missing: str = ""
    turned: bool = False

    @property
    def computed(self) -> set[str]:
        """What is computed again in either dump."""
        return set(self.crossed).union(*self.follows)


Files = Sequence[Dump]
"""What is computed again together: the files of one step."""


def conventions(one: Files, other: Files, presets: tuple[str | None, str | None]) -> Conventions:
    """Compares the settings of two steps by what they make of the second one's numbers; presets: those that are asked for."""
    try:
        both = list(zip((one, other), presets, strict=True))
        chosen = tuple(choose(files[0], VerifyOptions(preset)) for files, preset in both)
        own = [
            _computed(files, each.values, each, causes=True) for files, each in zip((one, other), chosen, strict=True)
        ]
        crossed = _computed(other, chosen[0].values, chosen[0])
        turned = not _says(own[1]).keys() <= _says(crossed).keys()
        crossed = _computed(one, chosen[1].values, chosen[1]) if turned else crossed
    except MinibatchError as error:
        return Conventions(missing=str(error))
    keys = [key for key in chosen[0].values if chosen[0].values[key] != chosen[1].values[key]]
    settings, of = {key: _setting(key, chosen) for key in keys}, 0 if turned else 1
    needed = dict[str, str]()
    if _wrong(crossed) and not _wrong(own[of]) and len(keys) <= MOST_TRIED:
        needed = _needed((one, other)[of], (chosen[of], chosen[1 - of]), keys)
    return Conventions(
        chosen,
        tuple({name: _causes(each) for name in _wrong(each)} for each in own),
        tuple(_says(each) for each in own),
        _says(crossed),
        tuple(replace(settings[key], moves=name) for key, name in needed.items()),
        tuple(settings[key] for key in keys if key not in needed),
        turned=turned,
    )


def _setting(key: str, chosen: tuple[Chosen, ...]) -> Setting:
    return Setting(dotted(key), shown(chosen[0].values[key]), shown(chosen[1].values[key]))


def _computed(files: Files, values: Settings, chosen: Chosen, causes: bool = False) -> StepVerdict:
    """Computes a step again by settings, whatever its files say of them; causes: whether to look for what explains a deviation."""
    as_asked = [replace(each, preset=chosen.preset.name, hyperparameters=dict(values)) for each in files]
    found = verify_dumps(as_asked, VerifyOptions(causes=causes))
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


def _needed(dump: Files, chosen: tuple[Chosen, Chosen], keys: list[str]) -> dict[str, str]:
    """Returns the settings without which a dump's numbers do not come out, and the first quantity that each of them moves.

    chosen: its own settings, and the other dump's. One after another is put back to the other's value; what makes no difference
    then stays back.
    """
    own, others = chosen
    values, needed = dict(own.values), dict[str, str]()
    for key in keys:
        tried = {**values, key: others.values[key]}
        try:
            wrong = _wrong(_computed(dump, tried, own))
        except MinibatchError:
            wrong = ["what cannot be computed without it"]
        if wrong:
            needed[key] = wrong[0]
        else:
            values = tried
    order = list(_says(_computed(dump, own.values, own)))
    return dict(sorted(needed.items(), key=lambda each: order.index(each[1]) if each[1] in order else -1))
