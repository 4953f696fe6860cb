"""Passes over a minibatch, tile by tile, in memory that does not grow with it: first what is counted, then what is lost."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from blueprint.dumps import Minibatch, Moments
from blueprint.verifying.file_inputs import Rows, given_rows, per_word, tensor, texts_of
from blueprint.verifying.formulas import Named, Options, Spread, Texts, Tiled, ppo
from blueprint.verifying.settings import Settings, number_of, options_of

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
