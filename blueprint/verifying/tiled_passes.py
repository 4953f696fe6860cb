"""Passes over a minibatch, tile by tile, in memory that does not grow with it: first what is counted, then what is lost. Responses
of a dump are inputs of the conventions in float64, and 0 where nothing reads them; rows of the file may stand in place of
computed ones.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from blueprint.dumps import Array, Minibatch, MinibatchError, Moments, require
from blueprint.verifying.formulas import Named, Options, Spread, Texts, Tiled, ppo
from blueprint.verifying.settings import Settings, number_of, options_of

Rows = slice | Sequence[int] | Array

TENSORS = {
    "old_logprobs": "logprobs_old",
    "reference_logprobs": "logprobs_ref",
    "logprobs": "logprobs_new",
    "entropy": "entropy",
    "old_values": "values_old",
    "values": "values_new",
}
"""By name of an input, the tensor of a dump that it is."""

READERS = {
    "old_logprobs": ("batch.response_mask", "reward.kl_at_first_pad"),
    "reference_logprobs": ("batch.response_mask", "reward.kl_at_first_pad"),
    "logprobs": ("batch.response_mask",),
    "entropy": ("batch.response_mask",),
    "old_values": ("batch.response_mask", "advantage.tail_slots", "value.tail"),
    "values": ("batch.response_mask", "value.tail"),
}
"""By name of an input, the conventions by which it is read outside the mask, too."""

INSTEAD = {"reference_logprobs": "old_logprobs", "logprobs": "old_logprobs"}
"""What stands in for an input that the file has not, so that a ratio is 1 and a KL is 0; for others that is 0."""


def cut(batch: Minibatch, rows: slice | Array) -> Minibatch:
    """Returns some responses of a minibatch."""
    return replace(
        batch,
        tensors={name: each[rows] for name, each in batch.tensors.items()},
        slots=batch.slots[rows],
        first=batch.first[rows],
        rows=None,
    )


def tensor(batch: Minibatch, name: str, rows: Rows, options: Options) -> Tensor:
    """Returns some responses of a tensor of the dump in float64, on the device of the options, [1, N, …]."""
    return moved(np.asarray(batch.tensors[name][rows], dtype=np.float64), options)[None]


def moved(values: Array, options: Options) -> Tensor:
    """Returns an array as a tensor on the device of the options; one that was mapped from a file is copied."""
    return torch.from_numpy(np.require(values, requirements="W")).to(options.values["gamma"].device)


def texts_of(batch: Minibatch, rows: Rows, options: Options) -> Texts:
    """Returns some responses of a dump as inputs, [1, N, T].

    Raises MinibatchError where a number is not finite that the options read.
    """
    mask, slots = _mask(batch, rows, options)
    score, ended = _score(batch, rows, mask, options), _ended(batch, rows, slots, mask, options)
    empty = dict.fromkeys((each.name for each in fields(Texts)), torch.zeros_like(mask))
    texts = Texts(**(empty | {"slots": slots, "mask": mask, "score": score, "ended": ended}))
    read = ppo.read_rows(texts, options)
    held = {name: tensor(batch, each, rows, options) for name, each in TENSORS.items() if each in batch.tensors}
    found = {name: _checked(batch, rows, name, each, read[name]) for name, each in held.items()}
    if "entropy" in found:  # where a mean over all slots is watched; `missing` says so if it is no number there
        behind = slots * held["entropy"].nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
        found["entropy"] = torch.where(options.says("metrics.over", "all"), behind, found["entropy"])
    instead = {name: found[other] for name, other in INSTEAD.items() if other in found}
    return Texts(**{**vars(texts), **instead, **found})


def _mask(batch: Minibatch, rows: Rows, options: Options) -> tuple[Tensor, Tensor]:
    mask = tensor(batch, "response_mask", rows, options)
    each = moved(np.asarray(batch.slots[rows], dtype=np.int64), options)
    slots = (torch.arange(mask.shape[-1], device=mask.device) < each[:, None]).to(torch.float64)[None]
    return mask * slots, slots


def per_word(batch: Minibatch) -> bool:
    """Tells whether the scores are rewards of tokens: a row with more than one number that is not 0; outside the text is NaN."""
    scores = np.asarray(batch.tensors.get("scores", ()))
    return scores.ndim == 2 and bool((((scores != 0) & ~np.isnan(scores)).sum(axis=1) > 1).any())


def entropy_everywhere(batch: Minibatch) -> bool:
    """Tells whether the entropy is a number in every slot, behind the last tokens, too."""
    entropy = np.asarray(batch.tensors["entropy"])
    return bool((np.isfinite(entropy) | ~(np.arange(entropy.shape[1]) < np.asarray(batch.slots)[:, None])).all())


def _score(batch: Minibatch, rows: Rows, mask: Tensor, options: Options) -> Tensor:
    if "scores" not in batch.tensors:
        return torch.zeros_like(mask[..., 0])
    scores = tensor(batch, "scores", rows, options)
    found = scores.nan_to_num(nan=0.0, posinf=torch.inf, neginf=-torch.inf).sum(dim=-1) if scores.dim() == 3 else scores
    for at in (~found.isfinite()).nonzero()[:, 1].tolist():
        row = batch.file_row(_row(rows, at))
        raise MinibatchError(f"{batch.path}: the score of row {row} is not finite: a number must stand there")
    return found


def _ended(batch: Minibatch, rows: Rows, slots: Tensor, mask: Tensor, options: Options) -> Tensor:
    """Returns 1 for responses that ended: as the file says, else where a slot is left over behind the last token."""
    if "ended" in batch.tensors:
        return tensor(batch, "ended", rows, options)
    return ((slots * (1 - mask.flip(-1).cummax(dim=-1).values.flip(-1))).sum(dim=-1) > 0).to(mask.dtype)


def _checked(batch: Minibatch, rows: Rows, name: str, found: Tensor, read: Tensor) -> Tensor:
    """Returns an input where it is read, else 0; what is read must be finite."""
    wrong = ((read > 0) & ~found.isfinite()).nonzero()
    if not len(wrong):
        return torch.where(read > 0, found, 0.0)
    _, at, column = wrong[0].tolist()
    row, called, value = _row(rows, at), batch.called.get(TENSORS[name], TENSORS[name]), float(found[0, at, column])
    where = f"{batch.path}: {called} is {value:g} in row {batch.file_row(row)}, column {int(batch.first[row]) + column}"
    require(not batch.mask[row, column], f"{where}, inside the mask: a number must stand there")
    raise MinibatchError(
        f"{where}, outside the mask, where {' or '.join(READERS[name])} has it read: write a number there, "
        "or set another convention"
    )


def _row(rows: Rows, at: int) -> int:
    """Returns which response of the file stands at a place of the responses that were taken."""
    return at + (rows.start or 0) if isinstance(rows, slice) else int(rows[at])


PLACES = {
    "scores": ("scores", "score.place", "scores"),
    "rewards": ("rewards", "rewards", "rewards"),
    "rewards.raw": ("rewards", "rewards.raw", "rewards"),
    "advantages": ("advantages", "advantages_used", "advantages"),
    "advantages.raw": ("advantages", "advantages", "advantages"),
    "returns": ("returns", "returns", "returns"),
}
"""By what a file's tensor is taken for: the tensor, the row that it stands in, and the row that says where it is read."""

