"""Which tensor of a file is which: neutral names for the file's, or a sentence where two readings are possible.

What each library calls a tensor or a result stands in tables, `names.csv` of each kind of dump, and of a setting in its record.
A row is a neutral name, a column a library; `read at` tells the versions. In a cell stand names, separated by blanks; a
name with `?` yields to others that say the same, one with `!` goes before them, and one with `-` in front is the number with its
sign turned. A tensor's name with `?` is a second meaning of it: in TRL 0.11.4 `logprobs` are the old ones in `step`, and the new
ones in `train_minibatch`, beside `old_logprobs`.
"""

import csv
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from blueprint.dumps.batch import FORWARD_OPTIONS, INFO, PLACE_KEYS, SHARE_KEYS
from blueprint.dumps.both_sides import SIDES
from blueprint.dumps.formats import MinibatchError, Raw, require, same_numbers
from blueprint.inputs.catalogue import Catalogue, Setting, dotted
from blueprint.inputs.errors import NumbersError
from blueprint.quoting import quoted, unquoted
from blueprint.workbooks.common.conventions import LIVE, rlhf

TENSOR, AID, UNUSED, SETTING, LOGGED, BEYOND = "tensor", "aid", "unused", "setting", "logged", "beyond"
"""Kinds of rows: what a dump keeps, what only helps to read it, what is known and not needed, metadata, and settings
that no convention expresses, with the logged numbers that they change."""

COLUMNS = ("kind", "name", "shape", "meaning", "words", "also")
"""Columns that are no library's."""
STRENGTHS = {"?": 0, "!": 2}

WRAPPERS = ("args", "config", "hyperparameters", "params", "train", "trainer")
"""Words in front of a name that say nothing: config.cliprange, train/loss/policy_avg."""

ALIKE = 0.85
"""How alike two names must be, as difflib counts it, without their underlines: token_type_ids and token_ids are not."""
ENDED = 2
"""So many letters may be missing at the end: lamda is lam."""
SHORTEST = 3


@dataclass(frozen=True, eq=False)
class Row:
    """A neutral name: its kind, its shape in words, what it is, and what its values are called ("kl" is "k1")."""

    kind: str
    name: str
    shape: str
    meaning: str
    words: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Alias:
    """What a library (None: anyone) calls a row. strength: 2 goes before others, 0 yields to others; sign: −1 turns it."""

    spelling: str
    row: Row
    library: str | None
    strength: int = 1
    sign: int = 1


