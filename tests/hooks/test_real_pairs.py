"""What the hooks wrote of pairs in real runs of TRL, tests/data/real: that it suffices, and that verify agrees with the library.

Everything is computed again from nothing but the files, by TRL's formulas in numpy, too.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from blueprint.cli import main
from blueprint.verifying import verify_step
from tests.hooks.dpo_formulas import TRL
from tests.hooks.real.libraries import RUNS as RUNS_OF
from tests.hooks.trl_formulas import read

REAL = Path(__file__).parents[1] / "data" / "real"
DPO = [REAL / "trl_dpo" / argument for argument in RUNS_OF["trl_dpo"].arguments]
MADE = ("chosen_logps", "ref_rejected_logps", "chosen_rewards", "rejected_rewards", "margins")


def named(run: Path) -> str:
    return run.name


@pytest.mark.parametrize("run", DPO, ids=named)
def test_a_clean_step_agrees_in_all_its_files(run: Path) -> None:
    found = verify_step(sorted(run.iterdir()))
    assert {line.name: line.line.says for line in found.lines if line.line.says != "agrees"} == {}
    assert {"chosen.logp", "chosen.reward", "rewards.accuracies", "total_loss"} <= {line.name for line in found.lines}
    assert not found.unread
    assert not found.lacking


@pytest.mark.parametrize("run", DPO, ids=named)
def test_one_file_of_a_clean_step_is_not_accused(run: Path) -> None:
    found = verify_step(sorted(run.iterdir())[1:])
    assert found.first is None
    assert found.lacking == ("microbatch 0 of 2",)


@pytest.mark.parametrize("run", [run for run in DPO if run.name != "weighted"], ids=named)
def test_everything_follows_from_the_log_probs_of_tokens_by_formulas_of_our_own(run: Path) -> None:
    """In float32, 24 bits, of sums of up to 10 numbers of about 5, times β of up to 2."""
    for file in read(run):
        again = TRL.written(file)
        for name in MADE:
            assert np.abs(again.tensors[name] - file.tensors[name]).max() < 1e-5, name
        for name, number in again.logged.items():
            assert number == pytest.approx(file.logged[name], rel=2e-6, abs=5e-6), name


def test_the_runs_have_what_their_names_say() -> None:
    """The policy has left the reference, responses differ in length, pairs tie, and microbatches differ."""
    found = {run.name: read(run) for run in DPO}
    apart = [file.tensors["chosen_logps"] - file.tensors["ref_chosen_logps"] for file in found["sigmoid"]]
    assert min(np.abs(each).max() for each in apart) > 0.5
    assert len({count for file in found["sigmoid"] for count in file.tensors["completion_mask"].sum(1)}) > 3
    assert any((file.tensors["margins"] == 0).any() for file in found["alike"])
    assert "ref_per_token_logps" not in found["precomputed"][0].tensors
    assert found["precomputed"][0].settings["label_smoothing"] == 0.1
    assert found["sft"][0].settings["loss_weights"] == [1.0, 0.2]
    assert found["mixed"][0].settings["loss_weights"] == [0.8, 0.2, 0.3, 1.0]


def test_a_loss_that_is_a_sum_is_said_and_no_workbook_has_it(tmp_path: Path) -> None:
    files = sorted(map(str, (REAL / "trl_dpo" / "mixed").iterdir()))
    said = "the loss is a sum: 0.8 · sigmoid + 0.2 · bco + 0.3 · ipo of means"
    for some in (files, files[:1]):
        result = CliRunner().invoke(main, ["verify", *some])
        assert (result.exit_code, result.output.count(said)) == (0, 1)
    result = CliRunner().invoke(main, ["import", files[0], "-o", str(tmp_path / "a.xlsx")])
    assert (result.exit_code, "ipo of means, and a workbook has one loss" in result.stderr) == (2, True)
    assert not [*tmp_path.iterdir()]
