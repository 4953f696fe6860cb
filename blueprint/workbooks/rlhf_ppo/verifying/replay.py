"""A whole minibatch again in float64, by the definitions; and what rounding decides in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from blueprint.dumps import Array, Minibatch, Moments, require
from blueprint.verifying import Settings
from blueprint.verifying.logged import NUMBERS, PADS, TENSORS, missing, starts
from blueprint.verifying.progress import Progress, unseen
from blueprint.verifying.settings import checked, laid_over, number_of
from blueprint.workbooks.rlhf_ppo.verifying.feeding import EQUATIONS, SUPPORT, Fed, Laid, entropy_everywhere, fed

DERIVATION = (
    "kl.used", "rewards", "advantages", "advantages_used", "log_ratio", "ratio", "policy_kl.used", "kl_new.used", "surrogate",
    "value.word_loss", "policy.entropy",
)  # fmt: skip
"""The rows on the way to what is logged, in the order in which they are computed."""
FROM = {"ratio": "log_ratio"}
"""What a row is the exponential of, where it is one."""
LOOKED_AT = tuple(
    dict.fromkeys(
        (
            *DERIVATION, *SUPPORT,
            *(row for each in TENSORS for row, _ in each.rows),
            *(row for each in NUMBERS for row, _ in (*each.rows, (each.spread, ""), (each.weights, "")) if row),
        )
    )
)  # fmt: skip
"""What is computed at once, since whoever compares a file asks for it."""
NOTHING: Mapping[str, float] = MappingProxyType({})
WHITENED = {"reward": "reward.whiten", "advantage": "whiten_advantages"}
"""By what is whitened, the setting that says whether."""


@dataclass(frozen=True)
class Replay:
    """A minibatch computed again.

    options: every convention in force. fed: the file in the blocks of the definitions.
    missing: by name of a quantity that cannot be computed, what the file lacks; such rows are there, but mean nothing.
    started: quantities that were taken from the file, because what is before them is not there.
    given: its tensors that stand in the place of computed rows, and numbers: its parts of the loss that do.
    laid: what was laid out of it, by the settings that decide that.
    """

    batch: Minibatch
    options: Settings
    fed: Fed
    missing: Mapping[str, str]
    started: tuple[str, ...]
    given: tuple[str, ...] = ()
    numbers_given: Mapping[str, float] = field(default_factory=dict)
    laid: Laid = field(default_factory=dict)
    _found: dict[str, Array] = field(default_factory=dict)
    _of_rows: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def device(self) -> str:
        """Where it is computed."""
        return self.fed.device

    def values(self, names: Collection[str]) -> dict[str, Array]:
        """Returns rows [B, T] or [B], and numbers, by name; a name that is in no equation under these settings is left out."""
        there = EQUATIONS.under(self.options).rows
        new = [name for name in dict.fromkeys(names) if name in there and name not in self._found]
        if new:
            self._found.update(self.fed.values(new))
        return {name: self._found[name] for name in names if name in there}

    def __getitem__(self, name: str) -> Array:
        """Returns a row or a number, the file's own where it stands in the place of a computed one."""
        return self.values((name,))[name]

    @property
    def whole(self) -> Numbers:
        """Numbers of the whole batch, by name."""
        return Numbers(self)

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers that libraries log, as far as the file has what they are made of."""
        return {each.name: self.whole[each.name] for each in NUMBERS if each.needs not in self.missing}

    def row(self, name: str) -> Array:
        """Returns what a row or a number comes to, also where the file's own stands in its place."""
        key = f"computed.{name}"
        if name not in self.fed.own and name not in self.numbers_given:
            return self[name]
        if key not in self._found:
            self._found[key] = self.fed.without(name).values((name,))[name]
        return self._found[key]

    def number(self, name: str) -> float:
        """Returns what a number of the whole batch comes to, also where the file's own stands in its place."""
        return float(self.row(name))

    def statistic(self, name: str) -> float:
        """Returns a number of the whole batch; of what is not whitened, as it would be: a workbook can switch whitening on.

        Raises KeyError for a name that is none.
        """
        of, _, _ = name.partition(".")
        if of not in WHITENED or name in EQUATIONS.under(self.options).rows:
            return self.whole[name]
        whitened = {**self.options, WHITENED[of]: "on"}
        made = fed(self.batch, whitened, self.given, self.numbers_given, self.device, self.laid)
        return float(made.values((name,))[name])

    def largest(self, name: str) -> float:
        """Returns the largest size of a row's numbers in the whole batch; 0 of one that is not there."""
        return self._of_row("largest", name)

    def size(self, name: str) -> float:
        """Returns the sum of the sizes of a row's numbers in the whole batch; 0 of one that is not there."""
        return self._of_row("size", name)

    def _of_row(self, what: str, name: str) -> float:
        if (what, name) not in self._of_rows:
            row = np.abs(self.values((name,)).get(name, np.zeros(0)))
            with np.errstate(over="ignore"):
                self._of_rows[what, name] = float(row.max(initial=0.0) if what == "largest" else row.sum())
        return self._of_rows[what, name]

    def counted(self, part: str) -> tuple[float, float]:
        """Returns the tokens and the responses that means of a part of the loss are divided by: of the whole batch, or of the
        larger one that a file is a share of, as its library counts them. part: "policy", "value" or "entropy"."""
        share, length = self.batch.share, self[f"{part}.weight.length"]
        tokens, responses = float(length.sum()), float((length > 0).sum())
        if share is not None:
            tokens = tokens if share.tokens is None else share.tokens / share.ranks
            responses = responses if share.responses is None else share.responses / share.ranks
        return tokens, responses

    def rows(self, episodes: Sequence[int]) -> dict[str, Array]:
        """Returns every row of chosen responses, [N, T] or with an edge, and their numbers [N], as in the whole batch.

        Raises MinibatchError for a response that is not there.
        """
        size = len(self.batch.slots)
        for each in episodes:
            require(0 <= each < size, f"{self.batch.path} has no row {each}: rows are counted from 0 to {size - 1}")
        there = EQUATIONS.under(self.options).rows
        numbers = self.values([name for name, row in there.items() if not row.axes and row.definitions])
        some = self.fed.of(np.asarray(episodes, dtype=np.int64), numbers)
        return some.with_edges([name for name, row in there.items() if row.axes])


