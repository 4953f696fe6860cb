"""The command `verify`: what it prints, how it ends, and what it refuses."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.dumps import Minibatch, save
from blueprint.verifying import data_of_step, verify_step
from tests.commands import run_command
from tests.recorded_ppo import RUNS, Run
from tests.verifying.dumps import FIRST, dump
from tests.verifying.planting import FAULTS, planted

LOW_VAR = next(run for run in RUNS if run.variant == "variant_lam_0_95")


def saved(path: Path, batch: Minibatch, **said: Any) -> Path:
    """Writes a dump as a file."""
    save(path, batch.tensors, {"library": batch.preset, "logged": dict(batch.logged)} | said)
    return path


def of(run: Run, path: Path, **said: Any) -> Path:
    """Writes the dump of a library's run as a file."""
    return saved(path, dump(run), **said)


run = partial(run_command, "verify")


def test_a_run_of_a_library_agrees(tmp_path: Path) -> None:
    found = run(of(FIRST["verl"], tmp_path / "run.npz"))
    assert found.exit_code == 0, found.output
    assert "Preset verl (verl, read at 0.9.1), because the file says verl." in found.stdout
    assert "quantity" in found.stdout
    assert "All " in found.stdout
    assert " logged quantities agree." in found.stdout


def test_a_difference_is_placed_and_explained(tmp_path: Path) -> None:
    fault = next(fault for fault in FAULTS if fault.cause == "advantage.ddof = 0")
    found = run(saved(tmp_path / "run.safetensors", planted(fault)))
    assert found.exit_code == 1, found.output
    assert (
        "First deviation: advantages, row 0, columns 0 … 5: logged -0.665730369, recomputed -0.646973627."
        in found.stdout
    )
    assert (
        "It matches with advantage.ddof = 0 instead of 1 (the variance divided by N); then everything else agrees, too."
        in found.stdout
    )
    assert "This only follows from it: policy_loss" in found.stdout


def test_what_the_file_and_the_user_say_goes_over_the_preset(tmp_path: Path) -> None:
    path = of(LOW_VAR, tmp_path / "run.npz")
    assert run(path).exit_code == 1
    found = run(path, "--set", "gae_lambda=0.95")
    assert found.exit_code == 0, found.output
    assert "ppo.gae_lambda = 0.95 (as asked; verl: 1)" in found.stdout
    said = of(LOW_VAR, tmp_path / "said.npz", hyperparameters={"ppo.gae_lambda": 0.95})
    found = run(said)
    assert found.exit_code == 0, found.output
    assert "ppo.gae_lambda = 0.95 (the file says so; verl: 1)" in found.stdout
    assert run(said, "--set", "ppo.gae_lambda=0.9").exit_code == 1


def test_a_misspelt_hyperparameter_is_said_not_to_be_understood(tmp_path: Path) -> None:
    found = run(of(FIRST["verl"], tmp_path / "run.npz", hyperparameters={"lamda": 0.95}))
    assert found.exit_code == 0, found.output
    note = "Note: hyperparameters that are not understood and change nothing: lamda (did you mean "
    assert note in found.stdout


def test_another_preset_is_taken_when_asked(tmp_path: Path) -> None:
    found = run(of(FIRST["verl"], tmp_path / "run.npz"), "--preset", "openrlhf")
    assert found.exit_code == 1
    assert "Preset openrlhf (OpenRLHF, read at 0.11.2), as asked." in found.stdout
    assert "First deviation: " in found.stdout


def test_json_is_for_programs(tmp_path: Path) -> None:
    fault = next(fault for fault in FAULTS if fault.cause == "gamma = 0.99")
    found = run(saved(tmp_path / "run.npz", planted(fault)), "--json")
    told = json.loads(found.stdout)
    assert found.exit_code == 1
    assert not told["agrees"]
    assert told["preset"] == "openrlhf"
    assert told["first"]["quantity"] == "advantages"
    assert told["first"]["where"] == {"row": 0, "first_column": 0, "last_column": 5, "words": 6}
    cause = {"matches_with": "gamma = 0.99 instead of 1", "rest_agrees": True, "still_deviates": {}}
    assert {**cause, "not_computed": [], "same_numbers_as": []} in told["causes"]
    assert {each["verdict"] for each in told["quantities"]} == {"agrees", "follows", "DIFFERS"}


def without_results(path: Path) -> Path:
    """Writes what a library computes with, and nothing of what it computed."""
    batch = dump(FIRST["trl_1.12"])
    tensors = {name: each for name, each in batch.tensors.items() if name not in ("rewards", "advantages", "returns")}
    save(path, tensors, {"library": "trl_1.12"})
    return path


def test_a_file_without_results_ends_with_4_and_says_so(tmp_path: Path) -> None:
    batch, path = dump(FIRST["trl_1.12"]), without_results(tmp_path / "run.npz")
    found = run(path)
    assert found.exit_code == 4, found.output
    told = json.loads(run(path, "--json").stdout)
    assert (told["agrees"], told["deviates"], told["quantities"]) == (None, False, [])
    assert "has no results that could be compared" in found.stdout
    assert f"total_loss, recomputed: {batch.logged['total_loss']:.9g}" in found.stdout


