"""slime, miles and Relax write their steps themselves: their files are read as they are, and what they lack is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from blueprint.dumps import Dump, Minibatch, MinibatchError, inspect, metadata_of, read_dump
from blueprint.verifying import VerifyOptions, text_of_step, verify_step
from blueprint.verifying.runs.steps import find
from tests.commands import run_command
from tests.dumps.as_frameworks import (
    areal_trajectories,
    miles_training,
    relax_bundle,
    rolled_out,
    rollout_data,
    rows,
    slime_training,
)
from tests.workbooks.grpo.recorded import batch


def of_old() -> list[torch.Tensor]:
    """The engine's log-probs are the old policy's, as in a run on one policy; the recorded ones are another's."""
    return rows(batch().logprobs("old"))


def step(path: Path) -> Minibatch:
    found: Dump = read_dump(path)
    assert isinstance(found, Minibatch)
    return found


def test_training_data_of_slime_is_a_step_of_grpo_that_agrees(tmp_path: Path) -> None:
    path = slime_training(tmp_path / "7.pt", rollout_log_probs=of_old())
    found = verify_step([path])
    assert (found.step, found.agrees) == (7, True)
    assert [line.name for line in found.lines] == ["advantages"]
    (part,) = found.parts
    assert part.chosen.preset.name == "slime"
    assert part.verdict.replayed.batch.head.endswith("12 responses to 3 prompts, 4 to each; groups by equal prompts.")


def test_its_numbers_are_those_of_the_batch_in_the_order_of_the_rollout(tmp_path: Path) -> None:
    found, of = step(slime_training(tmp_path / "7.pt")), batch()
    assert metadata_of(tmp_path / "7.pt")["step"] == 7
    assert found.tensors["scores"].tolist() == of.rewards.tolist()
    assert np.array_equal(found.mask, of.mask == 1)
    for name in ("old", "ref", "rollout"):
        np.testing.assert_array_equal(
            found.tensors[f"logprobs_{name}"][found.mask], of.logprobs(name)[found.mask].astype(np.float32), name
        )
    assert np.array_equal(found.tensors["response_ids"][found.mask], of.tokens[found.mask])
    assert found.tensors["row_index"].tolist() == list(range(24, 36))
    assert found.tensors["ended"].tolist() == (of.truncated == 0).tolist()


def test_what_another_configuration_of_slime_does_is_named(tmp_path: Path) -> None:
    found = verify_step([slime_training(tmp_path / "7.pt", "grpo_no_std", rollout_log_probs=of_old())])
    assert found.first is not None
    assert found.first.name == "advantages"
    assert any("group.std = none" in each.said for each in found.causes)


def test_ranks_of_miles_are_joined_and_copies_of_tensor_parallelism_left_out(tmp_path: Path) -> None:
    paths = miles_training(tmp_path, rollout_log_probs=of_old())
    found = verify_step(paths)
    assert found.agrees
    assert [Path(part.verdict.replayed.batch.path).name for part in found.parts] == ["2_0.pt", "2_2.pt"]
    assert sum("repeats" in note for note in found.notes) == 2
    assert step(paths[3]).tensors["scores"].tolist() == batch().rewards[1::2].tolist()


def test_a_rank_alone_is_not_taken_for_whole_groups(tmp_path: Path) -> None:
    found = verify_step(miles_training(tmp_path, rollout_log_probs=of_old())[:1])
    assert not found.compared
    assert "advantages: not compared, it takes the other 6 of the 12 responses of the rollout" in text_of_step(found)


@pytest.mark.parametrize("miles", [False, True])
def test_a_rollout_has_scores_and_the_engines_log_probs(tmp_path: Path, miles: bool) -> None:
    found = step(rolled_out(tmp_path / "7.pt", miles))
    assert (found.library, found.preset, found.old_from) == ("miles" if miles else "slime", "slime", "engine")
    assert found.tensors["scores"].tolist() == batch().rewards.tolist()
    assert found.mask.sum() == 47
    assert inspect(tmp_path / "7.pt").recomputable["advantages"] == ()
    assert not verify_step([tmp_path / "7.pt"]).compared


def test_responses_that_are_left_out_do_not_count(tmp_path: Path) -> None:
    path = rolled_out(tmp_path / "7.pt")
    found = torch.load(path, weights_only=True)
    found["samples"][3] |= {"remove_sample": True, "loss_mask": [1, 1]}
    torch.save(found, path)
    assert step(path).mask.sum(1).tolist() == [3, 5, 6, 0, 4, 6, 1, 5, 2, 3, 6, 4]


def test_rewards_that_are_objects_are_refused(tmp_path: Path) -> None:
    path = rolled_out(tmp_path / "7.pt", reward={"format": 1.0, "answer": 0.0})
    with pytest.raises(
        MinibatchError, match="row 0: reward is an object with format, answer: write the one that counts"
    ):
        read_dump(path)


def test_with_values_it_is_a_step_of_ppo_whose_preset_is_asked_for(tmp_path: Path) -> None:
    path = slime_training(tmp_path / "7.pt", values=rollout_data()["kl"])
    assert step(path).kind == "rlhf_ppo"
    assert {"values_old", "returns"} <= step(path).tensors.keys()
    with pytest.raises(MinibatchError, match="is of slime, for which there is no preset: name one"):
        verify_step([path], VerifyOptions())


