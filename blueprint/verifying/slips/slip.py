"""What a slip is: how a report puts it, and what the quantity then comes to, of the file's own rows before that quantity."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from blueprint.dumps import require
from blueprint.verifying.formulas import WHOLE, Named, Options, Sums, Texts, losses, with_end
from blueprint.verifying.settings import Setting, Settings, laid_over, number_of, options_of
from blueprint.verifying.tiled_passes import TENSORS, Rows, Work, moved

ON_PADS = {"advantages_used": "advantages", "returns": "returns"}
"""By row that a loss is made of, the tensor of a file that it is."""


@dataclass(frozen=True)
class Words:
    """What a number is added up from: what each word adds, where one counts, [1, N, T], and the aggregation if a special one."""

    each: Tensor
    counted: Tensor
    by: str = ""


@dataclass(frozen=True)
class Own:
    """Responses `at` of a file. rows: by name, as far as the advantages, the file's own where it has them, [1, N, T].

    whole: numbers of the whole file, made of its own rows. settings, options: the conventions in force.
    altered: rows that stand in place of those that are computed of others.
    """

    work: Work
    whole: Mapping[str, float]
    at: Rows
    texts: Texts
    rows: Named
    settings: Mapping[str, Setting]
    options: Options
    altered: Named = field(default_factory=dict)

    @classmethod
    def of(cls, work: Work, whole: Mapping[str, float], at: Rows) -> Self:
        """Computes the rows of some responses."""
        texts, options, rows = work.before_losses(at)
        return cls(work, whole, at, texts, rows, work.settings, options)

    def under(self, changes: Settings, sums: Sums = WHOLE) -> Self:
        """Returns the same rows, with other conventions for what is made of them."""
        settings = laid_over(self.settings, changes)
        options = options_of(settings, str(self.texts.mask.device)) if changes else self.options
        return replace(self, settings=settings, options=replace(options, sums=sums))

    def having(self, given: Named) -> Self:
        """Returns the same responses with other inputs, by their names among the formulas, or other rows."""
        inputs = {name: given[name] for name in given if name in TENSORS}
        rows = {name: given[name] for name in given if name not in TENSORS}
        return replace(self, texts=replace(self.texts, **inputs), rows=self.rows | rows, altered=self.altered | rows)

    def __getitem__(self, name: str) -> Tensor:
        """Returns a row without the columns behind the slots."""
        return self.rows[name][..., : self.texts.slots.shape[-1]]

    def number(self, key: str) -> float:
        """Returns an option as a number; a limit that is off is infinite."""
        return number_of(key, self.settings[key])

    @property
    def everywhere(self) -> Self:
        """The same responses as if each slot had a word: the file's tensors as they are, on the pads, too."""
        there = self.work.batch.tensors
        found = {key: self.file(name) for key, name in (TENSORS | ON_PADS).items() if name in there}
        found |= {"values.kept": with_end(found["old_values"])} if "old_values" in found else {}
        return self.having(found | {"response": self.texts.slots})

    def file(self, name: str, across: int = 0, down: int = 0, around: bool = False) -> Tensor:
        """Returns a tensor of the file as it is, pads and all, [1, N, T]; 0 where it is not finite.

        across: so many columns to the right; what comes in at the edge is 0, or, `around`, what went out at the other.
        down: so many rows down, the last ones becoming the first. Raises MinibatchError where the file does not have it.
        """
        batch = self.work.batch
        require(name in batch.tensors, f"{batch.path} has no {name}")
        rows = (np.arange(len(batch.slots))[self.at] - down) % len(batch.slots)
        values = np.nan_to_num(batch.tensors[name][rows].astype(np.float64), posinf=0.0, neginf=0.0)
        return across_by(moved(values, self.options)[None], across, around)


def across_by(values: Tensor, by: int, around: bool = False) -> Tensor:
    """Returns values [..., T] so many columns to the right."""
    found = values.roll(by, dims=-1)
    if by and not around:
        found[..., slice(0, by) if by > 0 else slice(by, None)] = 0.0
    return found


Read = Callable[[Own], Tensor]
Number = Callable[[Own], Words]
"""How a tensor, or what a number is added up from, is read or made of the file's own rows."""

