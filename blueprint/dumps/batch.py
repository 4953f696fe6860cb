"""What a dump of a training step is to us: tensors under neutral names, and what its metadata say of its place in the run, and of
how its numbers came about.
"""

import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from blueprint.dumps.formats import SCHEMA, Array, MinibatchError, require
from blueprint.quoting import unquoted

COUNTED_IN = {"rank": "world_size", "epoch": "epochs", "minibatch": "minibatches", "microbatch": "microbatches"}
"""Numbers that count from 0, and the key that says how many there are."""

LARGEST, MOST_DIGITS = 2**53, 16
"""A whole number that every JSON reader still knows exactly, and how many digits it has."""


@dataclass(frozen=True)
class Place:
    """What the metadata of a file say of its place within a step of the run; None where they do not say it.

    rank: the process that wrote it, of world_size. epoch: pass over the rollout, of epochs. minibatch: the optimiser step
    within the epoch, of minibatches. microbatch: the part of the minibatch that one forward pass took, of microbatches. All of
    these count from 0. optimizer_step: updates since the old log-probs of this rollout were computed.
    """

    rank: int | None = None
    world_size: int | None = None
    epoch: int | None = None
    epochs: int | None = None
    minibatch: int | None = None
    minibatches: int | None = None
    microbatch: int | None = None
    microbatches: int | None = None
    optimizer_step: int | None = None

    @property
    def before_first_update(self) -> bool | None:
        """Whether the policy is still the one of the old log-probs; None where the file does not say it."""
        if self.optimizer_step is not None:
            return self.optimizer_step == 0
        minibatch = 0 if self.minibatches == 1 else self.minibatch
        epoch = 0 if self.epochs == 1 else self.epoch
        if epoch or minibatch:
            return False
        return True if epoch == minibatch == 0 else None

    def __str__(self) -> str:
        """Names what is known: rank 0 of 2, epoch 0, minibatch 1 of 4."""
        known = {key: each for key, each in vars(self).items() if each is not None}
        of = {key: f" of {known[many]}" for key, many in COUNTED_IN.items() if many in known}
        counted = [key for key in (*COUNTED_IN, "optimizer_step") if key in known]
        return ", ".join(f"{key} {known[key]}{of.get(key, '')}" for key in counted)


PLACE_KEYS = tuple(each.name for each in fields(Place))
"""Metadata that say the place of a file."""


def place_of(metadata: Mapping[str, Any]) -> Place | None:
    """Returns the place that metadata say, None if they say none.

    Raises MinibatchError for what is no whole number, or a number that is not below how many there are.
    """
    keys = [key for key in PLACE_KEYS if metadata.get(key) is not None]
    found = {key: whole_number(metadata[key], key, int(key in COUNTED_IN.values())) for key in keys}
    for key, many in COUNTED_IN.items():
        if key in found and many in found:
            require(
                found[key] < found[many],
                f"metadata, {key}: found {found[key]} of {many} {found[many]}, expected 0 … {found[many] - 1}: it counts from 0.",
            )
    return Place(**found) if found else None


def whole_number(found: Any, key: str, least: int | None = None, among: str = "metadata,") -> int:
    """Returns a whole number; the metadata of some formats are texts. among: what stands in front of the key where it is refused.

    Raises MinibatchError for anything else, and for a number below the least.
    """
    digits = isinstance(found, str) and len(found) <= MOST_DIGITS and found.isascii() and found.isdecimal()
    number = int(found) if digits or (isinstance(found, float) and found.is_integer()) else found
    bound = "" if least is None else f", {least} or more"
    require(
        type(number) is int and (least is None or least <= number <= LARGEST),
        f"{among} {key}: found {found!r:.40}, expected a whole number{bound}.",
    )
    return int(number)


def number_said(found: Any, key: str) -> float:
    """Returns a number; the metadata of some formats are texts. Raises MinibatchError for anything else."""
    if (number := _number(found)) is None:
        raise MinibatchError(f"{key}: found {unquoted(str(found))}, expected a number.")
    return number


def _number(found: Any) -> float | None:
    try:
        return float(found) if isinstance(found, int | float | str) and not isinstance(found, bool) else None
    except (ValueError, OverflowError):
        return None


