"""The door of the room: files in, every number recomputed by torch out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from blueprint.witness.batch import Batch, Rows
from blueprint.witness.device import Record, Tie, chosen_device, chosen_dtype, ieee_products
from blueprint.witness.settings import Array, File, WitnessError


def shapes(file: File, *names: str) -> tuple[object, ...]:
    """Returns the shapes of the named blocks of a file, of all its blocks if none is named; None for one that it lacks."""
    return tuple((name, file[name].shape if name in file else None) for name in names or sorted(file))


@dataclass(frozen=True)
class KindWitness:
    """How torch computes the files of a kind of workbook.

    Attributes:
        known_by: blocks of which a file of the kind has one, and no file of another kind has any.
        frame: blocks of which the first that a file has is typed and has a cell for each episode and position.
        compute: adds every quantity of files to rows, and returns the draws that are ties, by the places of the files.
        group_key: what files must share to be computed together; without it, the shape of every block.
    """

    known_by: tuple[str, ...]
    frame: tuple[str, ...]
    compute: Callable[[Batch, Rows], Sequence[Tie]]
    group_key: Callable[[File], object] = shapes

    def batch(self, files: Sequence[File], dtype: torch.dtype, device: torch.device) -> Batch:
        """Returns files that are computed together."""
        return Batch(files, next((name for name in self.frame if name in files[0]), self.frame[-1]), dtype, device)


class Witnessed(list[dict[str, Array]]):
    """The recomputed quantities of each file, by the names of their blocks; `record` says how they were computed."""

    def __init__(self, files: list[dict[str, Array]], record: Record) -> None:
        """Joins the answers with their record."""
        super().__init__(files)
        self.record = record


def witness(
    files: Sequence[File], kinds: Sequence[KindWitness], device: str = "auto", dtype: str = "float64"
) -> Witnessed:
    """Recomputes every quantity of workbooks from what is typed in them, in torch, many files at once.

    Each file is a mapping of block names to arrays, as `blueprint.page.read.read` gives it; of it only typed blocks are
    read. `kinds` are those that the files may be of; the registry of workbooks has those that there are. Returns for each
    file its quantities in the order of derivation, in the shapes of the file, edge cells included; words come as object
    arrays. `device` is "auto" (CUDA, else MPS for float32, else the processor) or a name of torch's; `dtype` is "float64"
    or "float32". Raises WitnessError for another format, a device that is not here, a file that is of none of the kinds, an
    unknown word, switch or mask.
    """
    number_format = chosen_dtype(dtype)
    place = chosen_device(device, number_format)
    record = Record(str(place), dtype, torch.__version__)
    groups: dict[object, tuple[KindWitness, list[int]]] = {}
    for number, file in enumerate(files):
        kind = kind_of(file, kinds)
        groups.setdefault((kind, kind.group_key(file)), (kind, []))[1].append(number)
    found: dict[int, dict[str, Array]] = {}
    with torch.no_grad(), ieee_products():
        for kind, members in groups.values():
            batch = kind.batch([files[number] for number in members], number_format, place)
            rows = Rows(batch)
            record.ties.extend(replace(tie, file=members[tie.file]) for tie in kind.compute(batch, rows))
            found |= zip(members, rows.of_each_file(), strict=True)
    return Witnessed([found[number] for number in range(len(files))], record)


def kind_of(file: File, kinds: Sequence[KindWitness]) -> KindWitness:
    """Returns the kind of a file. Raises WitnessError if it is of none."""
    for kind in kinds:
        if any(name in file for name in kind.known_by):
            return kind
    known = "; ".join(" or ".join(kind.known_by) for kind in kinds)
    raise WitnessError(f"the file is of no kind of workbook that torch computes: it has none of the blocks {known}")
