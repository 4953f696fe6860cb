"""Mistakes planted in the loss of a run: 17 of 18 end away from the exact optimum; the workbook of an iteration finds all 18.

The one that ends well is no whitening, which is another choice more than a mistake. Whole runs with all mistakes take a minute,
so the suite runs every fourth one to its end; ALL in the environment runs them all.

A mistake is a change of one line of `papers/many_runs.py`. The workbook of iteration 10 is computed once, from the definitions and
not from that page; a page with a mistake takes the same iteration from the same state, and its weights are others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import blueprint as bp
from blueprint.papers import many_runs
from blueprint.training import iteration, run
from blueprint.training.export import Moment, farthest, workbook_numbers
from blueprint.training.iteration import State, Trainer
from blueprint.training.optimum import Everything
from blueprint.training.run import Run, trained
from blueprint.training.run_toml import run_numbers

BETAS = [0.1, 1.0]
LAST, NEAR, SEEN_BY_WORKBOOK = 40, 0.05, 1e-10


class Mistake(NamedTuple):
    """A name, and the text of the page that is replaced. ends_well: whether the run reaches the optimum in spite of it."""

    name: str
    right: str
    wrong: str
    ends_well: bool = False


PLANTED = (
    Mistake("the sign of the KL", "penalty = -kl_coef", "penalty = kl_coef"),
    Mistake(
        "the KL is that of the reference to the policy",
        "(rollout.logp_old - rollout.logp_ref)",
        "(rollout.logp_ref - rollout.logp_old)",
    ),
    Mistake("no KL", "penalty = -kl_coef", "penalty = -0 * kl_coef"),
    Mistake(
        "the score a column early",
        "last = mask.sum(2, keepdim=True) - 1",
        "last = (mask.sum(2, keepdim=True) - 2).clamp(min=0)",
    ),
    Mistake(
        "the score on the first token", "last = mask.sum(2, keepdim=True) - 1", "last = 0 * mask.sum(2, keepdim=True)"
    ),
    Mistake(
        "min for max in the policy loss",
        "policy_loss, value_loss = mean(torch.maximum",
        "policy_loss, value_loss = mean(torch.minimum",
    ),
    Mistake(
        "the sign of the advantage",
        "free, clipped = -whitened * ratio, -whitened",
        "free, clipped = whitened * ratio, whitened",
    ),
    Mistake("V_t for V_{t+1}", "gamma * ahead - values", "gamma * values - values"),
    Mistake("no V_{t+1}", "gamma * ahead - values", "-values"),
    Mistake(
        "the ratio is against the reference",
        "written(log_p, rollout.tokens) - rollout.logp_old\n    ratio",
        "written(log_p, rollout.tokens) - rollout.logp_ref\n    ratio",
    ),
    Mistake(
        "no mask in the loss",
        "log_ratio.where(counted, 0).exp()",
        "log_ratio.exp(); counted = torch.ones_like(counted)",
    ),
    Mistake("the returns are the rewards alone", "found + values", "rewards"),
    Mistake("advantages are summed forwards", ".tril()\n    found", ".tril().T\n    found"),
    Mistake("no whitening", "return centred / (variance + 1e-8).sqrt()[:, None, None]", "return found", ends_well=True),
    Mistake("divided by the variance, not by its root", "(variance + 1e-8).sqrt()", "(variance + 1e-8)"),
    Mistake(
        "the value loss has another sign",
        "policy_loss + value_coef * value_loss",
        "policy_loss - value_coef * value_loss",
    ),
    Mistake(
        "log-probs shifted by one",
        "logits.log_softmax(-1).reshape(*tokens.shape, -1)",
        "logits.log_softmax(-1).reshape(*tokens.shape, -1).roll(1, 2)",
    ),
    Mistake("the step goes up", "weight.sub_(self.lr", "weight.add_(self.lr"),
)


@pytest.fixture(scope="module")
def right() -> Run:
    return trained(run_numbers(changed={"ppo.kl_coef": BETAS}))


@pytest.fixture(scope="module")
def optima(right: Run) -> dict[float, float]:
    found = {beta: Everything(right.numbers, right.models).best(beta) for beta in BETAS}
    return {beta: best.proxy - beta * best.kl for beta, best in found.items()}


def _page(mistake: Mistake) -> ModuleType:
    """Returns the page with a mistake."""
    source = Path(str(many_runs.__file__)).read_text(encoding="utf-8")
    assert source.count(mistake.right) == 1, mistake.name
    made = ModuleType(f"{many_runs.__name__}_wrong")
    made.__dict__["__file__"] = many_runs.__file__
    sys.modules[made.__name__] = made  # a dataclass looks its module up
    exec(compile(source.replace(mistake.right, mistake.wrong), "many_runs with a mistake", "exec"), made.__dict__)
    return made


@pytest.fixture
def planted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mistake]:
    made = _page(request.param)
    monkeypatch.setattr(iteration, "page", made)
    yield request.param
    del sys.modules[made.__name__]


class Tenth(NamedTuple):
    """Iteration 10: the state before it, the run's own weights after it at β = 0.1, and a workbook's blocks of it by name."""

    before: State
    moment: Moment
    blocks: dict[str, Any]


@pytest.fixture(scope="module")
def tenth(right: Run) -> Tenth:
    """Computed with the right page; the blocks as the definitions have them."""
    moment = right.moment(10, 0.1)
    book = bp.build(workbook_numbers(right.numbers, moment))
    blocks = {block.name: array for block, array in book.values.arrays.items()}
    state = right.trainer.start()
    for each in range(10):
        state = right.trainer.iterate(state, each).after
    return Tenth(state, moment, blocks)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda each: each.name, indirect=True)
def test_the_workbook_of_an_iteration_finds_a_mistake(tenth: Tenth, right: Run, planted: Mistake) -> None:
    assert farthest(right.numbers, tenth.moment, tenth.blocks) < SEEN_BY_WORKBOOK
    after, r = Trainer(right.numbers, right.models).iterate(tenth.before, 10).after, right.place(0.1)
    policy, critic = ({key: each[r].numpy() for key, each in of.items()} for of in (after.policy, after.critic))
    wrong = replace(tenth.moment, next_policy=policy, next_critic=critic)
    assert farthest(right.numbers, wrong, tenth.blocks) > 1e3 * SEEN_BY_WORKBOOK


def off(run: Run, optima: dict[float, float]) -> float:
    """Returns how far the last iterations lie from the optimum, at the β at which they are farther."""
    gaps = []
    for beta, best in optima.items():
        proxy, kl = (float(run.watched[name][-LAST:, run.place(beta)].mean()) for name in ("proxy", "kl"))
        gaps.append(abs(proxy - beta * kl - best))
    return max(gaps)


def test_a_run_without_a_mistake_ends_at_the_optimum(right: Run, optima: dict[float, float]) -> None:
    assert off(right, optima) < NEAR


@pytest.mark.parametrize(
    "planted", PLANTED if "ALL" in os.environ else PLANTED[1::4], ids=lambda each: each.name, indirect=True
)
def test_a_run_with_a_mistake_ends_elsewhere(
    right: Run, optima: dict[float, float], planted: Mistake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_models", lambda *_: right.models)  # those were learned without the mistake
    assert (off(trained(right.numbers), optima) < NEAR) is planted.ends_well
