"""GRPO where no token counts: rejected, cut or filtered. What each library divides by, in plain torch, against the front door.

verl 0.9.1, core_algos.py, agg_loss; OpenRLHF 0.11.2, models/loss.py, aggregate_loss; TRL 1.16.0, grpo_trainer.py; NeMo-RL 7ea279a,
masked_mean; open-instruct, rl_utils.py, masked_mean; SkyRL a956457, ppo_utils.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import blueprint as bp
from blueprint.notation import NotationError
from tests.workbooks.apart import apart

Mean = Callable[[Tensor, Tensor], Tensor]
"""From the loss of each token and what counts, the loss."""


def over_tokens(x: Tensor, mask: Tensor) -> Tensor:
    return (x * mask).sum() / mask.sum()


def over_one_at_least(x: Tensor, mask: Tensor) -> Tensor:
    return (x * mask).sum() / mask.sum().clamp(min=1.0)


def with_eps(x: Tensor, mask: Tensor) -> Tensor:
    return (x * mask).sum() / (mask.sum() + 1e-8)


def of_rows(x: Tensor, mask: Tensor) -> Tensor:
    return ((x * mask).sum(-1) / mask.sum(-1).clamp(min=1.0)).mean()


def or_zero(x: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask.sum() > 0, over_tokens(x, mask), 0.0)


LIBRARIES: dict[str, Mean] = {
    "trl_dapo": over_one_at_least, "trl_grpo": of_rows, "verl_grpo": over_tokens, "verl_rloo": over_tokens,
    "verl_cispo": over_tokens, "openrlhf": over_tokens, "nemo_rl": with_eps, "nemo_rl_dapo": with_eps, "open_instruct": or_zero,
    "skyrl": over_one_at_least,
}  # fmt: skip
DROPPED: dict[str, dict[str, Any]] = {
    "every token rejected": {"rollout.reject": "token", "rollout.reject_low": 5, "rollout.reject_high": 6},
    "every response cut": {"loss.mask": "drop_truncated"},
    "every group filtered": {"group.filter": "constant", "reward.scores": [1.0] * 12},
}
CUT = {"text.truncated": [1] * 12}


def built(preset: str, dropped: str) -> bp.Book:
    return bp.build("grpo-batch", preset=preset, set={**DROPPED[dropped], **CUT}, gradients=True)


@pytest.mark.parametrize("dropped", DROPPED)
@pytest.mark.parametrize("preset", LIBRARIES)
def test_the_loss_ends_where_the_library_has_none(preset: str, dropped: str) -> None:
    x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    theirs = LIBRARIES[preset](x, torch.zeros(2, 3, dtype=torch.float64))
    if theirs.isnan():
        with pytest.raises(
            NotationError, match=r"average\.token_mean \(.*\) has no number: 1 cannot be divided by 0; "
        ):
            built(preset, dropped)
        return
    book = built(preset, dropped)
    assert float(book.values[book.blocks["total_loss"]]) == theirs.item() == 0
    assert float(abs(book.values[book.blocks["policy.logits.grad"]]).max()) == 0
    assert apart(book) == {}


def test_verl_and_openrlhf_end_there() -> None:
    nothing = torch.zeros(2, 3)
    ended = {name for name, mean in LIBRARIES.items() if mean(nothing, nothing).isnan()}
    assert ended == {"verl_grpo", "verl_rloo", "verl_cispo", "openrlhf"}


def test_a_mean_that_is_not_asked_for_ends_nothing() -> None:
    settings = {**DROPPED["every response cut"], **CUT, "loss.aggregation": "token_sum", "loss.at_least": 0}
    assert apart(bp.build("grpo-batch", preset="verl_grpo", set=settings)) == {}