class Numbers(Mapping[str, float]):
    """The numbers of a batch that was computed again, each computed when it is asked for."""

    def __init__(self, of: Replay) -> None:
        """Takes the batch."""
        self._of = of

    def __getitem__(self, name: str) -> float:
        """Returns a number. Raises KeyError for a name that is none."""
        return float(self._of[name])

    def __iter__(self) -> Iterator[str]:
        """Goes through the names."""
        return (name for name, row in EQUATIONS.under(self._of.options).rows.items() if not row.axes)

    def __len__(self) -> int:
        """Counts the names."""
        return sum(1 for _ in self)


def replay(
    batch: Minibatch,
    options: Settings,
    progress: Progress = unseen,
    given: Collection[str] = (),
    numbers: Mapping[str, float] = NOTHING,
    device: str = "cpu",
    laid: Laid | None = None,
) -> Replay:
    """Computes a minibatch again under the values of a preset.

    given: tensors of the file that stand in place of what would be computed; numbers: parts of the loss that do: then what
    follows is what the file's own rows lead to. progress: called with how many tokens were done.
    laid: what was laid out of the same file before.
    Raises MinibatchError for settings that are none, and where a number that the options read is not finite.
    """
    require(batch.mask.size > 0, f"{batch.path} has no responses, or responses of no positions: {batch.mask.shape}")
    settings = checked(laid_over(options))
    laid = {} if laid is None else laid
    made = fed(batch, settings, given, numbers, device, laid)
    has = {*batch.tensors, *([PADS] if "entropy" in batch.tensors and entropy_everywhere(batch) else [])}
    found = Replay(
        batch,
        settings,
        made,
        missing(has, settings),
        starts(batch.tensors, settings),
        tuple(given),
        dict(numbers),
        laid,
    )
    found.values(LOOKED_AT)
    progress(int(batch.mask.size))
    return found


