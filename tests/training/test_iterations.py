"""Iterations of every method as workbooks, those that are too large for one as dumps, and what an engine makes of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="a run needs torch")

import blueprint as bp
from blueprint.book import Book
from blueprint.dumps import save
from blueprint.page.engine import with_ironcalc
from blueprint.page.formulas import expected
from blueprint.page.recalculate import compare
from blueprint.training.export import farthest, workbook_numbers
from blueprint.training.folder import RunError
from blueprint.training.run import Run, opened, trained
from blueprint.training.run_toml import run_numbers
from blueprint.witness.raw import Named, Raw
from blueprint.workbooks.grpo.paper import PAGE as GRPO
from tests.audit import spoil
from tests.commands import run_command
from tests.page.gnumeric import with_gnumeric
from tests.page.soffice import with_libreoffice
from tests.papers.held import TOLERANCE, held_against

LITTLE: dict[str, Any] = {
    "update.iterations": 12, "update.epochs": 2, "ppo.kl_coef": [0.1], "sft.steps": 20, "reward_model.steps": 20,
    "comparisons.pairs": 50, "text.prompts": ["the old dog is", "the dog is old"],
}  # fmt: skip
NEAR = 1e-10
"""How far the last weights of a workbook may be from the run's next ones; a cell has 15 digits."""


def a_run(**changed: Any) -> Run:
    return trained(run_numbers(changed=LITTLE | {key.replace("__", "."): each for key, each in changed.items()}))


def of_iteration(run: Run, number: int) -> tuple[Book, float]:
    """Returns the workbook of an iteration, and how far its last weights are from the run's next ones."""
    moment = run.moment(number)
    book = bp.build(workbook_numbers(run.numbers, moment))
    return book, farthest(run.numbers, moment, arrays(book))


def arrays(book: Book) -> dict[str, Any]:
    return {block.name: array for block, array in book.values.arrays.items()}


@pytest.mark.parametrize(("adam", "penalty"), [("anew", 0.2), ("kept", 0.0)])
@pytest.mark.parametrize("method", ["ppo", "grpo", "rejection"])
def test_an_iteration_of_every_method_ends_with_the_runs_next_weights(method: str, adam: str, penalty: float) -> None:
    run = a_run(update__method=method, update__adam=adam, reward__length_penalty=penalty)
    book, far = of_iteration(run, 11)
    assert far < NEAR
    moment = run.moment(11)
    assert moment.adam_steps == (22 if adam == "kept" else 0)
    if method != "rejection":
        row = "score" if method == "grpo" else "score.clipped" if penalty else "reward.score"
        score = arrays(book)[row]
        given = np.asarray(score).reshape(len(moment.scores), -1).sum(axis=1)
        np.testing.assert_allclose(given, moment.scores, atol=1e-12)


def test_adam_that_is_kept_is_another_run_and_is_kept_in_the_folder(tmp_path: Path) -> None:
    numbers = run_numbers(changed=LITTLE | {"update.adam": "kept"})
    trained(numbers, tmp_path / "run")
    kept, anew = opened(tmp_path / "run"), a_run()
    np.testing.assert_array_equal(kept.watched["grad_norm"][:1], anew.watched["grad_norm"][:1])
    assert (kept.watched["proxy"][2:] != anew.watched["proxy"][2:]).any()
    moment = kept.moment(11)  # from the means in the file of the first ten iterations
    assert moment.adam_steps == 22
    assert set(moment.adam_m) == {f"policy.{name}" for name in "EWY"} | {f"critic.{name}" for name in "EWwb"}


def test_fine_tuning_learns_from_the_best_response_to_each_prompt() -> None:
    run = a_run(update__method="rejection")
    moment, tables = run.moment(3), run.iteration(3)
    written = [" ".join(row[4:]) for row in tables["text"]["texts"]]
    for prompt, at in enumerate(moment.scores.reshape(2, -1).argmax(axis=1).tolist()):
        assert written[prompt].startswith(run.samples(3)[prompt * 4 + at])
    assert sum(map(sum, tables["text"]["response"])) == sum(len(run.samples(3)[i].split()) for i in best(moment.scores))


def best(scores: Any) -> list[int]:
    return [group * 4 + at for group, at in enumerate(scores.reshape(2, -1).argmax(axis=1).tolist())]


SHORT: dict[str, Any] = {"update__adam": "kept", "text__max_new_tokens": 4, "update__iterations": 3}


def test_check_agrees_with_fine_tuning_on_the_best(tmp_path: Path) -> None:
    book, far = of_iteration(a_run(update__method="rejection", **SHORT), 2)
    assert far < NEAR
    book.save(path := tmp_path / "it2.xlsx")
    assert bp.check(path).agrees


