"""Steps of TRL 1.12 in several files: a clean one is never accused, and one cause is named for what was planted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.dumps import COUNTED_IN
from blueprint.verifying import StepVerdict, text_of_step, verify_step
from blueprint.verifying.compare import DIFFERS, FOLLOWS, NEEDS_OTHERS
from blueprint.verifying.logged import ALL
from tests.steps.trl import Args, step, write
from tests.steps.writing import Written

CLEAN: dict[str, dict[str, Any]] = {
    "4 microbatches, 2 minibatches": {},
    "2 ranks, 2 epochs": {"ranks": 2, "num_ppo_epochs": 2},
    "3 ranks, whitened rewards": {"ranks": 3, "whiten_rewards": True, "kl_estimator": "k3"},
    "an empty response": {"empty": True, "whiten_rewards": True},
    "bfloat16": {"dtype": torch.bfloat16, "num_ppo_epochs": 2, "microbatches": 2},
    "one file of each minibatch": {"microbatches": 1, "num_mini_batches": 3, "per_device_train_batch_size": 4},
    "one file": {"microbatches": 1, "num_mini_batches": 1, "per_device_train_batch_size": 8},
}


def says(found: StepVerdict) -> dict[str, str]:
    """Returns what is said of each quantity of a step."""
    return {each.name: each.line.says for each in found.lines}


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_step_is_not_accused(tmp_path: Path, name: str) -> None:
    args = Args(**CLEAN[name])
    found = verify_step(write(tmp_path, args))
    assert found.agrees, (found.first, found.causes)
    assert not found.unread
    assert not found.lacking
    assert found.step == 3
    files = args.ranks * args.num_ppo_epochs * args.num_mini_batches * args.microbatches
    logged = [each for each in found.lines if each.name in ALL]  # all but what must hold before the first update
    assert (len(found.parts), {each.files for each in logged}) == (files, {files})
    assert {"rewards", "advantages", "returns", "policy_loss", "value_loss"} <= says(found).keys()
    assert not {DIFFERS, FOLLOWS, NEEDS_OTHERS} & set(says(found).values())
    if args.dtype == torch.float32:
        assert says(found)["advantages"] == says(found)["value_loss"] == "agrees"


PLANTED = {
    "gamma forgotten": ("advantages", "gamma = 1 instead of 0.95"),
    "whitened over pads": ("advantages", "advantage.stats = all instead of mask (padding counted in mean and variance)"),
    "whitened per microbatch": ("advantages", "whitening over the rows of each microbatch, instead of"),
    "whitened per minibatch": ("advantages", "whitening over the rows of each minibatch, instead of"),
    "pg_loss not divided by the microbatches": ("policy_loss", "everything multiplied by 4, the microbatches"),
}  # fmt: skip


@pytest.mark.parametrize("bug", PLANTED)
def test_one_cause_is_named_for_the_step(tmp_path: Path, bug: str) -> None:
    found = verify_step(write(tmp_path, Args(bug=bug, ranks=2)))
    quantity, cause = PLANTED[bug]
    assert found.first is not None
    assert found.first.name == quantity
    assert found.first.first is not None
    assert Path(found.first.first[1].path).name == "trl_000003_0_0_0_0.safetensors"
    assert len(found.causes) == 1
    assert found.causes[0].said.startswith(cause)
    assert found.causes[0].rest
    assert [name for name, each in says(found).items() if each == DIFFERS] == [quantity]


def test_a_shifted_mask_of_one_rank_is_placed_and_named(tmp_path: Path) -> None:
    found = verify_step(write(tmp_path, Args(bug="the mask of rank 1 is shifted", ranks=2)))
    assert found.first is not None
    assert {each.place.rank for each in found.first.deviating if each.place} == {1}
    (cause,) = found.causes
    assert cause.said == (
        "whitening over a mask shifted by one column to the right in these 8 files alone (8 others agree without it)"
    )
    assert found.causes[0].rest


def test_one_file_of_several_asks_for_the_others(tmp_path: Path) -> None:
    found = verify_step(write(tmp_path, Args())[:1])
    assert found.agrees
    assert says(found)["advantages"] == NEEDS_OTHERS
    assert says(found)["rewards"] == says(found)["returns"] == says(found)["value_loss"] == "agrees"
    assert found.lacking == (
        "microbatch 1 of 4 in minibatch 0", "microbatch 2 of 4 in minibatch 0", "microbatch 3 of 4 in minibatch 0",
        "minibatch 1 of 2",
    )  # fmt: skip


@pytest.mark.parametrize("chosen", [slice(2, 3), slice(1, None)], ids=["one file", "all but one"])
def test_a_fault_does_not_hide_behind_the_files_that_are_not_there(tmp_path: Path, chosen: slice) -> None:
    found = verify_step(write(tmp_path, Args(bug="gamma forgotten"))[chosen])
    assert found.first is not None
    assert [each.said for each in found.causes] == ["gamma = 1 instead of 0.95"]


def test_of_two_epochs_the_whole_one_is_enough(tmp_path: Path) -> None:
    found = verify_step(write(tmp_path, Args(num_ppo_epochs=2))[3:])
    assert found.agrees
    assert NEEDS_OTHERS not in says(found).values()


def test_files_that_were_whitened_without_those_that_are_not_there_are_said_to_be(tmp_path: Path) -> None:
    paths = write(tmp_path, Args(bug="whitened per microbatch"))
    for found in (verify_step(paths[:1]), verify_step(paths[1:])):
        (note,) = found.notes
        assert note.startswith("advantages are whitened over the rows of ")
        assert "alone, and not over each rank's rows of the rollout, though files of these are not there" in note
    assert verify_step(write(tmp_path, Args())[1:]).notes == ()


NOWHERE = dict.fromkeys((*COUNTED_IN, *COUNTED_IN.values(), "optimizer_step"))


def test_files_that_do_not_say_where_they_belong_are_not_accused(tmp_path: Path) -> None:
    """Their order is not guessed from their names."""
    found = verify_step(write(tmp_path, Args(said=NOWHERE))[:3])
    assert found.agrees
    assert says(found)["advantages"] == NEEDS_OTHERS
    assert "Nothing says of which part of the step it is: rank, world_size, epoch" in text_of_step(found)
    wrong = verify_step(write(tmp_path, Args(said=NOWHERE, bug="gamma forgotten")))
    assert wrong.first is not None
    assert [each.said for each in wrong.causes] == ["gamma = 1 instead of 0.95"]


def test_files_of_another_width_are_padded(tmp_path: Path) -> None:
    args = Args(num_mini_batches=1, microbatches=2, empty=True)
    one, other = sorted(step(args), key=lambda each: int(each.tensors["padding_mask"].sum(dim=1).min()))
    words = ~other.tensors["padding_mask"]
    width = int(words.sum(dim=1).max()) + 1  # TRL reads the slot behind the last word
    assert width < args.slots
    cut = {name: each[:, :width] if each.ndim == 2 else each for name, each in other.tensors.items()}
    logged = {name: each for name, each in other.said["logged"].items() if name in ("loss", "pg_loss", "vf_loss")}
    narrow = Written(other.name, cut, {**other.said, "logged": logged})
    found = verify_step([one.write(tmp_path), narrow.write(tmp_path)])
    assert found.agrees, (found.first, found.causes)
    assert says(found)["advantages"] == "agrees"
