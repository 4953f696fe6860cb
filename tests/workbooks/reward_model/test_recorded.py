"""Reward models against the libraries' own code: losses, metrics and gradients of every run, through the front door."""

import numpy as np
import pytest

from tests.workbooks.dpo.recorded import ORDER, Array, recorded_file
from tests.workbooks.reward_model.front import front, row
from tests.workbooks.reward_model.recorded import Run, pairs, rankings, runs

PAIRS, RANKED = list(runs(False)), list(runs(True))
ALL = [*PAIRS, *RANKED]
METRICS = {
    "accuracy": "accuracy", "acc": "accuracy", "margin": "rewards.margins", "min_reward": "rewards.min",
    "max_reward": "rewards.max", "mean_reward": "rewards.mean", "rewards_chosen_mean": "rewards.chosen",
    "rewards_rejected_mean": "rewards.rejected",
}  # fmt: skip
SIDES = {"chosen": "chosen", "rejected": "rejected", "chosen_rewards": "chosen", "rejected_rewards": "rejected",
         "chosen_scores": "chosen", "rejected_scores": "rejected", "chosen_mean_scores": "chosen",
         "rejected_mean_scores": "rejected"}  # fmt: skip


def named(run: Run) -> str:
    return f"{run.library}-{run.variant}"


def test_there_are_so_many_runs() -> None:
    assert (len(PAIRS), len(RANKED)) == (19, 5)


@pytest.mark.parametrize("run", ALL, ids=named)
def test_a_workbook_gives_what_a_library_computed(run: Run) -> None:
    loss = float(row("total_loss", run))
    assert abs(loss - run.out["loss"]) <= 1e-12 * max(1.0, abs(run.out["loss"]))


@pytest.mark.parametrize("run", PAIRS, ids=named)
def test_the_metrics_are_those_that_a_library_logs(run: Run) -> None:
    """A library that reads one score for the loss logs that score; of DeepSpeed-Chat's positions it is the last real token's."""
    logged = {**run.out, **run.out.get("metrics", {})}
    for key in METRICS.keys() & logged.keys():
        assert abs(float(row(METRICS[key], run)) - logged[key]) <= 1e-12, key
    for key in SIDES.keys() & logged.keys():
        assert np.abs(row(f"{SIDES[key]}.score", run) - np.array(logged[key])).max() <= 1e-12, key


@pytest.mark.parametrize("name", {run.library: run for run in ALL})
def test_what_is_typed_in_is_what_is_built(name: str) -> None:
    run = [run for run in ALL if run.library == name][-1]
    assert front(run.ranked).apart(run.conventions) == []


def taken(run: Run) -> Array | None:
    """The recorded gradient by the score of each response; None where none is recorded."""
    out = run.out
    if "grad_chosen" in out:
        return np.ravel(np.column_stack([out["grad_chosen"], out["grad_rejected"]]))
    if "grad_interleaved" in out:
        return np.array(out["grad_interleaved"])
    return np.array(out["grad"])[ORDER] if "grad" in out and not run.ranked else None


@pytest.mark.parametrize("run", [run for run in PAIRS if taken(run) is not None], ids=named)
def test_the_gradient_by_the_scores_is_that_of_the_library(run: Run) -> None:
    """Of normalised scores the recorded one is by the score that entered the loss: the slope by the raw one is a σ-th of it."""
    found = row("head.score.grad", run).sum(axis=1)
    meant = taken(run)
    assert meant is not None
    scaled = float(run.conventions["score.divide"])
    assert np.abs(found * scaled - meant).max() <= 1e-11


def test_the_gradient_of_every_position_is_that_of_deepspeed_chat() -> None:
    run = next(run for run in PAIRS if "grad_head" in run.out)
    found, meant = row("head.score.grad", run), np.array(run.out["grad_head"])[ORDER]
    text = pairs().text
    assert np.abs((found - meant) * text).max() <= 1e-11
    assert abs((found * (1 - text)).sum() - run.out["grad_pad_head_total"]) <= 1e-11


@pytest.mark.parametrize("run", [run for run in RANKED if "grad" in run.out], ids=named)
def test_the_gradient_of_a_ranking_is_that_of_the_library(run: Run) -> None:
    found = row("head.score.grad", run)[:, 0]
    counted = {
        at
        for pair, on in zip(zip(rankings().chosen, rankings().rejected, strict=True), run.counts, strict=True)
        if on
        for at in pair
    }
    assert np.abs(found[sorted(counted)] - np.array(run.out["grad"])).max() <= 1e-11
    assert np.abs(np.delete(found, sorted(counted))).sum() == 0


def test_the_losses_of_single_rankings_are_those_of_open_assistant() -> None:
    """RMLoss without a reduction: a number for each ranking."""
    out = recorded_file()["runs"]["open_assistant_f1e6ed9"]["runs"]["rm_kwise/RMLoss_per_ranking"]["result"]
    (run,) = (run for run in RANKED if run.variant == "rm_kwise/RMLoss_beta_0")
    found = np.ravel(row("ranking.mean", run))
    assert np.abs(found[:2] - np.array(out["losses"])).max() <= 1e-12
    assert not found[2:].any()


def test_the_best_against_the_worst_is_open_assistants_accuracy() -> None:
    """Of each ranking one pair: the scores of its first and its last response, and whether they are in order."""
    out = recorded_file()["runs"]["open_assistant_f1e6ed9"]["runs"]["rm_kwise/reward_accuracy"]["result"]
    run, of = RANKED[0], rankings()
    best, worst = (np.array([pick(np.array(sides)[np.array(of.ranking) == at]) for at in (1, 2)])
                   for sides, pick in ((of.chosen, min), (of.rejected, max)))  # fmt: skip
    pairs_ = [
        place
        for place, pair in enumerate(zip(of.chosen, of.rejected, strict=True))
        if pair in set(zip(best, worst, strict=True))
    ]
    chosen, rejected = (np.ravel(row(f"{side}.score", run))[pairs_] for side in ("chosen", "rejected"))
    means = {"pos_score": chosen.mean(), "neg_score": rejected.mean(), "score_diff": (chosen - rejected).mean()}
    assert {name: float(each) for name, each in means.items()} == pytest.approx(
        {name: out[name] for name in means}, abs=1e-12
    )
    assert np.mean(chosen > rejected) == out["accuracy"]
