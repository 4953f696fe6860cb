"""Tables of names: what each library calls a tensor or a result, `names.csv` of each kind of dump, and a setting, its record.

A row is a neutral name, a column a library; `read at` tells the versions. In a cell stand names, separated by blanks; a
name with `?` yields to others that say the same, one with `!` goes before them, and one with `-` in front is the number with its
sign turned. A tensor's name with `?` is a second meaning of it: in TRL 0.11.4 `logprobs` are the old ones in `step`, and the new
ones in `train_minibatch`, beside `old_logprobs`.
"""

import csv
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from blueprint.inputs.setting import Setting, dotted
from blueprint.workbooks.common.conventions.data import LIVE

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
        return {row.name: row.meaning for row in self.rows}

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
