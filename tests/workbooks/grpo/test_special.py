"""Recorded runs that are no loss, or one that no convention has: filters, shaped rewards, single responses, a mean over pads."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import blueprint as bp
from tests.workbooks.grpo.recorded import APART, FRONT, Array, batch, recorded_file
from tests.workbooks.side_by_side import array, paged

ASKED: dict[str, dict[str, float | str]] = {
    "verl_0.9.1 dapo_dynamic_sampling": {"group.filter": "constant", "group.ddof": 0},
    "nemo_rl_7ea279a dynamic_sampling_leave_one_out_True": {
        "group.baseline": "others", "group.std": "others", "group.filter": "zero_spread"},
    "nemo_rl_7ea279a dynamic_sampling_leave_one_out_False": {"group.std": "moments", "group.filter": "zero_spread"},
    "nemo_rl_7ea279a stop_properly_0_5": {"reward.truncated": 0.5},
    "rllm_9beb6e0 singletons": {"group.of": "row", "group.ddof": 0, "group.eps": 1e-6},
    "rllm_9beb6e0 singletons, rloo": {"group.of": "row", "group.baseline": "others", "group.std": "none"},
    "liger_kernel_0.8.5 luspo_kl": {
        "ratio.level": "response", "loss.clip_low": 0.002, "loss.clip_high": 0.0025, "kl.place": "loss", "kl.coef": 0.04},
}  # fmt: skip
# Both compute in double precision; what was recorded has 15 digits.
NEAR = 1e-12


def out(name: str) -> dict[str, Any]:
    library, variant = name.split()
    return dict(recorded_file("critic_free_runs.json")["runs"][library]["variants"][variant]["out"])


def rows(name: str, *wanted: str) -> list[Array]:
    """Returns rows of the workbook, of each response [12] or of its tokens."""
    values = FRONT.typed_in(ASKED[name])
    return [FRONT.cells(values, row) for row in wanted]


def test_every_run_that_stands_apart_is_looked_at() -> None:
    assert {*ASKED} - {"rllm_9beb6e0 singletons, rloo"} == {*APART}


def test_groups_of_equal_rewards_are_left_out() -> None:
    name = "verl_0.9.1 dapo_dynamic_sampling"
    left, deviation = rows(name, "group.left", "group.deviation")
    assert left.min(1).nonzero()[0].tolist() == left.max(1).nonzero()[0].tolist() == out(name)["kept_groups"]
    assert deviation == pytest.approx([*out(name)["group_std"].values()], abs=NEAR)
    assert array(paged(batch(), ASKED[name]).found.compared.left).tolist() == left.ravel().tolist()


@pytest.mark.parametrize("one_out", ["True", "False"])
def test_responses_without_a_spread_are_left_out(one_out: str) -> None:
    """With the spread of the others the one right response of the first group is lost."""
    name = f"nemo_rl_7ea279a dynamic_sampling_leave_one_out_{one_out}"
    left, baseline, spread = (
        each.ravel() for each in rows(name, "group.left", "group.baseline_used", "group.spread_used")
    )
    assert left.nonzero()[0].tolist() == out(name)["kept_samples"]
    assert baseline == pytest.approx(out(name)["baseline"], abs=NEAR)
    assert spread == pytest.approx(out(name)["std"], abs=NEAR)
    made = paged(batch(), ASKED[name]).found.compared
    assert array(made.left).tolist() == left.tolist()
    assert array(made.deviation) == pytest.approx(out(name)["std"], abs=NEAR)


@pytest.mark.parametrize("reward", [0.1, 0.2, 0.7])
def test_equal_rewards_have_no_std_however_their_mean_is_rounded(reward: float, folder: Path) -> None:
    """Of three rewards of 0.1 the deviation is 1.7e-17 in float64, which one engine calls 0 and another does not."""
    words = [f"w{at} x" for at in range(3)]
    rows = pd.DataFrame(
        {"prompt": ["a"] * 3 + ["b"] * 3, "response": words * 2, "reward": [reward] * 3 + [0.0, 1.0, 2.0]}
    )
    book = bp.build(rows, kind="grpo", set={"group.filter": "zero_spread"})
    path = folder / "own.xlsx"
    book.save(path)
    assert bp.check(path).agrees
    assert book["group.left"].to_numpy().tolist() == [[0, 0, 0], [1, 1, 1]]


LEVEL = [
    {"group.std": "none"},
    {"group.std": "group", "group.zero_std": "skip"},
    {"group.std": "none", "group.baseline": "others"},
]


@pytest.mark.parametrize(
    ("use", "all_equal"),
    [*product(LEVEL, (False, True)), ({"group.std": "batch"}, False), ({"group.std": "residual"}, False)],
    ids=str,
)
def test_equal_rewards_leave_nothing_however_their_mean_is_rounded(
    use: dict[str, str], all_equal: bool, folder: Path
) -> None:
    """0.1 less the mean of three is −1.4e-17, of which SAPO, GMPO and the clip read the sign: an engine says that it is 0."""
    others = [0.1] * 3 if all_equal else [0.0, 1.0, 2.0]
    rows = pd.DataFrame(
        {"prompt": ["a"] * 3 + ["b"] * 3, "response": ["w x", "y", "z z z"] * 2, "reward": [0.1] * 3 + others}
    )
    book = bp.build(rows, kind="grpo", set=use)
    path = folder / "own.xlsx"
    book.save(path)
    assert bp.check(path).agrees
    assert book["group.less_baseline"].to_numpy()[0].tolist() == [0, 0, 0]


def test_responses_that_were_cut_off_earn_half() -> None:
    name = "nemo_rl_7ea279a stop_properly_0_5"
    (shaped,) = rows(name, "reward.shaped")
    assert shaped.tolist() == out(name)["shaped_rewards"] == array(paged(batch(), ASKED[name]).found.rewards).tolist()


@pytest.mark.parametrize(("of", "key"), [("", "advantages_grpo"), (", rloo", "advantages_rloo")])
def test_a_response_that_is_alone_is_compared_with_nothing(of: str, key: str) -> None:
    name = "rllm_9beb6e0 singletons"
    (A,) = rows(name + of, "group.advantage")
    assert A.ravel() == pytest.approx(out(name)[key], abs=NEAR)
    assert array(paged(batch(), ASKED[name + of]).found.compared.advantages) == pytest.approx(out(name)[key], abs=NEAR)


def test_luspo_with_a_kl_is_averaged_over_pads_by_liger() -> None:
    """A defect: (policy loss + β·k3)·length is averaged over all B·T cells, what models say of pads among it; no convention has it.

    The ratio and the advantage are ours; the loss and its gradient follow from them.
    """
    name = "liger_kernel_0.8.5 luspo_kl"
    A = paged(batch(), ASKED[name]).found.compared.advantages[:, None]
    mask, new = torch.tensor(batch().mask), torch.tensor(batch().logprobs("new"), requires_grad=True)
    old, ref, lengths = (
        torch.tensor(batch().logprobs("old")),
        torch.tensor(batch().logprobs("ref")),
        mask.sum(1)[:, None],
    )
    ratio = (((new - old) * mask).sum(1, True) / lengths).exp()
    ours = paged(batch(), ASKED[name]).found.ratio
    assert array(ratio.expand_as(mask) * mask) == pytest.approx(array(ours * mask), abs=NEAR)
    tokens = torch.maximum(-ratio * A, -ratio.clamp(1 - 0.002, 1 + 0.0025) * A) + 0.04 * (
        torch.expm1(ref - new) - ref + new
    )
    assert array(tokens * mask) == pytest.approx(np.array(out(name)["per_token_loss"]) * batch().mask, abs=NEAR)
    loss = (tokens * lengths).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == pytest.approx(out(name)["loss"], abs=NEAR)
    assert np.asarray(new.grad) * batch().mask == pytest.approx(
        np.array(out(name)["grad_logp"]) * batch().mask, abs=NEAR
    )