def run_fields(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of any `Dump` that say which version wrote it, and at which step and place.

    Raises MinibatchError for a later schema than ours, and for what is no number.
    """
    schema, version, step = metadata.get("schema", SCHEMA), metadata.get("version"), metadata.get("step")
    require(
        type(schema) is int and schema >= 1,
        f"metadata, schema: found {schema!r:.40}, expected a whole number, at present {SCHEMA}.",
    )
    require(
        schema <= SCHEMA, f"metadata, schema: found {schema!r:.40}, this program knows {SCHEMA}; install a later one."
    )
    return {
        "version": None if version is None else str(version),
        "step": None if step is None else whole_number(step, "step"),
        "place": place_of(metadata),
    }


INFO = "loss_batch_info"
"""OpenRLHF's name for all that losses were divided by together, an object."""

SHARE_KEYS = {
    "batch_num_tokens": "tokens", "global_batch_size": "responses", "dp_size": "ranks", "loss_scale_factor": "slots",
}  # fmt: skip
"""Metadata that say what losses were divided by, as verl 0.9.1 (core_algos.py, agg_loss) and OpenRLHF 0.11.2 call it, and
the fields of a `Share` that they are."""


SAYS_NOTHING = (None, "", "None", "null")
"""What stands in metadata for nothing; those of some formats are texts."""


@dataclass(frozen=True)
class Share:
    """What losses were divided by, as metadata say it; None where they do not.

    tokens: of a mean over tokens, Σ z / tokens · ranks. responses: of a mean over responses, likewise. Neither needs to be a
    whole number: OpenRLHF divides both by the microbatches of an update. ranks: processes whose gradients are averaged.
    slots: what seq-mean-token-sum-norm divides a response's sum by. inferred_from: the logged loss that told tokens and responses,
    where no metadata do.
    """

    tokens: float | None = None
    responses: float | None = None
    ranks: float = 1.0
    slots: float | None = None
    inferred_from: str | None = None


def share_of(metadata: Mapping[str, Any]) -> Share | None:
    """Returns what metadata say that losses were divided by, None if they say nothing.

    Raises MinibatchError for what is no number above 0, or is said twice, differently.
    """
    nested, plain = _divisors(_info(metadata.get(INFO))), _divisors(metadata)
    for key in plain.keys() & nested.keys():
        require(nested[key] == plain[key], f"metadata, {key}: found {plain[key]:g}, and {nested[key]:g} in {INFO}.")
    said: dict[str, Any] = {SHARE_KEYS[key]: each for key, each in (nested | plain).items()}
    return Share(**said) if said else None


def _info(found: Any) -> Mapping[str, Any]:
    """Returns the object; metadata of some formats are texts."""
    if found in SAYS_NOTHING:
        return {}
    try:
        read: dict[str, Any] = json.loads(found) if isinstance(found, str) else found
    except ValueError:
        read = found
    require(
        isinstance(read, dict),
        f"metadata, {INFO}: found {unquoted(str(found))}, expected an object, names with numbers.",
    )
    return read


def _divisors(metadata: Mapping[str, Any]) -> dict[str, float]:
    return {key: _positive(metadata[key], key) for key in SHARE_KEYS if metadata.get(key) not in SAYS_NOTHING}


def _positive(found: Any, key: str) -> float:
    number = _number(found) or 0.0
    require(
        isfinite(number) and number > 0, f"metadata, {key}: found {unquoted(str(found))}, expected a number above 0."
    )
    return number


ENGINE, OLDER = "engine", "older"
FORWARD_OPTIONS = {
    "logprobs_old_from": ("trainer", ENGINE),
    "logprobs_rollout_from": ("old", OLDER),
    "forward_dtype": ("float64", "float32", "float16", "bfloat16"),
}
"""Who computed the old log-probs: the policy in the trainer, or the engine that generated the responses (vLLM, SGLang); whether
the engine had the weights of the old policy, or older ones; and in which dtype the models computed."""


def forward_option(metadata: Mapping[str, Any], key: str) -> str | None:
    """Returns what metadata say of the forward passes, a dtype also where it is written as torch does; None if nothing.

    Raises MinibatchError for another word than those that there are.
    """
    found, options = metadata.get(key), FORWARD_OPTIONS[key]
    word = found.removeprefix("torch.") if isinstance(found, str) else found
    if word is None or word in options:
        return word
    raise MinibatchError(f"metadata, {key}: found {found!r:.40}, expected {', '.join(options[:-1])} or {options[-1]}.")


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
    decimals: to how many decimals all numbers that its step logged were rounded when they were written; 0: not all were.
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
    decimals: int = 0
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
    def minibatch_rows(self) -> Array | None:
        """Returns what tells the rows of its minibatch, where those are others than its own rows; None where they are the same."""
        return None

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
    rollout_from: whether the engine had the weights of the "old" policy, or "older" ones, as in asynchronous training; else None.
    forward_dtype: in which dtype the models computed, as the file says, else None.
    share: what its losses were divided by, where they are shares of the loss of a larger batch, as the file says, else None.
    moments: by `reward` and `advantage`, those of the larger batch that they were whitened over, where it is known.
    of_responses: tensors of which the file has one number of each response; here it stands at each of its tokens.
    """

    slots: Array
    first: Array
    _: KW_ONLY
    rows: Array | None = None
    old_from: str | None = None
    rollout_from: str | None = None
    forward_dtype: str | None = None
    share: Share | None = None
    moments: Mapping[str, Moments] = field(default_factory=dict)
    of_responses: tuple[str, ...] = ()

    kind = "rlhf_ppo"

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
