"""What is allowed: by the dtype that numbers were rounded to, and by the digits that a logged number was written with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

import torch

from blueprint.dumps import decimals_of_all
from blueprint.verifying import verify_dumps
from blueprint.verifying.compare import Compared, compare_number
from blueprint.verifying.rounding import TOLERANCES, coarsest, held_in, last_digit
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from tests.verifying.dumps import FIRST, as_dtype, dump, settings


@pytest.mark.parametrize(
    ("value", "half"),
    [
        (0.1235, 5e-5),
        (-0.1235, 5e-5),
        (12.35, 5e-3),
        (1.5e-05, 5e-7),
        (0.25, 5e-3),
        (0.5, 0),
        (1.0, 0),
        (0.0, 0),
        (120.0, 0),
        (0.33492174, 0),
    ],
)
def test_a_number_of_few_digits_may_be_half_a_unit_off(value: float, half: float) -> None:
    assert last_digit(value) == pytest.approx(half)


@pytest.mark.parametrize(
    ("logged", "decimals"),
    [
        ((0.1235, 2.417, -0.25, 0.0, 0.5, 3.0), 4),  # all have four decimals at most
        ((0.1235, 2.417, 0.0), 0),  # of two one cannot tell
        ((0.1235, 2.417, -0.25, 0.33492174), 0),  # one was not rounded
        ((0.1235, 2.417, 1.5e-07), 0),  # seven decimals are no rounding
        ((0.1235, 2.417, -0.25, float("nan"), float("-inf")), 4),
        ((1.0, 0.0, 12.0, 0.5), 0),
        ((), 0),
    ],
)
def test_what_all_numbers_of_a_step_were_rounded_to(logged: tuple[float, ...], decimals: int) -> None:
    assert decimals_of_all(logged) == decimals


@pytest.mark.parametrize(
    ("value", "half"), [(0.0, 5e-5), (-0.0, 5e-5), (0.5, 5e-5), (3.0, 5e-5), (0.25, 5e-3), (np.nan, 0)]
)
def test_0_and_a_half_are_rounded_where_all_numbers_of_a_step_are(value: float, half: float) -> None:
    assert last_digit(value, 4) == pytest.approx(half)


def test_a_clean_step_of_which_all_numbers_are_rounded_is_not_accused() -> None:
    """With two decimals the value loss of 2.704 is written as 2.7."""
    batch = dump(FIRST["torchtune"])
    logged = {name: round(value, 2) for name, value in batch.logged.items()}
    assert logged["value_loss"] == 2.7
    (right,) = verify_dumps([replace(batch, logged=logged)]).parts
    (wrong,) = verify_dumps([replace(batch, logged=logged | {"value_loss": 2.8})]).parts
    assert right.verdict.agrees
    assert not wrong.verdict.agrees


def test_a_number_written_with_four_decimals_agrees_and_two_units_more_do_not() -> None:
    run = FIRST["verl"]
    batch = dump(run)
    rounded = round(batch.logged["policy_loss"], 4)
    for moved, agrees in ((0.0, True), (2e-4, False), (-2e-4, False)):
        logged = {"policy_loss": round(rounded + moved, 4)}
        found = verify(replace(batch, logged=logged), settings(run), run.preset, explain=False)
        assert found.agrees == agrees


def test_a_share_of_the_variance_of_large_returns_may_be_off_by_their_squares() -> None:
    """Var R = E[R²] − E[R]², in float32, of returns around 10,000."""
    run, moved = FIRST["verl"], ("values_old", "values_new", "returns")
    batch = dump(run)
    kept = {name: batch.tensors[name] for name in ("logprobs_old", "logprobs_new", "response_mask", "ended")}
    large = {name: as_dtype(batch.tensors[name] + 1e4, "float32") for name in moved}
    returns, left = (each[batch.mask] for each in (large["returns"], large["returns"] - large["values_old"]))
    variance = np.mean(returns**2) - np.mean(returns) ** 2
    logged = float(1 - np.var(left) / variance)
    assert abs(logged - batch.logged["explained_variance"]) > 0.25
    found = replace(batch, tensors=kept | large, dtypes=dict.fromkeys(moved, "float32"), logged={"ev.used": logged})
    assert verify(found, settings(run), run.preset).agrees


def test_half_dtypes_are_allowed_four_roundings() -> None:
    for dtype in ("float16", "bfloat16"):
        assert TOLERANCES[dtype] == 2 * torch.finfo(getattr(torch, dtype)).eps
    assert coarsest({"a": "float32", "b": "bfloat16", "c": "float64"}, ("a", "c")) == "float32"
    assert coarsest({"a": "float32", "b": "bfloat16"}, ("a", "b", "none")) == "bfloat16"
    assert coarsest({}, ("a",)) == "float64"


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_numbers_written_wider_than_they_are_count_as_what_they_are(dtype: str) -> None:
    """As from jsonl, where every number is a float64, or from a hook that calls float() first."""
    run = FIRST["trl_0.11.4"]
    batch = dump(run)
    floats = {name: each for name, each in batch.tensors.items() if each.dtype.kind == "f"}
    narrow = {name: as_dtype(each, dtype).astype(np.float64) for name, each in floats.items()}
    wide = replace(batch, tensors={**batch.tensors, **narrow}, dtypes=dict.fromkeys(floats, "float64"))
    assert held_in(wide)["advantages"] == dtype
    assert held_in(batch)["advantages"] == "float64"
    assert verify(wide, settings(run), run.preset).agrees


def test_a_few_round_numbers_say_nothing_of_their_dtype() -> None:
    batch = replace(dump(FIRST["verl"]), tensors={"response_mask": np.ones((2, 8)), "rewards": np.eye(2, 8)})
    assert held_in(replace(batch, dtypes={"rewards": "float64"})) == {"rewards": "float64"}


def test_zeros_that_nothing_may_round_are_not_in_doubt() -> None:
    zeros = Compared("entropy", "entropy", "", cells=4, deviating=0, largest=0.0, allowed=0.0)
    assert [replace(zeros, allowed=each).doubtful for each in (0.0, 1e-9)] == [False, True]


def test_minus_0_is_0() -> None:
    found = compare_number("policy_loss", "policy_loss", "", (-0.0, -0.0), 1e-9)
    assert (str(found.logged), str(found.recomputed)) == ("0.0", "0.0")
