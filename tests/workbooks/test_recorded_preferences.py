"""DPO and its relatives, fine-tuning and reward models against the libraries' own code, every run through the front door.

Losses, what is logged, gradients: each number that was recorded, as a user builds and types it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from blueprint.workbooks.registry import kind_named
from tests.page.workshop import made
from tests.preference_runs import (
    MEANS,
    ORDER,
    Array,
    Run,
    batch,
    counts,
    is_ranked,
    log_softmax,
    pairs,
    rankings,
    recorded_file,
    runs,
    with_loss,
)
from tests.workbooks.front_door import WRITTEN, FrontDoor, front, shipped

DPO, SFT, SCORES = (with_loss(stage) for stage in ("preference", "sft", "reward_model"))
PAIRS, RANKED = [run for run in SCORES if not is_ranked(run)], [run for run in SCORES if is_ranked(run)]
ALL = [*DPO, *SFT, *SCORES]
LAST = {(run.options["stage"], run.library): run for run in ALL}
"""The last run of each library."""
EXACT = 1e-12
SIDES = ("chosen", "rejected")


def of(run: Run) -> FrontDoor:
    """Returns the batch of a run: pairs, texts, or rankings, of each of whose responses one token stands for its score."""
    match run.options["stage"]:
        case "preference":
            return front("dpo", "dpo-batch")
        case "sft":
            return front("sft", "sft-batch")
    return ranked() if is_ranked(run) else front("reward_model", "reward-batch")


@cache
def ranked() -> FrontDoor:
    tables, known = shipped("reward_model", "reward-batch"), rankings()
    sides = {"chosen": [1 + at for at in known.chosen], "rejected": [1 + at for at in known.rejected]}
    text = {**tables["text"], "texts": ["what"] * len(known.head)}
    given = {"text": text, "pairs": {**sides, "ranking": known.ranking}, "scores": {"head": known.head.tolist()}}
    return FrontDoor({**tables, **given}, WRITTEN["reward-batch"])


def row(name: str, run: Run) -> Array:
    """Returns a row of the workbook of a run."""
    parts = {"pair.counts": counts(run)} if run.options["stage"] == "reward_model" else None
    return of(run).cells(of(run).typed_in(run.conventions, parts), name)


def test_there_are_so_many_runs() -> None:
    assert (len(DPO), len(SFT), len(PAIRS), len(RANKED)) == (130, 53, 19, 5)
    assert sum("grad_taken" in run.out for run in DPO) > 100


@pytest.mark.parametrize("run", ALL, ids=lambda run: run.name)
def test_a_workbook_gives_what_a_library_computed(run: Run) -> None:
    """The recorded gradient is the slope by the logit of the token written: times 1 − p of that by its log-prob."""
    assert abs(float(row("total_loss", run)) - run.out["loss"]) <= EXACT * max(1.0, abs(run.out["loss"]))
    if "grad_taken" in run.out:
        is_sft = run.options["stage"] == "sft"
        meant, logp = np.array(run.out["grad_taken"], float), batch().logprobs("policy")
        meant, logp = (meant, logp[::2]) if is_sft else (meant[ORDER], logp)
        width = meant.shape[1]
        found = row("policy.logprobs.grad", run)[:, :width] * (1 - np.exp(logp[:, :width]))
        assert np.abs(found - meant).max() <= 1e-11


@pytest.mark.parametrize("stage_and_library", LAST, ids="-".join)
def test_what_is_typed_in_is_what_is_built(stage_and_library: tuple[str, str]) -> None:
    run = LAST[stage_and_library]
    assert of(run).apart(run.conventions) == []


LOGGED = {
    **{f"rewards/{of}": f"rewards.{of}" for of in (*SIDES, "margins", "accuracies")},
    **{f"rewards_{of}_mean": f"rewards.{of}" for of in SIDES}, **{f"logps/{of}": f"logps.{of}" for of in SIDES},
    "chosen_geometric_mean": "logps.chosen", "rejected_geometric_mean": "logps.rejected",
    "Positive Geometric Mean": "logps.chosen", "Negative Geometric Mean": "logps.rejected",
    "accuracy": "rewards.accuracies", "acc": "rewards.accuracies", "nll_loss": "nll", "sft_loss": "nll",
    "preference_loss": "preference_loss", "loss": "total_loss", "kl": "kto.z", "KL": "kto.z", "log_odds_chosen": "odds.difference",
    "log_odds": "odds.difference", "Log Odds": "odds.difference", "log_odds_ratio": "odds.right", "Log Odds Ratio": "odds.right",
    "odds_ratio_loss": "odds.right",
}  # fmt: skip
"""What is one number for the batch; of a row of pairs it is the mean."""
OF_PAIRS = {
    "per_pair_loss": "loss.weighed", "losses": "loss.weighed", "loss/train": "loss.pair", "chosen_rewards": "chosen.logged",
    "rejected_rewards": "rejected.logged", "chosen_logps": "chosen.logp", "rejected_logps": "rejected.logp",
    "ref_chosen_logps": "chosen.logp_ref", "ref_rejected_logps": "rejected.logp_ref", "rewards_train/margins": "watch.margin",
    "rewards_train/accuracies": "watch.right", "pos_prob": "chosen.logp", "neg_prob": "rejected.logp",
    **{f"rewards_train/{of}": f"{of}.logged" for of in SIDES}, **{f"logps_train/{of}": f"{of}.logp" for of in SIDES},
}  # fmt: skip
"""What is a number for each pair."""
BOTH = {"rewards_logged": "logged", "policy_logps": "logp", "reference_logps": "logp_ref"}
"""What is a list of chosen, then rejected responses."""
OF_ONE = {
    "colossalchat": {"log_odds_ratio": "odds.batch"}, "openrlhf": {"nll_loss": "nll.sequence_mean"},
}  # fmt: skip
"""Where one library means something else by a name."""
NO_ROW = re.compile(
    r"grad_|loss_(float32|bfloat16)$|logits/|entropy$|num_|mean_token_accuracy$|count/|note$|chosen_logps_avg$"
)
"""Slopes stand in another test; the others tell of tokens, rounding or how many there are, and the steps have no row for them."""


def recorded(run: Run) -> Iterator[tuple[str, Any]]:
    """Yields everything that was recorded of a run, by the library's names."""
    for name, value in run.out.items():
        yield from value.items() if name in ("metrics", "logged") else [(name, value)]


