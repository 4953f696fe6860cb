"""Mistakes planted in a trainer of DPO, by what real runs of TRL wrote: each is found, in its place, and named where it can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from blueprint.verifying import NOTHING, verify_step
from tests.hooks.dpo_formulas import TRL, Trainer
from tests.hooks.planted_pairs import MISTAKES, MIXED, SFT
from tests.hooks.trl_formulas import Tensors, Written, read

REAL = Path(__file__).parents[1] / "data" / "real"


def dumped(files: Sequence[Written], trainer: Trainer, folder: Path) -> list[Path]:
    """Writes what the hook would have written of them."""
    paths = [folder / f"{number}.safetensors" for number, _ in enumerate(files)]
    for path, each in zip(paths, files, strict=True):
        trainer.written(each).save(path)
    return paths


@pytest.mark.parametrize("run", sorted({each.run for each in MISTAKES.values()}))
def test_the_formulas_themselves_are_not_accused(run: str, tmp_path: Path) -> None:
    found = verify_step(dumped(read(REAL / run), TRL, tmp_path))
    assert found.agrees
    assert {"chosen.reward", "rewards.accuracies", "total_loss"} <= {line.name for line in found.lines}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_where_it_is_made(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake = MISTAKES[name]
    if not mistake.cause:  # nothing is asserted of what explains it: seconds saved
        monkeypatch.setattr("blueprint.verifying.trials.causes_of", lambda *_, **__: NOTHING)
    found = verify_step(dumped(read(REAL / mistake.run), mistake.trainer, tmp_path))
    assert found.first is not None
    assert found.first.name == mistake.first
    assert not mistake.cause or any(mistake.cause in each.said for each in found.causes), [
        each.said for each in found.causes
    ]


def less_likely(t: Tensors, name: str, by: float) -> Tensors:
    """Takes so much off the log-prob of the first token of every response, of chosen ones alone."""
    found, mask = t[name].copy(), t["completion_mask"][:, 1:]
    half = len(found) // 2
    found[np.arange(half), mask[:half].argmax(1)] -= by
    return {**t, name: found}


def one_token(t: Tensors) -> Tensors:
    return {**t, "completion_mask": t["completion_mask"] * (t["completion_mask"].cumsum(1) == 1)}


def empty(t: Tensors) -> Tensors:
    mask = t["completion_mask"].copy()
    mask[0] = 0
    return {**t, "completion_mask": mask}


def alike(t: Tensors) -> Tensors:
    """Gives every pair two equal responses."""
    half = len(t["completion_mask"]) // 2
    names = ("completion_mask", "per_token_logps", "ref_per_token_logps", "input_ids", "attention_mask")
    return {**t, **{name: np.concatenate([t[name][:half]] * 2) for name in names if name in t}}


EXTREMES: dict[str, Callable[[Tensors], Tensors]] = {
    "log-ratios of -20": lambda t: less_likely(t, "per_token_logps", 20),
    "log-ratios of 80": lambda t: less_likely(t, "ref_per_token_logps", 80),
    "log-ratios of -700": lambda t: less_likely(t, "per_token_logps", 700),
    "log-ratios of 700": lambda t: less_likely(t, "ref_per_token_logps", 700),
    "the policy is the reference": lambda t: {**t, "ref_per_token_logps": t["per_token_logps"]},
    "one token": one_token,
    "an empty response": empty,
    "equal pairs": alike,
}


@pytest.mark.parametrize("run", [SFT, MIXED, "trl_dpo/ipo", "trl_dpo/shared"])
@pytest.mark.parametrize("name", EXTREMES)
def test_a_clean_run_is_not_accused_where_its_numbers_are_extreme(run: str, name: str, tmp_path: Path) -> None:
    files = [each._replace(tensors=EXTREMES[name](each.tensors)) for each in read(REAL / run)]
    found = verify_step(dumped(files, TRL, tmp_path))
    assert found.first is None
    assert "total_loss" in {line.name for line in found.lines if line.line.says == "agrees"}
