"""The command `verify` with several files: what it prints of a step, of several steps, and what it refuses."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from tests.commands import run_command
from tests.steps.trl import Args, write

SMALL = {"microbatches": 2, "num_mini_batches": 1}


run = partial(run_command, "verify")


@pytest.fixture(scope="module", name="clean")
def _clean(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write(tmp_path_factory.mktemp("clean"), Args(**SMALL))  # type: ignore[arg-type]


def test_a_step_has_one_table(clean: list[Path]) -> None:
    found = run(*clean)
    assert found.exit_code == 0, found.output
    assert "Step 3: 2 files of 23 tokens: 2 microbatches." in found.stdout
    assert found.stdout.count("quantity  ") == 1
    assert "All 13 logged quantities agree, in all 2 files." in found.stdout
    assert found.stdout.count("Note: layout: response") == 1
    assert run(*clean, "--each").stdout.count("quantity  ") == 3


def test_the_first_deviation_names_the_file_and_one_cause(tmp_path: Path) -> None:
    found = run(*write(tmp_path, Args(bug="gamma forgotten", ranks=2, **SMALL)))  # type: ignore[arg-type]
    assert found.exit_code == 1
    assert "First deviation: trl_000003_0_0_0_0.safetensors: advantages, row 0, columns 0 … " in found.stdout
    assert "  It deviates in 4 of 4 files.\n" in found.stdout
    assert found.stdout.count("It matches with ") == 1
    assert (
        "It matches with gamma = 1 instead of 0.95; then everything else agrees, too, in all 4 files." in found.stdout
    )


def test_a_fault_of_one_rank_is_said_to_be_that_ranks(tmp_path: Path) -> None:
    found = run(*write(tmp_path, Args(bug="the mask of rank 1 is shifted", ranks=2, **SMALL)))  # type: ignore[arg-type]
    assert found.exit_code == 1
    assert "  It deviates in 2 of 4 files, all of rank 1.\n" in found.stdout


def test_one_file_of_several_is_not_accused(clean: list[Path]) -> None:
    found = run(clean[0])
    assert found.exit_code == 0, found.output
    assert "DIFFERS" not in found.stdout
    assert "12 agree, 1 is left open." in found.stdout
    assert (
        "advantages: only the other files of the step can tell; all that is here agrees with a mean of" in found.stdout
    )
    assert "Not there: microbatch 1 of 2." in found.stdout
    told = json.loads(run(clean[0], "--json").stdout)
    assert (told["agrees"], told["deviates"], told["lacking"]) == (False, False, ["microbatch 1 of 2"])


def test_json_of_a_step_holds_its_files(clean: list[Path]) -> None:
    told = json.loads(run(*clean, "--json").stdout)
    assert (told["step"], told["agrees"], told["first"], told["causes"]) == (3, True, None, [])
    assert [Path(each["file"]).name for each in told["files"]] == [path.name for path in clean]
    advantages = next(each for each in told["quantities"] if each["quantity"] == "advantages")
    assert (advantages["verdict"], advantages["files"], advantages["deviating_in"]) == ("agrees", 2, [])


def test_files_of_several_steps_go_step_by_step(clean: list[Path], tmp_path: Path) -> None:
    later = write(tmp_path, Args(said={"step": 12}, **SMALL))  # type: ignore[arg-type]
    found = run(*later, *clean)
    assert found.exit_code == 0, found.output
    assert found.stdout.index("Step 3: 2 files") < found.stdout.index("Step 12: 2 files")


def test_a_repeated_file_is_left_out_and_a_contradiction_refused(clean: list[Path], tmp_path: Path) -> None:
    copy = Path(shutil.copy(clean[0], tmp_path / "copy.safetensors"))
    found = run(*clean, copy)
    assert found.exit_code == 0, found.output
    assert "repeats" in found.stdout
    (other,) = write(tmp_path, Args(seed=5, **SMALL))[:1]  # type: ignore[arg-type]
    found = run(*clean, other)
    assert found.exit_code == 3
    assert (
        "both say rank 0 of 1, epoch 0 of 1, minibatch 0 of 1, microbatch 0 of 2, optimizer_step 0, and hold"
        in found.stderr
    )
    (faster,) = write(tmp_path, Args(gamma=0.5, said={"microbatch": 1}, **SMALL))[:1]  # type: ignore[arg-type]
    found = run(clean[0], faster)
    assert found.exit_code == 3
    assert "says ppo.gamma = 0.95 and" in found.stderr


def test_a_damaged_file_is_named_and_the_others_are_compared(clean: list[Path], tmp_path: Path) -> None:
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(b"nothing")
    found = run(*clean, bad)
    assert found.exit_code == 3
    assert f"Not read: {bad}: " in found.stdout or str(bad) in found.stderr
