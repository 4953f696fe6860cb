"""Mistakes planted in TRL's trainers, by what real runs of them wrote: each is found, in its place, and named where it can be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from blueprint.verifying import NOTHING, VerifyOptions, choose, read_dumps, verify_step
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.feeding import together
from blueprint.workbooks.grpo.verifying.verify import trial_of
from tests.hooks import dpo_formulas, planted_groups, planted_pairs, planted_rewards, reward_formulas, trl_formulas
from tests.hooks.trl_formulas import Mistake, Tensors, Written, read

REAL = Path(__file__).parents[1] / "data" / "real"
GRPO, DAPO = "trl_grpo/grpo", "trl_grpo/dapo"
Change = Callable[[Tensors], Tensors]


def second_pass(run: str) -> list[Written]:
    """Reads the files of the second pass over the responses of a run, whose policy has moved."""
    return [each for each in read(REAL / run) if each.said["epoch"] == "1"]


def whole(run: str) -> list[Written]:
    return read(REAL / run)


class Kind(NamedTuple):
    """Mistakes of a trainer; how the files of a run are read; rows that a clean step has; runs whose numbers are made extreme."""

    mistakes: Mapping[str, Mistake]
    files: Callable[[str], list[Written]]
    right: trl_formulas.Formulas | dpo_formulas.Trainer | reward_formulas.Trainer
    rows: set[str]
    extreme: tuple[str, ...]


KINDS = {
    "groups": Kind(
        planted_groups.MISTAKES, second_pass, trl_formulas.TRL, {"advantages", "total_loss"}, (GRPO, DAPO, "trl_rloo/kl"),
    ),
    "pairs": Kind(
        planted_pairs.MISTAKES, whole, dpo_formulas.TRL, {"chosen.reward", "rewards.accuracies", "total_loss"},
        (planted_pairs.SFT, planted_pairs.MIXED, "trl_dpo/ipo", "trl_dpo/shared"),
    ),
    "rewards": Kind(
        planted_rewards.MISTAKES, whole, reward_formulas.TRL, {"chosen.score", "accuracy", "total_loss"},
        (planted_rewards.PLAIN, planted_rewards.MARGIN, planted_rewards.PAD),
    ),
}  # fmt: skip


def dumped(
    files: Sequence[Written],
    trainer: trl_formulas.Formulas | dpo_formulas.Trainer | reward_formulas.Trainer,
    folder: Path,
) -> list[Path]:
    """Writes what the hook would have written of files, with the settings that the file says."""
    of: Any = trainer  # a mutant's classes are others
    made = of.written(files) if hasattr(of, "all_advantages") else [*map(of.written, files)]
    paths = [folder / f"{number}.safetensors" for number, _ in enumerate(files)]
    for path, each, file in zip(paths, made, files, strict=True):
        each._replace(settings=file.settings).save(path)
    return paths


def without_rewards(file: Written) -> Written:
    """Takes the rewards away: of a file alone, which has no whole group, they say nothing."""
    return file._replace(tensors={name: each for name, each in file.tensors.items() if name != "rewards_per_func"})


@pytest.mark.parametrize(
    ("kind", "run"),
    [(kind, run) for kind, of in KINDS.items() for run in sorted({m.run for m in of.mistakes.values()})],
)
def test_the_formulas_themselves_are_not_accused(kind: str, run: str, tmp_path: Path) -> None:
    found = verify_step(dumped(KINDS[kind].files(run), KINDS[kind].right, tmp_path))
    assert found.agrees
    assert {line.name for line in found.lines} >= KINDS[kind].rows


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, of in KINDS.items() for name in of.mistakes])
def test_a_mistake_is_found_where_it_is_made(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake = KINDS[kind].mistakes[name]
    if not mistake.cause:  # nothing is asserted of what explains it: seconds saved
        monkeypatch.setattr("blueprint.verifying.trials.causes_of", lambda *_, **__: NOTHING)
    paths = dumped(KINDS[kind].files(mistake.run), mistake.trainer, tmp_path)
    if kind == "groups" and mistake.first != "advantages":
        (last,) = read(tmp_path)[-1:]
        without_rewards(last).save(paths[-1])
        paths = paths[-1:]
    found = verify_step(paths)
    assert found.first is not None
    assert found.first.name == mistake.first
    said = [each.said for each in found.causes]
    assert not mistake.cause or any(mistake.cause in each for each in said), said


@pytest.mark.parametrize(
    ("run", "unsaid", "first", "cause"),
    [
        ("trl_grpo/grpo", "loss_type", "total_loss", "loss.aggregation = seq_mean_token_mean"),
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
        file = each if first == "advantages" else without_rewards(each)
        file._replace(settings=kept).save(tmp_path / f"{number}.safetensors")
    found = verify_step(sorted(tmp_path.iterdir())[-1 if first != "advantages" else 0 :])
    assert found.first is not None
    assert found.first.name == first
    assert any(cause in each.said for each in found.causes), [each.said for each in found.causes]


FEW, ALMOST = 300, 0.99
"""Causes of a stage that are all tried; and the part of all that can be computed, at least."""


def test_every_cause_is_computed_where_groups_are_split_unevenly() -> None:
    """Microbatches of 3 responses have two to one prompt and one to another; one of 4 has three and one.

    A changed equation may be none, and is left out then: few are.
    """
    dumps = [
        each
        for each in read_dumps(sorted((REAL / "trl_grpo" / "uneven").iterdir()))[0]
        if isinstance(each, GroupedStep)
    ]
    first = [each for each in dumps if each.place and each.place.epoch == 0]
    made = list[bool]()
    mixed = replace(together(first).some(np.array([0, 1, 9, 2])), logged=first[0].logged)
    for at, batch in enumerate([*first, mixed]):
        assert len(set(batch.sizes)) > 1
        trial = trial_of(batch, choose(batch, VerifyOptions()).values, VerifyOptions())
        stages = [stage for name in ("kl.mean_new", "total_loss") for stage in trial.tries(name)]
        assert sum(map(len, stages)) > 1000
        for stage in stages:  # of the many changes of equations each batch takes others: all would take a minute
            for each in stage if len(stage) <= FEW else stage[at :: 12 * len(first)]:
                computed = "entropy" in trial.compared(each)
                assert computed or "equations" in each.ways, each.label
                made.append(computed)
    assert sum(made) >= ALMOST * len(made)


def test_advantages_that_are_not_detached_change_no_value() -> None:
    """In a dump there is nothing to be seen of it: advantages are numbers of the rewards, which no policy moves."""
    for each in second_pass(GRPO):
        assert trl_formulas.TRL.logged(each)["loss"] == pytest.approx(each.logged["loss"], rel=1e-6, abs=1e-6)


def less_likely(name: str, by: float) -> Change:
    """Takes so much off the log-prob of the first token of every response; of pairs of chosen ones alone."""

    def of(t: Tensors) -> Tensors:
        found = t[name].copy()
        if "rewards_per_func" in t:
            found[:, 0] -= by
        else:
            half = len(found) // 2
            found[np.arange(half), t["completion_mask"][:half, 1:].argmax(1)] -= by
        return {**t, name: found}

    return of


def one_token(t: Tensors) -> Tensors:
    return {**t, "completion_mask": t["completion_mask"] * (t["completion_mask"].cumsum(1) == 1)}


def empty(t: Tensors, rows: slice = slice(0, 1)) -> Tensors:
    mask = t["completion_mask"].copy()
    mask[rows] = 0
    return {**t, "completion_mask": mask}


def alike(t: Tensors) -> Tensors:
    """Gives every pair two equal responses."""
    names = (
        "completion_mask", "per_token_logps", "ref_per_token_logps", "input_ids", "attention_mask", "position_scores",
    )  # fmt: skip
    half = len(t["input_ids"]) // 2
    return {**t, **{name: np.concatenate([t[name][:half]] * 2) for name in names if name in t}}


def scaled(by: float) -> Change:
    return lambda t: {**t, "position_scores": np.float32(t["position_scores"] * by).astype(float)}


EXTREMES: dict[str, dict[str, Change]] = {
    "groups": {
        "log-ratios of 20": less_likely("old_per_token_logps", 20),
        "log-ratios of 80": less_likely("old_per_token_logps", 80),
        "log-ratios of -700": less_likely("per_token_logps", 700),
        "groups of two": lambda t: t,
        "equal rewards": lambda t: {**t, "rewards_per_func": np.ones_like(t["rewards_per_func"])},
        "one token": one_token,
        "an empty response": empty,
        "a microbatch of empty responses": lambda t: empty(t, slice(None)) if t["row_index"][0] == 1 else t,
    },
    "pairs": {
        "log-ratios of -20": less_likely("per_token_logps", 20),
        "log-ratios of 80": less_likely("ref_per_token_logps", 80),
        "log-ratios of -700": less_likely("per_token_logps", 700),
        "log-ratios of 700": less_likely("ref_per_token_logps", 700),
        "the policy is the reference": lambda t: {**t, "ref_per_token_logps": t["per_token_logps"]},
        "one token": one_token,
        "an empty response": empty,
        "equal pairs": alike,
    },
    "rewards": {
        "scores of 700": scaled(400),
        "scores of 1e6": scaled(1e6),
        "scores of 1e-6": scaled(1e-6),
        "equal pairs": alike,
        "all scores 0": scaled(0),
    },
}


@pytest.mark.parametrize(
    ("kind", "run", "name"),
    [(kind, run, name) for kind, of in KINDS.items() for run in of.extreme for name in EXTREMES[kind]],
)
def test_a_clean_run_is_not_accused_where_its_numbers_are_extreme(
    kind: str, run: str, name: str, tmp_path: Path
) -> None:
    more = {"num_generations": 2} if name == "groups of two" else {}
    files = [
        each._replace(tensors=EXTREMES[kind][name](each.tensors), settings={**each.settings, **more})
        for each in KINDS[kind].files(run)
    ]
    found = verify_step(dumped(files, KINDS[kind].right, tmp_path))
    assert found.first is None
    assert "total_loss" in {line.name for line in found.lines if line.line.says == "agrees"}
