"""The page of many runs, each run of it held against the pages of one batch in `papers`, and against torch's own optimiser."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from blueprint.papers import many_runs as page
from blueprint.papers import models
from blueprint.papers.grpo import grpo
from blueprint.papers.kl_controller import AdaptiveKLController
from blueprint.papers.many_runs import Rollout, Weights
from blueprint.papers.ppo import ppo
from blueprint.papers.reward_model import last_scores
from blueprint.papers.sft import sft
from blueprint.training.before import Models
from blueprint.training.iteration import State, Trainer
from blueprint.training.run_toml import run_numbers

R, B, T, V, K, J = 3, 6, 5, 8, 3, 4
PROMPTS = torch.tensor([[1, 2, 3], [3, 2, 1]])
BETAS = torch.tensor([0.0, 0.1, 1.0], dtype=torch.float64)
CLOSE: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}
"""Sums in another order: rounding alone."""


def drawn(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.fixture
def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(3)


def policy_of(seeded: torch.Generator) -> Weights:
    return {"E": drawn(seeded, R, V, K), "W": drawn(seeded, R, K + J + 1, J), "Y": drawn(seeded, R, J, V)}


def critic_of(seeded: torch.Generator) -> Weights:
    return {
        "E": drawn(seeded, R, V, K),
        "W": drawn(seeded, R, K + J + 1, J),
        "w": drawn(seeded, R, J),
        "b": drawn(seeded, R),
    }


def alone(weights: Weights, r: int) -> models.Rnn:
    return models.Rnn(**{name: each[r] for name, each in weights.items()})


def written(seeded: torch.Generator, policy: Weights) -> tuple[Tensor, Tensor, Tensor]:
    """Returns tokens and mask, and the whole texts [R, B, P + T] that one network alone reads."""
    u = torch.rand(R, B, T, generator=seeded, dtype=torch.float64)
    tokens, mask = page.sampled(policy, PROMPTS, u)
    whole = torch.cat([PROMPTS.repeat_interleave(B // len(PROMPTS), 0).expand(R, B, -1), tokens], dim=2)
    for r in range(R):  # the page of models draws the same tokens from the same draws
        columns = torch.zeros(B, whole.shape[2], dtype=torch.float64)
        columns[:, PROMPTS.shape[1] - 1 : -1] = u[r]
        start = torch.full((B, whole.shape[2] + 1), -1)
        start[:, : PROMPTS.shape[1]] = whole[r][:, : PROMPTS.shape[1]]
        text, response = (each[:, :-1] for each in models.continued(alone(policy, r), start, columns, T))
        torch.testing.assert_close(text[:, PROMPTS.shape[1] :].where(mask[r], 0), tokens[r])
        torch.testing.assert_close(response[:, PROMPTS.shape[1] :], mask[r])
    return tokens, mask, whole


def test_each_run_reads_and_writes_as_a_network_alone(seeded: torch.Generator) -> None:
    policy, critic = policy_of(seeded), critic_of(seeded)
    tokens, mask, whole = written(seeded, policy)
    log_p, values = page.log_probs(policy, PROMPTS, tokens, 1.5), page.values(critic, PROMPTS, tokens)
    scores, P = page.scores(critic, PROMPTS, tokens, mask), PROMPTS.shape[1]
    for r in range(R):
        logits = models.logits(alone(policy, r), whole[r, :, :-1])[:, P - 1 :]
        torch.testing.assert_close(log_p[r], models.distribution(logits, tokens[r], 1.5).log_p, **CLOSE)
        numbers = models.numbers(alone(critic, r), whole[r])
        torch.testing.assert_close(values[r], numbers[:, P - 1 : -1], **CLOSE)
        torch.testing.assert_close(scores[r], last_scores(numbers[:, P:], mask[r]), **CLOSE)


def batch(seeded: torch.Generator) -> tuple[Rollout, Weights, Weights, Tensor]:
    """Returns a rollout, new weights that require gradients, and the texts."""
    old, reference, critic = policy_of(seeded), policy_of(seeded), critic_of(seeded)
    tokens, mask, whole = written(seeded, old)
    logp_old, logp_ref = (page.written(page.log_probs(each, PROMPTS, tokens), tokens) for each in (old, reference))
    rollout = Rollout(tokens, mask, logp_old, logp_ref, page.values(critic, PROMPTS, tokens), drawn(seeded, R, B))
    new = {name: (each + 0.1 * drawn(seeded, *each.shape)).requires_grad_() for name, each in old.items()}
    new_critic = {name: (each + 0.1 * drawn(seeded, *each.shape)).requires_grad_() for name, each in critic.items()}
    return rollout, new, new_critic, whole


def test_ppo_of_each_run_and_its_gradients_are_those_of_the_paper(seeded: torch.Generator) -> None:
    rollout, new, new_critic, whole = batch(seeded)
    whitened, returns = page.advantages(rollout, BETAS, 0.9, 0.8)
    log_p, values = page.log_probs(new, PROMPTS, rollout.tokens), page.values(new_critic, PROMPTS, rollout.tokens)
    found = page.ppo(rollout, whitened, returns, log_p, values, rollout.mask, value_clip=0.3, entropy_coef=0.02)
    slopes = torch.autograd.grad(found.total.sum(), [*new.values(), *new_critic.values()])
    P = PROMPTS.shape[1]
    for r in range(R):
        of = models.distribution(models.logits(alone(new, r), whole[r, :, :-1])[:, P - 1 :], rollout.tokens[r])
        mask = rollout.mask[r]
        paper = ppo(
            logp_old=rollout.logp_old[r], logp_ref=rollout.logp_ref[r], logp_new=of.logp, values_old=rollout.values[r],
            values_new=models.numbers(alone(new_critic, r), whole[r, :, :-1])[:, P - 1 :], entropy=of.entropy,
            scores=rollout.scores[r], mask=mask, gamma=0.9, lam=0.8, kl_coef=float(BETAS[r]), value_clip=0.3, entropy_coef=0.02,
        )  # fmt: skip
        torch.testing.assert_close(whitened[r][mask], paper.whitened[mask], **CLOSE)
        torch.testing.assert_close(returns[r][mask], paper.returns[mask], **CLOSE)
        for name in ("total", "policy_loss", "value_loss", "entropy", "clip_fraction", "approx_kl"):
            torch.testing.assert_close(getattr(found, name)[r], getattr(paper, name), **CLOSE)
        own = torch.autograd.grad(paper.total, [*new.values(), *new_critic.values()])
        for slope, theirs in zip(slopes, own, strict=True):
            torch.testing.assert_close(slope[r], theirs[r], **CLOSE)
    assert (found.clip_fraction > 0).any()  # else the clip was not tried


@pytest.mark.parametrize("scale", [True, False])
def test_grpo_of_each_run_is_that_of_the_paper(seeded: torch.Generator, scale: bool) -> None:
    rollout, new, _, _ = batch(seeded)
    log_p = page.log_probs(new, PROMPTS, rollout.tokens)
    found = page.grpo(rollout, log_p, BETAS, len(PROMPTS), scale=scale)
    slopes = torch.autograd.grad(found.total.sum(), [*new.values()], retain_graph=True)
    group = torch.arange(len(PROMPTS)).repeat_interleave(B // len(PROMPTS))
    for r in range(R):
        logp = page.written(log_p, rollout.tokens)[r]
        paper = grpo(
            logp, rollout.logp_old[r], rollout.logp_ref[r], rollout.scores[r], group, rollout.mask[r],
            scale=scale, kl_coef=float(BETAS[r]),
        )  # fmt: skip
        torch.testing.assert_close(found.total[r], paper.total, **CLOSE)
        own = torch.autograd.grad(paper.total, [*new.values()], retain_graph=True)
        for slope, theirs in zip(slopes, own, strict=True):
            torch.testing.assert_close(slope[r], theirs[r], **CLOSE)


def test_fine_tuning_on_the_best_is_fine_tuning_on_the_best(seeded: torch.Generator) -> None:
    rollout, new, _, whole = batch(seeded)
    found, P = page.rejection(rollout, page.log_probs(new, PROMPTS, rollout.tokens), len(PROMPTS)), PROMPTS.shape[1]
    for r in range(R):
        best = [int(rollout.scores[r, :3].argmax()), 3 + int(rollout.scores[r, 3:].argmax())]
        learned = torch.nn.functional.pad(rollout.mask[r][best], (P - 1, 0))
        paper = sft(models.logits(alone(new, r), whole[r][best][:, :-1]), whole[r][best], learned)
        torch.testing.assert_close(found.total[r], paper.loss, **CLOSE)


def test_adam_of_each_run_is_torchs(seeded: torch.Generator) -> None:
    ours = [drawn(seeded, R, 4, 3).requires_grad_(), drawn(seeded, R).requires_grad_()]
    theirs = [[each[r].detach().clone().requires_grad_() for each in ours] for r in range(R)]
    target = drawn(seeded, R, 4, 3)
    adam, torchs = page.Adam(ours, 0.01, 1.0), [torch.optim.Adam(each, lr=0.01) for each in theirs]
    for _ in range(5):
        adam.step(((ours[0] - target) ** 2).sum((1, 2)) + ours[1] ** 4)
        for r, optimiser in enumerate(torchs):
            optimiser.zero_grad()
            torch.autograd.backward(((theirs[r][0] - target[r]) ** 2).sum() + theirs[r][1] ** 4)
            torch.nn.utils.clip_grad_norm_(theirs[r], 1.0)
            optimiser.step()
    for r in range(R):
        for one, other in zip(ours, theirs[r], strict=True):
            torch.testing.assert_close(one[r], other, rtol=1e-12, atol=1e-13)


def test_an_adaptive_kl_coefficient_is_the_controllers() -> None:
    numbers = run_numbers(changed={"controller.target": 0.3, "controller.horizon": 50.0, "ppo.kl_coef": [0.1, 1.0]})
    seeded = torch.Generator().manual_seed(5)
    policy, critic = ({name: each[:1] for name, each in of(seeded).items()} for of in (policy_of, critic_of))
    trainer = Trainer(numbers, Models(policy, critic, {}))
    moved = {name: each + 0.2 for name, each in trainer.reference.items()}
    outcome = trainer.iterate(
        State(moved, dict(trainer.reward_model), torch.tensor([0.1, 1.0], dtype=torch.float64)), 0
    )
    for r, beta in enumerate((0.1, 1.0)):
        controller = AdaptiveKLController(torch.tensor(beta, dtype=torch.float64), 0.3, 50.0)
        controller.update(outcome.watched["kl_k1"][r], numbers.update.responses)
        torch.testing.assert_close(outcome.after.kl_coef[r], controller.value)
        assert outcome.after.kl_coef[r] != beta
