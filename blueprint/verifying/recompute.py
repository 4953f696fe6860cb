"""A whole minibatch again in float64, tile by tile, in memory that does not grow with the minibatch; and how far rounding alone may
move a logged number from the one computed again, by the dtype of what it was made of.

Two or three passes. The first counts tokens and gathers what advantages are whitened with; where rewards are whitened,
that takes a pass of its own, for advantages are made of them. The last gathers the losses and what is watched, as sums over
the responses of each tile. Once all sums are known, any response can be computed alone as if the whole batch were there.

|a − b| ≤ tolerance · (1 + largest number of the row); what is further apart differs. The reasons, and what was measured, stand
in docs/verify.md.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType

import numpy as np
import torch

from blueprint.dumps import Array, Minibatch, require
from blueprint.verifying.compare import computed
from blueprint.verifying.logged import NUMBERS, PADS, missing, starts
from blueprint.verifying.settings import Settings, laid_over, number_of
from blueprint.verifying.tiled_passes import TILE_TOKENS, Progress, Work, entropy_everywhere, one_thread, unseen


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


TOLERANCES = MappingProxyType({"float64": 1e-9, "float32": 2e-5, "float16": 2**-9, "bfloat16": 2**-6})
"""By dtype of torch, from the finest to the coarsest."""

HALF = ("float16", "bfloat16")

LOOPED = ("advantages", "returns")
LOOPS = {"float64": 1e-12, "float32": 4e-6, "float16": 4e-6, "bfloat16": 4e-6}
SUMS = {"float64": 1e-13, "float32": 1e-6, "float16": 1e-6, "bfloat16": 1e-6}
"""What a library's own loops along a response, and its other sums, may be off, of the size of their terms: by what its file is
rounded to, as far as that tells what it computed with; sums of half-precision numbers are made in float32."""

LOOKED_AT, ENOUGH = 4096, 16
"""How many numbers of a tensor are looked at, and how many of them must be different, to tell what they are rounded to."""

TELLING = (
    "logprobs_old", "logprobs_ref", "logprobs_new", "logprobs_rollout", "entropy", "values_old", "values_new",
    "advantages", "returns",
)  # fmt: skip
"""Tensors whose numbers show what they were rounded to. Scores and rewards often are round numbers, made by rules."""

FEWEST_DECIMALS, MOST_DIGITS = 2, 7
"""A number of so many decimals, and of no more digits than float32 has, may have been rounded when it was written."""


def held_in(batch: Minibatch) -> dict[str, str]:
    """Returns by tensor the dtype that its numbers have been rounded to, in torch's words; others than these are left out.

    A dtype narrower than float64 is taken at its word. Numbers of float64 count as what they were computed as: those of
    jsonl come as float64, and all of them may be float32 numbers.
    """
    return {
        name: _rounded_to(batch, name) if dtype == "float64" and name in TELLING else dtype
        for name, dtype in batch.dtypes.items()
        if dtype in TOLERANCES and name in batch.tensors
    }


def coarsest(dtypes: Mapping[str, str], names: Collection[str]) -> str:
    """Returns the coarsest dtype of some tensors; whole numbers, and true and false, are exact."""
    order = list(TOLERANCES)
    return order[max((order.index(dtypes[name]) for name in names if dtypes.get(name) in TOLERANCES), default=0)]


def _rounded_to(batch: Minibatch, name: str) -> str:
    """Looks at the first numbers of a float64 tensor: enough different ones, all in a coarser dtype, are of that.

    Whole numbers are in every dtype and tell nothing.
    """
    values = np.asarray(batch.tensors[name])[:LOOKED_AT]
    inside = values[batch.mask[:LOOKED_AT].astype(bool)] if values.ndim == 2 else values
    distinct = np.unique(inside[np.isfinite(inside)][:LOOKED_AT].astype(np.float64))
    some = torch.from_numpy(distinct[distinct != np.trunc(distinct)])
    if len(some) < ENOUGH:
        return "float64"
    return next(each for each in reversed(TOLERANCES) if bool((some.to(getattr(torch, each)).double() == some).all()))


def last_digit(value: float) -> float:
    """Returns half a unit of the last digit of a number that was written with few, else 0.

    0.1235 may stand for anything between 0.12345 and 0.12355; 0, 1 and 0.5 may well be what they say, NaN has no digit.
    """
    if not np.isfinite(value):
        return 0.0
    digits = Decimal(repr(value)).normalize()
    exponent = int(digits.as_tuple().exponent)
    as_it_is = value == 0 or -exponent < FEWEST_DECIMALS or len(digits.as_tuple().digits) > MOST_DIGITS
    return 0.0 if as_it_is else 0.5 * 10.0**exponent


def half_unit(value: float, dtype: str) -> float:
    """Returns half a unit in the last place of a number in a dtype: so much rounding to it may have moved the number."""
    half = 2.0 ** (np.frexp(value)[1] - 2) * torch.finfo(getattr(torch, dtype)).eps
    return float(half) if value != 0 and np.isfinite(value) else 0.0


def stored(value: float, dtype: str) -> float:
    """Returns half a unit in the last place of a number that is exact in float16 or bfloat16, where its file has those."""
    exact = dtype in HALF and float(torch.tensor(value, dtype=getattr(torch, dtype))) == value
    return half_unit(value, dtype) if exact else 0.0


def widened(found: Replay) -> float:
    """Returns what rounding grows by where advantages are whitened here, at least 1: rounding is divided by the deviation.

    Advantages of the file are not whitened again; theirs is all the rounding that there is.
    """
    if found.options["whiten_advantages"] == "off" or "advantages" in found.work.given:
        return 1.0
    return max(1.0, 1 / found.whole["advantage.divisor"]) if found.whole["advantage.divisor"] else 1.0


SHARES = ("clip_fraction.used", "clip_fraction.dual", "clip_fraction.value")
"""Shares of tokens on which rounding decides whether a clip holds: one may be off by as many tokens."""
READ_BY_SHARES = (
    "response", "ratio", "advantages_used", "surrogate.floor", "surrogate.pessimistic", "value.counted", "value.error",
    "value.square", "value.square_clipped", "returns", "values.kept",
)  # fmt: skip


def near_a_clip(rows: Mapping[str, Array], settings: Settings, tolerance: float) -> dict[str, int]:
    """Returns, by name of a share, how many tokens of a tile lie within the tolerance of where their clip begins.

    That is a ratio near either end of its range, or an advantage near 0, whose sign says which end counts; and a value near
    the end of its range, or outside it with both squares nearly the same.
    """
    names = ("clip_range", "loss.clip_range_high", "loss.dual_clip", "value_clip_range")
    low, high, floor, reach = (number_of(name, settings[name]) for name in names)
    ratio, advantages, pessimistic = rows["ratio"], rows["advantages_used"], rows["surrogate.pessimistic"]
    at_end = np.minimum(np.abs(ratio - (1 - low)), np.abs(ratio - (1 + high))) <= tolerance * (1 + ratio)
    clipped = at_end | (np.abs(advantages) <= tolerance)
    near_floor = np.abs(rows["surrogate.floor"] - pessimistic) <= tolerance * (1 + np.abs(pessimistic))
    old, returns, square = rows["values.kept"][:, :-1], rows["returns"], rows["value.square"]
    moved = np.abs(returns + rows["value.error"] - old)
    allowed = tolerance * (1 + np.abs(returns) + np.abs(old))
    same = (moved > reach) & (np.abs(square - rows["value.square_clipped"]) <= allowed * (1 + np.sqrt(square)))
    response, counted = rows["response"] > 0, rows["value.counted"] > 0
    return {
        "clip_fraction.used": int((response & clipped).sum()),
        "clip_fraction.dual": int((response & near_floor).sum()) if np.isfinite(floor) else 0,
        "clip_fraction.value": int((counted & ((np.abs(moved - reach) <= allowed) | same)).sum()),
    }
