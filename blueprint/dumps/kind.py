"""What the dumps of a kind of workbook are: how one is told from others, how it is read, and whose conventions it may follow."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from blueprint.dumps.batch import Dump
from blueprint.dumps.formats import Raw
from blueprint.inputs.catalogue import Catalogue
from blueprint.workbooks.registry import kind_named, kinds


@dataclass(frozen=True)
class DumpKind:
    """A kind of dump.

    called: how one is spoken of. catalogue: the presets by which it may be computed.
    is_one: tells by names and metadata whether a file is one; without it, a file is one that is none of the others.
    read: makes a dump of a file as it was read, and raises MinibatchError in a sentence that begins with the path.
    """

    called: str
    catalogue: Callable[[], Catalogue]
    read: Callable[[Raw, Path], Dump]
    is_one: Callable[[Raw], bool] | None = None


def dump_kinds() -> list[DumpKind]:
    """Returns the kinds of dumps; last the one that a file is which is none of the others."""
    found: list[DumpKind] = [kind.part("dumps") for kind in kinds() if kind.dumps]
    return sorted(found, key=lambda each: each.is_one is None)


def kind_of_file(raw: Raw) -> DumpKind:
    """Returns which kind of dump a file is."""
    return next(each for each in dump_kinds() if each.is_one is None or each.is_one(raw))


def catalogue_of(dump: Dump) -> Catalogue:
    """Returns the presets by which a dump may be computed."""
    found: DumpKind = kind_named(dump.kind).part("dumps")
    return found.catalogue()
