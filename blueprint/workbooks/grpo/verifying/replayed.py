"""A step of GRPO computed again: what stands in the place of what, what is done otherwise, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from blueprint.dumps import Array
from blueprint.verifying import Settings
from blueprint.workbooks.grpo.dumps import GroupedStep

Given = Mapping[str, Array]
NOTHING: Given = MappingProxyType({})
Ways = Mapping[str, Any]
"""What is done otherwise than in every library: known mistakes, and conventions that no setting names.

factor: by quantity, what it is multiplied by, −1 for the other sign; in_loss is that of the advantages in the loss alone.
parts: losses are means over so many parts of the rows, one below the other. share: False where losses are means over the file,
not its share of those over a larger batch. padded: losses are means over all slots, those behind a response with the loss 0.
swap: by tensor, which one stands in its place. moved: tensors whose columns stand one later (1) or earlier (−1).
groups: "interleaved" where row i answers prompt i modulo the number of prompts; "rows" where groups are rows side by side.
mask: "all" where pads count, too; "no_last" without the last token of each response; "one_more" with the one behind.
inverted: the ratio is old over new.
"""
PLAIN: Ways = MappingProxyType({})


@dataclass(frozen=True)
class Whole:
    """The step of which a file is a part: the rows of all its files, one file below the other, and which of them are the file's."""

    step: GroupedStep
    rows: slice


@dataclass
class Replayed:
    """A step computed again, and what came of it.

    left: [B], 0 for responses whose group was taken out. rows: [B, T]; numbers: of the step; both as computed. sizes: by number,
    the mean size of the terms that it sums. room: by row of tensors, how much further than rounding of the number itself a number
    may be off, [B, 1] or [B, T]; infinite where rounding decides it altogether. lacks: by quantity, what the file has not that it
    takes. started: the tensors of the file in which the computation begins.
    """

    batch: GroupedStep
    settings: Settings
    left: Array
    rows: dict[str, Array] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    room: dict[str, Array] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)
    started: tuple[str, ...] = ()

    @property
    def options(self) -> Settings:
        """The conventions in force."""
        return self.settings