class Names:
    """The table of a kind of dump. libraries: its columns, each also the name of a preset; read_at: which version of each."""

    def __init__(self, path: Path, settings: Mapping[str, Setting]) -> None:
        """Reads a table, and after it what settings are called, of their records."""
        lines: list[dict[str, str]] = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        self.libraries = tuple(column for column in lines[0] if column not in COLUMNS)
        lines += [
            dict.fromkeys(lines[0], "")
            | {"kind": SETTING, "name": dotted(key), "words": called.get("values", ""), **called}
            for key, setting in settings.items()
            for called in setting.called
        ]
        self.read_at = next(
            {name: line[name] for name in self.libraries} for line in lines if line["kind"] == "read at"
        )
        known = [line for line in lines if line["kind"] != "read at"]
        words = [dict(pair.split("=", 1) for pair in line["words"].split()) for line in known]
        self.rows = tuple(
            Row(line["kind"], line["name"], line["shape"], line["meaning"], means)
            for line, means in zip(known, words, strict=True)
        )
        self._aliases: dict[str, list[Alias]] = {}
        for row, line in zip(self.rows, known, strict=True):
            self._aliases.setdefault(row.kind, []).extend(self._of(row, line))

    def _of(self, row: Row, line: Mapping[str, str]) -> Iterator[Alias]:
        """Yields what a row is called: by its own name first, then column by column."""
        if row.kind not in (UNUSED, BEYOND):
            yield Alias(row.name, row, None)
        cells = [*((name, line[name]) for name in self.libraries), (None, line["also"])]
        listed = [(library, word) for library, cell in cells for word in cell.split()]
        for library, word in sorted(listed, key=lambda each: each[1] == row.name):
            spelling, sign = word.rstrip("?!").removeprefix("-"), -1 if word.startswith("-") else 1
            yield Alias(spelling, row, library, STRENGTHS.get(word[-1], 1), sign)

    def aliases(self, *kinds: str) -> list[Alias]:
        """Returns what the rows of some kinds are called."""
        return [alias for kind in kinds for alias in self._aliases.get(kind, ())]

    def neutral(self, *kinds: str) -> frozenset[str]:
        """Returns the neutral names of some kinds."""
        return frozenset(row.name for row in self.rows if row.kind in kinds)

    def spelled(self, *kinds: str) -> frozenset[str]:
        """Returns all names of some kinds."""
        return frozenset(alias.spelling for alias in self.aliases(*kinds))

    def meant(self, kind: str, name: str, library: str | None) -> list[str]:
        """Returns the neutral names that a tensor's name may mean: itself, or else what the file's library calls so.

        Where no library is known, every library's names count.
        """
        if name in self.neutral(kind):
            return [name]
        columns = (library, None) if library in self.libraries else (*self.libraries, None)
        called_so = (each for each in self.aliases(kind) if each.spelling == name)
        return list(dict.fromkeys(each.row.name for each in called_so if each.library in columns))

    def matching(self, name: str, kind: str, library: str | None) -> list[Alias]:
        """Returns the rows that a dotted name means: names of the file's library first, then the longest that it ends with."""
        bare = name
        for mark in ".", "/":
            first, found, rest = bare.partition(mark)
            bare = rest if found and first in WRAPPERS else bare
        fitting = [
            alias
            for alias in self.aliases(kind)
            if alias.spelling in (name, bare) or ("." in alias.spelling and name.endswith("." + alias.spelling))
        ]
        fitting = [alias for alias in fitting if alias.library in (library, None)] or fitting
        longest = max((len(alias.spelling) for alias in fitting), default=0)
        return list({(alias.row, alias.sign): alias for alias in fitting if len(alias.spelling) == longest}.values())

    def beyond(self, name: str, library: str | None) -> list[Row]:
        """Returns the settings that no convention expresses which a dotted name means, in a library if that is known."""
        return [
            each.row
            for each in self.aliases(BEYOND)
            if each.spelling in (name, name.rpartition(".")[2])
            and (library not in self.libraries or each.library == library)
        ]

    @cached_property
    def meanings(self) -> Mapping[str, str]:
        """Returns what each neutral name is, in a few words."""
        return {row.name: row.meaning for row in self.rows if row.meaning}

    @cached_property
    def first_meanings(self) -> Mapping[str, str]:
        """Returns what tensors are called, and their neutral names, "unused" of those that are not needed.

        A neutral name means itself, whatever a library calls by it.
        """
        aliases = [each for each in self.aliases(UNUSED, AID, TENSOR)[::-1] if each.row.kind != TENSOR or each.strength]
        called = {each.spelling: UNUSED if each.row.kind == UNUSED else each.row.name for each in aliases}
        return called | {name: name for name in self.neutral(TENSOR, AID)}

    @cached_property
    def second_meanings(self) -> Mapping[str, tuple[str, frozenset[str]]]:
        """Returns what tensors are called by a name that has another meaning first; and all names of that other meaning.

        The second one is meant where the file has one of those names too.
        """
        found = {}
        for second in (each for each in self.aliases(TENSOR) if each.strength == 0):
            beside = [each for each in self.aliases(TENSOR) if each.library == second.library and each.strength]
            first = next(each.row for each in beside if each.spelling == second.spelling)
            others = frozenset(each.spelling for each in beside if each.row is first) - {second.spelling}
            found[second.spelling] = (second.row.name, others)
        return found

    def own_to(self, library: str) -> frozenset[str]:
        """Returns the names of tensors that only one library uses, TRL's two trainers told apart."""
        used: dict[str, set[str | None]] = {}
        for alias in self.aliases(TENSOR, AID, UNUSED):
            used.setdefault(alias.spelling, set()).add(alias.library)
        return frozenset(spelling for spelling, by in used.items() if by == {library})


NAMES = Names(Path(__file__).parent / "names.csv", LIVE)
"""The names of steps of RLHF."""


def nearest(name: str, known: Collection[str]) -> str | None:
    """Returns the known name that a misspelt one is nearest to, or None where none is alike."""
    plain = {_plain(each): each for each in sorted(known, reverse=True)}
    found = get_close_matches(_plain(name), plain, 1, ALIKE)
    begun = [each for each in plain if len(each) >= SHORTEST and _begins(_plain(name), each)]
    return plain[(found or begun)[0]] if found or begun else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _begins(name: str, known: str) -> bool:
    short, long = sorted((name, known), key=len)
    return len(short) >= SHORTEST and long.startswith(short) and len(long) - len(short) <= ENDED


def pairs_in(names: Iterable[str]) -> list[tuple[str, str]]:
    """Returns the names that have "chosen" in them, each with its counterpart, as far as that is there."""
    known = list(names)
    both = ((name, name.replace(*SIDES)) for name in known if SIDES[0] in name)
    return [pair for pair in both if pair[1] in known]


