"""How long it takes to look for a cause that is not there, in runs of the same file without a deviation.

Timed by `pytest tests/benchmarks/test_causes_speed.py --benchmark-only -s`. Processor time of one thread; clean and deviating
files take turns, and medians count. A file of few words may take as long as SANE.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.dumps import Minibatch
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying.replay import replay
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from tests.benchmarks.test_verify_speed import made

SIZES, SMALL = [(2, 64), (64, 256), (512, 1024)], (2, 64)
TURNS, MOST_TIMES, SANE = 3, 10.0, 2.5
NUMBERS = ("policy_loss", "value_loss", "entropy", "total_loss")


def logged(size: tuple[int, int]) -> Minibatch:
    """Returns a minibatch of verl with its advantages, returns and losses."""
    batch = made(size)
    found = replay(batch, rlhf().preset("verl").values)
    rows = found.rows(range(size[0]))
    made_of = {"advantages": "advantages_used", "returns": "returns"}
    tensors = {name: rows[row][:, : size[1]].astype(np.float32) for name, row in made_of.items()}
    return replace(batch, tensors={**batch.tensors, **tensors}, logged={name: found.whole[name] for name in NUMBERS})


def with_wrong_number(batch: Minibatch) -> Minibatch:
    """Returns it with a policy loss that nothing explains."""
    return replace(batch, logged={**batch.logged, "policy_loss": 1.2345 * batch.logged["policy_loss"] + 0.0101})


def with_wrong_tensor(batch: Minibatch) -> Minibatch:
    """Returns it with advantages in a row that nothing explains."""
    advantages = np.array(batch.tensors["advantages"])
    advantages[0] += np.random.default_rng(0).random(advantages.shape[1], dtype=np.float32)
    return replace(batch, tensors={**batch.tensors, "advantages": advantages})


def _seconds(batch: Minibatch) -> float:
    began = time.process_time()
    verify(batch, rlhf().preset("verl").values, "verl")
    return time.process_time() - began


@pytest.mark.parametrize("wrong", [with_wrong_number, with_wrong_tensor])
def test_a_deviation_that_nothing_explains(
    benchmark: Any, timed: bool, size: tuple[int, int], wrong: Callable[[Minibatch], Minibatch]
) -> None:
    clean = logged(size)
    other = wrong(clean)
    verdict = verify(other, rlhf().preset("verl").values, "verl")
    assert verdict.first is not None
    assert verdict.causes == ()
    times = benchmark.pedantic(
        lambda: [(_seconds(clean), _seconds(other)) for _ in range(TURNS if timed else 1)], rounds=1
    )
    unit, ours = (statistics.median(each) for each in zip(*times, strict=True))
    benchmark.extra_info.update(seconds=round(ours, 2), ratios=[other / clean for clean, other in times])
    print(f"\n{size} {wrong.__name__}: {ours:.2f} s, {ours / unit:.1f} times {unit:.3f} s")
    assert ours <= max(MOST_TIMES * unit, SANE) or not timed
