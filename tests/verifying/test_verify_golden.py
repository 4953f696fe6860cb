"""Ten libraries' own runs verify clean, with every number that they logged, in every dtype that dumps are written in."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.verifying.rounding import TOLERANCES
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from tests.recorded_ppo import RUNS, Run
from tests.verifying.dumps import FIRST, LIBRARIES, NUMBERS, ROWS, dump, settings

EXACT = "full"
"""An estimator that needs the whole distributions, which no dump has."""

SAMPLED = [run for run in RUNS if settings(run)["kl_estimator"] != EXACT]
WORST = {"float64": 1e-5, "float32": 0.05, "float16": 0.5, "bfloat16": 0.75}
"""By dtype, what part of what is allowed rounding took at most on these runs; docs/verify.md has the measurements."""

SAYS = {
    "float64": {"agrees"},
    "float32": {"agrees"},
    "float16": {"agrees", "too coarse"},
    "bfloat16": {"agrees", "too coarse"},
}
FEWEST = {"float16": 0.8, "bfloat16": 0.2}
"""What share of their quantities still agrees at least where the numbers of 18 words are rounded to a half dtype."""


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("run", SAMPLED, ids=lambda run: f"{run.run}-{run.variant}")
def test_a_run_of_a_library_verifies(run: Run, dtype: str) -> None:
    batch = dump(run, dtype)
    verdict = verify(batch, settings(run), run.preset)
    assert [line for line in verdict.lines if line.says not in SAYS[dtype]] == []
    assert {line.called for line in verdict.lines} == {name for name in ROWS if name in batch.tensors} | set(
        batch.logged
    )
    assert max(line.compared.largest / line.compared.allowed for line in verdict.lines) < WORST[dtype]


@pytest.mark.parametrize("dtype", FEWEST)
def test_half_dtypes_are_not_too_coarse_throughout(dtype: str) -> None:
    verdicts = [verify(dump(run, dtype), settings(run), run.preset) for run in FIRST.values()]
    says = [line.says for verdict in verdicts for line in verdict.lines]
    assert says.count("agrees") >= FEWEST[dtype] * len(says)


def test_all_that_a_verdict_compares_is_logged_by_some_library() -> None:
    logged = {name for run in SAMPLED for name in dump(run).logged}
    assert logged == set(NUMBERS)
    assert {name for run in SAMPLED for name in dump(run).tensors} >= set(ROWS)


def test_an_exact_kl_is_said_to_need_more_than_a_dump_has() -> None:
    run = next(run for run in RUNS if settings(run)["kl_estimator"] == EXACT)
    verdict = verify(dump(run), settings(run), run.preset)
    assert verdict.uncompared["kl.statistic"] == "distributions"
    assert verdict.replayed.started == ("rewards",)
    assert verdict.agrees


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_is_told_from_the_next(library: str) -> None:
    """Held against another preset, a run differs: agreement says something."""
    other = LIBRARIES[(LIBRARIES.index(library) + 1) % len(LIBRARIES)]
    verdict = verify(dump(FIRST[library]), settings(FIRST[other]), other)
    assert not verdict.agrees
    assert verdict.causes


def test_a_factor_widens_and_narrows_every_tolerance() -> None:
    run = FIRST["verl"]
    batch = dump(run, "float32")
    told = partial(verify, options=settings(run), explain=False)
    assert told(batch, factor=1.0).agrees
    assert not told(batch, factor=1e-4).agrees
    moved = replace(batch, tensors={**batch.tensors, "returns": np.asarray(batch.tensors["returns"]) + 1e-3})
    assert not told(moved).agrees
    assert told(moved, factor=100).agrees
