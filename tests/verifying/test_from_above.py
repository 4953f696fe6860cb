"""Tolerances from above: a planted difference is found or too coarse to tell, whatever the library, the quantity and the dtype."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.dumps import Array, Minibatch
from blueprint.verifying import data_of, text_of
from blueprint.verifying.compare import SHARE, Compared, lines_of
from blueprint.verifying.logged import ALL
from blueprint.verifying.rounding import TOLERANCES, half_unit, stored
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying.judge import Judge, in_doubt, judged, measured
from blueprint.workbooks.rlhf_ppo.verifying.replay import Replay, replay, widened
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from tests.verifying.dumps import FIRST, LIBRARIES, as_dtype, dump, settings

TEN, ONE_PERCENT = 10.03, 0.01
"""A little more than ten, since 2/9 less ten millionths of it is 0.22222, which may well be 2/9 written with five digits."""


class Kept(Replay):
    """A replay that keeps its only tile, so that many files can be held against it."""

    held: Mapping[str, Array]

    def tiles(self, names: Collection[str]) -> Iterator[tuple[int, dict[str, Array]]]:
        """Yields the rows that were kept."""
        yield 0, {name: self.held[name] for name in names if name in self.held}


@dataclass(frozen=True)
class Clean:
    """A clean run, what it was computed to again, what it was said to be, and how far rounding moves every quantity."""

    batch: Minibatch
    found: Replay
    straight: Mapping[str, Compared]
    moved: Mapping[str, float]

    def verdict(self, name: str, batch: Minibatch) -> str:
        """Says of a quantity of another file what `verify` would."""
        compared = Judge(batch, self.found).compared([name])[name]
        if in_doubt(compared):
            compared = Judge(batch, self.found, 1.0, self.moved).compared([name])[name]
        return "DIFFERS" if not compared.agrees else "too coarse" if compared.too_coarse else "agrees"


@pytest.fixture(scope="module", params=[(each, dtype) for each in LIBRARIES for dtype in TOLERANCES], ids="-".join)
def clean(request: pytest.FixtureRequest) -> Clean:
    library, dtype = request.param
    run = FIRST[library]
    batch = dump(run, dtype)
    once = replay(batch, settings(run))
    found = Kept(**vars(once))
    object.__setattr__(found, "held", once.rows(range(len(batch.slots))))
    judge = Judge(batch, once)
    straight = judge.compared()
    moved = measured(judge, list(straight.values()))
    finer = Judge(batch, once, 1.0, moved).compared()
    told = {name: finer[name] if in_doubt(each) else each for name, each in straight.items()}
    return Clean(batch, found, told, moved)


def shifts(clean: Clean, compared: Compared) -> list[float]:
    """Returns ten tolerances and one percent, each upwards and downwards; what is 0 has no percent."""
    sizes = (TEN * compared.tolerance, TEN * compared.allowed, ONE_PERCENT * compared.size)
    return [sign * size for size in sizes if size for sign in (1, -1)]


def tensors(clean: Clean, compared: Compared) -> Iterator[tuple[str, Array]]:
    """Yields the tensor with each difference planted: in its largest word, in its smallest, in all; and another sign."""
    values = np.asarray(clean.batch.tensors[compared.name], dtype=np.float64)
    words = Judge(clean.batch, clean.found).cells(compared.name) & np.isfinite(values)
    sizes = np.where(words, np.abs(values), np.nan)
    largest, smallest = np.nanargmax(sizes), np.nanargmin(sizes)
    for shift in shifts(clean, compared):
        for where, at in (("largest", largest), ("smallest", smallest)):
            one = values.copy()
            one.flat[at] += shift
            yield f"{where} {shift}", one
        yield f"all {shift}", np.where(words, values + shift, values)
    yield "all, a percent of each", values * (1 + ONE_PERCENT)
    yield "another sign", -values


def numbers(clean: Clean, compared: Compared) -> Iterator[float]:
    """Yields the number with each difference planted, and with another sign; what is 0 has no other sign."""
    logged = compared.logged
    assert logged is not None
    yield from (logged + shift for shift in shifts(clean, compared))
    yield from [-logged] if logged else []


def test_no_planted_difference_agrees(clean: Clean) -> None:
    """Not of ten tolerances, nor of one percent of the mean size of a tensor's words or of the number, nor a wrong sign."""
    agreeing = []
    called = {quantity.name: said for quantity, _, said in Judge(clean.batch, clean.found).numbers}
    for name, compared in clean.straight.items():
        if compared.logged is None:
            files = [
                (what, replace(clean.batch, tensors={**clean.batch.tensors, name: values}))
                for what, values in tensors(clean, compared)
            ]
        else:
            logged = clean.batch.logged
            files = [
                (str(value), replace(clean.batch, logged={**logged, called[name]: value}))
                for value in numbers(clean, compared)
            ]
        assert files or not compared.size
        agreeing += [(name, what) for what, file in files if clean.verdict(name, file) == "agrees"]
    assert agreeing == []


def test_a_tolerance_is_never_wider_than_half_a_percent(clean: Clean) -> None:
    for compared in clean.straight.values():
        assert compared.agrees
        if not compared.too_coarse:
            assert compared.largest == 0 or compared.largest <= compared.tolerance <= SHARE * compared.size


def test_what_float64_and_float32_hold_is_not_too_coarse(clean: Clean) -> None:
    if set(clean.batch.dtypes.values()) & {"float64", "float32"}:
        assert [name for name, each in clean.straight.items() if each.too_coarse] == []


