"""GRPO and its family against the libraries' own code, every run through the front door: as a user builds and types it."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.workbooks.grpo.workbook import HELD
from tests.workbooks.grpo.recorded import APART, FRONT, Array, Run, batch, off, recorded_file, runs
from tests.workbooks.side_by_side import of_groups

RUNS = list(runs())
NAMES = [f"{run.library}-{run.variant}" for run in RUNS]
OF_EACH_LIBRARY = {run.library: run for run in RUNS}
"""The last run of each library."""


def test_every_recorded_run_is_one_of_ours_or_says_why_not() -> None:
    every = {
        f"{name} {variant}"
        for name, each in recorded_file("critic_free_runs.json")["runs"].items()
        for variant in each["variants"]
    }
    assert len(every) == 296
    assert every - {f"{run.library} {run.variant}" for run in RUNS} == set(APART)


@pytest.mark.parametrize("run", RUNS, ids=NAMES)
def test_a_workbook_gives_what_a_library_computed(run: Run) -> None:
    values = FRONT.typed_in(run.conventions, run.models)
    seen = _seen(run, lambda name: FRONT.cells(values, name))
    compared = {name: off(each, run.out[name], batch().mask) for name, each in seen.items() if name in run.out}
    assert compared, "a run without a number that is compared"
    assert max(compared.values()) <= run.tolerance, compared


@pytest.mark.parametrize("name", OF_EACH_LIBRARY)
def test_what_is_typed_in_is_what_is_built(name: str) -> None:
    assert FRONT.apart(OF_EACH_LIBRARY[name].conventions) == []


def test_of_two_models_that_are_one_it_is_so_too() -> None:
    run = next(run for run in RUNS if run.reference == "new")
    book, typed = FRONT.built(run.conventions, run.models), FRONT.typed_in(run.conventions, run.models)
    for name in ("total_loss", "kl_new.counts", "policy.logits.grad"):
        assert np.array_equal(book.values[book.blocks[name]], FRONT.cells(typed, name)), name


def _seen(run: Run, row: Callable[[str], Array]) -> dict[str, Array]:
    """Returns rows by what the record calls them."""
    place, beta, weighed = run.conventions["kl.place"], float(run.conventions["kl.coef"]), row("policy.counts")
    ratio = row("ratio")
    match run.conventions["loss.objective"]:
        case "reinforce":  # NeMo-RL logs the log-prob
            ratio = batch().logprobs("new")
        case "gmpo":  # verl logs the geometric mean
            ratio = np.repeat(row("gmpo.ratio")[:, None], 6, axis=1)
    token_loss = weighed + beta * row("kl_loss.counts") * row("kl_new.counts")
    if run.library.startswith(("verl", "open_instruct", "oat")):  # before the KL
        token_loss = weighed
    elif run.library.startswith("nemo_rl"):  # and before the weight
        token_loss = row("policy.token_loss")
    paid, shaped, last = row("kl_old.paid"), row("reward.shaped"), row("advantage.last")
    rewards = shaped[:, None] * last - paid if run.library.startswith("verl") else row("advantage.placed")
    found = {
        "advantages": row("advantages"), "ratio": ratio, "loss": row("total_loss"), "per_token_loss": token_loss,
        "per_sequence_loss": weighed, "sequence_ratio": row("ratio"), "is_weight": row("rollout.counts"),
        "is_coef": row("rollout.counts"), "pg_loss": row("policy_loss"), "kl_loss": row("kl_loss"),
        "kl_term": row("adds.kl_loss"), "loss_mask": row("loss.counted"), "token_level_rewards": rewards,
        "baseline": row("group.baseline_used").ravel(), "baselines": row("group.baseline_used").ravel(),
        "kl_per_sequence": row("kl_old.used").sum(1), "shaped_rewards": shaped, "rewards_after_length_penalty": shaped,
        "rewards_after_kl": row("reward"),
    }  # fmt: skip
    # The KL that is paid: in the loss, or in the reward; without any, a library logs what it likes.
    return (
        found
        if place == "none"
        else found | {"kl_per_token": row("kl_new.counts" if place == "loss" else "kl_old.used")}
    )


def test_what_is_compared_is_what_the_issue_names() -> None:
    keys = Counter(key for run in RUNS for key in run.out.keys() & _seen(run, lambda _: np.zeros((12, 6))).keys())
    fewest = {"advantages": 275, "loss": 270, "ratio": 210, "per_token_loss": 170, "is_weight": 36, "kl_per_token": 37}
    assert {name: keys[name] for name, count in fewest.items() if keys[name] < count} == {}


# Their gradients: the workbook's own way back against what each library's autograd recorded.


RECORDED = [run for run in RUNS if "grad_logp" in run.out]


def test_what_is_held_is_what_the_steps_hold() -> None:
    assert {*HELD} == {block.name for block in of_groups(batch(), [{}]).steps.constant}


def test_no_recorded_gradient_is_left_out_but_one_that_stands_apart() -> None:
    every = {
        f"{name} {variant}"
        for name, each in recorded_file("critic_free_runs.json")["runs"].items()
        for variant, run in each["variants"].items()
        if "grad_logp" in run["out"]
    }
    held = {f"{run.library} {run.variant}" for run in RECORDED}
    assert (len(every), every - held) == (275, {"liger_kernel_0.8.5 luspo_kl"})
    assert every - held <= {*APART}


@pytest.mark.parametrize("run", RECORDED, ids=[f"{run.library}-{run.variant}" for run in RECORDED])
def test_the_gradient_is_that_of_the_library(run: Run) -> None:
    values = FRONT.typed_in(run.conventions, run.models)
    assert off(FRONT.cells(values, "policy.logprobs.grad"), run.out["grad_logp"], batch().mask) <= run.tolerance