OF_OTHERS = ("KL_logps", "policy_KL_logps", "elsewhere.logp")
"""What KTO's trainers call log-probs of responses to other prompts, of which its KL is estimated."""


ALGORITHM = "algorithm"


def algorithm_said(metadata: Mapping[str, Any]) -> str:
    """Returns the algorithm that metadata say, in small letters with underscores; "" where they say none."""
    return str(metadata.get(ALGORITHM) or "").strip().lower().replace("-", "_").replace(" ", "_")


def single_responses(raw: Raw) -> bool:
    """Whether a file is a step of KTO whose responses are not in pairs: it says so, or has log-probs of its KL."""
    says = algorithm_said(raw.metadata) == "kto"
    return (says or any(name in raw.tensors for name in OF_OTHERS)) and not pairs_in(raw.tensors)


METADATA = (
    "schema", "library", "version", "step", "preset", "layout", "names", "hyperparameters", "logged", *PLACE_KEYS, *FORWARD_OPTIONS,
    INFO, *SHARE_KEYS,
)  # fmt: skip
"""What metadata may say; anything else is kept aside."""


@dataclass(frozen=True)
class Recognised:
    """What was found in a file.

    called: by neutral name, what the file calls it.
    unused: names that are known and not needed; unknown: others, each with the nearest known name, if any.
    library: what metadata say, else the library whose own names these are; preset: what does what it does.
    names: the table by which it was found.
    """

    called: Mapping[str, str]
    unused: tuple[str, ...]
    unknown: Mapping[str, str | None]
    library: str | None
    preset: str | None
    notes: list[str] = field(default_factory=list)
    names: Names = NAMES


def recognise(raw: Raw, names: Names = NAMES, presets: Callable[[], Catalogue] = rlhf) -> Recognised:
    """Gives the tensors of a file their neutral names, by a table; presets: those that metadata may name.

    Raises:
        MinibatchError: two tensors that could be the same quantity; metadata that name none of the file's tensors.
    """
    library, preset, notes = _library(raw, names, presets)
    named = names_in_metadata(raw, names, "no neutral name")
    candidates: dict[str, list[str]] = {}
    unused, unknown = [], {}
    for name in [*raw.tensors, *raw.texts]:
        second, others = names.second_meanings.get(name, (None, frozenset()))
        # the second meaning of a name, where another tensor of the file has the first one
        second = second if others & raw.tensors.keys() and second not in raw.tensors else None
        neutral = named.get(name) or second or names.first_meanings.get(name)
        if neutral is None:
            unknown[name] = nearest(name, names.spelled(TENSOR, AID)) if name in raw.tensors else None
        elif neutral == UNUSED or name in raw.texts:
            _check_texts(name, neutral, raw, names)
            unused.append(name)
        else:
            candidates.setdefault(_scores_or(neutral, name, raw), []).append(name)
    called = {
        row.name: _one(row.name, candidates[row.name], raw, preset, set(named), notes)
        for row in names.rows
        if row.kind in (TENSOR, AID) and row.name in candidates
    }
    return Recognised(called, tuple(unused), unknown, library, preset, notes, names)


OF_TEXTS = ("ids", "tokens", "text")
"""Ends of names of tensors in whose place a column of texts may stand: what was written, not as token ids."""


def _check_texts(name: str, neutral: str, raw: Raw, names: Names) -> None:
    """Raises MinibatchError where texts stand for numbers that something is computed of, as "True" in a mask."""
    of_numbers = {row.name for row in names.rows if row.kind == TENSOR and not row.name.endswith(OF_TEXTS)}
    if name in raw.texts and neutral in of_numbers:
        first = next(iter(raw.texts[name]), "")
        raise MinibatchError(
            f"{unquoted(name)}: found texts, such as {quoted(first)}, expected numbers or true and false."
        )


def _scores_or(neutral: str, name: str, raw: Raw) -> str:
    """Returns `scores` for what is called rewards and has one number per response, as in OpenRLHF and NeMo-RL."""
    one_each = raw.tensors[name].ndim == 1 or raw.tensors[name].shape[1:] == (1,)
    wide = max((array.shape[1] for array in raw.tensors.values() if array.ndim == 2), default=1) > 1
    return "scores" if neutral == "rewards" and one_each and wide else neutral


