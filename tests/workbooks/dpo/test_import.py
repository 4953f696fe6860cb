"""`blueprint import` of steps of DPO: pairs as the library had them, with its rewards and its loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="import needs torch")

from blueprint.cli import main
from blueprint.page.read import read
from tests.hooks.trl_formulas import read as written

REAL = Path(__file__).parents[2] / "data" / "real" / "trl_dpo"


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Runs `blueprint import`; returns exit code, stdout and stderr."""
    result = CliRunner().invoke(main, ["import", *map(str, arguments), "--no-proof"])
    return result.exit_code, result.stdout, result.stderr


def test_the_files_of_a_real_step_of_trl_become_a_workbook_of_two_of_its_pairs(tmp_path: Path) -> None:
    files = sorted((REAL / "sft").glob("*.safetensors"))
    code, out, _ = run(*files, "--rows", "0,5", "-o", tmp_path / "a.xlsx")
    assert code == 0
    assert "All 14 logged quantities agree" in out
    assert "some pairs of the step, 2: rows 0, 5" in out
    found, here = read(tmp_path / "a.xlsx"), written(files[0].parent)
    assert found["preset"] == "trl_1.16"
    assert float(found["loss.nll_coef"]) == 0.2
    first = here[0].tensors["completion_mask"][0].argmax()
    assert str(found["word_written"][0][0]) == f"#{int(here[0].tensors['input_ids'][0][first])}"
    margins = [each.tensors["margins"][row] for each, row in zip(here, (0, 1), strict=True)]
    np.testing.assert_allclose(found["watch.margin"], margins, atol=2e-6)  # TRL's are float32, of log-probs of about 20


def test_log_probs_of_whole_responses_are_shown_as_such(tmp_path: Path) -> None:
    (file, _) = sorted((REAL / "precomputed").glob("*.safetensors"))
    code, out, _ = run(file, "--rows", "2,0", "-o", tmp_path / "a.xlsx")
    assert code == 0
    assert "some pairs of the step, 2: rows 2, 0" in out
    assert "The losses are those of the pairs shown" in out
    (here, _), found = written(file.parent), read(tmp_path / "a.xlsx")
    theirs = here.tensors["ref_rejected_logps"][[2, 0]]
    np.testing.assert_allclose(np.ravel(found["reference.logprobs"])[1::2], theirs, rtol=1e-14)


@pytest.mark.parametrize(
    ("run_of", "more", "said"),
    [
        ("sigmoid", ("--rows", "9"), "has no row 9: it has pairs 0 … 3"),
        ("sigmoid", ("--rows", "1", "--worst", "1"), "use one of the two"),
        ("weighted", (), "loss.weight reads more than log-probs"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_a_sentence(
    run_of: str, more: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    (file, _) = sorted((REAL / run_of).glob("*.safetensors"))
    code, _, error = run(file, *more, "-o", tmp_path / "a.xlsx")
    assert code == 2
    assert said in error
