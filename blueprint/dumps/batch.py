"""What a dump of a training step is to us: tensors under neutral names, and what its library said about them."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from blueprint.dumps.formats import Array
from blueprint.dumps.metadata import Place, Share


@dataclass(frozen=True)
class Moments:
    """Of how many tokens a batch whitens, their mean, and Σ (z − mean)²."""

    count: float
    mean: float
    squares: float


@dataclass(frozen=True)
class Dump:
    """A file under neutral names, of whichever kind.

    tensors: what a kind of dump has is said there. dtypes: by neutral name, what the numbers were in the file.
    called: by neutral name, what the file calls it.
    library, version, step: as the file says, else None.
    preset: the name of the preset that does what the library does, else None.
    hyperparameters: by key of a numbers file (`ppo.gamma`, `loss.dual_clip` …), what the library used.
    logged: by neutral name (`total_loss`, `policy_loss`, `entropy` …), what it logged.
    place: where in the run it belongs, as far as the metadata say it.
    notes: what was assumed, in sentences.
    """

    path: str
    tensors: Mapping[str, Array]
    dtypes: Mapping[str, str]
    called: Mapping[str, str]
    _: KW_ONLY
    library: str | None = None
    version: str | None = None
    step: int | None = None
    preset: str | None = None
    hyperparameters: Mapping[str, float | str] = field(default_factory=dict)
    logged: Mapping[str, float] = field(default_factory=dict)
    place: Place | None = None
    notes: tuple[str, ...] = ()

    kind: ClassVar[str]
    """The kind of workbook that is made of it."""
    counted: ClassVar[str] = "tokens"
    """What a loss is a mean of."""

    @property
    def mask(self) -> Array:
        """1 where a loss counts."""
        raise NotImplementedError

    @property
    def many(self) -> int:
        """How many tokens, or steps, it has."""
        return int(self.mask.sum())

    @property
    def size(self) -> int:
        """How many numbers its largest row of tokens or steps has: how long a computation takes."""
        return max(each.size for each in self.tensors.values())

    def position(self, row: int) -> tuple[int, int]:
        """Returns in which row and from which column on of the file's own arrays a row of this dump stands."""
        return row, 0

    @property
    def head(self) -> str:
        """Says what it is, above a report; "" where that goes without saying."""
        return ""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Says the same for programs."""
        return {}


@dataclass(frozen=True)
class Minibatch(Dump):
    """A dump of a training step. Rows are responses, columns slots of a response, counted from 0: [B, T].

    tensors: `response_mask` (bool, [B, T]) and, as far as the file has them, `prompt_ids` ([B, P]), `response_ids`,
        `logprobs_old`, `logprobs_ref`, `logprobs_new`, `logprobs_rollout`, `entropy`, `values_old`, `values_new`, `rewards`,
        `advantages`, `returns` ([B, T], float32 or float64), `scores` ([B] or [B, T]), `ended` (bool, [B]) and `row_index` ([B],
        which row of the rollout each row is, from 0). Log-probs and values in column t are those of the token that is written
        in slot t, the value that of the state before it. Outside the mask anything may stand, also what is not finite.
    slots: [B], how many slots a response may fill; columns behind them are no slots of that row.
    first: [B], in which column of the file's own arrays slot 0 of each row stands, so that reports can name those.
    rows: [B], which row of the file each row is, where rows were left out; else None.
    old_from: whose the old log-probs are, the "trainer"'s or the generating "engine"'s, as the file says, else None.
    forward_dtype: in which dtype the models computed, as the file says, else None.
    share: what its losses were divided by, where they are shares of the loss of a larger batch, as the file says, else None.
    moments: by `reward` and `advantage`, those of the larger batch that they were whitened over, where it is known.
    """

    slots: Array
    first: Array
    _: KW_ONLY
    rows: Array | None = None
    old_from: str | None = None
    forward_dtype: str | None = None
    share: Share | None = None
    moments: Mapping[str, Moments] = field(default_factory=dict)

    kind = "minibatch"

    @property
    def mask(self) -> Array:
        """1 where a token of the response stands, [B, T]; it may have holes."""
        return np.asarray(self.tensors["response_mask"])

    @property
    def size(self) -> int:
        """How many slots all its rows have."""
        return int(self.mask.size)

    def file_row(self, row: int) -> int:
        """Returns which row of the file a response is; some files have rows that are left out."""
        return row if self.rows is None else int(self.rows[row])

    def position(self, row: int) -> tuple[int, int]:
        """Returns in which row of the file a response stands, and in which column its first slot does."""
        return self.file_row(row), int(self.first[row])