def ours(name: str, run: Run) -> Array:
    """Returns what the workbook says under a library's name; KeyError where it has no such thing."""
    form, of_one = run.conventions["loss.form"], OF_ONE.get(run.library.rsplit("_", 1)[0], {})
    if name == "kl" and form == "apo_zero_unpaired":
        return np.zeros(())  # 0 is what it compares with, and so it is logged
    if name == "losses" and form == "kto":
        return np.concatenate([row("loss.kto", run)[first::2] for first in (0, 1)])
    if name in of_one:
        return np.asarray(row(of_one[name], run).mean())
    if name in ("nll_loss", "sft_loss") and not run.conventions["loss.nll_coef"]:
        return row("adds.nll", run)  # 0: what is not added is not computed
    if name in BOTH:
        return np.concatenate([row(f"{side}.{BOTH[name]}", run) for side in SIDES])
    if name in OF_PAIRS:
        return row(OF_PAIRS[name], run)
    if name.endswith("_sum"):
        return 4 * row(LOGGED[name.removesuffix("_sum")], run)
    sign = -1 if name == "odds_ratio_loss" else 1
    return np.asarray(sign * row(LOGGED[name], run).mean())


@pytest.mark.parametrize("run", DPO, ids=lambda run: run.name)
def test_the_rows_are_what_the_library_logs(run: Run) -> None:
    """To 1e-12 of numbers that are at most 60: some hundred roundings in float64."""
    far = {}
    for name, value in recorded(run):
        if not NO_ROW.match(name):
            found, meant = ours(name, run), np.array(value, float)
            far[name] = float(np.abs(found - meant).max()) / max(1.0, float(np.abs(meant).max()))
    assert {name: each for name, each in far.items() if not each <= 1e-12} == {}


def test_hundreds_of_numbers_are_among_what_is_compared() -> None:
    assert sum(np.size(value) for run in DPO for name, value in recorded(run) if not NO_ROW.match(name)) > 1200


