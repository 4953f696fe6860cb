"""Every step of an optimiser on one rollout: the page takes it with torch.optim, and autograd has the rows of its way back."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch", reason="the outside witness is torch: install the extra [torch]")

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.rlhf_ppo.paper import PAGE
from tests.autograd import way_back
from tests.papers.held import TOLERANCE, held_against

NEAR = 1e-12
"""Of 1 + a row's numbers: torch adds and multiplies the same numbers in another order, step after step."""
SHUFFLED = {"update.minibatches": 2, "update.order": [[2, 1], [1, 2], [2, 1], [1, 2]]}
SHORT = {"update.epochs": 1, "update.minibatches": 2, "update.order": [[2, 1]]}
TWO = {"update.epochs": 2, "update.minibatches": 2, "update.order": [[2, 1], [1, 2]]}
APART = {"update.epochs": 2, "update.critic_lr": 0.1, "update.critic_max_norm": 0.3, "update.max_norm": 0.5}
NO_ADVANTAGE = {
    "reward_model.w": [0, 0, 0, 0], "reward_model.b": 0, "old_critic.w": [0, 0, 0, 0], "ppo.kl_coef": 0, "ppo.ent_coef": 0,
}  # fmt: skip
OPTIMISERS = [(by, limit) for by in ("sgd", "adam", "adamw") for limit in (1.0, "off")]
CASES: dict[str, dict[str, Any]] = {
    **{
        f"{by}, at most {limit}": {"update.by": by, "update.max_norm": limit, "update.weight_decay": 0.1}
        for by, limit in OPTIMISERS
    },
    "three epochs of SGD": {"update.by": "sgd", "update.epochs": 3},
    "minibatches in any order": SHUFFLED,
    "each minibatch whitened": SHUFFLED | {"update.whiten": "minibatch"},
    **{f"a minibatch of {name}": SHORT | {"preset": name}
       for name in ("openai", "trlx", "trl_0.11.4", "trl_1.12", "nemo_aligner")},
    "a minibatch, a critic apart": SHORT | {"preset": "verl", "update.critic_lr": 0.05, "update.critic_max_norm": 0.3},
    "a minibatch of Adam": SHORT | {"update.max_norm": "off", "update.by": "adam", "update.weight_decay": 0.1},
    **{f"two optimisers of {name}": APART | {"preset": name} for name in ("verl", "openrlhf", "dschat")},
    "no advantage": TWO | NO_ADVANTAGE,
    "no advantage whitened in each step": TWO | NO_ADVANTAGE | {"update.whiten": "minibatch", "update.by": "sgd"},
    "log-ratios of -219": {
        "update.epochs": 1, "update.minibatches": 2, "update.max_norm": "off", "update.by": "sgd", "update.lr": 1000,
    },
    "hardly any step": TWO | {"update.max_norm": 1e-12},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_torch_agrees_with_every_step(name: str) -> None:
    """Results of every step, new weights, norms and slopes; what a step does not see is shown by the book and read by no loss."""
    book = Book(blueprint_of(load("epochs", CASES[name])))
    found = held_against(book, PAGE.results, PAGE.masks)
    assert len(found) > (200 if name.endswith(("at most 1.0", "at most off")) else 100)
    assert {row: far for row, far in found.items() if not far <= TOLERANCE} == {}
    away = way_back(book, "rlhf_ppo")
    assert len(away) > 3
    assert {row: far for row, far in away.items() if not far <= NEAR} == {}
