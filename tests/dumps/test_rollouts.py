"""Dumps of rollouts of classic PPO: whose names mean what, which way they lie, and what is refused in which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.dumps import Minibatch, MinibatchError, inspect, read_dump, read_minibatch, save
from blueprint.workbooks.classic_ppo.dumps import Rollout
from tests.verifying.classic.rollouts import Array, golden, read_rollout, written


def rollout(tmp_path: Path, tensors: dict[str, Array], metadata: dict[str, Any]) -> Rollout:
    """Writes and reads a file."""
    return read_rollout(written(tmp_path, tensors, metadata))


def neutral(**others: Array) -> dict[str, Array]:
    """Returns a rollout of 5 steps and 2 environments under neutral names, [T, N]."""
    drawn = np.random.default_rng(0)
    tensors: dict[str, Array] = {name: drawn.normal(size=(5, 2)) for name in ("rewards", "values_old", "advantages")}
    tensors |= {"done": np.eye(5, 2), "next_values": drawn.normal(size=2)}
    return tensors | others


def test_both_libraries_hold_the_same_rollout(tmp_path: Path) -> None:
    one, other = (rollout(tmp_path, *golden(library)) for library in ("cleanrl", "sb3"))
    assert (one.preset, other.preset) == ("cleanrl", "sb3")
    for name in set(one.tensors) & set(other.tensors) - {"logprobs_new", "values_new", "entropy", "advantages_used"}:
        np.testing.assert_array_equal(one.tensors[name], other.tensors[name], err_msg=name)
    for name in ("logprobs_new", "values_new", "entropy", "advantages_used"):
        both = [np.zeros(each.shape) for each in (one, other)]
        for array, each in zip(both, (one, other), strict=True):
            array[each.at[:, 0], each.at[:, 1]] = each.tensors[name]
        np.testing.assert_allclose(both[0], both[1], atol=1e-15, err_msg=name)
    assert one.shape == (2, 8)
    assert one.whole
    assert one.tensors["done"].tolist() == other.tensors["done"].tolist()
    assert (one.tensors["done"].sum(), one.notes) == (3, ())


@pytest.mark.parametrize("word", [None, "time", "environment"])
def test_the_layout_is_said_or_time_comes_first(word: str | None, tmp_path: Path) -> None:
    metadata = {} if word is None else {"layout": word}
    by_environment = word == "environment"
    tensors = neutral(next_values=np.ones(5 if by_environment else 2))
    assert rollout(tmp_path, tensors, metadata).shape == ((5, 2) if by_environment else (2, 5))


def test_a_single_environment_may_go_without_its_axis(tmp_path: Path) -> None:
    flat = {name: each[:, 0] if each.ndim == 2 else each[:1] for name, each in neutral().items()}
    assert rollout(tmp_path, flat, {}).shape == (1, 5)


def test_clip_vloss_says_how_far_values_may_move(tmp_path: Path) -> None:
    for clipped, reach in ((True, 0.3), (False, float("inf"))):
        said = {"library": "CleanRL", "hyperparameters": {"clip_coef": 0.3, "clip_vloss": clipped, "learning_rate": 1}}
        found = rollout(tmp_path, neutral(), said)
        assert found.hyperparameters == {"ppo.clip_range": 0.3, "ppo.value_clip_range": reach}
        assert found.notes == ("hyperparameters that are not understood and change nothing: learning_rate",)


def test_the_sign_of_sb3s_entropy_loss_is_turned(tmp_path: Path) -> None:
    for library, sign in (("Stable-Baselines3", -1), ("cleanrl", 1)):
        found = rollout(tmp_path, neutral(), {"library": library, "logged": {"entropy_loss": 0.5}})
        assert (found.logged, found.called["entropy"]) == ({"entropy": 0.5 * sign}, "entropy_loss")


def test_a_step_of_rlhf_is_none_and_a_rollout_is_told_from_it(tmp_path: Path) -> None:
    ones = np.ones((2, 3), dtype=np.float32)
    save(
        tmp_path / "rlhf.npz",
        {"logprobs_old": -ones, "response_mask": ones, "advantages": ones, "rewards": ones},
        {"library": "verl"},
    )
    assert isinstance(read_dump(tmp_path / "rlhf.npz"), Minibatch)
    path = written(tmp_path, neutral(), {})
    assert isinstance(read_dump(path), Rollout)
    with pytest.raises(MinibatchError, match="a rollout of classic PPO, which is verified by itself"):
        read_minibatch(path)
    assert isinstance(inspect(path).batch, Rollout)


OTHERS: dict[str, tuple[dict[str, Array], dict[str, Any], str]] = {
    "no rewards": ({"rewards": np.ones(0)}, {"library": "cleanrl", "names": {"rewards": "unused"}}, r"rewards \[T, N\] are"),
    "a shape": ({"values_old": np.ones((5, 3))}, {}, r"values_old: found \[5, 3\] steps and environments, expected \[5, 2\]"),
    "a half end": ({"done": np.full((5, 2), 0.5)}, {}, "done: found other numbers than 0 and 1"),
    "next values": ({"next_values": np.ones(3)}, {}, "next_values: found 3 numbers, expected 2, one for each environment"),
    "nan": ({"values_old": np.full((5, 2), np.nan)}, {}, "values_old, environment 0, step 0: found nan, expected a number"),
    "rows": ({"rows": np.array([0, 10])}, {"order": "time"}, "rows: expected whole numbers from 0 to 9"),
    "order": ({"rows": np.array([0, 9])}, {}, 'rows number the steps of the flattened rollout: say "order"'),
    "a wrong order": ({"rows": np.array([0, 9])}, {"order": "rows"}, "metadata, order: found rows, expected time or environment"),
    "of it": ({"rows": np.array([0, 9]), "entropy": np.ones(3)}, {"order": "time"}, "entropy: found 3 numbers, expected 2"),
    "no rows": ({"entropy": np.ones(3)}, {}, "entropy: found 3 numbers, expected 10, the steps of the rollout; add rows"),
    "a preset": ({}, {"preset": "sb4"}, "metadata, .*sb4"),
    "a number": ({}, {"library": "sb3", "hyperparameters": {"gamma": "high"}}, "hyperparameter gamma: found high"),
    "a logged token": ({}, {"library": "sb3", "logged": {"loss": "low"}}, "logged loss: found low, expected a number"),
    "twice": ({"old_values": np.ones((5, 2))}, {}, "values_old.* could both be values_old; keep one"),
    "no last end": ({"episode_starts": np.ones((5, 2)), "done": np.ones(0)}, {"names": {"done": "unused"}}, "is missing: add it"),
    "a name": ({"x": np.ones(2)}, {"names": {"x": "reward"}}, "metadata, names: reward is no neutral name of a rollout"),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_what_cannot_be_read_is_refused_in_a_sentence(case: str, tmp_path: Path) -> None:
    tensors, metadata, said = OTHERS[case]
    with pytest.raises(MinibatchError, match=said) as refused:
        rollout(tmp_path, neutral(**tensors), metadata)
    assert str(refused.value).startswith(f"{tmp_path}")


def test_dones_of_nobody_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MinibatchError, match="dones means episode_starts or last_done in different libraries"):
        rollout(tmp_path, neutral(dones=np.eye(5, 2)), {})


def test_ends_that_terminated_says_are_ends(tmp_path: Path) -> None:
    found = rollout(tmp_path, neutral(terminated=np.ones((5, 2))), {})
    assert found.tensors["done"].min() == 1
    assert found.notes == ("terminated is 1 where done is 0: done is taken to be 1 there",)


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("values", np.ones((5, 3)), "values: found [5, 3] steps and environments, expected [5, 2] as rewards has."),
        ("values", np.ones((5, 2, 2)), "values: found the shape [5, 2, 2], expected [T, N]."),
        ("next_value", np.ones(1), "next_value: found 1 number, expected 2, one for each environment."),
        ("dones", np.full((5, 2), 0.5), "dones: found other numbers than 0 and 1, expected 1 where an episode began."),
        ("mb_inds", np.array([99]), "mb_inds: expected whole numbers from 0 to 9, the steps of the flattened rollout."),
        ("newlogprob", np.ones(1), "newlogprob: found 1 number, expected 3, the rows of the minibatch."),
    ],
)
def test_what_is_refused_has_the_files_own_names(tmp_path: Path, name: str, array: Array, said: str) -> None:
    tensors = {
        "rewards": np.ones((5, 2)), "values": np.ones((5, 2)), "dones": np.zeros((5, 2)), "next_done": np.zeros(2),
        "next_value": np.ones(2), "mb_inds": np.arange(3), "newlogprob": -np.ones(3),
    }  # fmt: skip
    with pytest.raises(MinibatchError) as refused:
        rollout(tmp_path, tensors | {name: array}, {"library": "cleanrl"})
    assert str(refused.value).endswith(f": {said}")
