"""What a kind of workbook is: one record, through which commands work on any kind without knowing it."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from blueprint.quoting import QuotingError, unquoted

if TYPE_CHECKING:
    from blueprint.page.outline import Blueprint

Address = str
"""Where a part of a record lies, as an entry point says it: `package.module:name`. It is imported when it is asked for."""


class KindError(QuotingError):
    """Says in one sentence what a kind of workbook cannot do, or why a record was refused."""


@dataclass(frozen=True)
class Kind:
    """A kind of workbook. Every part but name, title, levels and build may be missing, and may be given by its address.

    Attributes:
        name: that of its folder. title: what sentences call it, such as "classic PPO".
        levels: by the word that stands under `level` in a numbers file, what such files hold: a Level of `blueprint.inputs`.
        build: from numbers to the blueprint, or several, by level; an outside witness's numbers, which are to stand on Checks,
            are its second argument where there are any.
        settings: by key, the records of its settings: default, words or range, symbol, meaning, note.
        numbers: the folder of its built-in numbers files.
        saved: by the level that a saved file says, a typed block that only such files have; numbers are made of what is typed in
            one, or of its sizes where that is all there is, by its level (`Level.saved`), or by what stands beside the block: by
            key of a numbers file the block that holds it, or a function of the file (`reopening.saved.Saved`).
        notes: the files, and folders of files, in which its notes are; those of settings stand in their records.
        models: the file that tells of the models and of the loop around its step, for the first sheet.
        one_page: the file of the sheet that shows all at a glance (`page.outline.items`), and of the models to which sheets
            belong, whose colours they have.
        paper: how a page of `papers` computes the results that one looks for, from what is typed in a file (`witness.raw.Page`).
        whole: typed blocks whose cells must be whole numbers from 0, or torch has no meaning for them: the largest, or the
            block along whose last axis they count, and what is expected; {last} and {count} stand for that axis's.
        misconceptions: mistakes that are often made in a row, as changes of its equation, or as what it then
            shows (`blueprint.misconceptions`).
        comparison: how libraries are compared on one batch (`common.conventions.Comparison`).
        derivation: the names of the rows that one would ask for in an exam on it, the first steps first, up to the result:
            on these the blanks of its worksheets lie. One that a workbook has not is passed over.
        topics: by a word, such as "gae", the rows that one would ask for where it alone is the topic.
        gradient: adds the gradients of its loss to a blueprint.
        rows: makes the tables of a numbers file of rows of one's own (`own_data` of GRPO shows its arguments), and says, a line
            each, what there is to know of the way.
        dumps, verifier: how dumps of real runs are read (`dumps.DumpKind`), and how they are verified and made into numbers
            of such a workbook (`verifying.Verifier`).
    """

    name: str
    title: str
    levels: Mapping[str, Any]
    build: "Callable[..., Blueprint] | Address | Mapping[str, Address]"
    settings: Mapping[str, Any] | Address | None = None
    presets: Callable[[], Any] | Address | None = None
    numbers: Path | None = None
    saved: Mapping[str, str | tuple[str, Mapping[str, str] | Callable[[Any], Any] | Address]] | None = None
    notes: tuple[Path, ...] = ()
    models: Path | None = None
    one_page: Path | None = None
    dumps: Any | Address | None = None
    verifier: Any | Address | None = None
    rows: Callable[..., Any] | Address | None = None
    paper: Any | Address | None = None
    misconceptions: tuple[Any, ...] | Address = ()
    comparison: Any | Address | None = None
    derivation: tuple[str, ...] = ()
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    gradient: "Callable[[Blueprint], Blueprint] | Address | None" = None
    whole: Mapping[str, tuple[int | str, str]] | Address | None = None

    def part(self, name: str) -> Any:
        """Return a part of the record, imported now if it was given by its address.

        Raises:
            KindError: if this kind has no such part.
        """
        found = getattr(self, name)
        if found is None:
            raise KindError(f"{self.title}: this kind of workbook has no {name}; its record says what it has.")
        return imported(found)

    def level(self, word: str) -> Any:
        """Return what numbers files of a level hold.

        Raises:
            KindError: if what the record names is a level of another kind, or another level.
        """
        found = imported(self.levels[word])
        if (found.kind, found.word) != (self.name, word):
            is_of = f"level {unquoted(found.word)} of kind {unquoted(found.kind)}"
            raise KindError(f"kind {unquoted(self.name)}, level {word}: found {is_of}; name both alike in both places.")
        return found

    def chooses(self) -> Any:
        """Return the first level at which presets can be chosen, None if there is none."""
        return next((level for level in map(self.level, self.levels) if level.presets), None)

    def usual(self) -> str:
        """Return the built-in numbers that show the kind: those of its name, or else the first; "" where it has none."""
        names = self.built_in()
        return self.name if self.name in names else next(iter(names), "")

    def built_in(self) -> dict[str, Path]:
        """Return the built-in numbers files by name, the default first; one in a folder is called by both, `pipeline/sft`."""
        if not self.numbers:
            return {}
        files = {
            path.relative_to(self.numbers).with_suffix("").as_posix(): path for path in self.numbers.rglob("*.toml")
        }
        return {name: files[name] for name in sorted(files, key=lambda name: (name != "default", "/" in name, name))}


STANDARD = {
    "rows": "own_data:tables_from",
    "paper": "paper:PAGE",
    "misconceptions": "misconceptions:MISCONCEPTIONS",
    "dumps": "dumps:DUMPS",
    "verifier": "verifying:VERIFIER",
}
"""By part of a record the module and the name that it has in the folder of a kind that has it."""


def kind_in(record: str, title: str, **parts: Any) -> Kind:
    """Make the record of the kind in whose folder the module `record` lies: what lies there under its usual name belongs to it.

    Those names are in `STANDARD`; `derivation.toml` says derivation and topics. parts: all else, an address without its package.
    """
    folder = Path(record).parent
    package = f"{__package__}.{folder.name}"
    found: dict[str, Any] = {
        part: address
        for part, address in STANDARD.items()
        if (folder / address.partition(":")[0]).is_dir() or (folder / f"{address.partition(':')[0]}.py").exists()
    }
    found |= {each: folder / f"{each}.toml" for each in ("models", "one_page") if (folder / f"{each}.toml").exists()}
    steps = tomllib.loads((folder / "derivation.toml").read_text(encoding="utf-8"))
    found |= {
        "numbers": folder / "numbers",
        "notes": (folder / "notes.toml",) if (folder / "notes.toml").exists() else (),
        "derivation": tuple(steps["derivation"]),
        "topics": {word: tuple(rows) for word, rows in steps.get("topics", {}).items()},
    }
    return Kind(folder.name, title, **{part: _whole_address(each, package) for part, each in (found | parts).items()})


def lesson_in(record: str, title: str, level: str, typed: str) -> Kind:
    """Make the record of a kind that is one lesson: what it consists of lies in its module `lesson` (`common.lesson`).

    level: the word of its level. typed: a block that only its files have.
    """
    return kind_in(
        record,
        title,
        levels={level: "lesson:LEVEL"},
        build="lesson:LESSON.blueprint",
        settings="lesson:SETTINGS",
        saved={level: typed},
        misconceptions="lesson:MISCONCEPTIONS",
    )


def _whole_address(part: Any, package: str) -> Any:
    """Return a part with its package in front of every address."""
    if isinstance(part, dict):
        return {key: _whole_address(each, package) for key, each in part.items()}
    if isinstance(part, tuple):
        return tuple(_whole_address(each, package) for each in part)
    own = isinstance(part, str) and ":" in part and not part.startswith("blueprint.")
    return f"{package}.{part}" if own else part


def imported(part: Any) -> Any:
    """Return a part of a record; what lies at its address, where only that is given."""
    return resolve_name(part) if isinstance(part, str) else part