def test_slices_of_context_parallelism_and_empty_files_are_refused(tmp_path: Path) -> None:
    path = miles_training(tmp_path, cp_size=2)[0]
    with pytest.raises(
        MinibatchError, match="cp_size is 2: with context parallelism miles writes a slice of each response"
    ):
        read_dump(path)
    path = slime_training(tmp_path / "7.pt", log_probs=[each[:1] for each in of_old()])
    with pytest.raises(MinibatchError, match="row 0: log_probs has 1 entries, its response_length is 3: a slice, as"):
        read_dump(path)
    torch.save({"rollout_id": 3, "samples": []}, path)
    with pytest.raises(MinibatchError, match="samples is empty: slime wrote no response of rollout 3"):
        read_dump(path)


def test_the_engines_log_probs_stand_for_old_ones_that_are_not_there(tmp_path: Path) -> None:
    columns = rollout_data()
    columns.pop("log_probs")
    known = {"rollout_id": 1, "rank": 0, "rollout_data": columns | {"raw_reward": batch().rewards.tolist()}}
    torch.save(known | {"cp_rank": 0, "cp_size": 1, "qkv_format": "thd"}, tmp_path / "1_0.pt")
    found = step(tmp_path / "1_0.pt")
    assert (found.old_from, found.called["logprobs_old"]) == ("engine", "rollout_log_probs")
    assert "no log_probs: the old log-probs are the generating engine's, as with --use-rollout-logprobs" in found.notes


def test_a_bundle_of_relax_is_one_dump_of_a_training_step(tmp_path: Path) -> None:
    found = verify_step([relax_bundle(tmp_path / "replay-5-1", of_training=True)])
    assert (found.step, found.agrees) == (5, True)
    assert [line.name for line in found.lines] == ["clip.fraction", "policy_loss", "entropy", "total_loss"]
    assert "scores" not in found.parts[0].verdict.replayed.batch.tensors  # 0 stands in their place


def test_a_bundle_of_a_rollout_has_scores_and_groups(tmp_path: Path) -> None:
    found = verify_step([relax_bundle(tmp_path / "replay-rollout-5", of_training=False)])
    assert (found.step, found.agrees, [line.name for line in found.lines]) == (5, True, ["advantages"])
    assert "logprobs_ref" not in found.parts[0].verdict.replayed.batch.tensors  # zeros, where no KL is paid
    other = verify_step([relax_bundle(tmp_path / "other", of_training=False, grpo_std_normalization=False)])
    assert any("group.std = group" in each.said for each in other.causes)


def test_a_folder_of_bundles_is_a_run_and_a_bundle_is_no_folder(tmp_path: Path) -> None:
    relax_bundle(tmp_path / "replay-5-1", of_training=True)
    relax_bundle(tmp_path / "replay-rollout-5", of_training=False)
    alone = run_command("verify", tmp_path / "replay-5-1")
    assert (alone.exit_code, "All 4 logged quantities agree." in alone.output) == (0, True)
    (step_5,) = find(tmp_path).steps
    assert (step_5.number, [file.name for file in step_5.files]) == (5, ["replay-5-1", "replay-rollout-5"])
    assert verify_step([tmp_path / file.name for file in step_5.files]).agrees


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("manifest.json", '"1.0.0"', '"2.0.0"', "format_version is 2.0.0, expected 1.x of Relax's bundles"),
        ("index.json", '"cp": 1', '"cp": 2', "cp is 2: with context parallelism it has a slice of each response"),
        ("index.json", '"response_length": 3', '"response_length": 4', "sample 0: loss_mask needs 4 entries"),
        ("index.json", '"eps_clip": 0.2', '"eps_clip": "0.2"', "eps_clip: found 0.2, expected a number"),
        ("manifest.json", '"sha256": "', '"sha256": "0', "its checksum is not the one in manifest.json"),
    ],
)
def test_a_bundle_that_is_not_as_it_says_is_refused(tmp_path: Path, name: str, old: str, new: str, said: str) -> None:
    path = relax_bundle(tmp_path / "replay-5-1", of_training=True)
    text = (path / name).read_text(encoding="utf-8")
    (path / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(MinibatchError) as found:
        read_dump(path)
    assert str(found.value).startswith(f"{path}: ")
    assert said in str(found.value)


def test_a_bundle_that_was_not_completed_is_refused(tmp_path: Path) -> None:
    path = relax_bundle(tmp_path / "replay-5-1", of_training=True)
    (path / "COMPLETE").unlink()
    with pytest.raises(MinibatchError, match="it has no file COMPLETE, which Relax writes last: it is not whole"):
        read_dump(path)


def test_texts_of_areal_are_refused_and_in_a_run_left_aside(tmp_path: Path) -> None:
    path = areal_trajectories(tmp_path / "3.jsonl")
    with pytest.raises(
        MinibatchError, match="texts, lengths and a reward, no log-probs, from which nothing can be computed"
    ):
        read_dump(path)
    slime_training(tmp_path / "7.pt", rollout_log_probs=of_old())
    found = find(tmp_path)
    assert (found.foreign, [step.number for step in found.steps]) == (("3.jsonl",), [7])