def names_in_metadata(raw: Raw, names: Names, none: str) -> dict[str, str]:
    """Returns what metadata say in `names`: {name in the file: neutral name}. none: what any other name is."""
    given = raw.metadata.get("names", {})
    known = names.neutral(TENSOR, AID) | {UNUSED}
    require(
        isinstance(given, dict) and all(isinstance(each, str) for each in given.values()),
        'metadata, names: expected {"name in the file": "neutral name", …}.',
    )
    for name, neutral in given.items():
        require(
            name in raw.tensors,
            f"metadata, names: the file has no {unquoted(name)}; it has {_listed(list(raw.tensors))}.",
        )
        near = nearest(neutral, known)
        hint = f"did you mean {near}?" if near else f"write one of {', '.join(sorted(known))}."
        require(neutral in known, f"metadata, names: {unquoted(neutral)} is {none}; {hint}")
    return dict(given)


def _one(neutral: str, names: list[str], raw: Raw, preset: str | None, named: set[str], notes: list[str]) -> str:
    """Returns which of several tensors is meant: the one named, or any where all are equal."""
    chosen = [name for name in names if name in named] or names
    if len(chosen) > 1 and neutral == "scores" and preset == "openrlhf" and "rewards" in chosen:
        chosen = ["rewards"]  # Experience.scores only sorts out prompts, experience.py
    if not all(same_numbers(raw.tensors[chosen[0]], raw.tensors[each]) for each in chosen[1:]):
        raise MinibatchError(
            f"{unquoted(chosen[0])} and {unquoted(chosen[1])} could both be {neutral}; keep one, or say which in the metadata: "
            f'"names": {{"{unquoted(chosen[0])}": "{neutral}", "{unquoted(chosen[1])}": "{UNUSED}"}}.'
        )
    notes += [f"{name} was left aside, {chosen[0]} is {neutral}" for name in names if name != chosen[0]]
    return chosen[0]


def _library(raw: Raw, names: Names, presets: Callable[[], Catalogue]) -> tuple[str | None, str | None, list[str]]:
    """Returns library and preset as metadata say; else as the names show, if they show one."""
    library, version, preset = (_word(raw.metadata, key) for key in ("library", "version", "preset"))
    known_preset(preset, presets)
    own = {each: names.own_to(each) & raw.tensors.keys() for each in names.libraries}
    showing = [each for each, some in own.items() if some]
    if library:
        of_names = next((each for each in showing if len(showing) == 1 and each.startswith(library.lower())), None)
        return library, preset or preset_of(library, version, names) or of_names, []
    if len(showing) != 1:
        return None, preset, []
    note = f"taken for {showing[0]}, because only it has {_listed(sorted(own[showing[0]]))}"
    return showing[0], preset or showing[0], [note]


def preset_of(library: str, version: str | None, names: Names = NAMES) -> str | None:
    """Returns the preset of a library by what metadata call it: "TRL" 0.11.4, "NeMo-RL", "verl" …"""
    plain = column_of(library)
    if plain in names.libraries:
        return plain
    if plain == "trl" and version:
        numbers = [int(part) for part in version.lstrip("v").split(".")[:2] if part.isdecimal() and len(part) < 5]
        return "trl_0.11.4" if numbers < [0, 12] else "trl_1.12"
    return None


SPELLED = {"nemorl": "nemo_rl"}
"""What people call a library, where it is not the name of its column."""


def column_of(library: str) -> str:
    """Returns what the column of a library is called, if it has one."""
    plain = library.lower().replace("-", "_").replace(" ", "_")
    return SPELLED.get(plain, plain)


def known_preset(named: Any, presets: Callable[[], Catalogue]) -> str | None:
    """Returns the preset that metadata name, None where they name none. Raises MinibatchError for one that there is not."""
    try:
        return presets().preset(str(named)).name if named else None
    except NumbersError as error:
        raise MinibatchError(f"metadata, {error}") from error


def _word(metadata: Mapping[str, Any], key: str) -> str | None:
    found = metadata.get(key)
    require(
        found is None or isinstance(found, str | int | float),
        f"metadata, {key}: found {type(found).__name__}, expected a word.",
    )
    return None if found is None else str(found)


def _listed(names: list[str]) -> str:
    return ", ".join(unquoted(name) for name in names[:6]) + (" …" if len(names) > 6 else "")


def refuse_pairs(found: Recognised) -> None:
    """Refuses a file of preference pairs that has neither log-probs nor scores of them, and no step of PPO in it.

    Raises:
        MinibatchError: a tensor is called "chosen" whose counterpart is "rejected".
    """
    names = [*found.called.values(), *found.unused, *found.unknown]
    for one, other in pairs_in(names):
        raise MinibatchError(
            f"{unquoted(one)} and {unquoted(other)} are pairs of a preferred and another answer (a reward model or DPO), not a "
            "step of PPO: log-probs or scores of both are missing, as docs/dump-hooks.md writes them."
        )
