"""Files that are no step of PPO are told as what they are: preference pairs, and steps without a critic."""

from pathlib import Path

import numpy as np
import pytest

from blueprint.dumps import Array, MinibatchError, read_minibatch
from blueprint.dumps.checks import WITHOUT_CRITIC
from blueprint.verifying import choose
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from tests.dumps.batches import LIBRARY, batch, raw_npz, reread

CRITIC = ("values_old", "values_new", "returns", "rewards", "scores")


def test_preference_pairs_without_log_probs_are_told_as_such(tmp_path: Path) -> None:
    path = raw_npz(tmp_path, {name: np.zeros((2, 3)) for name in ("input_ids_chosen", "input_ids_rejected")})
    with pytest.raises(MinibatchError) as error:
        read_minibatch(path)
    assert "are pairs of a preferred and another answer (a reward model or DPO)" in str(error.value)
    assert "logprobs_old is missing" not in str(error.value)


@pytest.mark.parametrize(
    "names",
    [
        ("chosen_logps", "rejected_logps", "ref_chosen_logps", "ref_rejected_logps"),
        ("prompt_input_ids", "chosen_input_ids", "rejected_input_ids", "policy_chosen_logps", "policy_rejected_logps"),
    ],
)
def test_preference_pairs_with_log_probs_are_a_step_of_dpo(tmp_path: Path, names: tuple[str, ...]) -> None:
    path = raw_npz(tmp_path, {name: np.zeros((2, 3)) for name in names})
    with pytest.raises(MinibatchError, match="a step of DPO, which is verified by itself"):
        read_minibatch(path)


def test_a_chosen_tensor_alone_is_no_pair(tmp_path: Path) -> None:
    with pytest.raises(MinibatchError, match="logprobs_old is missing"):
        read_minibatch(raw_npz(tmp_path, {"chosen_rows": np.zeros((2, 3))}))


def test_a_step_without_critic_is_told_as_what_it_is(tmp_path: Path) -> None:
    given = {name: each for name, each in batch().items() if name not in CRITIC}
    assert WITHOUT_CRITIC in reread(tmp_path, given, LIBRARY).notes
    assert WITHOUT_CRITIC not in reread(tmp_path, batch(), LIBRARY).notes


@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_one_advantage_for_a_response_counts_for_each_of_its_words(tmp_path: Path, shape: tuple[int, ...]) -> None:
    given = {name: each for name, each in batch().items() if name not in CRITIC}
    each = np.array([1.5, -2.0, 0.25], dtype=np.float32)
    found = reread(tmp_path, given | {"advantages": each.reshape(shape)}, LIBRARY)
    assert np.array_equal(found.tensors["advantages"], np.where(found.mask, each[:, None], 0))
    assert found.tensors["advantages"].dtype == np.float32
    assert "advantages: one number of each response, which counts for each of its tokens" in found.notes
    replayed = verify(found, choose(found).values, "verl").replayed
    new, old = (found.tensors[name].astype(float) for name in ("logprobs_new", "logprobs_old"))
    by_hand = _policy_loss(new - old, each.astype(float), found.mask)
    assert replayed.whole["policy_loss"] == pytest.approx(by_hand, rel=1e-12)


def _policy_loss(log_ratio: Array, advantage: Array, mask: Array) -> float:
    """The clipped loss of verl 0.9.1, `compute_policy_loss_vanilla` with its defaults: clip 0.2, dual clip 3, a mean over words."""
    ratio, each = np.exp(log_ratio), advantage[:, None]
    worse = np.maximum(-each * ratio, -each * np.clip(ratio, 0.8, 1.2))
    return float(np.where(each < 0, np.minimum(worse, -3 * each), worse)[mask].mean())


@pytest.mark.parametrize(
    ("library", "said"),
    [
        (
            {"library": "trl"},
            "is of trl and does not say of which version: add version to its metadata, or name a preset",
        ),
        ({"library": "mylib"}, "is of mylib, for which there is no preset"),
        ({}, "does not say which library wrote it"),
    ],
)
def test_a_library_without_version_is_a_library(tmp_path: Path, library: dict[str, str], said: str) -> None:
    with pytest.raises(MinibatchError) as error:
        choose(reread(tmp_path, batch(), library))
    assert said in str(error.value)
