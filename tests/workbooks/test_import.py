"""`blueprint import` of real steps of GRPO, DPO and reward models: groups and pairs with the numbers that the library had."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from openpyxl import load_workbook

pytest.importorskip("torch", reason="import needs torch")

from blueprint.book import Book
from blueprint.dumps import MinibatchError, read_dump
from blueprint.page.read import read
from blueprint.verifying import ViewOptions, verifier_of, verify_dumps
from blueprint.workbooks.registry import blueprint_of
from tests.commands import run_command
from tests.hooks.trl_formulas import Written, of_pass
from tests.hooks.trl_formulas import read as written

REAL = Path(__file__).parents[1] / "data" / "real"
DPO, REWARD = REAL / "trl_dpo", REAL / "trl_reward"


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Runs `blueprint import`; returns exit code, stdout and stderr."""
    result = run_command("import", *arguments)
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


def test_the_files_of_a_real_step_of_trl_become_a_workbook_of_two_of_its_pairs(tmp_path: Path) -> None:
    files = sorted((DPO / "sft").glob("*.safetensors"))
    code, out, _ = run(*files, "--rows", "0,5", "-o", tmp_path / "a.xlsx", "--no-proof")
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
    (file, _) = sorted((DPO / "precomputed").glob("*.safetensors"))
    code, out, _ = run(file, "--rows", "2,0", "-o", tmp_path / "a.xlsx", "--no-proof")
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
    (file, _) = sorted((DPO / run_of).glob("*.safetensors"))
    code, _, error = run(file, *more, "-o", tmp_path / "a.xlsx", "--no-proof")
    assert code == 2
    assert said in error


def made(path: Path, options: ViewOptions) -> tuple[Book, tuple[str, ...]]:
    """Returns the workbook of some pairs of a file, after it was found to agree with the replay, and what is remarked."""
    dump = read_dump(path)
    (part,) = verify_dumps([dump]).parts
    shown = verifier_of(dump).shown(part.verdict, part.chosen, options)
    book = Book(blueprint_of(shown.numbers("step")))
    agreement = shown.agreement({block.name: array for block, array in book.values.arrays.items()})
    assert len(agreement.distances) >= 5
    assert agreement.apart == []
    return book, shown.remarks


def test_pairs_of_a_real_step_of_trl_become_a_workbook() -> None:
    book, remarks = made(sorted((REWARD / "margin").iterdir())[0], ViewOptions())
    found, here = {block.name: each for block, each in book.values.arrays.items()}, written(REWARD / "margin")[0]
    assert remarks == ()
    np.testing.assert_allclose(found["chosen.score"], here.tensors["rewards_chosen"], rtol=1e-12)
    assert float(found["total_loss"]) == pytest.approx(here.logged["loss"], abs=1e-6)  # TRL's is float32
    assert float(found["accuracy"]) == here.logged["accuracy"]


def test_scores_alone_are_shown_as_texts_of_one_token(tmp_path: Path) -> None:
    here = written(REWARD / "plain")[1]
    kept = {name: here.tensors[name] for name in ("rewards_chosen", "rewards_rejected")}
    path = tmp_path / "scores.safetensors"
    Written(kept, here.settings, here.logged, here.said).save(path)
    book, remarks = made(path, ViewOptions(worst=2))
    found = {block.name: each for block, each in book.values.arrays.items()}
    worst = np.sort(np.argsort(kept["rewards_chosen"] - kept["rewards_rejected"], kind="stable")[:2])
    np.testing.assert_allclose(found["rejected.score"], kept["rewards_rejected"][worst], rtol=1e-12)
    assert len(remarks) == 2


def test_a_row_that_is_not_there_is_refused_in_a_sentence() -> None:
    with pytest.raises(MinibatchError, match=r"has no row 7: it has pairs 0 … 3"):
        made(sorted((REWARD / "plain").iterdir())[0], ViewOptions(rows=[7]))


def test_one_page_of_a_minibatch_speaks_of_no_probabilities_that_are_not_there(tmp_path: Path) -> None:
    first = sorted((REAL / "trl_0_11" / "float32").glob("*.safetensors"))[0]
    code, _, error = run(first, "--preset", "trl_0.11.4", "-o", tmp_path / "a.xlsx", "--no-proof")
    assert code == 0, error
    page = load_workbook(tmp_path / "a.xlsx", data_only=True)["One page"]
    said = {str(cell.value) for row in page.iter_rows() for cell in row if cell.value is not None}
    assert {"by π_old, typed", "by π_ref, typed", "typed", "as at the left"} <= said
    assert not [text for text in said if "framed" in text or "−-" in text]
