"""A whole minibatch again in float64, tile by tile, in memory that does not grow with the minibatch.

Two or three passes. The first counts tokens and gathers what advantages are whitened with; where rewards are whitened,
that takes a pass of its own, for advantages are made of them. The last gathers the losses and what is watched, as sums over
the responses of each tile. Once all sums are known, any response can be computed alone as if the whole batch were there.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from blueprint.dumps import Array, Minibatch, require
from blueprint.verifying.compare import computed
from blueprint.verifying.file_inputs import entropy_everywhere
from blueprint.verifying.logged import NUMBERS, PADS, missing, starts
from blueprint.verifying.settings import Settings, laid_over
from blueprint.verifying.tiled_passes import TILE_TOKENS, Progress, Work, one_thread, unseen


@dataclass(frozen=True)
class Replay:
    """A minibatch computed again.

    options: every convention in force.
    missing: by name of a quantity that cannot be computed, what the file lacks; such rows are there, but mean nothing.
    started: quantities that were taken from the file, because what is before them is not there.
    whole: numbers of the whole batch, by the names of `formulas.ppo.recompute`.
    responses: numbers of every response, [B].
    largest, sizes: by name, the largest size of a row's numbers in the whole batch, and the sum of their sizes.
    """

    batch: Minibatch
    options: Settings
    missing: Mapping[str, str]
    started: tuple[str, ...]
    whole: Mapping[str, float]
    responses: Mapping[str, Array]
    largest: Mapping[str, float]
    sizes: Mapping[str, float]
    work: Work

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers that libraries log, as far as the file has what they are made of."""
        return {each.name: self.whole[each.name] for each in NUMBERS if each.needs not in self.missing}

    def counted(self, part: str) -> tuple[float, float]:
        """Returns the tokens and the responses that means of a part of the loss are divided by: of the whole batch, or of the
        larger one that a file is a share of, as its library counts them. part: "policy", "value" or "entropy"."""
        known = self.work.sums.known
        return float(known[f"{part}.words"]), float(known[f"{part}.wrote"])

    def rows(self, episodes: Sequence[int]) -> dict[str, Array]:
        """Returns every row of chosen responses, [N, T] or with an edge, and their numbers [N], as in the whole batch.

        Raises MinibatchError for a response that is not there.
        """
        size = len(self.batch.slots)
        for each in episodes:
            require(0 <= each < size, f"{self.batch.path} has no row {each}: rows are counted from 0 to {size - 1}")
        found = self.work.recomputed(np.asarray(episodes, dtype=np.int64))
        return {name: row[0].cpu().numpy() for name, row in found.items() if row.dim() > 1}

    def tiles(self, names: Collection[str]) -> Iterator[tuple[int, dict[str, Array]]]:
        """Yields the named rows of all responses, tile by tile, each with the first response of the tile.

        `computed.NAME` is what a row comes to where the file's own stands in its place; elsewhere there is none.
        """
        for rows in self.work.tiles:
            found = self.work.recomputed(rows)
            yield rows.start, {name: found[name][0].cpu().numpy() for name in names if name in found}

    def row(self, name: str) -> Array:
        """Returns what a row comes to in all responses, also where the file's own stands in its place; without an edge, [B, T]."""
        slots = self.batch.mask.shape[1]
        return np.concatenate([computed(rows, name)[:, :slots] for _, rows in self.tiles((name, f"computed.{name}"))])

    def number(self, name: str) -> float:
        """Returns what a number of the whole batch comes to, also where the file's own stands in its place."""
        return float(computed(self.whole, name))


def replay(
    batch: Minibatch,
    options: Settings,
    progress: Progress = unseen,
    tile_tokens: int = TILE_TOKENS,
    given: Collection[str] = (),
    numbers: Mapping[str, float] | None = None,
    device: str = "cpu",
) -> Replay:
    """Computes a minibatch again under the values of a preset.

    `given` names tensors of the file that stand in place of what would be computed, `numbers` holds parts of the loss that
    do: then what follows is what the file's own rows lead to. `progress` is called with how many tokens were done, in all
    `passes(options)` times the slots of the batch.
    Raises MinibatchError for settings that are none, and where a number that the options read is not finite.
    """
    require(batch.mask.size > 0, f"{batch.path} has no responses, or responses of no positions: {batch.mask.shape}")
    settings = laid_over(options)
    started = starts(batch.tensors, settings)
    work = Work(batch, settings, tuple(dict.fromkeys((*started, *given))), numbers or {}, tile_tokens, progress, device)
    work.count()
    with one_thread():
        gathered = _gathered(work)
        whole = {name: float(row[0]) for name, row in work.recomputed(slice(0, 1)).items() if row.dim() == 1}
    has = {*batch.tensors, *([PADS] if "entropy" in batch.tensors and entropy_everywhere(batch) else [])}
    return Replay(batch, settings, missing(has, settings), started, whole, *gathered, replace(work, progress=unseen))


def _gathered(work: Work) -> tuple[dict[str, Array], dict[str, float], dict[str, float]]:
    """Returns, by name, the numbers of all responses; and of rows the largest size of a number, and the sum of sizes."""
    responses, largest, sizes = dict[str, Array](), dict[str, float](), dict[str, float]()
    for at, rows in work.with_losses():
        for name, row in rows.items():
            if row.dim() == 2:
                # Numbers are copied: small tensors that live on between tiles would keep the memory of the tiles apart.
                responses.setdefault(name, np.empty(len(work.batch.slots)))[at] = row[0].cpu().numpy()
            elif row.dim() == 3:
                size = row.abs()
                # numpy's maximum keeps NaN, Python's max may lose it
                largest[name] = float(np.maximum(largest.get(name, 0.0), float(size.max())))
                sizes[name] = sizes.get(name, 0.0) + float(size.sum())
    return responses, largest, sizes


DERIVATION = (
    "kl.used", "rewards", "advantages", "advantages_used", "log_ratio", "ratio", "policy_kl.used", "kl_new.used", "surrogate",
    "value.word_loss", "entropy",
)  # fmt: skip
"""The rows on the way to what is logged, in the order in which they are computed."""

FROM = {"ratio": "log_ratio"}
"""What a row is the exponential of, where it is one."""


def ending(found: Replay) -> Iterator[str]:
    """Says in a sentence which quantity first has no finite number, and at which token; nothing where all have one."""
    name = next((each for each in DERIVATION if not np.isfinite(found.largest.get(each, 0.0))), None)
    if name is None:
        return
    read = FROM.get(name, name)
    for start, rows in found.tiles({name, read, "response"}):
        lost = ~np.isfinite(rows[name][:, : rows["response"].shape[1]])
        if lost.any():
            at, column = (int(i) for i in np.argwhere(lost)[0])
            of = f", of a log-ratio of {rows[read][at, column]:.6g}" if name in FROM else ""
            where = f"row {found.batch.file_row(start + at)}, column {int(found.batch.first[start + at]) + column}"
            yield (
                f"{name} is {rows[name][at, column]:g} in {where}{of}: beyond the largest number, 1.8e308; "
                "so is what is computed from it"
            )
            return