EDGED = ("advantages",)
"""Rows with a column behind the last slot."""


def given_rows(batch: Minibatch, rows: Rows, options: Options, texts: Texts, names: Collection[str]) -> Named:
    """Returns rows of the file by the names of the rows that they stand for; not a number wherever the file says nothing."""
    where = ppo.compared_rows(texts, options) if names else {}
    found = {}
    for name in names:
        called, row, place = PLACES[name]
        read = torch.where(where[place] > 0, tensor(batch, called, rows, options), torch.nan)
        if name == "scores":  # a score of 0 stands nowhere
            there = read.nan_to_num() != 0
            read = torch.where(there.any(dim=-1, keepdim=True), there.to(read.dtype), torch.nan)
        found[row] = torch.cat([read, torch.full_like(read[..., :1], torch.nan)], dim=-1) if row in EDGED else read
    return found


Progress = Callable[[int], None]
Watch = Callable[[str, int], Progress]
"""Called with what begins and how many tokens it will go through; returns what is called with how many were done."""


def unseen(words: int) -> None:
    """Shows no progress."""


def quiet(what: str, words: int) -> Progress:
    """Shows no progress of anything."""
    return unseen


FLOOR = 1e-12
"""The variance of the returns up to which the explained variance is 0."""

TILE_TOKENS = 1 << 15
"""Tokens of a tile. About a hundred rows of one are held at once, in float64."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Lets torch use one thread for a tile: with several, tiles this small mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Work:
    """A minibatch, the options for it, and the sums over it that are known by now.

    given: tensors of the file that stand in place of computed rows, by the names of `file_inputs.PLACES`.
    numbers: numbers of the file that stand in place of computed parts of the loss, by their rows.
    """

    batch: Minibatch
    settings: Settings
    given: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    tile_tokens: int = TILE_TOKENS
    progress: Progress = unseen
    device: str = "cpu"
    sums: Tiled = field(default_factory=Tiled)

    def __post_init__(self) -> None:
        """Begins with the sums of a larger batch that the minibatch brings along."""
        beyond = sums_beyond(self.batch, self.device)
        self.sums.known.update(beyond.known)
        self.sums.spreads.update(beyond.spreads)

    @property
    def options(self) -> Options:
        """The settings as options that ask for the sums of the whole batch."""
        return replace(options_of(self.settings, self.device), sums=self.sums)

    @property
    def tiles(self) -> list[slice]:
        """The rows of the tiles, at least one each."""
        responses, slots = self.batch.mask.shape
        height = max(1, self.tile_tokens // max(1, slots))
        return [slice(first, min(first + height, responses)) for first in range(0, responses, height)]

    def count(self) -> None:
        """Goes as far as the advantages, as often as it takes to know what they are whitened with, and counts tokens."""
        if passes(self.settings) > 2:
            self._pass()
            self.sums.settle(lambda name: not name.startswith("advantage."))
        self._pass()
        self.sums.settle(lambda name: True)

    def with_losses(self) -> Iterator[tuple[slice, Named]]:
        """Goes through the batch with everything counted, yields all rows of each tile, and then knows all sums."""
        for rows in self.tiles:
            yield rows, self.recomputed(rows)
            self._done(rows)
        self.sums.settle(lambda name: True)

    def recomputed(self, rows: Rows) -> Named:
        """Returns every row of some responses, [1, N, T], as in the whole batch as far as its sums are known."""
        with one_thread():
            texts, options, given = self.inputs(rows)
            given |= {name: texts.mask.new_full((1,), each) for name, each in self.numbers.items()}
            return ppo.recompute(texts, options, texts.mask.new_full((1,), FLOOR), given)

    def before_losses(self, rows: Rows) -> tuple[Texts, Options, Named]:
        """Returns the inputs of some responses, the options, and the rows as far as the advantages."""
        with one_thread():
            texts, options, given = self.inputs(rows)
            return texts, options, ppo.signal(texts, options, given)

    def inputs(self, rows: Rows) -> tuple[Texts, Options, Named]:
        """Returns the inputs of some responses, the options, and the file's own rows that stand in place of computed ones."""
        options = self.options
        texts = texts_of(self.batch, rows, options)
        given = given_rows(self.batch, rows, options, texts, self.given)
        if self._per_word:  # no convention places scores that stand on several tokens of a response
            scores = tensor(self.batch, "scores", rows, options).nan_to_num(nan=0.0)
            given["score.placed"] = torch.where(texts.slots > 0, scores, torch.nan)
        return texts, options, given

    @cached_property
    def _per_word(self) -> bool:
        return per_word(self.batch)

    def _pass(self) -> None:
        with one_thread():
            for rows in self.tiles:
                texts, options, found = self.before_losses(rows)
                ppo.counts(texts, found, options)
                self._done(rows)

    def _done(self, rows: slice) -> None:
        self.progress(int(rows.stop - rows.start) * int(self.batch.mask.shape[1]))


