"""How far the numbers of two forwards of the same model are apart, token by token, and what a difference is like; and before the
first update, when the policy is the old one: the ratio is 1, values are the old ones, approximate KL and clip fraction 0.

Two forwards differ: kernels do by the shape of a batch, and with them the last digits. docs/verify.md has the sources of the
numbers. A larger difference is told by what it is like: a column off, permuted rows, padded rows, a temperature, or noise.
Log-probs of the generating engine have a page of their own, `engine.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import erfc, sqrt
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from blueprint.dumps import ENGINE, Array, Minibatch
from blueprint.inputs import counted
from blueprint.verifying.compare import AGREES, DIFFERS, EARLY, TOO_COARSE, Compared, Line, first_spot
from blueprint.verifying.logged import CALLED
from blueprint.verifying.rounding import HALF, held_in

QUIET = 1e-4
"""A token is quiet whose difference is at most this, times 1 + its size: as of a forward in float32 that was done twice."""

LARGEST = 1.0
"""A difference counts as at most this much, in nats or deviations of the values, so that one token does not stand for all."""

FEWEST_IN_A_ROW, OUTLYING = 16, 8.0
"""Tokens of a row that is looked at alone, and how many times as far apart as the median of all rows it must be."""

TOKENS = 1 << 20
"""Of a larger batch, rows with so many tokens are looked at, spread over it."""


@dataclass(frozen=True)
class Gap:
    """Two tensors over some rows of a file, as [N, T].

    rows: [N], which rows of the batch these are. tokens: 1 where a token of the response stands. old, new: 0 elsewhere.
    whose: whose numbers the old ones are, in words.
    unit: what differences are counted in: 1 for log-probs, the spread of the values for values.
    spread: how much the old numbers differ among themselves, in units.
    rounding: by how much being stored moves both, root mean square, in units.
    """

    name: str
    rows: Array
    tokens: Array
    old: Array
    new: Array
    unit: float
    spread: float
    rounding: float
    whose: str = "old"

    @property
    def apart(self) -> Array:
        """new − old, [N, T], in units; 0 outside the response."""
        return np.asarray((self.new - self.old) / self.unit)

    @property
    def loud(self) -> Array:
        """Where the two are further apart than two forwards in float32, [N, T]."""
        return np.asarray(np.abs(self.new - self.old) > QUIET * (1 + np.abs(self.old))) & self.tokens

    def size(self) -> float:
        """Returns the root mean square difference of the loud tokens, or of all where none is loud, in units."""
        loud = self.loud
        return rms(self.apart[loud if loud.any() else self.tokens])

    def of_rows(self) -> Array:
        """Returns the root mean square difference of each row, [N], in units; 0 of a row without tokens."""
        squares = np.where(self.tokens, np.clip(self.apart, -LARGEST, LARGEST) ** 2, 0.0)
        return np.asarray(np.sqrt(squares.sum(axis=1) / np.maximum(self.tokens.sum(axis=1), 1)))

    def has_a_row_off(self, most: float, fewest: int = FEWEST_IN_A_ROW) -> bool:
        """Tells whether a row that is not short is further apart than noise ever is, and not just as noisy as the others."""
        sizes = self.of_rows()
        off = sizes > max(most, OUTLYING * float(np.median(sizes)))
        return bool((off & (self.tokens.sum(axis=1) >= fewest)).any())


def rms(apart: Array) -> float:
    """Returns the root mean square of differences, none of which counts as more than `LARGEST`."""
    return float(np.sqrt(np.mean(np.clip(apart, -LARGEST, LARGEST) ** 2))) if apart.size else 0.0


def gap(batch: Minibatch, old: str, new: str, whose: str = "old") -> Gap | None:
    """Returns how far apart two tensors are; None where one is missing, or no token stands anywhere."""
    if not {old, new} <= batch.tensors.keys() or not batch.mask.any():
        return None
    responses, slots = batch.mask.shape
    rows = np.unique(np.linspace(0, responses - 1, min(responses, max(1, TOKENS // slots))).astype(int))
    tokens = batch.mask[rows].astype(bool)
    one, two = (np.where(tokens, np.asarray(batch.tensors[name][rows], dtype=np.float64), 0.0) for name in (old, new))
    unit = 1.0
    if old.startswith("values"):  # a quarter of their size where they hardly differ: rounding goes by the size
        unit = max(float(np.std(one[tokens])), float(np.sqrt(np.mean(one[tokens] ** 2))) / 4) or 1.0
    dtypes = held_in(batch)
    moved = [_rounded(values[tokens], dtypes.get(name, "float64")) for name, values in ((old, one), (new, two))]
    spread, rounding = float(np.std(one[tokens])) / unit, float(np.hypot(moved[0], moved[1])) / unit
    return Gap(new, rows, tokens, one, two, unit, spread, rounding, whose)


def _rounded(values: Array, dtype: str) -> float:
    """Returns by how much half a unit in the last place moves numbers, root mean square; what is finer than half counts as 0."""
    if dtype not in HALF or not values.size:
        return 0.0
    units = 2.0 ** (np.frexp(values)[1] - 1) * (2.0**-7 if dtype == "bfloat16" else 2.0**-10)
    return float(np.sqrt(np.mean(units**2) / 12))


USUAL = MappingProxyType({"float64": 1e-6, "float32": 0.003, "float16": 0.03, "bfloat16": 0.06})
"""By dtype of the forward, how far the log-probs of two forwards usually are apart at most, root mean square, in nats."""

MOST = MappingProxyType({"float64": 1e-5, "float32": 0.03, "float16": 0.1, "bfloat16": 0.25})
"""How far they ever are: what is farther apart is no noise of a forward."""

USUAL_SHARE, MOST_SHARE = 0.05, 0.15
"""In half dtypes both are at most such a share of how much the log-probs differ among themselves: noise is a share of the logits,
and those of a tiny model are small. What float32 does is always allowed."""

COMPARED = ("logprobs_old", "logprobs_new", "values_old", "values_new")


def forward(batch: Minibatch, gaps: Mapping[str, Gap]) -> tuple[str, str]:
    """Returns in which dtype the models computed, and how that is known; bfloat16, as most libraries do, where nothing tells."""
    if batch.forward_dtype:
        return batch.forward_dtype, "as the file says"
    dtypes = held_in(batch)
    half = next((dtypes[name] for name in COMPARED if dtypes.get(name) in HALF), None)
    if half:
        return half, "as its numbers are rounded"
    values = gaps.get("values_new")
    if values is not None and not values.loud.any() and values.apart.any():
        return "float32", "as the values show"
    return "bfloat16", "unless forward_dtype says another one"


def limits(each: Gap, dtype: str) -> tuple[float, float]:
    """Returns how far the numbers of two forwards usually are apart at most, and how far they ever are."""
    usual, most = USUAL[dtype], MOST[dtype]
    if dtype in HALF:
        usual = max(USUAL["float32"], min(usual, USUAL_SHARE * each.spread))
        most = max(MOST["float32"], min(most, MOST_SHARE * each.spread))
    return float(np.hypot(usual, each.rounding)), float(np.hypot(max(usual, most), each.rounding))


EXPLAINS, TWICE = 0.25, 0.5
"""What is left of a difference at most, if something explains it; and in other rows, if only some of them differ."""

MOST_ROWS, FEWEST_IN_COMMON = 128, 3
"""Rows among which permuted ones are looked for, and tokens in common below which two rows tell nothing."""

CERTAIN, STEEP = 6.0, 0.02
"""So many deviations of chance a slope must be away from 0, and so large it must be itself."""

FEWEST_ROWS, MOSTLY = 6, 0.5
"""Rows below which chance cannot be told, and what share of the squares a slope explains that is named all the same."""

MOST_LISTED = 6


class Pattern(NamedTuple):
    """What a difference is like, in words; and whether noise of a forward is never like that."""

    said: str
    telling: bool


def patterns(batch: Minibatch, gap: Gap, usual: float) -> tuple[Pattern, ...]:
    """Returns what a difference is like that is larger than usual; nothing if it is scattered evenly."""
    return tuple([*shifted(gap), *permuted(batch, gap)] or [*some_rows(batch, gap, usual), *sloped(batch, gap)])


def shifted(gap: Gap) -> Iterator[Pattern]:
    """The new number of a token is the old one of its neighbour."""
    for by, beside in ((1, "after"), (-1, "before")):
        old = np.roll(gap.old, -by, axis=1)
        both = gap.tokens & np.roll(gap.tokens, -by, axis=1)
        both[:, -1 if by == 1 else 0] = False
        if both.sum() >= FEWEST_IN_COMMON and rms(((gap.new - old) / gap.unit)[both]) <= EXPLAINS * rms(
            gap.apart[both]
        ):
            yield Pattern(
                f"it is the {gap.whose} number of the token {beside} it: one of the two tensors is a column off", True
            )


def permuted(batch: Minibatch, gap: Gap) -> Iterator[Pattern]:
    """The new numbers of a row are the old ones of another."""
    old, new, tokens = (each[:MOST_ROWS] for each in (gap.old, gap.new, gap.tokens))
    if len(old) < 2:
        return
    costs = np.stack([_cost(one, mask, old, tokens, gap.unit) for one, mask in zip(new, tokens, strict=True)])
    best, own = costs.argmin(axis=1), np.diagonal(costs)
    moved = np.flatnonzero((best != np.arange(len(best))) & (costs.min(axis=1) <= EXPLAINS * own) & np.isfinite(own))
    if len(moved) > 1:
        listed = [
            f"row {batch.file_row(int(gap.rows[at]))} is the {gap.whose} row {batch.file_row(int(gap.rows[int(best[at])]))}"
            for at in moved[:3]
        ]
        yield Pattern(f"the rows are permuted: {', '.join(listed)}{' …' if len(moved) > 3 else ''}", True)


def _cost(one: Array, mask: Array, others: Array, tokens: Array, unit: float) -> Array:
    """Returns how far a row is from each of others, where both have tokens; infinity where they have too few in common."""
    both = tokens & mask
    apart = np.clip(np.abs(others - one) / unit, 0, 1) * both
    counts = both.sum(axis=1)
    return np.asarray(np.where(counts >= FEWEST_IN_COMMON, apart.sum(axis=1) / np.maximum(counts, 1), np.inf))


def some_rows(batch: Minibatch, gap: Gap, usual: float) -> Iterator[Pattern]:
    """Only some rows differ; and those may be the ones whose prompts are padded."""
    sizes, there = gap.of_rows(), gap.tokens.any(axis=1)
    loud = sizes > usual
    if not loud.any() or loud[there].all() or sizes[~loud].max() > TWICE * sizes[loud].min():
        return
    rows = [str(batch.file_row(int(gap.rows[int(at)]))) for at in np.flatnonzero(loud)]
    listed = ", ".join(rows[:MOST_LISTED]) + (" …" if len(rows) > MOST_LISTED else "")
    padded = padded_rows(batch)
    if padded is not None and np.array_equal(padded[gap.rows][there], loud[there]):
        yield Pattern(
            f"only in rows with a padded prompt ({listed}): position ids, or an attention mask, that do not skip the pads",
            True,
        )
    else:
        yield Pattern(f"only in {len(rows)} of {int(there.sum())} rows ({listed})", False)


def padded_rows(batch: Minibatch) -> Array | None:
    """Returns which prompts begin with pads, [B]: the token that the most prompts begin with twice; None if that tells nothing."""
    prompts = batch.tensors.get("prompt_ids")
    if prompts is None or prompts.shape[1] < 2:
        return None
    found, counts = np.unique(prompts[prompts[:, 0] == prompts[:, 1], 0], return_counts=True)
    padded = prompts[:, 0] == found[counts.argmax()] if found.size else None
    return None if padded is None or padded.all() else np.asarray(padded)


def sloped(batch: Minibatch, gap: Gap) -> Iterator[Pattern]:
    """Differences that grow with the log-prob, as a temperature makes them, or that do not scatter around 0."""
    if not gap.name.startswith("logprobs"):
        return
    size = (gap.old + gap.new) / 2
    entropy = batch.tensors.get("entropy")
    if entropy is not None:  # d log p / d(1/T) is log p + H
        size = size + np.where(gap.tokens, np.nan_to_num(np.asarray(entropy[gap.rows], dtype=np.float64)), 0.0)
    slope, certain, share = _slope(gap, size, about_mean=entropy is None)
    if abs(slope) > STEEP and (certain or share > MOSTLY):
        logged = batch.hyperparameters.get("batch.temperature")
        known = (
            f"; the file says a temperature of {logged:g}" if isinstance(logged, float | int) and logged != 1 else ""
        )
        about = f"by the slope about {1 / (1 + slope):.2g}{known}" if slope > -1 else f"the slope is {slope:.2g}{known}"
        yield Pattern(f"it grows with the log-prob, as of a temperature that only one side has ({about})", certain)


def _slope(gap: Gap, size: Array, about_mean: bool) -> tuple[float, bool, float]:
    """Returns the slope of the differences over a size, whether it is more than chance, and what share of their squares it
    explains. Rows count as one draw each, since the tokens of a row share their noise."""
    apart = gap.apart
    if about_mean:
        size, apart = size - size[gap.tokens].mean(), apart - apart[gap.tokens].mean()
    x, y = np.where(gap.tokens, size, 0.0), np.where(gap.tokens, apart, 0.0)
    square = float((x**2).sum())
    if not square or not y.any():
        return 0.0, False, 0.0
    slope = float((x * y).sum()) / square
    left = y - slope * x
    error = float(np.sqrt((((x * left).sum(axis=1)) ** 2).sum())) / square
    return slope, len(x) >= FEWEST_ROWS and abs(slope) > CERTAIN * error, 1 - float((left**2).sum() / (y**2).sum())


@dataclass(frozen=True)
class TwoForwards:
    """What tensors come to that two forwards of the same policy make. lines: of each; said: what it looks like, in sentences."""

    lines: tuple[Line, ...] = ()
    said: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def differs(self) -> Line | None:
        """The first line that no noise of a forward explains."""
        return next((line for line in self.lines if line.says == DIFFERS), None)


EXPECTED = MappingProxyType(
    {"approx_kl.used": 0.0, "clip_fraction.used": 0.0, "ratio.mean": 1.0, "loss.mean_ratio": 1.0}
)
"""What is logged before the first update, where the file has no new log-probs."""

PAIRS = (("logprobs_old", "logprobs_new"), ("values_old", "values_new"))


def before_first_update(batch: Minibatch) -> TwoForwards:
    """Checks a file that says that it was written before the first update; of one that does not say, notes what would be wrong."""
    before = batch.place.before_first_update if batch.place else None
    if before is False:
        return TwoForwards()
    generated = of_the_engine(batch)
    found = _checked(batch, PAIRS[1:] if generated else PAIRS)
    if generated:
        found = replace(
            found, notes=(f"before the first update the ratio need not be 1, and is not checked: {generated}",)
        )
    if before:
        return found
    said = " ".join(each.strip() for each in found.said)
    return TwoForwards(
        notes=(f"if this was before the first update (optimizer_step 0), {said}",) if found.differs else ()
    )


def of_the_engine(batch: Minibatch) -> str:
    """Returns why the old log-probs are those of the generating engine, or "" if nothing says so."""
    if batch.old_from is not None:
        return "logprobs_old are those of the generating engine, as the file says" if batch.old_from == ENGINE else ""
    called = batch.called.get("logprobs_old", "")
    if "rollout" in called or "generation" in called:
        return f"logprobs_old are called {called}"
    rollout, old = (np.asarray(batch.tensors.get(name, ())) for name in ("logprobs_rollout", "logprobs_old"))
    if old.size and rollout.size and np.array_equal(rollout[batch.mask], old[batch.mask]):
        return "logprobs_old are logprobs_rollout, those of the generating engine"
    return ""


def _checked(batch: Minibatch, pairs: Sequence[tuple[str, str]]) -> TwoForwards:
    gaps = {new: found for old, new in pairs if (found := gap(batch, old, new)) is not None}
    dtype, why = forward(batch, gaps)
    lines, said = list[Line](), list[str]()
    for each in gaps.values():
        usual, most = limits(each, dtype)
        says, row_off = AGREES, each.has_a_row_off(most)
        if row_off or not each.size() <= usual:
            like = patterns(batch, each, usual)
            says = DIFFERS if (row_off or each.size() > most or any(one.telling for one in like)) else TOO_COARSE
            said += _sentences(batch, each, (dtype, why), [one.said for one in like])
        lines.append(_line(batch, each, dtype, says))
    if PAIRS[0] in pairs and "logprobs_new" not in gaps:
        lines += _logged(batch, dtype)
    return TwoForwards(
        tuple(lines), (*said, *(each.why for each in lines if each.says == DIFFERS and not each.compared.spot))
    )


def _logged(batch: Minibatch, dtype: str) -> Iterator[Line]:
    """Yields what was logged of the ratio. Noise of s nats makes a KL of s²/2, moves the ratio by as much, clips some tokens."""
    for called, logged in batch.logged.items():
        name = CALLED.get(called, called)
        if name not in EXPECTED:
            continue
        clip = batch.hyperparameters.get("ppo.clip_range", 0.2)
        far = float(clip) if isinstance(clip, float | int) else 0.2
        most = erfc(far / MOST[dtype] / sqrt(2)) if name == "clip_fraction.used" else MOST[dtype] ** 2
        apart = abs(logged - EXPECTED[name])
        says = AGREES if apart <= most else DIFFERS
        yield Line(
            called,
            Compared(
                name, name, EARLY, 1, int(says == DIFFERS), apart, most, None, float(logged), EXPECTED[name], np.inf
            ),
            says,
            why=f"{called} is {logged:.4g} instead of {EXPECTED[name]:g}; "
            f"forwards in {dtype} make it differ by {most:.2g} at most.",
        )


def _line(batch: Minibatch, each: Gap, dtype: str, says: str) -> Line:
    """Returns the line of a tensor: what differs is how many tokens are further apart than forwards usually are."""
    usual, most = limits(each, dtype)
    wrong = each.loud & (np.abs(each.apart) > usual)
    wrong = wrong if wrong.any() else each.loud
    differs = says == DIFFERS
    found = Compared(
        each.name,
        each.name.replace("new", "old"),
        EARLY,
        int(each.tokens.sum()),
        int(wrong.sum()) if differs else 0,
        each.size(),
        usual if says == AGREES else most,
        first_spot(batch, wrong, each.new, each.old, each.rows) if differs else None,
        size=np.inf,
        dtype=dtype,
    )
    why = f"it is {each.size():.2g} from the old one before any update, which forwards in {dtype} may be, though seldom"
    return Line(batch.called.get(each.name, each.name), found, says, why=why)


def _sentences(batch: Minibatch, each: Gap, forward: tuple[str, str], like: list[str]) -> Iterator[str]:
    """Yields what is wrong with a tensor, and what that is like."""
    (dtype, why), (usual, most) = forward, limits(each, forward[0])
    name, old = (batch.called.get(one, one) for one in (each.name, each.name.replace("new", "old")))
    tokens, loud = int(each.tokens.sum()), int(each.loud.sum())
    unit = "" if each.unit == 1 else ", over the spread of the values"
    differ = f"{loud:,} of {counted(tokens, 'token')} {'differs' if loud == 1 else 'differ'}"
    note = f"{name} should be {old}, but {differ}, by {each.size():.2g} (root mean square{unit})"
    if each.name == "logprobs_new":
        note += f"; the mean ratio is {np.exp(np.clip(each.apart[each.tokens], -50, 50)).mean():.4g} instead of 1"
    yield f"{note}; forwards in {dtype} ({why}) usually differ by up to {usual:.2g} and never by more than {most:.2g}."
    for said in like or ["it is scattered over rows and tokens, as by dropout in one forward, or by another precision"]:
        yield f"  {name}: {said}."