def worker_file(dtype: str = "float32", rows: int = 8) -> Minibatch:
    """Returns what the hook on verl's workers writes: mask, both log-probs and advantages; no score, no value."""
    drawn = np.random.default_rng(0)
    shape = rows, 64
    old = -drawn.exponential(size=shape)
    floats = {
        "logprobs_old": old,
        "logprobs_new": np.minimum(old + drawn.normal(0, 0.1, shape), 0),
        "advantages": drawn.normal(1, 1, shape),
    }
    tensors = {name: as_dtype(each, dtype) for name, each in floats.items()}
    mask = np.arange(64) < drawn.integers(5, 65, (rows, 1))
    slots, first = np.full(rows, 64), np.zeros(rows, dtype=int)
    return Minibatch("worker", {**tensors, "response_mask": mask}, dict.fromkeys(tensors, dtype), {}, slots, first)


VERL = rlhf().preset("verl").values


def said(batch: Minibatch, loss: float) -> str:
    """Returns what `verify` says of a policy loss, without looking for causes."""
    logged = replace(batch, logged={"policy_loss": loss})
    found = replay(logged, VERL)
    (line,) = lines_of(ALL, Judge(logged, found).called, judged(logged, found, 1.0)[1], {})
    return line.says


@pytest.mark.parametrize("off", [0.2, -0.2, 0.001])
def test_a_loss_of_given_advantages_is_not_widened_by_whitening_that_was_not_done(off: float) -> None:
    """The divisor of rows of zeros is 1e-4: a policy loss of −0.94 logged as −0.74 agreed, within 0.4."""
    batch = worker_file()
    found = replay(batch, VERL)
    assert found.whole["advantage.divisor"] == pytest.approx(1e-4)
    assert widened(found) == 1
    loss = found.whole["policy_loss"]
    assert verify(replace(batch, logged={"policy_loss": loss}), VERL).agrees
    assert said(batch, loss + off) == "DIFFERS"


def test_whitening_that_is_done_here_widens_as_before() -> None:
    found = replay(dump(FIRST["verl"]), settings(FIRST["verl"]))
    assert widened(found) == pytest.approx(max(1.0, 1 / found.whole["advantage.divisor"]))


@pytest.mark.parametrize(("dtype", "says"), [("float32", "agrees"), ("bfloat16", "too coarse")])
def test_where_nothing_agrees_that_does_not_read_like_success(dtype: str, says: str) -> None:
    batch = worker_file(dtype, rows=1)
    loss = replay(batch, VERL).whole["policy_loss"]
    verdict = verify(replace(batch, logged={"policy_loss": loss * 1.00001}), VERL)
    text, told = text_of(verdict), data_of(verdict)
    assert [line.says for line in verdict.lines] == [says]
    assert (told["agrees"], told["deviates"]) == (says == "agrees", False)
    if says == "agrees":
        assert "The one logged quantity agrees." in text
        return
    assert "Nothing can be said to agree: the one logged quantity is too coarse to tell." in text
    assert "\n  policy_loss: rounding in bfloat16 may move it by " in text
    assert "agrees" not in text
    assert told["quantities"][0]["why"].startswith("rounding in bfloat16 may move it by ")


def test_with_more_words_a_mean_is_finer() -> None:
    """Rounding of single words nearly cancels in a mean: what 8 responses in bfloat16 cannot tell, 512 can."""
    batch = worker_file("bfloat16", 512)
    loss = replay(batch, VERL).whole["policy_loss"]
    says = [said(batch, loss * factor) for factor in (1.0001, 1.01, 0.99, 1.1)]
    assert says == ["agrees", "too coarse", "too coarse", "DIFFERS"]


@pytest.mark.parametrize("size", [1e-3, 1e-5])
def test_small_numbers_are_held_against_their_own_size(size: float) -> None:
    """A KL of 1e-5 was too coarse in float32, where its words are known to 1e-9; twice as much agreed."""
    batch = worker_file()
    old = batch.tensors["logprobs_old"]
    new = as_dtype(old + np.sqrt(2 * size) * np.random.default_rng(1).normal(size=old.shape), "float32")
    near = replace(batch, tensors={**batch.tensors, "logprobs_new": new})
    openai = rlhf().preset("openai").values
    kl = replay(near, openai).whole["approx_kl.used"]
    for factor in (1.0, 1.01, 0.99, -1.0, -100.0):
        logged = replace(near, logged={"approx_kl": kl * factor})
        found = replay(logged, openai)
        (compared,) = judged(logged, found, 1.0)[1].values()
        assert (compared.agrees and not compared.too_coarse) == (factor == 1)


@pytest.mark.parametrize(
    ("value", "dtype", "half"), [(1.5, "bfloat16", 2**-8), (0.3, "bfloat16", 0), (0.3, "float32", 0)]
)
def test_a_number_that_is_exact_in_bfloat16_may_have_been_rounded_to_it(value: float, dtype: str, half: float) -> None:
    assert stored(value, dtype) == half
    assert half_unit(-value, "bfloat16") == 2.0 ** (-8 if value > 1 else -10)


def test_numbers_in_bfloat16_with_which_a_library_went_on_computing_are_no_rounded_ones() -> None:
    """What follows from them to a millionth was not rounded on the way; with a fault of 1 % it does not follow any more."""
    batch = worker_file("bfloat16", rows=1)
    loss = replay(batch, VERL).whole["policy_loss"]
    says = [said(batch, loss * factor) for factor in (1 + 1e-7, 1 - 1e-7, 1.01, 0.99, 1.001)]
    assert says == ["agrees", "agrees", *["too coarse"] * 3]
