"""The witness of reward models: against the libraries' own code, run by run, and against workbooks, row by row."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

import torch

from blueprint.page.contents import kind_of
from blueprint.workbooks.registry import witness_of
from blueprint.workbooks.reward_model.schema import REWARD_MODEL
from blueprint.workbooks.reward_model.witness import derived
from tests.page.workshop import made
from tests.workbooks.dpo.recorded import ORDER, Array
from tests.workbooks.reward_model.recorded import Run, pairs, rankings, runs
from tests.workbooks.reward_model.test_recorded import METRICS, SIDES, named, taken

ALL = [*runs(False), *runs(True)]


@cache
def computed(place: int) -> tuple[dict[str, Array], Array]:
    """Returns the rows of a run, and the slope of its loss by the score after each token."""
    run, of = ALL[place], rankings() if ALL[place].ranked else pairs()
    head = torch.tensor(of.head).requires_grad_()
    plain = {
        "token.id": of.ids, "text.there": of.text, "token.is_end": (of.ids == 1) * of.text, "pair.margin": of.margin,
        "response.number": np.arange(1.0, 1 + len(of.head)), "chosen.number": 1.0 + np.array(of.chosen),
        "rejected.number": 1.0 + np.array(of.rejected), "pair.ranking": np.array(of.ranking, float), "pair.counts": run.counts,
        "shift": np.array(10.0), "scale": np.array(2.0), "overflow.sheet": np.array(708.0),
    }  # fmt: skip
    given = {name: torch.tensor(each) for name, each in plain.items()}
    rows = derived({**given, "head": head}, {key: each.value for key, each in REWARD_MODEL.items()} | run.conventions)
    (slope,) = torch.autograd.grad(rows["total_loss"], head)
    return {name: each.detach().numpy() for name, each in rows.items()}, slope.numpy()


@pytest.mark.parametrize("place", range(len(ALL)), ids=[named(run) for run in ALL])
def test_the_witness_gives_what_a_library_computed(place: int) -> None:
    run, (rows, slope) = ALL[place], computed(place)
    assert abs(rows["total_loss"] - run.out["loss"]) <= 1e-12 * max(1.0, abs(run.out["loss"]))
    logged = {**run.out, **run.out.get("metrics", {})}
    for key in (METRICS.keys() & logged.keys()) if not run.ranked else ():
        assert abs(float(rows[METRICS[key]]) - logged[key]) <= 1e-12, key
    for key in SIDES.keys() & logged.keys():
        assert np.abs(rows[f"{SIDES[key]}.score"] - np.array(logged[key])).max() <= 1e-12, key
    _assert_slopes(run, slope)


def _assert_slopes(run: Run, slope: Array) -> None:
    if (meant := taken(run)) is not None:
        assert np.abs(slope.sum(1) * float(run.conventions["score.divide"]) - meant).max() <= 1e-11
    if "grad_head" in run.out:
        assert np.abs((slope - np.array(run.out["grad_head"])[ORDER]) * pairs().text).max() <= 1e-11
    if run.ranked and "grad" in run.out:
        of = slope[:, 0]
        assert np.abs(of[np.abs(of) > 0] - np.array(run.out["grad"])).max() <= 1e-11


@pytest.mark.parametrize(
    ("name", "overrides"),
    [("reward-batch", ["gradients=on"]), ("reward-batch", ["preset=deepspeed_chat_rm", "gradients=on"]), ("reward-model", [])],
    ids=["scores", "positions", "four steps"],
)  # fmt: skip
def test_torch_computes_every_row_of_a_workbook(name: str, overrides: list[str]) -> None:
    """Within 1e-12 of 1 + the row's largest number, its updates and every slope among them, and nothing that it has not."""
    book = made(*overrides, numbers=name)
    file = {block.name: array for block, array in book.values.arrays.items()}
    formulas = {block.name for block in book.values.arrays if kind_of(block) == "formula"}
    found = witness_of([file], device="cpu")[0]
    assert formulas - found.keys() == set()
    for each in formulas:
        ours, theirs = found[each], file[each]
        assert ours.shape == theirs.shape, each
        if ours.dtype == object:
            assert np.array_equal(ours, theirs), each
        else:
            assert np.abs(ours - theirs).max(initial=0) <= 1e-12 * (1 + np.abs(theirs).max(initial=0)), each
