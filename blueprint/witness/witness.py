"""The door of the room: files in, every number recomputed by torch out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from blueprint.witness import from_tokens, from_weights
from blueprint.witness.batch import Batch, Rows, group_key, is_weights
from blueprint.witness.device import chosen_device, chosen_dtype, ieee_products
from blueprint.witness.live import compute as live
from blueprint.witness.live.presets import is_live
from blueprint.witness.rollout import Tie
from blueprint.witness.settings import Array, File, is_controller
from blueprint.workbooks.classic_ppo.witness import compute as classic
from blueprint.workbooks.classic_ppo.witness.settings import is_classic
from blueprint.workbooks.kl_controller import witness as controller
from blueprint.workbooks.minibatch.witness import compute as minibatch
from blueprint.workbooks.minibatch.witness.kind import is_minibatch


@dataclass(frozen=True)
class Record:
    """How it was computed, and where another honest computation may draw another word."""

    device: str
    dtype: str
    torch: str
    ties: list[Tie] = field(default_factory=list)


class Witnessed(list[dict[str, Array]]):
    """The recomputed quantities of each file, by the names of their blocks; `record` says how they were computed."""

    def __init__(self, files: list[dict[str, Array]], record: Record) -> None:
        """Joins the answers with their record."""
        super().__init__(files)
        self.record = record


def witness(files: Sequence[File], device: str = "auto", dtype: str = "float64") -> Witnessed:
    """Recomputes every quantity of workbooks from what is typed in them, in torch, many files at once.

    Each file is a mapping of block names to arrays, as `blueprint.page.read.read` gives it; of it only typed blocks are
    read. Returns for each file its quantities in the order of derivation, in the shapes of the file, edge cells included;
    words come as object arrays. `device` is "auto" (CUDA, else MPS for float32, else the processor) or a name of torch's;
    `dtype` is "float64" or "float32". Raises WitnessError for another format, a device that is not here, a file that is no
    workbook of PPO, an unknown word, switch or mask.
    """
    number_format = chosen_dtype(dtype)
    place = chosen_device(device, number_format)
    record = Record(str(place), dtype, torch.__version__)
    found: dict[int, dict[str, Array]] = {}
    with torch.no_grad(), ieee_products():
        for members in _groups(files):
            batch = Batch([files[number] for number in members], number_format, place)
            found |= zip(members, _recomputed(batch, members, record), strict=True)
    return Witnessed([found[number] for number in range(len(files))], record)


def _groups(files: Sequence[File]) -> list[list[int]]:
    """Returns the numbers of the files that can be computed together."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, file in enumerate(files):
        groups.setdefault(group_key(file), []).append(number)
    return list(groups.values())


def _recomputed(batch: Batch, members: list[int], record: Record) -> list[dict[str, Array]]:
    rows = Rows(batch)
    if is_classic(batch.files[0]):
        classic.compute(batch, rows)
    elif is_controller(batch.files[0]):
        controller.compute(batch, rows)
    elif is_minibatch(batch.files[0]):
        minibatch.compute(batch, rows)
    elif is_live(batch.files[0]):
        record.ties.extend(live.compute(batch, rows, members))
    elif is_weights(batch.files[0]):
        record.ties.extend(from_weights.compute(batch, rows, members))
    else:
        from_tokens.compute(batch, rows)
    return rows.of_each_file()