def passes(settings: Settings) -> int:
    """Returns how often a minibatch is gone through."""
    return 3 if number_of("reward.whiten", settings["reward.whiten"]) else 2


WHITENED = ("reward", "advantage")
"""What is whitened, by the names of `Minibatch.moments`."""

LOSSES = ("policy", "value", "entropy")
"""Parts of the loss that are means, by the beginnings of the names of their counts."""


def sums_beyond(batch: Minibatch, device: str) -> Tiled:
    """Returns the sums that a file does not have of its own rows: moments of what was whitened, denominators of its losses.

    A mean over tokens Σ z / tokens · ranks is one over tokens / ranks tokens.
    """

    def number(value: float) -> Tensor:
        return torch.full((1,), value, dtype=torch.float64, device=device)

    found, spreads = dict[str, float](), dict[str, Spread]()
    for name, each in batch.moments.items():
        found |= {f"{name}.count": each.count, f"{name}.sum": each.count * each.mean}
        spreads[f"{name}.squares"] = Spread(number(each.count), number(each.mean), number(each.squares))
    if (share := batch.share) is not None:
        below = (("words", share.tokens), ("wrote", share.responses))
        found |= {f"{part}.{row}": each / share.ranks for part in LOSSES for row, each in below if each is not None}
        found |= {} if share.slots is None else {"most": share.slots}
    return Tiled({name: number(each) for name, each in found.items()}, spreads)


def moments_in(sums: Tiled) -> Mapping[str, Moments]:
    """Returns the moments that a pass over a batch has found."""
    known = {name: sums.spreads[f"{name}.squares"] for name in WHITENED if f"{name}.squares" in sums.spreads}
    return {name: Moments(float(each.count), float(each.mean), float(each.squares)) for name, each in known.items()}
