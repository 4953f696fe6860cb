"""One side of a comparison: the files in which a framework wrote one step, in their order, and put together.

Of several passes over a rollout (epochs) the first is compared: what a later one begins with is what the first one left.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from blueprint.dumps import (
    Dump,
    Minibatch,
    MinibatchError,
    Place,
    first_pass,
    in_order,
    is_bundle,
    key_of,
    read_dump,
    require,
)
from blueprint.verifying import read_dumps, verifier_of
from blueprint.verifying.runs.steps import find

AnyPath = str | PathLike[str]


@dataclass(frozen=True)
class Side:
    """The files of one step of one framework.

    files: those of the first pass over the rollout, in the order of their places. whole: their rows, one file below the other;
    the file itself where there is one. notes: files that repeat others, and passes that are left out.
    """

    files: tuple[Dump, ...]
    whole: Dump
    notes: tuple[str, ...] = ()

    def place(self, row: int) -> tuple[str, int, int]:
        """Returns which file a row of the whole is of, "" where there is one; its row there, and in which column it begins."""
        if len(self.files) > 1 and sum(map(rows_in, self.files)) == rows_in(self.whole):
            for each in self.files:
                if row < rows_in(each):
                    return Path(each.path).name, *each.position(row)
                row -= rows_in(each)
        return "", *self.whole.position(row)


def rows_in(dump: Dump) -> int:
    """Returns how many rows a dump has: responses, pairs or environments."""
    return len(dump.mask) if isinstance(dump, Minibatch) else len(next(iter(dump.tensors.values())))


def side_of(dumps: Dump | Sequence[Dump]) -> Side:
    """Puts the files of a step together; a single one stays what it is.

    Raises:
        MinibatchError: files of two kinds, of two steps, or two that say they are the same part of one.
    """
    found = [dumps] if isinstance(dumps, Dump) else list(dumps)
    require(bool(found), "found no dump, expected the files of one step.")
    kinds = sorted({each.kind for each in found})
    require(len(kinds) == 1, f"{found[0].path} and others are dumps of different kinds, {', '.join(kinds)}.")
    ordered, notes = in_order([_placed(each) for each in found])
    kept = first_pass(ordered)
    if len(kept) < len(ordered):
        passes = len({key_of(each)[1] for each in ordered})
        notes.append(
            f"{len(kept)} of {len(ordered)} files are compared, those of the first of {passes} passes over the rollout"
        )
    put = verifier_of(kept[0]).together
    require(
        put is not None or len(kept) == 1,
        f"{kept[0].path}: files of {kept[0].kind} are not put together: name one of them.",
    )
    return Side(tuple(kept), put(kept) if put else kept[0], tuple(notes))


def _placed(dump: Dump) -> Dump:
    """Counts the updates of a pass as minibatches in files that say nothing else of their place, as those of SB3."""
    place = dump.place
    if place is None or place.minibatch is not None or place.optimizer_step is None:
        return dump
    return replace(dump, place=Place(**{**vars(place), "minibatch": place.optimizer_step}))


def read_side(paths: AnyPath | Sequence[AnyPath]) -> Side:
    """Reads a side: a file, several of one step, a bundle of Relax, or a folder with the files of one step.

    Raises:
        MinibatchError: as `side_of`; a file that cannot be read; a folder of several steps, or of none.
    """
    named = [Path(paths)] if isinstance(paths, str | PathLike) else [Path(each) for each in paths]
    files = [file for each in named for file in _files_of(each)]
    if len(files) == 1:
        return side_of(read_dump(files[0]))
    dumps, unread = read_dumps(files)
    require(not unread, next(iter(unread.values()), ""))
    return side_of(dumps)


def _files_of(path: Path) -> list[Path]:
    """Returns the files of the one step that a folder holds; of anything else itself."""
    if not path.is_dir() or is_bundle(path):
        return [path]
    steps = find(path).steps
    if len(steps) != 1:
        many = "no dump" if not steps else f"{len(steps)} steps ({steps[0].name} … {steps[-1].name})"
        raise MinibatchError(f"{path} holds {many}: name a folder with the files of one step, or one file.")
    return [path / file.name for file in steps[0].files]
