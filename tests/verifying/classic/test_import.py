"""`blueprint import` of rollouts of classic PPO: the workbook shows the library's advantages, and where it can its losses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="import needs torch")

from blueprint.book import Book
from blueprint.cli import main
from blueprint.page.read import read
from blueprint.verifying import choose
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.classic_ppo.verifying.recompute import recompute
from blueprint.workbooks.classic_ppo.verifying.window import Window, numbers_of
from tests.rows import arrays
from tests.verifying.classic.rollouts import ROLLOUT, Array, golden, read_rollout, written
from tests.verifying.classic.trainers import Run, trained


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Runs `blueprint import`; returns exit code, stdout and stderr."""
    result = CliRunner().invoke(main, ["import", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def with_scores(library: str) -> tuple[dict[str, Array], dict[str, object]]:
    """Returns a recorded run with the scores of its actions."""
    tensors, metadata = golden(library)
    new = np.array(ROLLOUT["logits_new"])
    flat = new if library == "cleanrl" else new.swapaxes(0, 1)
    return tensors | {
        "logits_old": np.array(ROLLOUT["logits_old"]),
        "logits_new": flat.reshape(-1, new.shape[-1]),
    }, metadata


@pytest.mark.parametrize("library", ["cleanrl", "sb3"])
def test_with_scores_the_workbook_has_every_number_of_the_library(library: str, tmp_path: Path) -> None:
    tensors, metadata = with_scores(library)
    code, out, _ = run(written(tmp_path, tensors, metadata), "-o", tmp_path / "a.xlsx")
    assert code == 0
    assert "no scores of actions" not in out
    found, rollout = read(tmp_path / "a.xlsx"), read_rollout(tmp_path / "rollout.safetensors")
    assert found["preset"] == library
    for name, value in rollout.logged.items():
        assert float(found[name]) == pytest.approx(value, abs=1e-12), name
    np.testing.assert_allclose(found["advantages_used"].T.reshape(-1), tensors["mb_advantages"] if library == "cleanrl"
                               else np.reshape(tensors["mb_advantages"], (2, 8)).T.reshape(-1), atol=1e-12)  # fmt: skip


def test_without_scores_everything_but_the_entropy_is_the_librarys(tmp_path: Path) -> None:
    code, out, _ = run(written(tmp_path, *golden("sb3")), "-o", tmp_path / "a.xlsx", "--no-proof")
    assert code == 0
    assert "action 0 is the one taken and action 1 all others together" in out
    found, rollout = read(tmp_path / "a.xlsx"), read_rollout(tmp_path / "rollout.safetensors")
    apart = [name for name, value in rollout.logged.items() if abs(float(found[name]) - value) > 1e-12]
    assert apart == ["entropy"]  # which weighs nothing in the total of SB3


@pytest.mark.parametrize("start", [0, 5, 17])
def test_a_window_has_the_advantages_of_the_whole_rollout(start: int, tmp_path: Path) -> None:
    rollout = read_rollout(written(tmp_path, *trained(Run("sb3", seed=3))))
    chosen = choose(rollout)
    found = recompute(rollout, chosen.values)
    for environments in ((0, 1, 2), (2,)):
        window = Window(environments, start, start + 9)
        book = arrays(Book(blueprint_of(numbers_of(rollout, found, chosen.values, "sb3", window, "a"))))
        for name in ("advantages", "returns"):
            theirs = found.rows[name][list(environments)][:, start : start + 9]
            np.testing.assert_allclose(book[name][:, :9], theirs, atol=1e-12)
        assert str(book["check.master"]) == "OK"


def test_what_deviates_is_shown_and_the_code_says_it(tmp_path: Path) -> None:
    tensors, metadata = trained(Run("cleanrl", steps=96))
    tensors["advantages"][50, 1] += 1
    code, out, _ = run(written(tmp_path, tensors, metadata), "-o", tmp_path / "a.xlsx", "--tokens", "16", "--no-proof")
    assert code == 1
    assert "Shown: environments all of 3, steps 42 … 57 of 96." in out
    assert "the library's losses are those of a minibatch of some steps" in out
    again = run(tmp_path / "rollout.safetensors", "-o", tmp_path / "b.xlsx", "--rows", "2", "--no-proof")
    assert "Shown: environments 2 of 3" in again[1]


def test_what_no_workbook_can_show_is_refused(tmp_path: Path) -> None:
    tensors, metadata = trained(Run("cleanrl"))
    path = written(tmp_path, tensors, metadata)
    assert run(path, "-o", tmp_path / "a.xlsx", "--rows", "3")[::2] == (
        2, "Error: --rows 3: the rollout has environments 0 … 2.\n",
    )  # fmt: skip
    dense = written(tmp_path, tensors | {"logprobs": tensors["logprobs"] + 3}, metadata, "dense.safetensors")
    code, _, err = run(dense, "-o", tmp_path / "a.xlsx")
    assert code == 3
    assert "has log-probs above 0, densities of continuous actions" in err
    bare = {name: each for name, each in tensors.items() if name != "logprobs"}
    code, _, err = run(written(tmp_path, bare, metadata, "bare.safetensors"), "-o", tmp_path / "a.xlsx")
    assert code == 3
    assert "has no logprobs_old: a workbook begins at them" in err
    assert not (tmp_path / "a.xlsx").exists()
