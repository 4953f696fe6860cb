"""Files of a first update: what breaks them is found though every loss agrees, in the file of one rank, in no clean real step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

import torch
from click.testing import CliRunner

from blueprint.cli import main
from blueprint.dumps import Minibatch, read_dump, save
from blueprint.verifying import data_of, text_of, verify_step
from blueprint.verifying.report import text_of_step
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying.replay import replay
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from tests.verifying.forwards import clean, column_off, says

F32 = torch.float32
VERL = rlhf().preset("verl").values


def test_a_dump_whose_losses_agree_differs_all_the_same(tmp_path: Path) -> None:
    """As a run would log it: every loss follows from log-probs that are a column off."""
    drawn = np.random.default_rng(0)
    batch = column_off(1)(clean(F32))
    tensors = {**batch.tensors, "advantages": drawn.normal(size=batch.mask.shape).astype(np.float32)}
    tensors = {name: each for name, each in tensors.items() if name not in ("values_old", "values_new", "prompt_ids")}
    loss = replay(replace(batch, tensors=tensors), VERL).whole
    logged = {"policy_loss": loss["policy_loss"], "approx_kl": loss["approx_kl.used"]}
    whole = replace(batch, tensors=tensors, logged=logged)
    verdict = verify(whole, VERL, "verl")
    assert [(line.compared.name, line.says) for line in verdict.lines] == [
        ("logprobs_new", "DIFFERS"),
        ("approx_kl.used", "agrees"),
        ("policy_loss", "agrees"),
    ]
    assert (verdict.agrees, verdict.first, verdict.causes) == (False, verdict.lines[0], ())
    text = text_of(verdict)
    assert "Before the first update:\n  logprobs_new should be logprobs_old, but " in text
    assert "No single known convention" not in text
    assert "agree." not in text
    assert data_of(verdict)["before_first_update"] == list(verdict.before_update.said)
    path = tmp_path / "step.npz"
    save(path, tensors, {"library": "verl", "logged": logged, "epoch": 0, "minibatch": 0})
    found = CliRunner().invoke(main, ["verify", str(path)])
    assert found.exit_code == 1
    assert "one of the two tensors is a column off" in found.output
    save(path, tensors, {"library": "verl", "logged": logged, "epoch": 0, "minibatch": 1})
    assert CliRunner().invoke(main, ["verify", str(path)]).exit_code == 0


def test_the_files_of_a_step_are_checked_each(tmp_path: Path) -> None:
    """One of two ranks computes its new log-probs a column off."""
    clean_step = clean(F32)
    for rank, batch in enumerate((clean_step, column_off(1)(clean_step))):
        said = {"library": "verl", "rank": rank, "world_size": 2, "epoch": 0, "minibatch": 0}
        save(tmp_path / f"rank{rank}.npz", batch.tensors, said)
    found = verify_step(sorted(tmp_path.iterdir()))
    assert not found.agrees
    assert found.first is not None
    assert (found.first.name, found.first.line.says, found.causes) == ("logprobs_new", "DIFFERS", ())
    assert [Path(each.path).name for each in found.first.deviating] == ["rank1.npz"]
    assert [bool(part.verdict.before_update.said) for part in found.parts] == [False, True]
    text = text_of_step(found)
    assert "\nBefore the first update, rank1.npz:\n  logprobs_new should be logprobs_old, but " in text
    assert "No single known convention" not in text


REAL = sorted((Path(__file__).parents[1] / "data" / "real").glob("*/*/*.safetensors"))


def test_no_clean_step_of_a_real_library_is_accused() -> None:
    """Trainers as they are, in float32 and bfloat16: what they wrote before their first update, but for files of a critic alone."""
    batches = [
        each for path in REAL if isinstance(each := read_dump(path), Minibatch) and "logprobs_new" in each.tensors
    ]
    first = [each for each in batches if each.place and each.place.before_first_update]
    assert {each.dtypes["logprobs_new"] for each in first} == {"float32", "bfloat16"}
    assert len(first) > 10
    assert {(each.path, said) for each in first for said in says(each).values()} == {
        (each.path, "agrees") for each in first
    }
