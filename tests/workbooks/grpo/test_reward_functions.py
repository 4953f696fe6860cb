"""Sums of reward functions that are others than the library's: what each comes to, beside numpy of the same rewards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.dumps import Array, MinibatchError
from blueprint.verifying import verify_one
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.reward_functions import of_functions
from tests.workbooks.grpo.test_verify_steps import GROUPS, dump, step

SAID = np.array([[1.0, 2.0], [0.5, np.nan], [np.nan, np.nan], [3.0, -1.0]] * 3)
WEIGHTS = (1.0, 0.25)
GROUP = np.array(GROUPS)
HYPER: dict[str, Any] = {"reward_weights": list(WEIGHTS)}


def a_step(**more: Any) -> GroupedStep:
    tensors = {name: each for name, each in step(GROUPS).items() if name != "scores"}
    return dump(tensors | {"rewards_per_func": SAID}, 0.0, hyperparameters=HYPER | more)


def sums() -> dict[str, Array]:
    of = a_step()
    tried = {each.label: each.ways["scored"] for each in of_functions(of, {})}
    return {label.removeprefix("the reward is "): made(of, {"group": GROUP}) for label, made in tried.items()}


def test_each_sum_is_what_its_sentence_says() -> None:
    found = sums()
    judged = np.nan_to_num(SAID)
    assert np.allclose(found["the sum of all reward functions, without their weights"], judged.sum(1))
    assert np.allclose(found["the mean of all reward functions, each times its weight"][:4], [0.75, 0.5, 0, 1.375])
    reverse = found["the sum of all reward functions with the weights in the reverse order"]
    assert np.allclose(reverse, judged @ WEIGHTS[::-1])
    assert np.allclose(found["without reward function 1"], judged[:, 1] * 0.25)
    assert np.allclose(found["without reward function 2"], judged[:, 0])
    assert np.allclose(found["the product of all reward functions"][:4], [2, 0.5, 1, -3])
    assert np.allclose(found["the largest of all reward functions, each times its weight"][:4], [1, 0.5, 0, 3])
    assert np.allclose(found["0 where one of the reward functions did not judge"][:4], [1.5, 0, 0, 2.75])


@pytest.mark.parametrize("ddof", [1, 0])
def test_each_function_is_whitened_over_the_batch_or_within_its_group(ddof: int) -> None:
    found, below = sums(), "" if ddof else ", with n below, not n − 1"
    off, spread = SAID - np.nanmean(SAID, 0), np.nanstd(SAID, 0, ddof=ddof)
    over = found[
        f"the sum of reward functions of which each is whitened over the batch, by its deviation + 0.0001{below}"
    ]
    assert np.allclose(over, np.nansum(off / (spread + 1e-4) * WEIGHTS, axis=1))
    within = found[f"the sum of reward functions of which each is whitened within each group, by its deviation{below}"]
    one = SAID[:4]  # all groups have the same rewards
    due = np.nansum((one - np.nanmean(one, 0)) / np.nanstd(one, 0, ddof=ddof) * WEIGHTS, axis=1)
    assert np.allclose(within, np.tile(due, 3))


def test_of_one_function_nothing_is_tried_and_of_functions_that_are_normalised_what_a_silent_one_counts() -> None:
    assert [*of_functions(replace(a_step(), function_weights=(1.0,)), {})] == []
    tried = [each.label for each in of_functions(a_step(multi_objective_aggregation="normalize_then_sum"), {})]
    within = "the reward is the sum of reward functions of which each is whitened within each group, by its deviation + 0.0001"
    assert {within, f"{within}, and 0 where it did not judge counts there, too"} <= {*tried}


def test_responses_that_are_taken_out_take_their_rewards_along() -> None:
    some = a_step().some(np.array([3, 0]))
    assert np.array_equal(some.tensors["rewards_per_func"], SAID[[3, 0]])
    assert some.function_weights == WEIGHTS


def test_a_step_that_nobody_judged_is_verified_from_its_advantages_on() -> None:
    tensors = {name: each for name, each in step(GROUPS).items() if name != "scores"}
    nobody = dump(tensors | {"rewards_per_func": np.full((12, 2), np.nan)}, 0.0)
    found = verify_one(nobody).verdict
    assert found.uncompared["advantages"] == "a score that is a number, of any response"
    assert [line.compared.name for line in found.lines if line.compared.name.endswith("loss")]
    assert any("a score that is a number, of any response missing" in note for note in found.notes)


def test_infinite_rewards_of_all_responses_are_refused() -> None:
    tensors = {name: each for name, each in step(GROUPS).items() if name != "scores"}
    with pytest.raises(
        MinibatchError, match="rewards_per_func, row 0: with reward_weights it comes to inf, expected a fin"
    ):
        dump(tensors | {"rewards_per_func": np.full((12, 2), np.inf)}, 0.0)


@pytest.mark.parametrize(
    ("functions", "weights", "says"),
    [
        (np.zeros((12, 0)), [], "found no column, expected one for each reward function"),
        (np.zeros((12, 2)), ["a", "b"], "reward_weights: found a, expected a number"),
        (np.zeros((12, 2)), [[1.0], [True]], "reward_weights: found True, expected a number"),
    ],
)
def test_what_is_no_sum_of_functions_is_refused(functions: Array, weights: Any, says: str) -> None:
    tensors = {name: each for name, each in step(GROUPS).items() if name != "scores"}
    with pytest.raises(MinibatchError, match=says):
        dump(tensors | {"rewards_per_func": functions}, 0.0, hyperparameters={"reward_weights": weights})