def wholes(raw: Raw) -> Named:
    """Returns what the page of GRPO says of the batch and of weights; of tokens it says something within the mask alone."""
    return {name: each for name, each in GRPO.results(raw).items() if each.dim() < 2 or ".policy." in name}


def test_every_step_of_grpo_is_what_the_page_makes_of_it() -> None:
    """As `check` holds them, which takes 20 seconds, for all its conventions are live."""
    book, far = of_iteration(a_run(update__method="grpo", update__responses=4, **SHORT), 2)
    assert far < NEAR
    found = held_against(book, wholes)
    assert {"update2.policy.E", "update2.norm", "epoch2.policy_loss", "epoch2.policy.W.grad"} <= found.keys()
    assert {name: off for name, off in found.items() if not off <= TOLERANCE} == {}


@pytest.mark.usefixtures("needs_libreoffice", "needs_gnumeric")
def test_three_engines_compute_an_iteration_to_the_same_numbers(tmp_path: Path) -> None:
    """Every number in the file is spoiled first, so what they find right they have computed."""
    small = {"update__responses": 2, "text__max_new_tokens": 4, "update__epochs": 1, "update__iterations": 3}
    book, far = of_iteration(a_run(update__adam="kept", **small), 2)
    assert far < NEAR
    book.save(tmp_path / "it2.xlsx")
    path = tmp_path / "spoiled.xlsx"
    assert spoil(tmp_path / "it2.xlsx", path) > 1000
    ours = {key: value for key, value in expected(book.layout).items() if key[0] == "Update"}
    for cells in (with_ironcalc(path), *with_libreoffice([path]), *with_gnumeric([path])):
        proof = compare(ours, {key: cells[key] for key in ours})
        assert [str(failure) for failure in proof.failures] == []
        assert proof.agreeing == len(ours) > 300


@pytest.mark.parametrize(("method", "minibatches", "compared"), [("ppo", 1, 6), ("ppo", 2, 6), ("grpo", 1, 2)], ids=str)
def test_the_last_step_is_a_dump_that_verify_agrees_with(
    method: str, minibatches: int, compared: int, tmp_path: Path
) -> None:
    run = a_run(update__method=method, update__minibatches=minibatches, update__responses=128, update__iterations=2)
    dump = run.dump(1)
    save(path := tmp_path / "it1.npz", dump.tensors, dump.metadata)
    assert len(dump.tensors["response_mask"]) == 128 // minibatches
    found = bp.verify(path)
    assert found.agrees
    assert f"All {compared} logged quantities agree" in repr(found)
    if minibatches == 1 and method == "ppo":  # where the search for causes is short
        save(path, {**dump.tensors, "logprobs_new": dump.tensors["logprobs_old"]}, dump.metadata)
        assert not bp.verify(path).agrees


def test_an_iteration_that_is_too_large_is_written_as_import_does_it(tmp_path: Path) -> None:
    sets = [
        f"--set={key}={value}" for key, value in (LITTLE | {"update.responses": 128, "update.iterations": 1}).items()
    ]
    sets = [each.replace("'", '"') for each in sets]
    called("-o", tmp_path / "run", *sets)
    found = called(tmp_path / "run", "--iteration", "0", "-o", tmp_path / "it0.xlsx", "--no-proof")
    assert (
        "Iteration 0 is too large for a workbook of all its steps: found 128 responses, and a workbook holds at most 64."
        in found
    )
    assert "of the others it has the counts, means and variances, as typed numbers." in found
    assert "All 6 logged quantities agree." in found
    assert bp.open(tmp_path / "it0.xlsx")["advantages"].shape[0] == 2
    called(tmp_path / "run", "--iteration", "0", "-o", tmp_path / "it0.npz")
    assert bp.verify(tmp_path / "it0.npz").agrees


def called(*words: str | Path) -> str:
    found = run_command("run", *words)
    assert found.exit_code == 0, found.output
    return found.output


def test_rejection_sampling_has_no_dump() -> None:
    says = "iteration 0 as a dump: rejection sampling learns from the best responses alone, as fine-tuning does"
    with pytest.raises(RunError, match=says):
        a_run(update__iterations=1, update__method="rejection").dump(0)


def test_groups_that_no_workbook_holds_are_a_sentence(tmp_path: Path) -> None:
    more = {"update.responses": 130, "update.iterations": 1, "update.method": "grpo"}
    trained(run_numbers(changed=LITTLE | more), tmp_path / "run")
    words = ["run", str(tmp_path / "run"), "--iteration", "0", "-o", str(tmp_path / "it0.xlsx")]
    found = run_command(*words)
    assert found.exit_code == 2
    assert (
        "found 65 responses to each prompt, a workbook of GRPO shows whole groups, and holds at most 64" in found.output
    )
    assert "-o FILE.npz writes its last step as a dump, which verify reads" in found.output
