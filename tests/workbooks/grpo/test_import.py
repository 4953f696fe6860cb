"""`blueprint import` of steps of GRPO: whole groups, with the advantages and losses that the library had."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="import needs torch")

from blueprint.cli import main
from blueprint.page.read import read
from tests.hooks.trl_formulas import of_pass
from tests.hooks.trl_formulas import read as written

REAL = Path(__file__).parents[2] / "data" / "real"


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Runs `blueprint import`; returns exit code, stdout and stderr."""
    result = CliRunner().invoke(main, ["import", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def test_the_files_of_a_real_step_of_trl_become_a_workbook_of_all_its_groups(tmp_path: Path) -> None:
    files = sorted((REAL / "trl_grpo" / "grpo").glob("*.safetensors"))
    code, out, _ = run(*files, "-o", tmp_path / "a.xlsx")
    assert code == 0
    assert "All 8 logged quantities agree" in out
    assert "all groups of the step, 2 with 8 responses" in out
    found, here = read(tmp_path / "a.xlsx"), [each for each in written(files[0].parent) if each.said["epoch"] == "0"]
    assert found["preset"] == "trl_dapo"
    assert str(found["word_written"][0][0]) == f"#{int(here[0].tensors['completion_ids'][0][0])}"
    theirs = np.sort(of_pass(here, "advantages"))
    np.testing.assert_allclose(np.sort(found["group.advantage"].ravel()), theirs, atol=4e-7)  # TRL's are float32
    assert float(found["total_loss"]) == pytest.approx(np.mean([each.logged["loss"] for each in here]), abs=1e-6)


def test_some_groups_of_a_real_step_of_verl(tmp_path: Path) -> None:
    (file,) = (REAL / "verl_grpo" / "grpo").glob("*.safetensors")
    code, out, _ = run(file, "--rows", "0", "-o", tmp_path / "a.xlsx", "--no-proof")
    assert code == 0
    assert "some groups of the step, 1 with 4 responses: rows 0, " in out
    assert "The dump has no logprobs_new" in out
    code, _, error = run(file, "--rows", "40", "-o", tmp_path / "b.xlsx")
    assert code == 2
    assert "has no row 40" in error


def test_a_part_of_a_group_is_shown_only_with_the_rest_of_it(tmp_path: Path) -> None:
    one = sorted((REAL / "trl_grpo" / "dapo").glob("*.safetensors"))[0]
    code, _, error = run(one, "-o", tmp_path / "a.xlsx")
    assert code == 2
    assert "name all files of the step" in error
