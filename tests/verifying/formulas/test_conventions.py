"""Every library's own run and every variant, reproduced by what verify computes with; and planted wrong options are noticed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

import torch

from blueprint.verifying.formulas.options import NUMBERS, WORDS, Texts
from blueprint.verifying.formulas.ppo import recompute
from tests.recorded_ppo import (
    ALL,
    FLOOR,
    NOT_COMPARED,
    QUANTITIES,
    RUNS,
    Found,
    Run,
    differing,
    number_of,
    options,
    presets,
    recorded,
    results,
    texts,
)


def computed(runs: Sequence[Run]) -> list[Found]:
    """Returns what verify computes for several runs on the same number of responses, in one computation."""
    chosen = options(runs)
    given = texts(runs, chosen)
    rows = recompute(given, chosen, torch.full((len(runs),), FLOOR, dtype=torch.float64))
    inputs = {each.name: getattr(given, each.name) for each in fields(given)}
    return [
        Found(Texts(**{name: each[at] for name, each in inputs.items()}), {name: row[at] for name, row in rows.items()})
        for at in range(len(runs))
    ]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.run}-{run.variant}-{''.join(map(str, run.responses))}")
def test_a_run_is_reproduced(run: Run) -> None:
    assert differing(run, computed([run])[0]) == []


def test_every_run_and_variant_of_the_file_is_in_the_table() -> None:
    runs = recorded()["runs"]
    there = {(name, key) for name, run in runs.items() for key in run if key == "result" or key.startswith("variant_")}
    assert {run.place for run in RUNS} == there
    assert {run.preset for run in RUNS} == set(presets())
    batches = runs["openai_lm_human_preferences"]["variant_two_minibatches"]["minibatches"]
    assert [list(run.responses) for run in RUNS if run.variant == "variant_two_minibatches"] == batches


def test_every_quantity_is_compared_or_its_reason_is_given() -> None:
    there = {name for run in RUNS for name in results(run)}
    assert there == set(QUANTITIES) | set(NOT_COMPARED)


# For every library an option at which the library next to it in the table stands, and what must then differ.
PLANTED = [
    ("openai", {"advantage.ddof": 1}, {"rewards_used", "advantages", "pg_loss", "vf_loss"}),
    ("trl_0.11.4", {"metrics.over": "all"}, {"approxkl"}),
    ("trl_1.12", {"value.tail": 0}, {"mask_p1", "vf_loss", "vf_clipfrac"}),
    ("openrlhf", {"advantage.ddof": 1}, {"advantages", "pg_loss"}),
    ("verl", {"loss.dual_clip": "off"}, {"pg_loss", "pg_clipfrac_lower"}),
    ("trlx", {"advantage.stats": "mask"}, {"advantages", "pg_loss"}),
    ("dschat", {"advantage.tail_slots": 0}, {"returns", "adv_raw", "vf_loss"}),
    ("nemo_aligner", {"loss.sample_filter": "none"}, {"is_end_mask", "pg_loss"}),
    ("nemo_rl", {"loss.agg_eps": 0}, {"actor_loss", "vf_loss"}),
    ("torchtune", {"advantage.ddof_eps": 0}, {"advantages"}),
]


@pytest.mark.parametrize(("preset", "changes", "quantities"), PLANTED, ids=[each[0] for each in PLANTED])
def test_a_planted_wrong_option_is_noticed(preset: str, changes: dict[str, str | float], quantities: set[str]) -> None:
    run = next(run for run in RUNS if run.preset == preset)
    wrong = replace(run, changes={**run.changes, **changes})
    assert quantities <= set(differing(run, computed([wrong])[0]))


# Wrong values that no recorded run can notice, since nothing in the rollout reaches them.
UNSEEN = {
    **{
        (f"{place}.kl_clamp_{end}", value): "no log-ratio of the rollout is as large as 20"
        for place in ("reward", "loss")
        for end, value in (("in", "20"), ("in", "off"), ("of", "all"), ("of", "k3"))
    },
    **{
        (f"{place}.kl_clamp_out", value): "no KL estimate is as large as 10"
        for place in ("reward", "loss")
        for value in ("10", "off")
    },
    ("loss.kl_estimator", "k3"): "all runs whose KL is in the loss have it",
    ("metrics.log_ratio", "raw"): "no log-ratio of the rollout is as large as 20",
    ("metrics.log_ratio", "clamped"): "no log-ratio of the rollout is as large as 20",
    ("loss.log_ratio_clamp", "off"): "no log-ratio of the rollout is as large as 20",
    ("loss.log_ratio_clamp", "20"): "no log-ratio of the rollout is as large as 20",
    ("loss.ratio_threshold", "off"): "the mean ratio is below 2",
    ("loss.ratio_threshold", "10"): "the mean ratio is below 2",
    ("advantage.gae_holes", "zero"): "the masks of the rollout have no holes",
    ("reward.free_tokens", "0.37"): "no library has a length penalty, without which it is idle",
    ("loss.seq_eps", "1e-08"): "all runs that read it have it",
}


def wrong_values(name: str) -> list[str]:
    """Returns every value that an option has in some library; where all agree, one that none has."""
    values = {library[name] for library in presets().values()}
    if name in WORDS:
        return [word for word in WORDS[name] if values != {word}]
    return sorted(values) if len(values) > 1 else ["0.37"]


@pytest.mark.parametrize("name", [*NUMBERS, *WORDS])
def test_a_wrong_value_of_any_option_is_noticed(name: str) -> None:
    """Each library's value, given to the others, makes at least one run of some library differ."""
    for value in wrong_values(name):
        wrong = [
            (run, replace(run, changes={**run.changes, name: value}))
            for run in RUNS
            if len(run.responses) == len(ALL)
            and number_of(name, value) != number_of(name, {**presets()[run.preset], **run.changes}[name])
        ]
        found = computed([each for _, each in wrong])
        noticed = any(differing(run, each) for (run, _), each in zip(wrong, found, strict=True))
        assert noticed != ((name, value) in UNSEEN), f"{name} = {value}"
