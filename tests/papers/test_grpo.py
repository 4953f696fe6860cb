"""The pages of the critic-free family: against what libraries computed, against each other, and where numbers are extreme."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the pages are plain torch")

from blueprint.papers import grpo as paper
from blueprint.papers.libraries.critic_free_advantages import Credit, Group, Shaping
from blueprint.papers.libraries.critic_free_losses import Kl, Means, Objective, Ratio, Rollout
from blueprint.papers.libraries.grpo import Batch, Conventions, CriticFree, entropies, grpo, log_probs
from blueprint.workbooks.grpo.witness.page import conventions
from tests.workbooks.grpo.recorded import APART, Run, batch, off, recorded_file, runs

RUNS = list(runs())
NAMES = [f"{run.library}-{run.variant}" for run in RUNS]
GROUPS = torch.arange(12) // 4
"""The prompt of each response of the recorded batch."""


def recorded(reference: str = "ref", old: str = "old") -> Batch:
    """Returns the batch of all recorded runs, the log-probs of the new policy with a gradient; pads are as the logits have them."""
    known = batch()
    logits, tokens = {name: torch.tensor(each) for name, each in known.logits.items()}, torch.tensor(known.tokens)
    said = {name: log_probs(each, tokens) for name, each in logits.items()}
    return Batch(
        torch.tensor(known.rewards), GROUPS, torch.tensor(known.greedy)[GROUPS], torch.tensor(known.truncated) == 1,
        torch.tensor(known.mask) == 1, said["new"].clone().requires_grad_(), said[old], said[reference], said["rollout"],
        entropies(logits["new"]),
    )  # fmt: skip


def computed(run: Run) -> tuple[Batch, Conventions, CriticFree]:
    given, how = recorded(run.reference, run.old), conventions({"group.of": "prompt", **run.conventions})
    return given, how, grpo(given, how)


@pytest.mark.parametrize("run", RUNS, ids=NAMES)
def test_a_page_gives_what_a_library_computed(run: Run) -> None:
    given, how, found = computed(run)
    seen = _seen(run, given, how, found)
    compared = {
        name: off(each.detach().numpy(), run.out[name], batch().mask) for name, each in seen.items() if name in run.out
    }
    if "grad_logp" in run.out:
        (slope,) = torch.autograd.grad(found.total, given.new)
        compared["grad_logp"] = off(slope.numpy(), run.out["grad_logp"], batch().mask)
    assert compared, "a run without a number that is compared"
    assert max(compared.values()) <= run.tolerance, compared


def _seen(run: Run, given: Batch, how: Conventions, found: CriticFree) -> dict[str, Any]:
    """Returns what was computed by what the record calls it."""
    mask, place, beta = given.mask, how.kl.place, how.kl.coef
    token_loss = found.weighted + (beta * found.kl if place == "loss" else 0)
    if run.library.startswith(("verl", "open_instruct", "oat")):  # before the KL
        token_loss = found.weighted
    elif run.library.startswith("nemo_rl"):  # and before the weight
        token_loss = found.token_losses
    # NeMo-RL logs the log-prob where there is no ratio, verl the geometric mean with GMPO.
    ratio = {"reinforce": {"ratio": given.new}, "gmpo": {}}.get(how.objective.objective, {"ratio": found.ratio})
    paid, last = beta * found.kl_old.where(mask, 0), mask & ~torch.nn.functional.pad(mask, (0, 1))[:, 1:]
    placed = found.compared.advantages if how.credit.credit == "to_go" else found.shaped
    rewards = (found.shaped if run.library.startswith("verl") else placed)[:, None] * last - paid * (place != "loss")
    seen = {
        **ratio, "advantages": found.advantages, "loss": found.total, "per_token_loss": token_loss,
        "per_sequence_loss": found.weighted, "sequence_ratio": found.ratio, "is_weight": found.weights,
        "is_coef": found.weights, "pg_loss": found.policy_loss, "kl_loss": found.kl_loss,
        "kl_term": beta * found.kl_loss * (place == "loss"), "loss_mask": found.counted.double(),
        "token_level_rewards": rewards, "baseline": found.compared.baseline, "baselines": found.compared.baseline,
        "kl_per_sequence": found.kl_old.sum(1), "shaped_rewards": found.shaped,
        "rewards_after_length_penalty": found.shaped, "rewards_after_kl": found.rewards,
    }  # fmt: skip
    # The KL that is paid: in the loss, or in the reward; without any, a library logs what it likes.
    return seen if place == "none" else seen | {"kl_per_token": found.kl if place == "loss" else found.kl_old}