def test_the_function_of_the_original_code() -> None:
    """preference_loss: losses, both rewards, and the slope of the mean loss by the log-prob of each response."""
    (run,) = (run for run in runs("preference") if run.variant == "dpo_function")
    book = made("preset=dpo_original", "gradients=on", numbers="dpo-batch")
    for name, key in {
        "loss.pair": "losses", "chosen.reward": "chosen_rewards", "rejected.reward": "rejected_rewards",
        "chosen.logp.grad": "grad_policy_chosen_logps", "rejected.logp.grad": "grad_policy_rejected_logps",
    }.items():  # fmt: skip
        np.testing.assert_allclose(
            np.asarray(book.values[book.blocks[name]], float), run.out[key], rtol=0, atol=EXACT, err_msg=name
        )


def test_slic_one_pair_at_a_time() -> None:
    """HALOs adds a number of each pair to one of each token, which fits only where there is one pair: each position of the chosen
    response has the pair's loss and 0.1 of the token's NLL, prompt and pads the pair's alone; the loss is their mean."""
    (run,) = (run for run in runs("preference") if "one_pair_at_a_time" in run.out)
    book = made("loss.form=slic", "dpo.beta=1", "reference.used=off", "watch.rewards=no_beta", numbers="dpo-batch")
    names = ("loss.slic", "policy.logprobs", "mask", "response.chosen", "chosen.logged", "rejected.logged")
    pair, tokens, mask, chosen, *logged = (np.asarray(book.values[book.blocks[name]], float) for name in names)
    nll = -(tokens * mask)[chosen == 1]
    for place, alone in enumerate(run.out["one_pair_at_a_time"]):
        losses = (pair[place] + 0.1 * nll[place])[: len(alone["losses"][0])]
        np.testing.assert_allclose(losses, alone["losses"][0], rtol=0, atol=EXACT)
        assert abs(np.mean(losses) - alone["loss"]) <= EXACT
        for side, shown in zip(SIDES, logged, strict=True):
            assert abs(shown[place] - alone[f"{side}_reward"]) <= EXACT
    assert "shapes do not broadcast" in run.out["meaning"]


PARTED = [run for run in SFT if run.library.startswith("trl") and "parts" in run.out]


@pytest.mark.parametrize("run", PARTED, ids=lambda run: run.name)
def test_a_microbatch_adds_what_it_added_there(run: Run) -> None:
    """Parts are recorded as what each step of accumulation adds; of a mean of means before it is divided by their number."""
    parts = np.array(run.out["parts"])
    meant = parts / (1 if abs(parts.sum() - run.out["loss"]) < 1e-9 else len(parts))
    assert np.abs(row("microbatch.loss", run)[: len(parts)] - meant).max() <= 1e-12
    assert np.abs(row("microbatch.loss", run)[len(parts) :]).max(initial=0) == 0


WATCHED = {"token_accuracy": "mean_token_accuracy", "entropy": "entropy", "watch.tokens_read": "num_tokens"}


def test_what_is_watched_is_what_trl_logs() -> None:
    """Token accuracy, entropy and the tokens that were read."""
    logged = [run for run in SFT if "entropy" in run.out.get("metrics", {})]
    assert len(logged) == 6
    for run in logged:
        for ours, theirs in WATCHED.items():
            assert row(ours, run) == pytest.approx(run.out["metrics"][theirs], rel=EXACT), (ours, run.name)


def test_the_gradient_at_a_logit_is_the_share_times_p_minus_one_hot() -> None:
    (run,) = (run for run in SFT if "grad_logits" in run.out)
    meant, p = np.array(run.out["grad_logits"]), np.exp(log_softmax(batch().logits["policy"]))[::2]
    one_hot, width = np.eye(8)[batch().ids[::2]], p.shape[1]
    assert np.abs(row("label.weight", run)[:, :width, None] * (p - one_hot) - meant[:, :width]).max() <= 1e-11
    assert np.abs(row("policy.logits.grad", run) - meant).max() <= 1e-11


PRESETS = {
    "trl_1.16.0": "trl_1.16", "trl_0.24.0": "trl_0.24", "direct_preference_optimization_f8b8c0f": "dpo_original",
    "openrlhf_0.11.2": "openrlhf", "torchtune_0.6.1": "torchtune", "torchtune_bd2a0fc": "torchtune_bd2a0fc",
    "nemo_rl_7ea279a": "nemo_rl", "deepspeed_chat_83757d9": "deepspeed_chat", "halos_4831988": "halos", "verl_1dda039": "verl",
    "verl_volcengine_b178a3c": "verl_b178a3c",
}  # fmt: skip


