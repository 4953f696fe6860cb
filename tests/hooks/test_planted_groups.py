"""Mistakes planted in a trainer of GRPO, by what real runs of TRL wrote: each is found, in its place, and named where it can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blueprint.verifying import NOTHING, VerifyOptions, choose, read_dumps, verify_step
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.feeding import together
from blueprint.workbooks.grpo.verifying.verify import trial_of
from tests.hooks.planted_groups import GRPO, MISTAKES
from tests.hooks.trl_formulas import TRL, Formulas, Tensors, Written, read

REAL = Path(__file__).parents[1] / "data" / "real"


def second_pass(run: str) -> list[Written]:
    """Reads the files of the second pass over the responses of a run, whose policy has moved."""
    return [each for each in read(REAL / run) if each.said["epoch"] == "1"]


def dumped(run: str, trainer: Formulas, folder: Path, last: bool = False) -> list[Path]:
    """Writes what the hook would have written of them; of the last file alone, which has no whole group, without the rewards."""
    paths = []
    for number, each in enumerate(trainer.written(second_pass(run))):
        paths.append(folder / f"{number}.safetensors")
        kept = {name: array for name, array in each.tensors.items() if not last or name != "rewards_per_func"}
        each._replace(tensors=kept).save(paths[-1])
    return paths[-1:] if last else paths


@pytest.mark.parametrize("run", sorted({each.run for each in MISTAKES.values()}))
def test_the_formulas_themselves_are_not_accused(run: str, tmp_path: Path) -> None:
    found = verify_step(dumped(run, TRL, tmp_path))
    assert found.agrees
    assert {"advantages", "total_loss"} <= {line.name for line in found.lines}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_where_it_is_made(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake = MISTAKES[name]
    if not mistake.cause:  # nothing is asserted of what explains it: seconds saved
        for module in ("blueprint.verifying.trials", "blueprint.verifying.trials"):
            monkeypatch.setattr(f"{module}.causes_of", lambda *_, **__: NOTHING)
    found = verify_step(dumped(mistake.run, mistake.trainer, tmp_path, last=mistake.first != "advantages"))
    assert found.first is not None
    assert found.first.name == mistake.first
    assert not mistake.cause or any(mistake.cause in each.said for each in found.causes)


@pytest.mark.parametrize(
    ("run", "unsaid", "first", "cause"),
    [
        ("trl_grpo/grpo", "loss_type", "total_loss", "the conventions of grpo_paper"),
        ("trl_grpo/dr_grpo", "scale_rewards", "advantages", "group.std = none"),
        ("trl_grpo/batch", "scale_rewards", "advantages", "group.std = batch"),
        ("trl_grpo/dr_grpo", "delta", "total_loss", "loss.delta = 1.5"),
        ("trl_grpo/dapo", "epsilon_high", "clip.fraction", "loss.clip_high = 0.28"),
        ("trl_grpo/sequence", "importance_sampling_level", "clip.fraction_low", "ratio.level = response"),
    ],
)
def test_what_a_run_of_trl_did_is_named_where_its_file_does_not_say_it(
    run: str, unsaid: str, first: str, cause: str, tmp_path: Path
) -> None:
    """Then TRL's default is taken, and the run did otherwise."""
    for number, each in enumerate(second_pass(run)):
        kept = {key: value for key, value in each.settings.items() if key != unsaid}
        tensors = {
            name: array for name, array in each.tensors.items() if first == "advantages" or name != "rewards_per_func"
        }
        each._replace(settings=kept, tensors=tensors).save(tmp_path / f"{number}.safetensors")
    found = verify_step(sorted(tmp_path.iterdir())[-1 if first != "advantages" else 0 :])
    assert found.first is not None
    assert found.first.name == first
    assert any(cause in each.said for each in found.causes), [each.said for each in found.causes]


def test_every_cause_is_computed_where_groups_are_split_unevenly() -> None:
    """Microbatches of 3 responses have two to one prompt and one to another; one of 4 has three and one."""
    dumps = [
        each
        for each in read_dumps(sorted((REAL / "trl_grpo" / "uneven").iterdir()))[0]
        if isinstance(each, GroupedStep)
    ]
    first = [each for each in dumps if each.place and each.place.epoch == 0]
    mixed = replace(together(first).some(np.array([0, 1, 9, 2])), logged=first[0].logged)
    for batch in [*first, mixed]:
        assert len(set(batch.sizes)) > 1
        trial = trial_of(batch, choose(batch, VerifyOptions()).values, VerifyOptions(), None)
        tried = [each for name in ("kl.mean_new", "total_loss") for stage in trial.tries(name) for each in stage]
        assert len(tried) > 100
        for each in tried:
            assert "entropy" in trial.compared(each)


def test_advantages_that_are_not_detached_change_no_value() -> None:
    """In a dump there is nothing to be seen of it: advantages are numbers of the rewards, which no policy moves."""
    for each in second_pass(GRPO):
        assert TRL.logged(each)["loss"] == pytest.approx(each.logged["loss"], rel=1e-6, abs=1e-6)


def less_likely(t: Tensors, name: str, by: float) -> Tensors:
    """Takes so much off the log-prob of every first token."""
    found = t[name].copy()
    found[:, 0] -= by
    return {**t, name: found}


def empty(t: Tensors, rows: slice) -> Tensors:
    mask = t["completion_mask"].copy()
    mask[rows] = 0
    return {**t, "completion_mask": mask}


EXTREMES: dict[str, tuple[dict[str, int], Callable[[Tensors], Tensors]]] = {
    "log-ratios of 20": ({}, lambda t: less_likely(t, "old_per_token_logps", 20)),
    "log-ratios of 80": ({}, lambda t: less_likely(t, "old_per_token_logps", 80)),
    "log-ratios of -700": ({}, lambda t: less_likely(t, "per_token_logps", 700)),
    "groups of two": ({"num_generations": 2}, lambda t: t),
    "equal rewards": ({}, lambda t: {**t, "rewards_per_func": np.ones_like(t["rewards_per_func"])}),
    "one token": ({}, lambda t: {**t, "completion_mask": t["completion_mask"] * (np.arange(10) < 1)}),
    "an empty response": ({}, lambda t: empty(t, slice(0, 1))),
    "a microbatch of empty responses": ({}, lambda t: empty(t, slice(None)) if t["row_index"][0] == 1 else t),
}  # fmt: skip


@pytest.mark.parametrize("run", [GRPO, "trl_grpo/dapo"])
@pytest.mark.parametrize("name", EXTREMES)
def test_a_clean_run_is_not_accused_where_its_numbers_are_extreme(run: str, name: str, tmp_path: Path) -> None:
    settings, change = EXTREMES[name]
    files = [
        each._replace(tensors=change(each.tensors), settings={**each.settings, **settings}) for each in second_pass(run)
    ]
    for number, each in enumerate(TRL.written(files)):
        each.save(tmp_path / f"{number}.safetensors")
    found = verify_step(sorted(tmp_path.iterdir()))
    assert found.first is None
    assert "total_loss" in {line.name for line in found.lines if line.line.says == "agrees"}