def moments_in(found: Replay) -> Mapping[str, Moments]:
    """Returns the moments of what was whitened: how many numbers, their plain mean, and the squares around it."""
    made = dict[str, Moments]()
    for name, row in (("reward", "rewards.raw"), ("advantage", "advantages")):
        some = found.values((f"{name}.counted", row))
        if len(some) == 2:
            counted, values = some[f"{name}.counted"], some[row]
            count = float(counted.sum())
            mean = float((counted * values).sum()) / max(count, 1.0)
            made[name] = Moments(count, mean, float((counted * (values - mean) ** 2).sum()))
    return made


def ending(found: Replay) -> Iterator[str]:
    """Says in a sentence which quantity first has no finite number, and at which token; nothing where all have one."""
    name = next((each for each in DERIVATION if not np.isfinite(found.largest(each))), None)
    if name is None:
        return
    row = found[name]
    at, column = (int(i) for i in np.argwhere(~np.isfinite(row))[0])
    of = f", of a log-ratio of {found[FROM[name]][at, column]:.6g}" if name in FROM else ""
    where = f"row {found.batch.file_row(at)}, column {int(found.batch.first[at]) + column}"
    yield (
        f"{name} is {row[at, column]:g} in {where}{of}: beyond the largest number, 1.8e308; so is what is computed from it"
    )


def widened(found: Replay) -> float:
    """Returns what rounding grows by where advantages are whitened here, at least 1: rounding is divided by the deviation.

    Advantages of the file are not whitened again; theirs is all the rounding that there is.
    """
    if found.options["whiten_advantages"] == "off" or "advantages" in (*found.started, *found.given):
        return 1.0
    return max(1.0, 1 / found.whole["advantage.divisor"]) if found.whole["advantage.divisor"] else 1.0


READ_BY_SHARES = (
    "response", "ratio", "advantages_used", "surrogate.floor", "surrogate.pessimistic", "value.counted", "value.error",
    "value.square", "value.square_clipped", "returns", "values.kept",
)  # fmt: skip


def near_a_clip(found: Replay, tolerance: float, of_advantages: float) -> dict[str, int]:
    """Returns, by name of a share, how many tokens lie within the tolerance of where their clip begins.

    of_advantages: how far rounding may move an advantage.

    That is a ratio near either end of its range, or an advantage near 0, whose sign says which end counts; and a value near
    the end of its range, or outside it with both squares nearly the same.
    """
    rows, settings = found.values(READ_BY_SHARES), found.options
    low, high, reach = (
        number_of(name, settings[name]) for name in ("clip_range", "loss.clip_range_high", "value_clip_range")
    )
    ratio, advantages = rows["ratio"], rows["advantages_used"]
    at_end = np.minimum(np.abs(ratio - (1 - low)), np.abs(ratio - (1 + high))) <= tolerance * (1 + ratio)
    clipped = at_end | (np.abs(advantages) <= of_advantages)
    near_floor = np.zeros(ratio.shape, bool)
    if "surrogate.floor" in rows:
        pessimistic = rows["surrogate.pessimistic"]
        near_floor = np.abs(rows["surrogate.floor"] - pessimistic) <= tolerance * (1 + np.abs(pessimistic))
    old, returns, square = rows["values.kept"], rows["returns"], rows["value.square"]
    moved = np.abs(returns + rows["value.error"] - old)
    allowed = tolerance * (1 + np.abs(returns) + np.abs(old))
    same = (moved > reach) & (np.abs(square - rows["value.square_clipped"]) <= allowed * (1 + np.sqrt(square)))
    response, counted = rows["response"] > 0, rows["value.counted"] > 0
    return {
        "clip_fraction.used": int((response & clipped).sum()),
        "clip_fraction.dual": int((response & near_floor).sum()),
        "clip_fraction.value": int((counted & ((np.abs(moved - reach) <= allowed) | same)).sum()),
    }