@pytest.mark.parametrize("run", SFT, ids=lambda run: run.name)
def test_every_run_has_its_preset(run: Run) -> None:
    """The library's preset at this version, or one of its variants, sets what the run had; how many microbatches there are is the
    user's, and so is the region of packed texts and of means of means."""
    stem, is_other = PRESETS[run.library], run.variant.endswith(MEANS) or "packing" in run.variant
    meant = {key: each for key, each in run.conventions.items() if key not in ("microbatches", *["region"] * is_other)}
    if stem == "trl_0.24" and meant["loss.normaliser"] == "tokens":
        meant["loss.normaliser"] = "labels"  # of responses alone there are as many before the shift
    settings = kind_named("sft").part("settings")
    found = [
        {key: preset.values.get(key, settings[key].value) for key in meant}
        for name, preset in kind_named("sft").part("presets")().presets.items()
        if name.startswith(stem)
    ]
    assert meant in found


SCORED = {
    "accuracy": "accuracy", "acc": "accuracy", "margin": "rewards.margins", "min_reward": "rewards.min",
    "max_reward": "rewards.max", "mean_reward": "rewards.mean", "rewards_chosen_mean": "rewards.chosen",
    "rewards_rejected_mean": "rewards.rejected",
}  # fmt: skip
OF_SIDES = {"chosen": "chosen", "rejected": "rejected", "chosen_rewards": "chosen", "rejected_rewards": "rejected",
         "chosen_scores": "chosen", "rejected_scores": "rejected", "chosen_mean_scores": "chosen",
         "rejected_mean_scores": "rejected"}  # fmt: skip


@pytest.mark.parametrize("run", PAIRS, ids=lambda run: run.name)
def test_the_metrics_are_those_that_a_library_logs(run: Run) -> None:
    """A library that reads one score for the loss logs that score; of DeepSpeed-Chat's positions it is the last real token's."""
    logged = {**run.out, **run.out.get("metrics", {})}
    for key in SCORED.keys() & logged.keys():
        assert abs(float(row(SCORED[key], run)) - logged[key]) <= 1e-12, key
    for key in OF_SIDES.keys() & logged.keys():
        assert np.abs(row(f"{OF_SIDES[key]}.score", run) - np.array(logged[key])).max() <= 1e-12, key


def taken(run: Run) -> Array | None:
    """The recorded gradient by the score of each response; None where none is recorded."""
    out = run.out
    if "grad_chosen" in out:
        return np.ravel(np.column_stack([out["grad_chosen"], out["grad_rejected"]]))
    if "grad_interleaved" in out:
        return np.array(out["grad_interleaved"])
    return np.array(out["grad"])[ORDER] if "grad" in out and not is_ranked(run) else None


@pytest.mark.parametrize("run", [run for run in PAIRS if taken(run) is not None], ids=lambda run: run.name)
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


@pytest.mark.parametrize("run", [run for run in RANKED if "grad" in run.out], ids=lambda run: run.name)
def test_the_gradient_of_a_ranking_is_that_of_the_library(run: Run) -> None:
    found = row("head.score.grad", run)[:, 0]
    counted = {
        at
        for pair, on in zip(zip(rankings().chosen, rankings().rejected, strict=True), counts(run), strict=True)
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
    run, known = RANKED[0], rankings()
    best, worst = (np.array([pick(np.array(sides)[np.array(known.ranking) == at]) for at in (1, 2)])
                   for sides, pick in ((known.chosen, min), (known.rejected, max)))  # fmt: skip
    pairs_ = [
        place
        for place, pair in enumerate(zip(known.chosen, known.rejected, strict=True))
        if pair in set(zip(best, worst, strict=True))
    ]
    chosen, rejected = (np.ravel(row(f"{side}.score", run))[pairs_] for side in ("chosen", "rejected"))
    means = {"pos_score": chosen.mean(), "neg_score": rejected.mean(), "score_diff": (chosen - rejected).mean()}
    assert {name: float(each) for name, each in means.items()} == pytest.approx(
        {name: out[name] for name in means}, abs=1e-12
    )
    assert np.mean(chosen > rejected) == out["accuracy"]