def test_of_several_files_without_results_the_same_is_said(tmp_path: Path) -> None:
    found = run(*(without_results(tmp_path / f"{each}.npz") for each in "ab"))
    assert found.exit_code == 4, found.output
    assert "Nothing was logged that could be compared." in found.stdout
    save(tmp_path / "c.npz", dump(FIRST["trl_1.12"]).tensors, {"library": "trl_1.12"})
    assert run(*(tmp_path / f"{each}.npz" for each in "abc")).exit_code == 0
    told = json.loads(run(*(tmp_path / f"{each}.npz" for each in "abc"), "--json").stdout)
    assert (told["agrees"], [each["agrees"] for each in told["files"]]) == (True, [None, None, True])


def test_what_was_logged_but_takes_more_than_the_file_has_is_not_said_to_agree(tmp_path: Path) -> None:
    batch = dump(FIRST["trl_1.12"])
    tensors = {
        name: each for name, each in batch.tensors.items() if name in ("logprobs_old", "response_mask", "scores")
    }
    save(tmp_path / "run.npz", tensors, {"library": "trl_1.12", "logged": {"policy_loss": 0.1}})
    found = run(tmp_path / "run.npz")
    assert found.exit_code == 4, found.output
    assert "nothing could be compared, since what was logged takes more than the file has." in found.stdout
    assert "policy_loss: not compared, it takes " in found.stdout


def test_a_factor_multiplies_the_tolerance(tmp_path: Path) -> None:
    batch = dump(FIRST["verl"])
    moved = {**batch.tensors, "returns": np.asarray(batch.tensors["returns"]) + 1e-7}
    save(tmp_path / "run.npz", moved, {"library": "verl"})
    assert run(tmp_path / "run.npz").exit_code == 1
    assert run(tmp_path / "run.npz", "--tolerance", "1000").exit_code == 0


def test_a_device_that_there_is_not_is_refused_in_a_sentence(tmp_path: Path) -> None:
    found = run(of(FIRST["verl"], tmp_path / "run.npz"), "--device", "abacus")
    assert found.exit_code == 2
    assert found.stderr.startswith("Error: --device abacus: torch cannot compute in float64 there")
    assert len(found.stderr.splitlines()) == 1


def test_a_file_that_does_not_say_its_library_asks_for_a_preset(tmp_path: Path) -> None:
    batch = dump(FIRST["verl"])
    save(tmp_path / "run.npz", batch.tensors)
    found = run(tmp_path / "run.npz")
    assert found.exit_code == 2
    assert "run.npz does not say which library wrote it: name one with --preset, of default, openai" in found.stderr
    assert run(tmp_path / "run.npz", "--preset", "verl").exit_code == 0


def test_what_cannot_be_read_or_computed_ends_with_3(tmp_path: Path) -> None:
    found = run(tmp_path / "no.npz")
    assert found.exit_code == 3
    batch = dump(FIRST["trl_1.12"])
    values = np.where(batch.mask, batch.tensors["values_old"], np.nan)
    save(tmp_path / "run.npz", {**batch.tensors, "values_old": values}, {"library": "trl_1.12"})
    found = run(tmp_path / "run.npz")
    assert found.exit_code == 3
    assert "outside the mask, where batch.response_mask or advantage.tail_slots" in found.stderr


def test_a_large_minibatch_shows_its_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = of(FIRST["verl"], tmp_path / "run.npz")
    assert run(path).stderr == ""
    monkeypatch.setattr("blueprint.commands.verify_files.LONG", 1)
    assert "recomputing" in run(path).stderr


@pytest.mark.parametrize("logged", [float("nan"), float("inf"), float("-inf")])
def test_a_logged_number_that_is_none_differs(tmp_path: Path, logged: float) -> None:
    """A loss that became NaN is why one looks at all."""
    batch = dump(FIRST["verl"])
    tensors = {name: np.asarray(each) for name, each in batch.tensors.items()}
    save(tmp_path / "run.npz", tensors, {"library": "verl", "logged": {"policy_loss": logged}})
    result = run_command("verify", tmp_path / "run.npz")
    assert result.exit_code == 1, result.output
    assert f"First deviation: policy_loss: logged {logged:g}, recomputed" in result.output


def test_a_step_of_which_nothing_could_be_computed_has_data(tmp_path: Path) -> None:
    """Of a log-prob that is no number nothing is made: the one file of its step is told as one that could not be read."""
    batch = dump(FIRST["verl"])
    tensors = {name: np.array(each, np.float64) for name, each in batch.tensors.items()}
    tensors["logprobs_old"][0, 0] = np.nan
    save(tmp_path / "run.npz", tensors, {"library": "verl", "logged": {"policy_loss": 0.5}})
    found = verify_step([tmp_path / "run.npz"])
    assert not found.parts
    assert data_of_step(found)["agrees"] is None
    assert [*found.unread] == [tmp_path / "run.npz"]