BEFORE = "of the position before (shifted by one column to the right)"
BEHIND = "of the position behind (shifted by one column to the left)"
BESIDE = ((BEFORE, 1, 0, False), (BEHIND, -1, 0, False), (BEFORE, 1, 0, True), (BEHIND, -1, 0, True),
          ("of the row before", 0, 1, False), ("of the row behind", 0, -1, False))  # fmt: skip
"""Where else a tensor may have been read: how it is said, how many columns to the right, how many rows down, and whether
what goes out at one edge comes in at the other, as with roll."""


def read(name: str, across: int = 0, down: int = 0, around: bool = False) -> Read:
    """Returns how a tensor of the file is read, from another place if so."""
    return lambda own: own.file(name, across, down, around)


def beside(name: str) -> Iterator[tuple[str, Read]]:
    """Yields how a tensor may have been read beside its place: how that is said, and how it is read."""
    for where, across, down, around in BESIDE:
        yield f"{name} {where}", read(name, across, down, around)


@dataclass(frozen=True)
class Slip:
    """A mistake in one quantity. said: how a report puts it, behind "matches with".

    made: of the file's own rows the `Words` that a number is added up from; of numbers by name, the total that they make.
    """

    said: str
    made: Callable[[Any], Any]


@dataclass(frozen=True)
class TensorSlip(Slip):
    """A mistake in one tensor alone: `made` is what it makes of the file's own rows, [1, N, T].

    whitened: whether that is whitened, too, where the preset whitens.
    over: the words that it is then whitened over, made of those of the response and its slots, if not over these.
    """

    made: Read
    whitened: bool = True
    over: Callable[[Tensor, Tensor], Tensor] | None = None


def altered(number: Number, given: Mapping[str, Read]) -> Number:
    """Returns a number with other inputs or rows, by name."""
    return lambda own: number(own.having({name: made(own) for name, made in given.items()}))


def counted(own: Own, name: str = "loss.counted") -> Tensor:
    """Returns where a loss counts words."""
    return losses.counted_rows(own.rows, own.options)[name]


def _shorter(mask: Tensor, slots: Tensor) -> Tensor:
    return mask * (mask.flip(-1).cumsum(dim=-1).flip(-1) > 1)


MASKS: tuple[tuple[str, Callable[[Tensor, Tensor], Tensor]], ...] = (
    # mll-lab-nu/VAGEN #8: the mask of the critic shifted against that of the actor
    ("a mask that covers one position more behind each token",
     lambda mask, slots: torch.maximum(mask, across_by(mask, 1)) * slots),
    ("a mask that ends one token earlier", _shorter),
    ("a mask that begins one token later", lambda mask, slots: _shorter(mask.flip(-1), slots).flip(-1)),
    ("a mask shifted by one column to the right", lambda mask, slots: across_by(mask, 1)),
    ("a mask shifted by one column to the left", lambda mask, slots: across_by(mask, -1)),
)  # fmt: skip

WAYS = (
    ("the sum over the tokens, divided by nothing", "token-sum"),
    ("the sum over the tokens divided by the number of responses", "seq-mean-token-sum"),
    ("the mean over the responses of their means", "seq-mean-token-mean"),
    ("the mean over all tokens", "token-mean"),
)


def masks(words: Number, of: str) -> tuple[Slip, ...]:
    """Returns a number under other masks, of the file's tensors as they are on the pads, and added up in other ways."""

    def masked(mask: Callable[[Tensor, Tensor], Tensor], own: Own) -> Words:
        return replace(words(own), each=words(own.everywhere).each, counted=mask(words(own).counted, own.texts.slots))

    def over_slots(each: Tensor) -> Words:
        return Words(each, torch.ones_like(each), "token-mean")

    return (
        *(Slip(f"{said}, in {of} alone", partial(masked, mask)) for said, mask in MASKS),
        # natolambert/rlhf-book #216 and pytorch/rl #2021: a plain mean, pads and all
        Slip("no mask: the mean over all B·T positions", lambda own: over_slots(words(own.everywhere).each)),
        Slip("the sum over the tokens divided by all B·T positions",
             lambda own: over_slots(words(own).each * words(own).counted)),
        *(Slip(said, partial(lambda by, own: replace(words(own), by=by), by)) for said, by in WAYS),
    )  # fmt: skip
