"""Causes are held against every file of a step: what one of them refutes is not named, and of what else agrees no more is said
than was tested."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from blueprint.verifying import VerifyOptions, text_of_step, verify_step
from tests.hooks.trl_formulas import TRL, Formulas, otherwise, read
from tests.steps.trl import Args, write

REAL = Path(__file__).parents[1] / "data" / "real"
GRPO = REAL / "trl_grpo" / "grpo"
Change = Callable[[dict[str, float]], dict[str, float]]


def moved(paths: Sequence[Path], change: Change) -> None:
    """Writes files again with other logged numbers."""
    for path in paths:
        with safe_open(path, "np") as file:
            tensors, said = {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118
        save_file(tensors, path, {**said, "logged": json.dumps(change(json.loads(said["logged"])))})


def of_grpo(folder: Path) -> list[Path]:
    return sorted(Path(shutil.copy(path, folder)) for path in GRPO.iterdir())


def of_second_pass(folder: Path, trainer: Formulas) -> list[Path]:
    """Writes what a trainer would have logged of the second pass over the responses."""
    paths, files = [], [each for each in read(GRPO) if each.said["epoch"] == "1"]
    for number, each in enumerate(trainer.written(files)):
        paths.append(folder / f"{number}.safetensors")
        each.save(paths[-1])
    return paths


def test_a_coefficient_that_fits_one_file_is_not_named_where_the_others_agree_without_it(tmp_path: Path) -> None:
    """Only its loss is off, by what another weight of the KL makes of it: to a single number some coefficient can be fitted."""
    paths = of_grpo(tmp_path)
    file = read(GRPO)[4]
    loss = TRL.logged(file._replace(settings={**file.settings, "beta": 0.0942}))["loss"]
    moved(paths[4:5], lambda logged: {**logged, "loss": loss})
    assert [each.said for each in verify_step(paths[4:5]).causes] == ["kl.coef = 0.0942"]
    found = verify_step(paths)
    assert found.first is not None
    assert (found.first.name, len(found.first.deviating)) == ("total_loss", 1)
    assert not any("kl.coef = " in each.said for each in found.causes)
    assert not any(each.rest for each in found.causes)
    assert "everything else agrees" not in text_of_step(found)


def test_a_coefficient_that_the_other_files_refute_is_not_put_back(tmp_path: Path) -> None:
    """Each file has another one: whatever fits the first is refuted by the next."""
    paths = of_grpo(tmp_path)
    for number, path in enumerate(paths):
        moved([path], lambda logged, by=0.31 + 0.17 * number: {**logged, "loss": logged["loss"] + by * logged["kl"]})  # type: ignore[misc]
    found = verify_step(paths)
    assert found.first is not None
    assert len(found.first.deviating) >= 4
    assert not found.causes
    assert "No single known convention explains it" in text_of_step(found)


def test_what_is_said_of_the_rest_holds_under_the_setting_that_is_named(tmp_path: Path) -> None:
    """As `--set` shows: with the cause over all files, everything agrees, or what is said to deviate does."""
    trainer = otherwise(kl=lambda above, r, use: above * above / 2)
    paths = of_second_pass(tmp_path, trainer)
    found = verify_step(paths)
    assert [each.said for each in found.causes] == ["kl.estimator = k2"]
    assert found.causes[0].rest
    assert f"then everything else agrees, too, in all {len(paths)} files." in text_of_step(found)
    assert verify_step(paths, VerifyOptions(None, ("kl.estimator=k2",))).agrees


def test_a_mistake_in_one_file_is_said_to_be_in_that_file_alone(tmp_path: Path) -> None:
    paths = of_grpo(tmp_path)
    moved(paths[6:7], lambda logged: {**logged, "loss": 2 * logged["loss"]})
    found = verify_step(paths)
    assert "everything multiplied by 2 in that file alone (7 others agree without it)" in {
        each.said for each in found.causes
    }
    assert "It deviates in 1 of 8 files" in text_of_step(found)


def test_a_second_fault_elsewhere_is_what_still_deviates(tmp_path: Path) -> None:
    """The cause explains the first deviation in every file; another file has another fault, which is not passed over."""
    paths = of_second_pass(tmp_path, otherwise(kl=lambda above, r, use: above * above / 2))
    moved(paths[3:4], lambda logged: {**logged, "loss": logged["loss"] + 0.05})
    found = verify_step(paths)
    assert [each.said for each in found.causes] == ["kl.estimator = k2"]
    assert [name for name, _ in found.causes[0].still] == ["total_loss"]
    assert "; then this still deviates: total_loss (by 0.05)." in text_of_step(found)


def test_a_weight_that_fits_one_file_of_ppo_is_not_named_where_others_refute_it(tmp_path: Path) -> None:
    paths = write(tmp_path, Args(microbatches=2, num_mini_batches=2))
    moved(paths[1:2], lambda logged: {**logged, "loss": logged["pg_loss"] + 0.173 * logged["vf_loss"]})
    assert any("vf_coef" in each.said for each in verify_step(paths[1:2]).causes)
    found = verify_step(paths)
    assert found.first is not None
    assert (found.first.name, len(found.first.deviating)) == ("total_loss", 1)
    assert not any("vf_coef = 0.173" in each.said for each in found.causes)
    assert "everything else agrees" not in text_of_step(found)


def test_a_mistake_of_ppo_in_all_files_is_tested_in_all_of_them(tmp_path: Path) -> None:
    paths = write(tmp_path, Args(microbatches=2, num_mini_batches=2))
    moved(paths, lambda logged: {**logged, "loss": logged["pg_loss"] + 0.25 * logged["vf_loss"]})
    found = verify_step(paths)
    assert any("vf_coef = 0.25" in each.said and each.rest for each in found.causes)
    assert f"then everything else agrees, too, in all {len(paths)} files." in text_of_step(found)


def test_a_mistake_of_ppo_in_one_file_is_said_to_be_in_that_file(tmp_path: Path) -> None:
    paths = write(tmp_path, Args(microbatches=2, num_mini_batches=2))
    moved(paths[2:3], lambda logged: {**logged, "vf_loss": -logged["vf_loss"]})
    found = verify_step(paths)
    assert found.first is not None
    assert found.causes
    assert all("in that file alone (3 others agree without it)" in each.said for each in found.causes)


@pytest.mark.parametrize("run", ["trl_grpo/grpo", "trl_dpo/sigmoid", "trl_reward/plain"])
def test_a_loss_of_random_numbers_has_no_cause(run: str, tmp_path: Path) -> None:
    paths = sorted(Path(shutil.copy(path, tmp_path)) for path in (REAL / run).iterdir())
    for number, path in enumerate(paths):
        moved([path], lambda logged, by=1.37 + 0.23 * number: {**logged, "loss": by * logged["loss"] + 0.011})  # type: ignore[misc]
    found = verify_step(paths)
    assert found.first is not None
    assert found.causes == ()
